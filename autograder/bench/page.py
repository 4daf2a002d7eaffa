"""The tables of a folder's README, from the data beside it, between `<!-- NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from autograder.bench import tables
from autograder.bench.rows import Row

PLACE = re.compile(r"<!-- ([a-z]+) -->\n.*?<!-- end -->", re.DOTALL)


def fill(folder: Path) -> None:
    """Write the tables whose data is there; others stay as they are. Nothing where there is no README."""
    page = folder / "README.md"
    if not page.is_file():
        return

    def filled(match: re.Match[str]) -> str:
        source, lines = TABLES[match[1]]
        if not (folder / source).is_file():
            return match[0]
        document = json.loads((folder / source).read_text(encoding="utf-8"))
        return "\n".join([f"<!-- {match[1]} -->", *lines(document), "<!-- end -->"])

    page.write_text(PLACE.sub(filled, page.read_text(encoding="utf-8")), encoding="utf-8")


def _machine(document: dict[str, Any]) -> Iterator[str]:
    machine = document["machine"]
    versions = machine["versions"]
    yield (
        f"{machine['device']} (compute capability {machine['capability']}, driver {machine['driver']}), "
        f"Python {versions.get('python', '?')}, JAX {versions.get('jax', '?')}, cuDNN {machine['cudnn']}, "
        f"TransformerEngine {versions.get('transformer-engine', 'none')}, {machine['measured']}. "
        f"Measured peak {machine['matrix_tflops']:.0f} TFLOP/s ({machine['matrix']}), "
        f"copy {machine['copy_gbytes_s']:.0f} GB/s."
    )


def _clocks(document: dict[str, Any]) -> Iterator[str]:
    yield from _head("T", "function", "one call, ms", "burst, ms", "device, ms", "kernels", "temporary")
    for row in (Row(**record) for record in document["rows"]):
        if row.ms is None:
            yield _line(row.T, row.label, row.note, "", "", "", "")
        else:
            times = (
                f"{each:.3g}" if each else "" for each in (row.percall_ms, row.amortised_ms, row.device_ms)
            )
            yield _line(row.T, row.label, *times, row.kernels or "", tables.size(row.temp_bytes))


def _evidence(document: dict[str, Any]) -> Iterator[str]:
    columns = ("trials", "faster", "slower", "undecided", "not measured")
    yield from _head("the reference", "program", *columns, "ratio", "interval's width", "seconds")
    for each in document["experiments"]:
        answers = each["answers"]
        yield _line(
            each["what"],
            each["size"],
            each["trials"],
            *(answers.get(answer, 0) for answer in columns[1:]),
            _of(each["ratio 1 %, 50 %, 99 %"], 1),
            _of(each["interval width 50 %, 99 %"], 0),
            _of(each["seconds 50 %, 99 %"], 0),
        )


def _of(values: Sequence[float], at: int) -> str:
    return f"{values[at]:.3g}" if values else ""


def _head(*cells: object) -> Iterator[str]:
    yield _line(*cells)
    yield _line(*("---" for _ in cells))


def _line(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], Iterator[str]]]] = {
    "machine": ("seq.json", _machine),
    "clocks": ("seq.json", _clocks),
    "evidence": ("evidence.json", _evidence),
}
