"""Places in a page that are filled: what stands between `<!-- MARKER -->` and `<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from autograder.pages import fences

COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
END = "end"


@dataclass(frozen=True)
class Place:
    """`block`: its text has lines of its own; else it stands within a line."""

    marker: str
    body: str
    block: bool


@dataclass(frozen=True)
class Problem:
    """What is wrong with a page, and where. `line` counts from 1; 0 is the page as a whole."""

    page: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.message}"


class Wrong(Exception):
    """A marker that cannot be answered: what was expected, and what was there."""


def fill(page: str, text: str, answer: Callable[[Place], str]) -> tuple[str, list[Problem]]:
    """The text with each place's answer; where there is none, the place stays and a problem tells why."""
    filled: list[str] = []
    problems: list[Problem] = []
    code = fences.lines(text)
    opened: tuple[int, str, int] | None = None  # line, marker, where its body begins
    done = 0
    for comment in COMMENT.finditer(text):
        line = text.count("\n", 0, comment.start()) + 1
        marker = comment[1].strip()
        if line in code:
            continue
        if (marker == END) == (opened is None):
            missing = "no marker is open here" if opened is None else _unclosed(*opened[:2])
            problems.append(Problem(page, line, f"<!-- {marker} -->: {missing}"))
        if marker != END:
            opened = line, marker, comment.end()
        elif opened is not None:
            at, marker, begin = opened
            place = Place(marker, text[begin : comment.start()], text[begin] == "\n")
            try:
                filled += [text[done:begin], _laid_out(answer(place), place.block)]
                done = comment.start()
            except Wrong as why:
                problems.append(Problem(page, at, f"<!-- {marker} -->: {why}"))
            opened = None
    if opened:
        problems.append(Problem(page, opened[0], f"<!-- {opened[1]} -->: {_unclosed(*opened[:2])}"))
    return "".join([*filled, text[done:]]), problems


def _laid_out(answer: str, block: bool) -> str:
    if block:
        return f"\n{answer}\n"
    if "\n" in answer:
        raise Wrong("expected <!-- end --> on a line of its own: the answer has several lines")
    return answer


def _unclosed(line: int, marker: str) -> str:
    return f"expected <!-- end --> before it, for <!-- {marker} --> of line {line}"
