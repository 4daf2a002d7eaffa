"""What a child printed: capped while it comes, cleaned before anybody sees it."""

from __future__ import annotations

import re
import unicodedata

HEAD = 4 * 1024
TAIL = 12 * 1024

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
)


_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols of which nothing is seen
MARKS = 2  # accents on one letter


def clean(text: str) -> str:
    """Drop ANSI sequences, control and invisible characters, surrogates and towers of accents; keep newlines
    and tabs."""
    text = _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    kept, marks = [], 0
    for character in text:
        kind = unicodedata.category(character)[0]
        marks = marks + 1 if kind == "M" else 0
        if character in "\n\t" or (kind != "C" and character not in _BLANKS and marks <= MARKS):
            kept.append(character)
    return "".join(kept)


class Output:
    """Keeps the first 4 kB and the last 12 kB of what is fed to it: a traceback ends with its cause."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        room = HEAD - len(self._head)
        self._head += data[:room]
        tail = self._tail + data[room:]
        self._tail = tail[-TAIL:]
        self._dropped += len(tail) - len(self._tail)

    def __str__(self) -> str:
        between = f"\n… {self._dropped} bytes left out …\n".encode() if self._dropped else b""
        return clean((self._head + between + self._tail).decode("utf-8", "replace"))
