"""How long `grade` takes on this machine, beside what it may take.

    python -m autograder.bench.startup [RUNS]

Wall time of whole processes, the median of RUNS (3). "cold": the cache of reference artifacts and compiled
programs is empty; "warm": it was filled by the run before.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder import catalog, workspace
from autograder.reference import CACHE

SOLUTIONS = ("--from", str(workspace.solutions()))


@dataclass(frozen=True)
class Timing:
    what: str
    target: float
    seconds: tuple[float, ...]

    def __str__(self) -> str:
        median = statistics.median(self.seconds)
        spread = f"{min(self.seconds):.2f} to {max(self.seconds):.2f}"
        return f"{self.what:<42} {median:7.2f} s   ({spread}; target {self.target:g} s)"


def timings(runs: int) -> Iterator[Timing]:
    """Each timing as soon as it is known."""
    for words in (("--help",), ("list",)):
        yield Timing(f"grade {words[0]}", 0.3, tuple(_seconds(words) for _ in range(runs)))
    for name in (*(str(exercise.number) for exercise in catalog.EXERCISES), ""):
        target = 4.0 if name else 10.0
        command = (*name.split(), *SOLUTIONS)
        what = " ".join(("grade", *name.split(), "--from solutions"))
        cold, warm = [], []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(_seconds(command, folder))
                warm.append(_seconds(command, folder))
        yield Timing(f"{what}, cold", target, tuple(cold))
        yield Timing(f"{what}, warm", target, tuple(warm))


def _seconds(words: tuple[str, ...], cache: str = "") -> float:
    """Wall time of one run. RuntimeError where it does not end as it should: its time would mean nothing."""
    environment = {**os.environ, **({CACHE: cache} if cache else {})}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "autograder", *words],
        env=environment,
        cwd=Path(__file__).resolve().parent.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        raise RuntimeError(
            f"grade {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return seconds


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"Median of {runs}, on {cores} cores, Python {sys.version.split()[0]}")
    for timing in timings(runs):
        print(timing, flush=True)


if __name__ == "__main__":
    main()
