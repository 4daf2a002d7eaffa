"""The tables of a folder's README, from the data beside it, between `<!-- NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autograder.bench import tables
from autograder.bench.rows import Row
from autograder.pages import markdown, places
from autograder.pages.places import Place, Problem


def fill(folder: Path) -> None:
    """Write the tables whose data is there; others stay as they are. Nothing where there is no README."""
    page = folder / "README.md"
    if page.is_file():
        page.write_text(filled(folder)[0], encoding="utf-8", newline="\n")


def filled(folder: Path) -> tuple[str, list[Problem]]:
    """The README's text with its tables in it, and what is wrong with its markers."""

    def answer(place: Place) -> str:
        source, written = TABLES[place.marker]
        if not (folder / source).is_file():
            return place.body.strip("\n")
        return written(json.loads((folder / source).read_text(encoding="utf-8")))

    page = folder / "README.md"
    return places.fill(page.name, page.read_text(encoding="utf-8"), answer)


def _machine(document: dict[str, Any]) -> str:
    machine = document["machine"]
    versions = machine["versions"]
    return (
        f"{machine['device']} (compute capability {machine['capability']}, driver {machine['driver']}), "
        f"Python {versions.get('python', '?')}, JAX {versions.get('jax', '?')}, cuDNN {machine['cudnn']}, "
        f"TransformerEngine {versions.get('transformer-engine', 'none')}, {machine['measured']}. "
        f"Measured peak {machine['matrix_tflops']:.0f} TFLOP/s ({machine['matrix']}), "
        f"copy {machine['copy_gbytes_s']:.0f} GB/s."
    )


def _clocks(document: dict[str, Any]) -> str:
    heads = ["T", "function", "one call, ms", "burst, ms", "device, ms", "kernels", "temporary"]
    return markdown.table(heads, (_clock(Row(**record)) for record in document["rows"]))


def _clock(row: Row) -> list[object]:
    if row.ms is None:
        return [row.T, row.label, row.note, "", "", "", ""]
    times = (f"{each:.3g}" if each else "" for each in (row.percall_ms, row.amortised_ms, row.device_ms))
    return [row.T, row.label, *times, row.kernels or "", tables.size(row.temp_bytes)]


def _evidence(document: dict[str, Any]) -> str:
    answers = ["faster", "slower", "undecided", "not measured"]
    heads = ["the reference", "program", "trials", *answers, "ratio", "interval's width", "seconds"]
    lines = (
        [
            each["what"],
            each["size"],
            each["trials"],
            *(each["answers"].get(answer, 0) for answer in answers),
            _of(each["ratio 1 %, 50 %, 99 %"], 1),
            _of(each["interval width 50 %, 99 %"], 0),
            _of(each["seconds 50 %, 99 %"], 0),
        ]
        for each in document["experiments"]
    )
    return markdown.table(heads, lines)


def _of(values: Sequence[float], at: int) -> str:
    return f"{values[at]:.3g}" if values else ""


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "machine": ("seq.json", _machine),
    "clocks": ("seq.json", _clocks),
    "evidence": ("evidence.json", _evidence),
}
