"""Streams that take any text: what their encoding cannot carry becomes plain ASCII."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

HANDLER = "attention_lab.plain"
MARKS = "█░·│…≠≤≥±×√Σ–—−‘’“”²ᵀ"  # noqa: RUF001
PLAIN = "# ~ . | ... != <= >= +- x sqrt sum - - - ' ' \" \" ^2 ^T"
ASCII = dict(zip(MARKS, PLAIN.split(" "), strict=True))


def safe(stream: TextIO) -> None:
    """Let this stream replace what it cannot encode instead of raising UnicodeEncodeError."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII.get(c, "?") for c in error.object[error.start : error.end]), error.end


codecs.register_error(HANDLER, _replace)
