"""A bar with the time that is left, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from autograder.bench.workload import Workload


@contextmanager
def shown(workloads: Sequence[Workload]) -> Iterator[Callable[[str], None]]:
    """Call what this gives with a workload's name as each begins; a line each where there is no terminal."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        numbers = iter(range(1, len(workloads) + 1))
        yield lambda text: print(f"[{next(numbers)}/{len(workloads)}] {text}", file=sys.stderr, flush=True)
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=len(workloads))
        begun = False

        def step(text: str) -> None:
            nonlocal begun
            bar.update(task, advance=int(begun), description=text)
            begun = True

        yield step
