"""Answers from the committed measurements: a number, a ratio, a fact of the machine, a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from autograder.bench import rows
from autograder.bench.rows import Row
from autograder.pages import markdown, units
from autograder.pages.places import Wrong
from autograder.pages.query import FORM, Query, parse

HEADINGS = {
    "variant": "function",
    "device_ms": "device, ms",
    "percall_ms": "one call, ms",
    "amortised_ms": "burst, ms",
    "tflops": "TFLOP/s",
    "gbytes_s": "GB/s",
    "peak_share": "of peak",
    "bandwidth_share": "of copy rate",
    "temp_bytes": "temporary memory",
    "cache_bytes": "KV cache",
    "error": "error",
    "cudnn": "cuDNN ran",
    "float8": "FP8 in it",
    "speedup": "speed-up",
}
"""Of a table's columns; others are headed by their name."""
IN_HEADING = ("ms", "TFLOP/s", "GB/s")
"""Units that a table says once, in the heading."""


def answer(text: str, folder: Path) -> str:
    """A number, a ratio or a fact of the machine, with its unit."""
    head, colon, name = text.partition(":")
    if colon and head.split()[1:] == ["machine"]:
        name = name.strip()
        return units.with_unit(fact(head.split()[0], name, folder), units.UNITS.get(name, ""))
    sides = parse(text)
    for side in sides:
        if len(side.columns) != 1:
            raise Wrong(f"expected one column after the colon; got {' '.join(side.columns)}")
    values = [_one(side, folder) for side in sides]
    if len(sides) == 1:
        return units.with_unit(values[0], units.UNITS.get(sides[0].columns[0], ""))
    first, second = (units.UNITS.get(side.columns[0], "") for side in sides)
    if first != second:
        raise Wrong(f"expected two columns of one unit; got {first or 'none'} and {second or 'none'}")
    if not all(isinstance(value, (int, float)) and value for value in values):
        raise Wrong(f"expected two numbers that are not 0; got {values[0]} and {values[1]}")
    return units.ratio(values[0] / values[1])


def machine(name: str, folder: Path) -> str:
    """GPU, versions and day of a sweep."""
    return str(_machine(folder, name)["label"])


def fact(sweep: str, name: str, folder: Path) -> Any:
    """What is known of a sweep's machine by this name, as it was measured."""
    facts = _machine(folder, sweep)
    if name not in facts:
        raise Wrong(f"the machine has no {name}; it has {', '.join(facts)}")
    return facts[name]


def table(text: str, folder: Path) -> str:
    """A row each: the columns of `rows=` first, which have to tell the rows apart."""
    sides = parse(text)
    keys = sides[0].filters.pop("rows", ())
    if len(sides) != 1 or not keys:
        raise Wrong(f"expected table {FORM} … with rows=COLUMN,… before the colon")
    query = sides[0]
    columns = [_column(name) for name in (*keys, *query.columns)]
    found = _matching(query, folder)
    if not found:
        raise Wrong(_none(query, folder))
    seen = [tuple(getattr(row, key) for key in keys) for row in found]
    if twice := next((key for key in seen if seen.count(key) > 1), None):
        named = " ".join(f"{name}={value}" for name, value in zip(keys, twice, strict=True))
        alike = [row for row, key in zip(found, seen, strict=True) if key == twice]
        raise Wrong(f"expected one row for {named}; {_differ(alike)}")
    cells = [[*map(str, key), *_cells(row, query.columns)] for key, row in zip(seen, found, strict=True)]
    return markdown.table([HEADINGS.get(name, name) for name in columns], cells)


def _cells(row: Row, columns: Sequence[str]) -> list[str]:
    if all(getattr(row, name) is None for name in columns):
        return [row.note, *("" for _ in columns[1:])]
    return [_cell(getattr(row, name), units.UNITS.get(name, "")) for name in columns]


def _cell(value: Any, unit: str) -> str:
    if value is None:
        return ""
    return units.with_unit(value, unit).removesuffix(f" {unit}" if unit in IN_HEADING else "\n")


def _one(query: Query, folder: Path) -> Any:
    found = _matching(query, folder)
    if not found:
        raise Wrong(_none(query, folder))
    if len(found) > 1:
        raise Wrong(f"expected one row; {_differ(found)}")
    value = getattr(found[0], _column(query.columns[0]))
    if value is None:
        raise Wrong(f"that row has no {query.columns[0]}: {found[0].note or 'it was not measured'}")
    return value


def _matching(query: Query, folder: Path) -> list[Row]:
    wanted = {_column(name): values for name, values in query.filters.items()}
    return [
        row
        for row in _rows(folder, query.sweep)
        if all(str(getattr(row, name)) in values for name, values in wanted.items())
    ]


def _none(query: Query, folder: Path) -> str:
    """Why no row matches: the first filter that leaves none, and what that column holds."""
    left: Sequence[Row] = _rows(folder, query.sweep)
    for name, values in query.filters.items():
        there = list(dict.fromkeys(str(getattr(row, name)) for row in left))
        left = [row for row in left if str(getattr(row, name)) in values]
        if not left:
            return (
                f"no row has {name}={','.join(values)}; with the filters before it, it is {', '.join(there)}"
            )
    return f"{query.sweep} has no rows"


def _differ(found: Sequence[Row]) -> str:
    for name in rows.COLUMNS:
        values = list(dict.fromkeys(str(getattr(row, name)) for row in found))
        if len(values) > 1:
            return f"{len(found)} match: add {name}=, which is {', '.join(values)} among them"
    return f"{len(found)} equal ones match"


def _column(name: str) -> str:
    if name not in rows.COLUMNS:
        raise Wrong(f"there is no column {name}; there are {', '.join(rows.COLUMNS)}")
    return name


def _rows(folder: Path, name: str) -> list[Row]:
    return _read(_file(folder, name))[0]


def _machine(folder: Path, name: str) -> dict[str, Any]:
    return _read(_file(folder, name))[1]


def _file(folder: Path, name: str) -> Path:
    path = folder / f"{name}.json"
    if not path.with_suffix(".csv").is_file():
        there = ", ".join(sorted(each.stem for each in folder.glob("*.csv")))
        raise Wrong(f"there is no sweep {name!r} in {folder.name}/; there are {there}")
    return path


_read = cache(rows.read)
