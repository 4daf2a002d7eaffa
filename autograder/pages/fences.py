"""Fenced code blocks of a page."""

from __future__ import annotations

from dataclasses import dataclass

from markdown_it import MarkdownIt


@dataclass(frozen=True)
class Fence:
    """A block: what stands after its backticks, its code, and the lines of its fences, counted from 1.

    `output` is the ```text block directly after it, if there is one.
    """

    info: str
    code: str
    first: int
    last: int
    nested: bool = False
    output: Fence | None = None


def find(text: str) -> list[Fence]:
    """All of them, in order. A block of output belongs to the one before it and stands there only."""
    found: list[Fence] = []
    adjacent = False
    for token in MarkdownIt("commonmark").parse(text):
        if token.type != "fence" or token.map is None:
            adjacent = False
            continue
        fence = Fence(token.info.strip(), token.content, token.map[0] + 1, token.map[1], token.level > 0)
        if adjacent and fence.info == "text" and found[-1].info == "python":
            before = found.pop()
            found.append(Fence(before.info, before.code, before.first, before.last, before.nested, fence))
        else:
            found.append(fence)
        adjacent = True
    return found


def lines(text: str) -> set[int]:
    """The lines that are code, counted from 1."""
    spans = [(each.first, each.last) for fence in find(text) for each in (fence, fence.output) if each]
    return {line for first, last in spans for line in range(first, last + 1)}
