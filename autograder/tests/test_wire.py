"""Frames and strict JSON: what means two things, or anything unbounded, is refused."""

from __future__ import annotations

import asyncio
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder import wire
from autograder.wire import WireError

NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.binary(max_size=100))
def test_what_is_sent_is_read(header: wire.Header, blob: bytes) -> None:
    assert wire.read(io.BytesIO(wire.encode(header, blob))) == (header, blob)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        r'{"a": "\ud800"}',
        r'{"\udfff": 1}',
        '{"a": ' + "9" * 4000 + "}",
        '{"a": ' + "[" * 9 + "]" * 9 + "}",
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "[1]",
        "1",
        "null",
        "",
        "{",
        '{"a": 1} x',
    ],
)
def test_lenient_json_is_refused(text: str) -> None:
    with pytest.raises(WireError):
        wire.strict_json(text.encode())


def test_utf8_only() -> None:
    with pytest.raises(WireError):
        wire.strict_json(b'{"a": "\xff"}')
    assert wire.strict_json('{"a": "ü😀"}'.encode()) == {"a": "ü😀"}


def test_lengths_are_bounded() -> None:
    with pytest.raises(WireError):
        wire.read(io.BytesIO(wire.PREFIX.pack(2**31, 0)))
    with pytest.raises(WireError):
        wire.read(io.BytesIO(wire.encode({}, b"12")), max_blob=1)


@pytest.mark.parametrize("cut", [0, 3, 8, 9, 15])
def test_a_cut_frame_is_an_end(cut: int) -> None:
    frame = wire.encode({"a": 1}, b"blob")
    with pytest.raises(EOFError):
        wire.read(io.BytesIO(frame[:cut]))

    async def receive() -> None:
        stream = asyncio.StreamReader()
        stream.feed_data(frame[:cut])
        stream.feed_eof()
        await wire.receive(stream)

    with pytest.raises(EOFError):
        asyncio.run(receive())
