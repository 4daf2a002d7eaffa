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
_TOKEN = re.compile(rf"(\w+)=({_VALUE}(?:,{_VALUE})*)|([\w-]+)|([:/])")
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
    if unread := _TOKEN.sub("", text).strip():
        raise Wrong(f"expected {FORM}; cannot read {unread!r}")
    sides: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(text):
        if token[0] == "/":
            sides.append([])
        else:
            sides[-1].append(token)
    left, *others = map(_side, sides)
    if len(others) > 1:
        raise Wrong("expected one / at most")
    if not left.sweep or not left.columns or any(other.sweep for other in others):
        raise Wrong(f"expected {FORM}, and for a ratio / column=value … behind it")
    return [left, *(left.over(other) for other in others)]


def _side(tokens: list[re.Match[str]]) -> Query:
    """What stands on one side of the /: a sweep or none, filters, and columns behind a colon."""
    texts = [token[0] for token in tokens]
    colon = texts.index(":") if ":" in texts else len(texts)
    words = [token[0] for token in tokens[:colon] if not token[1]]
    columns = texts[colon + 1 :]
    if len(words) > 1 or any(token[1] or token[4] for token in tokens[colon + 1 :]):
        raise Wrong(f"expected {FORM}; got {' '.join(texts)}")
    filters = {
        token[1]: tuple(value.strip("'") for value in re.findall(_VALUE, token[2]))
        for token in tokens[:colon]
        if token[1]
    }
    return Query("".join(words), filters, tuple(columns))
