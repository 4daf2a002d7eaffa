"""Frames on a pipe: a JSON header and a blob, each with its length in front.

Everything between the judge and its two children travels as frames. The reader sets the bounds;
a header is strict JSON, because lenient JSON lets an answer mean two things at once.
"""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any, BinaryIO

PREFIX = struct.Struct(">II")
MAX_HEADER = 64 * 1024
MAX_BLOB = 4 * 1024 * 1024
MAX_ARTIFACT = 64 * 1024  # of a program that is graded
MAX_DEPTH = 8
MAX_DIGITS = 32

Header = dict[str, Any]


class WireError(ValueError):
    """What came over the pipe is not a frame, or not strict JSON."""


def encode(header: Header, blob: bytes = b"") -> bytes:
    """One frame: both lengths (32 bits, big-endian), the header as UTF-8 JSON, the blob."""
    text = json.dumps(header, allow_nan=False, ensure_ascii=True).encode()
    return PREFIX.pack(len(text), len(blob)) + text + blob


def strict_json(data: bytes) -> Header:
    """Parse a JSON object; refuse duplicate keys, NaN, infinities, surrogates, depth over 8."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=_short_int,
            parse_float=_finite,
        )
    except WireError:
        raise
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {error}") from None
    if type(value) is not dict:
        raise WireError(f"expected a JSON object, got {type(value).__name__}")
    _check(value, 0)
    return value


def read(stream: BinaryIO, max_header: int = MAX_HEADER, max_blob: int = MAX_BLOB) -> tuple[Header, bytes]:
    """Read one frame; EOFError where the pipe ends first."""
    header_length, blob_length = _lengths(_exactly(stream, PREFIX.size), max_header, max_blob)
    header = strict_json(_exactly(stream, header_length))
    return header, _exactly(stream, blob_length)


async def receive(
    stream: asyncio.StreamReader, max_header: int = MAX_HEADER, max_blob: int = MAX_BLOB
) -> tuple[Header, bytes]:
    """`read` for the judge: awaits, and raises EOFError where the pipe ends first."""
    try:
        header_length, blob_length = _lengths(await stream.readexactly(PREFIX.size), max_header, max_blob)
        header = await stream.readexactly(header_length)
        blob = await stream.readexactly(blob_length)
    except asyncio.IncompleteReadError as error:
        raise EOFError(f"the pipe ended {len(error.partial)} bytes into a part of a frame") from None
    return strict_json(header), blob


def _lengths(prefix: bytes, max_header: int, max_blob: int) -> tuple[int, int]:
    header_length, blob_length = PREFIX.unpack(prefix)
    if header_length > max_header or blob_length > max_blob:
        raise WireError(f"a frame of {header_length} + {blob_length} bytes is over {max_header} + {max_blob}")
    return header_length, blob_length


def _exactly(stream: BinaryIO, count: int) -> bytes:
    parts, missing = [], count
    while missing:
        part = stream.read(missing)
        if not part:
            raise EOFError(f"the pipe ended {missing} bytes early")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise WireError("a key stands twice in one object")
    return result


def _refuse(name: str) -> Any:
    raise WireError(f"{name} is not a JSON number")


def _short_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise WireError(f"an integer of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if value - value != 0.0:
        raise WireError(f"{digits[:MAX_DIGITS]} is not finite")
    return value


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise WireError(f"deeper than {MAX_DEPTH}")
    if type(value) is str:
        _check_text(value)
    elif type(value) is dict:
        for key, item in value.items():
            _check_text(key)
            _check(item, depth + 1)
    elif type(value) is list:
        for item in value:
            _check(item, depth + 1)


def _check_text(text: str) -> None:
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise WireError("a lone surrogate in a string")
