"""The command `grade bench`. Imports JAX only when it measures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class What(StrEnum):
    """What to measure."""

    DEFAULT = "default"
    SEQ = "seq"
    BATCH = "batch"
    HEADS = "heads"
    HEADDIM = "headdim"
    TE = "te"
    FP8 = "fp8"
    DECODE = "decode"
    TWO_GPUS = "two-gpus"
    ALL = "all"
    DRAW = "draw"


def bench(
    what: Annotated[
        What,
        typer.Argument(
            help="A sweep; all of them; or draw, which draws the figures of DIR's data again.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write CSV, JSON, PNG and SVG there.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer sizes and calls.")] = False,
) -> None:
    """Measure attention on this machine: time, memory, precision."""
    if what is What.DRAW:
        if out is None or not out.is_dir():
            raise typer.BadParameter("draw needs --out DIR with the JSON of earlier measurements")
        _draw(out)
        return
    chosen = [each for each in What if each not in (What.ALL, What.DRAW)] if what is What.ALL else [what]
    _run([each.value for each in chosen], out, quick)


def _run(names: Sequence[str], out: Path | None, quick: bool) -> None:
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.92")  # a sweep goes on until memory is full
    from rich.console import Console

    from autograder.bench import machine, measurement, progress, rows, sharding, sweeps, tables

    screen = Console()
    screen.width = max(screen.width, 120)
    here = machine.measured()
    effort = measurement.QUICK if quick else measurement.FULL
    scope = sweeps.Scope(here.gpu, quick)
    planned = {name: sweeps.workloads(name, scope) for name in names}
    with progress.shown([each for group in planned.values() for each in group]) as step:
        for name, workloads in planned.items():
            found: list[rows.Row] = []
            for workload in workloads:
                step(str(workload))
                if not measurement.hopeless(workload, found):
                    found.append(measurement.measure(workload, here, effort))
            if name == What.TWO_GPUS:
                found = sharding.with_speedup(found)
            tables.show(name, found, here, screen)
            if out is not None:
                rows.write(out, name, found, here.to_json())
    if out is not None:
        _draw(out)


def _draw(folder: Path) -> None:
    from autograder.bench import figures, rows
    from autograder.bench.machine import Machine

    for path in sorted(folder.glob("*.json")):
        if path.stem in figures.FIGURES:
            found, about = rows.read(path)
            figures.draw(path.stem, found, Machine.from_json(about), folder)
