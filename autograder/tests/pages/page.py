"""A page taken apart for the checks, and the pages of this course."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from autograder.author import ROOT
from autograder.pages import stages

MATH = re.compile(r"(?<![\\$\w])\$(?=\S)[^$\n]*?\S?\$(?![\w$])")


@dataclass(frozen=True)
class Page:
    """Markdown, and the file that it is in (or, in a test, would be in)."""

    path: Path
    text: str

    @cached_property
    def tokens(self) -> list[Token]:
        """Of its blocks. Math is gone: its signs are no markup."""
        without_math = MATH.sub(lambda match: "x" * len(match[0]), self.text)
        return MarkdownIt("commonmark").enable("table").parse(without_math)

    def inline(self) -> Iterator[tuple[int, Token]]:
        """Everything within its paragraphs, headings and cells, with the line that the block begins on."""
        for token in self.tokens:
            for child in token.children or ():
                yield (token.map or [0])[0] + 1, child

    def headings(self, level: str) -> list[str]:
        """The texts of headings, `level` being h1, h2 and so on; all of them for h."""
        return [
            "".join(child.content for child in after.children or () if child.type in ("text", "code_inline"))
            for token, after in zip(self.tokens, self.tokens[1:], strict=False)
            if token.type == "heading_open" and token.tag.startswith(level)
        ]

    def spans(self) -> Iterator[tuple[int, str]]:
        """Code within a line."""
        return ((line, child.content) for line, child in self.inline() if child.type == "code_inline")


def course() -> list[Page]:
    """The pages that are there, of those there should be."""
    paths = [ROOT / "course" / name for name in ("README.md", *(stage.file for stage in stages.PAGES))]
    return [read(path) for path in paths if path.is_file()]


def read(path: Path) -> Page:
    return Page(path, path.read_text(encoding="utf-8"))


def wrong(text: str, name: str = "wrong.md") -> Page:
    """A page that exists in a test alone."""
    return Page(ROOT / "course" / name, text)
