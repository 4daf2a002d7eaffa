"""The site builds without a warning, and holds what the pages promise."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.author import ROOT
from autograder.pages import stages
from autograder.tests.pages.conftest import build

pytest.importorskip("sphinx", reason="needs the extra `course`: pip install -e '.[course]'")


def test_every_page_is_there_with_the_next_one(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    for page, following in zip(stages.STAGES, stages.STAGES[1:], strict=False):
        assert f'href="{page.name}.html"' in home
        text = (site / f"{page.name}.html").read_text(encoding="utf-8")
        assert re.search(rf'class="next-page"\s+href="{following.name}.html"', text)


def test_measured_pages_say_on_what(site: Path) -> None:
    for page in stages.STAGES:
        measured = "device_ms" in (ROOT / "course" / page.file).read_text(encoding="utf-8")
        said = "Measured on NVIDIA" in (site / f"{page.name}.html").read_text(encoding="utf-8")
        assert said or not measured, page


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for file in site.glob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text), file.name


@pytest.mark.parametrize(
    ("text", "said"),
    [("[a](no-such.md)", "no-such"), ("![a](figures/no-such.svg)", "no-such"), ("[a](#no-such)", "no-such")],
)
def test_a_wrong_page_fails_the_build(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "README.md").write_text(f"# Home\n\n{text}\n", encoding="utf-8")
    conf = 'extensions = ["myst_parser"]\nroot_doc = "README"\nmyst_heading_anchors = 4\n'
    (tmp_path / "conf.py").write_text(conf, encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0 and said in done.stderr


def test_pictures_formulas_and_links_come_through(tmp_path: Path) -> None:
    """On a course of one page: dark twins of pictures, and no links to what is not on the site."""
    for name in ("conf.py", "site.css"):
        shutil.copy(ROOT / "course" / name, tmp_path)
    picture = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'
    (tmp_path / "figures").mkdir()
    for name in ("a.svg", "a-dark.svg", "b.svg"):
        (tmp_path / "figures" / name).write_text(picture, encoding="utf-8")
    text = "# One\n\n![two\nlines](figures/a.svg)\n\n![one](figures/b.svg)\n\n$x^2$\n\n[file](../README.md)\n"
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", str(tmp_path), str(tmp_path / "site")]
    subprocess.run(command, capture_output=True, check=True)
    made = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for expected in (
        '<img alt="two lines" class="only-light" src="_images/a.svg" />',
        '<img alt="two lines" class="only-dark" src="_images/a-dark.svg" />',
        '<img alt="one" src="_images/b.svg" />',
        r"\(x^2\)",
        "<p>file</p>",
    ):
        assert expected in made
