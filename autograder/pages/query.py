"""The language of markers that ask for measurements.

seq variant=cuDNN T=4096: device_ms                    one number of one row
seq variant=naive T=4096: device_ms / variant=cuDNN    its ratio to another row's
fp8 variant='attention, FP8 inputs',other: device_ms   a value with spaces or commas is quoted
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.pages.places import Wrong

_VALUE = r"(?:'[^']*'|[^\s,:'/]+)"
_TOKEN = re.compile(rf"\s*(?:(\w+)=({_VALUE}(?:,{_VALUE})*)|([\w-]+)|([:/]))")
FORM = "SWEEP column=value …: COLUMN"


@dataclass(frozen=True)
class Query:
    """Columns of a sweep's rows that have one of these values in each filter's column."""

    sweep: str
    filters: dict[str, tuple[str, ...]]
    columns: tuple[str, ...]

    def over(self, other: Query) -> Query:
        """The right side of a ratio, which names only what is different there."""
        return Query(self.sweep, {**self.filters, **other.filters}, other.columns or self.columns)


def parse(text: str) -> list[Query]:
    """A query, or the two of a ratio. Wrong where it does not read as one."""
    sides: list[Query] = []
    words: list[str] = []
    columns: list[str] | None = None
    filters: dict[str, tuple[str, ...]] = {}

    def close() -> None:
        nonlocal words, columns, filters
        left, first = (sides[0], 0) if sides else (None, 1)
        if len(words) != first or (not columns and (left is None or columns is not None)):
            raise Wrong(f"expected {FORM}, and for a ratio / column=value … behind it")
        side = Query(words[0] if words else "", filters, tuple(columns or ()))
        sides.append(left.over(side) if left else side)
        words, columns, filters = [], None, {}

    at = 0
    text = text.rstrip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if not token:
            raise Wrong(
                f"expected {FORM}; got {text[at:].strip()!r} where a filter, a column, : or / may stand"
            )
        at = token.end()
        name, values, word, mark = token.groups()
        if mark == "/":
            close()
        elif mark == ":":
            columns = []
        elif name and columns is None:
            filters[name] = tuple(each.strip("'") for each in re.findall(_VALUE, values))
        elif name:
            raise Wrong(f"expected the filter {name}= before the colon")
        else:
            (words if columns is None else columns).append(word)
    close()
    if len(sides) > 2:
        raise Wrong("expected one / at most")
    return sides
