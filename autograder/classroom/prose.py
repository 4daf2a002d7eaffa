"""A course page's sections as markdown cells: no markers, no links to other pages, pictures inside."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path

MARKER = re.compile(r"<!--.*?-->", re.DOTALL)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://|data:)[^)\s]*\)")
ASIDE = re.compile(rf"\s*\((?:see\s+)?(?:the\s+)?{LINK.pattern}(?:,\s+{LINK.pattern})*\)")
"""Parentheses that hold links and nothing else: without a place to go to they say nothing."""
FORMULA = re.compile(r"^```math\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"\$`([^`]+)`\$")


def section(page: Path, title: str) -> str | None:
    """The page's section of this title with all below it; None where it has none."""
    text = page.read_text(encoding="utf-8")
    headings = list(_headings(text))
    for index, (level, name, start) in enumerate(headings):
        if name == title:
            after = (begin for other, _, begin in headings[index + 1 :] if other <= level)
            return _cell(text[start : next(after, len(text))], page.parent)
    return None


def _headings(text: str) -> Iterator[tuple[int, str, int]]:
    """Level, title and place of each heading outside of code."""
    at, code = 0, False
    for line in text.splitlines(keepends=True):
        code ^= line.startswith("```")
        if not code and (match := re.match(r"(#+) (.+)", line)):
            yield len(match[1]), match[2].strip(), at
        at += len(line)


def _cell(text: str, folder: Path) -> str:
    def inside(match: re.Match[str]) -> str:
        path = folder / match[2]
        alt = " ".join(match[1].split())
        if not path.is_file():
            return f"*{alt}*"
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        # Not as an attachment: JupyterLab shows none that is SVG.
        return f"![{alt}](data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()})"

    parts = CODE.split(FORMULA.sub(r"$$\n\1$$", MARKER.sub("", text)))
    for index in range(0, len(parts), 2):  # between blocks of code
        linked = ASIDE.sub("", INLINE.sub(r"$\1$", parts[index]))
        parts[index] = LINK.sub(r"\1", PICTURE.sub(inside, linked))
    text = re.sub(r"\A#+", "##", "".join(parts))  # one level in all cells
    return re.sub(r"\n{3,}", "\n\n", text).strip()
