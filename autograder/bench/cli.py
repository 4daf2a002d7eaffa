"""The command `grade bench`. Imports JAX only when it measures."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class What(StrEnum):
    """What to measure, in the order of `all`: what the course needs most comes first."""

    SEQ = "seq"
    DEFAULT = "default"
    HEADS = "heads"
    DECODE = "decode"
    TE = "te"
    FP8 = "fp8"
    HEADDIM = "headdim"
    TWO_GPUS = "two-gpus"
    BATCH = "batch"
    ALL = "all"
    DRAW = "draw"


SWEEPS = [each for each in What if each not in (What.ALL, What.DRAW)]
EVIDENCE = "evidence"  # of autograder.bench.timing_evidence, which tables are made of too


def bench(
    what: Annotated[
        What,
        typer.Argument(
            help="A sweep; all of them; or draw, which draws DIR's data again, and its README's tables.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write CSV, JSON, PNG and SVG there.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer sizes and calls.")] = False,
    minutes: Annotated[float, typer.Option(min=0, help="Leave out sizes where it would take longer.")] = 60.0,
) -> None:
    """Measure attention on this machine: time, memory, precision."""
    if what is What.DRAW:
        _draw(_measured(out))
        return
    if out is not None:
        _try(out)
    chosen = SWEEPS if what is What.ALL else [what]
    with machine_to_itself():
        _run([each.value for each in chosen], out, quick, time.monotonic() + 60 * minutes)


@contextmanager
def machine_to_itself() -> Iterator[None]:
    """The GPU's lock, where there is a GPU."""
    from autograder import device, gpu_lock

    try:
        with gpu_lock.waited_for(typer.echo) if device.driver() else nullcontext():
            yield
    except gpu_lock.Unusable as why:
        typer.echo(f"grade bench: {why}", err=True)
        raise typer.Exit(2) from None


def _measured(out: Path | None) -> Path:
    """The folder, where it holds measurements that can be drawn."""
    files = [f"{name}.json" for name in (*SWEEPS, EVIDENCE)]
    if out is None or not any((out / name).is_file() for name in files):
        got = f"{out}, which holds none of {', '.join(files)}" if out else "no --out"
        raise typer.BadParameter(
            f"draw needs --out DIR with the JSON that grade bench {What.SEQ} --out DIR writes; got {got}"
        )
    _try(out)
    return out


def _try(out: Path) -> None:
    """Make the folder, and write to it: before an hour is spent on what could not be kept."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        why = f"--out {out} cannot be written: {error.strerror or error}"
        raise typer.BadParameter(f"{why}; nothing was done. Name another folder") from None


def _run(names: Sequence[str], out: Path | None, quick: bool, end: float) -> None:
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.92")  # a sweep goes on until memory is full
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # else XLA prints whole programs that do not fit
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
            now = time.monotonic()
            until = end if name == names[-1] else now + (end - now) / 2  # half of what is left
            done: dict[int, rows.Row] = {}
            for workload in sweeps.coarse_first(workloads):
                if done and time.monotonic() > until:
                    continue
                step(str(workload))
                if not measurement.hopeless(workload, list(done.values())):
                    done[workloads.index(workload)] = measurement.measure(workload, here, effort)
            found = [done[at] for at in sorted(done)]
            if name == What.TWO_GPUS:
                found = sharding.with_speedup(found)
            tables.show(name, found, here, screen)
            if time.monotonic() > until and len(done) < len(workloads):
                screen.print(f"{name}: {len(done)} of {len(workloads)} in time\n", highlight=False)
            if out is not None:
                rows.write(out, name, found, here.to_json())
    if out is not None:
        _draw(out)


def _draw(folder: Path) -> None:
    from autograder.bench import figures, page, rows
    from autograder.bench.machine import Machine

    there = [name for name in SWEEPS if (folder / f"{name}.json").is_file()]
    for name in there:
        path = folder / f"{name}.json"
        try:
            found, about = rows.read(path)
        except (ValueError, KeyError, TypeError) as error:
            raise typer.BadParameter(
                f"{path} is not what grade bench writes ({type(error).__name__}: {error}); "
                f"measure it again with grade bench {name} --out {folder}"
            ) from None
        figures.draw(name, found, Machine.from_json(about), folder)
    page.fill(folder)
    typer.echo(f"The figures and tables in {folder} are of {', '.join(there) or EVIDENCE}.")
