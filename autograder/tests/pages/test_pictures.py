"""The pictures: in step with their code, in both themes, readable, and right."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import ml_dtypes
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from autograder import author
from autograder.pages.pictures import canvas, command, gallery, measured, numbers
from autograder.pages.pictures.picture import Picture
from autograder.pages.pictures.style import LIGHT, STYLES, Style

FIGURES = author.ROOT / command.WHERE
SVG = "{http://www.w3.org/2000/svg}"
each_picture = pytest.mark.parametrize("picture", gallery.PICTURES, ids=lambda picture: picture.name)
each_style = pytest.mark.parametrize("style", STYLES, ids=lambda style: style.suffix or "light")


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return gallery.drawn()


def test_the_committed_pictures_are_in_step(drawn: dict[str, str]) -> None:
    assert command.differences(FIGURES, drawn) == []


def test_pictures_that_are_missing_stale_or_strange_are_named(tmp_path: Path) -> None:
    for name, text in {"old.svg": "before", "same.svg": "same", "strange.svg": ""}.items():
        (tmp_path / name).write_text(text)
    assert command.differences(tmp_path, {"old.svg": "after", "new.svg": "", "same.svg": "same"}) == [
        "new.svg: missing",
        "old.svg: out of step with its code and data",
        "strange.svg: nothing draws it",
    ]


def test_the_command_draws_and_checks(
    tmp_path: Path, drawn: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gallery, "drawn", lambda: drawn)
    assert author.main(["pictures", "--check"], tmp_path) == 1
    assert "course/figures/steps-dark.svg: missing" in capsys.readouterr().err
    assert author.main(["pictures"], tmp_path) == 0
    assert author.main(["pictures", "--check"], tmp_path) == 0


@each_picture
@each_style
def test_a_file_is_small_and_says_what_it_shows(
    picture: Picture, style: Style, drawn: dict[str, str]
) -> None:
    text = drawn[f"{picture.name}{style.suffix}.svg"]
    assert len(text.encode()) < 60_000
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == picture.title
    assert root.findtext(f"{SVG}desc") == picture.description
    ground = root.find(f".//{SVG}path")
    assert ground is not None and style.ground in ground.get("style", ""), "the first shape is the ground"
    addresses = re.findall(r"https?://[^\"' ]*", text)
    assert {*addresses} <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@each_picture
def test_text_is_large_inside_and_apart(picture: Picture) -> None:
    """By the metrics of a wide font, which matplotlib brings."""
    figure = picture.on_canvas(LIGHT).figure
    whole = figure.bbox
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text()]
    places = [(text.get_text(), text.get_window_extent()) for text in texts]
    assert min(float(text.get_fontsize()) for text in texts) >= canvas.SMALL
    for words, place in places:
        assert whole.x0 <= place.x0 and place.x1 <= whole.x1, f"{words!r} is cut at a side"
        assert whole.y0 <= place.y0 and place.y1 <= whole.y1, f"{words!r} is cut above or below"
    for (first, one), (second, other) in itertools.combinations(places, 2):
        both = Bbox.intersection(one, other)
        assert both is None or both.height < 3 or both.width < 1, f"{first!r} and {second!r} overlap"


@each_style
def test_text_stands_out_from_every_ground(style: Style) -> None:
    for ink in (style.ink, *style.lines.values()):
        assert _contrast(ink, style.ground) >= 4.5
    for tint in style.tints.values():
        assert _contrast(style.ink, tint) >= 4.5
    for hue, line in style.lines.items():
        assert _contrast(line, style.tints[hue]) >= 4.5


def test_a_pale_ink_would_not_stand_out() -> None:
    assert _contrast("#ffffff", "#000000") == pytest.approx(21)
    assert _contrast("#999999", "#ffffff") < 4.5


def test_formats_hold_the_numbers_that_their_bits_give() -> None:
    e4m3 = numbers.positive(ml_dtypes.float8_e4m3fn)
    e5m2 = numbers.positive(ml_dtypes.float8_e5m2)
    assert (e4m3[0], e4m3[-1], len(e4m3)) == (2.0**-9, 448, 126)
    assert (e5m2[0], e5m2[-1], len(e5m2)) == (2.0**-16, 57344, 123)


def test_pictures_say_what_was_measured(drawn: dict[str, str]) -> None:
    """And what the captions drawn beside the numbers claim."""
    naive, fused = (measured.row("seq", name, 128) for name in ("naive", "cuDNN"))
    assert naive.percall_ms is not None and fused.percall_ms is not None
    assert naive.device_ms is not None and fused.device_ms is not None
    assert naive.percall_ms < fused.percall_ms and naive.device_ms > fused.device_ms
    assert f"{naive.device_ms:.3g} ms" in drawn["clocks.svg"]
    assert "T × 4: naive × 16, q k v × 4, cuDNN × 1" in drawn["memory-ladder.svg"]  # noqa: RUF001
    with pytest.raises(ValueError, match="expected one row of naive, T=3, bfloat16; got 0"):
        measured.row("seq", "naive", 3)


def _contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2."""
    low, high = sorted(_luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
