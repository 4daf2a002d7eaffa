"""What is being done now, exercise by exercise, while a person watches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from autograder.catalog import Exercise
from autograder.report.terminal import console
from autograder.results import ExerciseResult

if TYPE_CHECKING:
    from autograder.submission import Progress


@contextmanager
def shown(exercises: Sequence[Exercise], stream: TextIO) -> Iterator[Progress]:
    """A line for each exercise while the block runs, gone after it; nothing where nobody watches."""
    screen = console(stream)
    if not screen.is_terminal or screen.is_dumb_terminal:
        yield lambda exercise, stage, result: None
        return
    from rich import progress

    columns = (
        progress.SpinnerColumn("line", finished_text="."),
        progress.TextColumn("{task.description}"),
        progress.TextColumn("{task.elapsed:.0f} s", style="dim"),
    )
    with progress.Progress(*columns, console=screen, transient=True) as bar:
        tasks = {exercise: bar.add_task(_line(exercise, "waiting"), total=1) for exercise in exercises}

        begun = set()

        def say(exercise: Exercise, stage: str, result: ExerciseResult | None) -> None:
            task = tasks[exercise]
            if exercise not in begun:  # its seconds run from here, not from when the first exercise began
                begun.add(exercise)
                bar.reset(task)
            if result is not None:
                stage = f"{result.earned} of {result.possible} points"
                bar.stop_task(task)
            bar.update(task, description=_line(exercise, stage), completed=0 if result is None else 1)

        yield say


def _line(exercise: Exercise, stage: str) -> str:
    return f"{exercise.number} {exercise.name:<16} {stage}"
