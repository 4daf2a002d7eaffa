"""The course's pages as they should be: every marker answered, every block of code run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.bench import page as h200
from autograder.pages import arithmetic, constants, execution, measurements, outputs, overviews, places
from autograder.pages.places import Place, Problem, Wrong

BLOCKS: dict[str, Callable[[str], str]] = {
    "stage": overviews.header,
    "stages": lambda _: overviews.overview(),
    "path": lambda _: overviews.path(),
}
"""Markers of one word, by what answers them for a page's file name."""


@dataclass(frozen=True)
class Filled:
    """What a page holds, and what it should."""

    before: str
    after: str


def filled(root: Path) -> tuple[dict[Path, Filled], list[Problem]]:
    """The pages of `root`/course, and what could not be found out."""
    data = root / "course" / "figures" / "h200"
    pages = {path: path.read_text(encoding="utf-8") for path in sorted((root / "course").glob("*.md"))}
    names = {path: path.relative_to(root).as_posix() for path in pages}
    ran = execution.run({names[path]: outputs.blocks(text) for path, text in pages.items()}, root)
    made: dict[Path, Filled] = {}
    problems: list[Problem] = []
    for path, text in pages.items():
        page, wrong = places.fill(names[path], text, partial(answer, path=path, text=text, data=data))
        page, failed = outputs.fill(names[path], page, ran[names[path]])
        made[path] = Filled(text, page)
        problems += wrong + failed
    if (readme := data / "README.md").is_file():
        page, wrong = h200.filled(data)
        made[readme] = Filled(readme.read_text(encoding="utf-8"), page)
        problems += wrong
    return made, problems


def answer(place: Place, path: Path, text: str, data: Path) -> str:
    """A place's text. Wrong where its marker asks for what there is not."""
    kind, _, rest = place.marker.partition(" ")
    if kind in ("table", *BLOCKS) and not place.block:
        raise Wrong("expected <!-- end --> on a line of its own, below this one")
    if place.marker in BLOCKS:
        return BLOCKS[place.marker](path.name)
    match kind:
        case "=":
            return arithmetic.answer(rest, data)
        case "constant":
            return constants.answer(rest)
        case "source:":
            return _sourced(place, rest, text)
        case "machine":
            return measurements.machine(rest, data)
        case "table":
            return measurements.table(rest, data)
    return measurements.answer(place.marker, data)


def _sourced(place: Place, source: str, text: str) -> str:
    """What stands there, if the reader can see where it comes from."""
    first = source.split(",")[0].strip()
    if not place.body.strip():
        raise Wrong("expected the number between the marker and its end")
    visible = re.sub(r"\s+", " ", places.COMMENT.sub("", text))
    if not first or first not in visible:
        raise Wrong(f"expected the source in the text or under Read on as well; {first!r} is not there")
    return place.body.strip("\n") if place.block else place.body
