"""Streams that take any text, and go on where nobody reads: what an encoding cannot carry becomes ASCII."""

from __future__ import annotations

import codecs
import io
from typing import Any, TextIO

HANDLER = "attention_lab.plain"
MARKS = "█░·│…≠≤≥±×√Σ–—−‘’“”²ᵀ"  # noqa: RUF001
PLAIN = "# ~ . | ... != <= >= +- x sqrt sum - - - ' ' \" \" ^2 ^T"
ASCII = dict(zip(MARKS, PLAIN.split(" "), strict=True))


def safe(stream: TextIO) -> None:
    """Let this stream replace what it cannot encode instead of raising UnicodeEncodeError."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=HANDLER)


class _Unread(io.FileIO):
    """A file that takes what nobody reads any more (`grade 1 | head -1`): the work goes on to its status."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def unread(stream: TextIO) -> TextIO:
    """This stream, or in the place of a pipe one that outlives its reader."""
    if not isinstance(stream, io.TextIOWrapper) or stream.isatty():
        return stream
    stream.flush()
    raw = _Unread(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII.get(c, "?") for c in error.object[error.start : error.end]), error.end


codecs.register_error(HANDLER, _replace)
