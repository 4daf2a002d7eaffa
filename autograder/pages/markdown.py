"""Tables in markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[object], lines: Iterable[Sequence[object]]) -> str:
    """A head, a rule, and a line for each."""
    return "\n".join(_line(cells) for cells in (heads, ["---"] * len(heads), *lines))


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"
