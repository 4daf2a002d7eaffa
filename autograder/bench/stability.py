"""Whether a check says the same of a submission in every run, although inputs are drawn afresh in each.

    python -m autograder.bench.stability [FOLDER…] [--runs 20] [--shard 1/4]

Grades every submission in the folders many times. A submission is a file with a module's name, or a file in
a folder with that name: naive_attention.py, naive_attention/no_scale.py. Without a folder it takes the
solutions and the submissions of the tests. Prints the checks that changed their mind; the exit status is 1 if
any did.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from autograder import catalog, workspace
from autograder.bench.many import Many, Unlike
from autograder.catalog import Exercise
from autograder.grading import Grader
from autograder.results import Outcome
from autograder.sandbox import Limits
from autograder.source import read
from autograder.submission import JUDGES, Settings, untouched_functions

AT_ONCE = 5
"""Runs of one tracer: their arrays go into one request."""
PATIENT = Settings(
    tracer=Limits(wall_seconds=1200.0, cpu_seconds=1200),
    runner=Limits(wall_seconds=300.0, cpu_seconds=1200),
    running=1200.0,
)
"""One tracer and one runner do the work of many, on a machine that may have other work."""
CORPUS = Path(__file__).resolve().parent.parent / "tests" / "submissions"
Submission = tuple[Exercise, Path]
Outcomes = dict[str, Counter[Outcome]]
"""By check, how often each outcome came."""


def submissions(folders: Sequence[Path]) -> Iterator[Submission]:
    """The submissions in these folders, and in the folders inside them."""
    names = {exercise.name: exercise for exercise in catalog.EXERCISES}
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            if exercise := names.get(file.stem) or names.get(file.parent.name):
                yield exercise, file


def shard(found: Sequence[Submission], part: str) -> Sequence[Submission]:
    """The part I of N, for "I/N": every N-th submission. ValueError for another text."""
    index, count = map(int, part.split("/"))
    if not 1 <= index <= count:
        raise ValueError(part)
    return found[index - 1 :: count]


async def outcomes(grader: Grader, submission: Submission, runs: int) -> Outcomes:
    """What each check said in `runs` runs."""
    exercise, file = submission
    found: Outcomes = {check.id: Counter() for check in exercise.checks}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copy(file, folder / f"{exercise.name}.py")
        try:
            while (left := runs - max(counts.total() for counts in found.values())) > 0:
                for each in await together(grader, exercise, folder, min(left, AT_ONCE)):
                    for check, outcome in each.items():
                        found[check][outcome] += 1
        except Unlike:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(grader.grade(exercise, folder)) for _ in range(runs)]
            for task in tasks:
                for result in task.result().result.checks:
                    found[result.id][result.outcome] += 1
    return found


async def together(grader: Grader, exercise: Exercise, folder: Path, runs: int) -> list[dict[str, Outcome]]:
    """What the checks that need no GPU say in `runs` runs of one tracer and one runner. Raises Unlike."""
    source = read(folder, exercise.name)
    functions = set(exercise.functions) - untouched_functions(exercise, source)
    judge: Any = import_module(f"autograder.exercises.{JUDGES[exercise.name]}")
    many = Many(judge, runs)
    await grader.submission(exercise, folder).judge(many, source, functions)
    asked = [check for check in exercise.checks if (check.function or exercise.functions[0]) in functions]
    return [
        {
            check.id: problem.outcome if (problem := verdicts[check.id]) else Outcome.PASSED
            for check in asked
            if check.id in verdicts
        }
        for verdicts in many.verdicts
    ]


def changed(found: Outcomes) -> dict[str, str]:
    """The checks with more than one outcome, and how often each came."""
    return {
        name: ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
        for name, counts in found.items()
        if len(counts) > 1
    }


async def measure(found: Sequence[Submission], runs: int) -> int:
    """Grade them all, print a row for each check that changed its mind, and return how many did."""
    checks = minds = 0
    async with Grader(PATIENT) as grader:
        for number, (exercise, file) in enumerate(found, 1):
            print(f"{number} of {len(found)}: {file}", file=sys.stderr, flush=True)
            told = await outcomes(grader, (exercise, file), runs)
            checks += len(told)
            for name, counts in changed(told).items():
                minds += 1
                print(f"{file}  {name}: {counts}", flush=True)
    print(f"{len(found)} files, {checks} checks, {runs} runs: {minds} checks changed their mind")
    return minds


def main(
    folders: Annotated[list[Path] | None, typer.Argument(metavar="FOLDER", show_default=False)] = None,
    runs: Annotated[int, typer.Option(min=2, help="How often each submission is graded.")] = 20,
    part: Annotated[str, typer.Option("--shard", metavar="I/N", help="Only part I of N.")] = "1/1",
) -> None:
    """Find the checks whose outcome depends on the draw."""
    try:
        found = shard(list(submissions(folders or [workspace.solutions(), CORPUS])), part)
    except ValueError:
        raise typer.BadParameter("expected I/N, such as 1/4", param_hint="--shard") from None
    sys.exit(asyncio.run(measure(found, runs)) > 0)


if __name__ == "__main__":
    typer.run(main)
