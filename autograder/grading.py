"""Grade modules: tracer, runner and reference side by side, then the judge; no exercise stops another."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder import device, provenance, sandbox
from autograder.catalog import Exercise
from autograder.device import Gpu
from autograder.gate import Gate
from autograder.reference import Reference
from autograder.results import ExerciseResult, Report
from autograder.submission import Progress, Settings, Submission

AT_ONCE = 3


async def grade(
    exercises: Iterable[Exercise],
    folder: Path,
    settings: Settings | None = None,
    progress: Progress = lambda exercise, stage, result: None,
) -> Report:
    """Grade these exercises' modules in `folder`; every fault of a module becomes its own result."""
    started, clock = datetime.now(UTC), time.monotonic()
    # A group, unlike gather, waits for all that were cancelled: they have children to end.
    async with Grader(settings, progress) as grader, asyncio.TaskGroup() as group:
        tasks = [group.create_task(grader.grade(exercise, folder)) for exercise in exercises]
    graded = [task.result() for task in tasks]
    return Report(
        tuple(grading.result for grading in graded),
        provenance.of(
            seeds={grading.result.name: grading.seeds for grading in graded},
            replay=grader.settings.seeds is not None,
            device=str(grader.gpu) if grader.gpu else "",
            sha256={grading.result.name: grading.sha256 for grading in graded if grading.sha256},
            started=started.isoformat(timespec="seconds"),
            seconds=time.monotonic() - clock,
        ),
    )


@dataclass(frozen=True)
class Graded:
    """A result, the seeds that repeat it, and what was graded ("" where the file could not be read)."""

    result: ExerciseResult
    seeds: str
    sha256: str


class Grader:
    """Grades one module after the other, or some at once; all share one reference. Use `async with`.

    Raises SandboxUnavailable where no learner code can run.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        progress: Progress = lambda exercise, stage, result: None,
    ) -> None:
        self.settings = settings or Settings()
        self._progress = progress
        self.gpu: Gpu | None = None
        self._reference = Reference()
        self._gate = Gate()
        self._slots = asyncio.Semaphore(min(AT_ONCE, (os.cpu_count() or 1) + 1))

    async def __aenter__(self) -> Grader:
        sandbox.require()
        self.gpu = await device.find()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._reference.runner.close()

    def submission(self, exercise: Exercise, folder: Path) -> Submission:
        return Submission(
            exercise, folder, self.settings, self._reference, self.gpu, self._gate, self._progress
        )

    async def grade(self, exercise: Exercise, folder: Path) -> Graded:
        """Grade `folder`'s module of this exercise; raises nothing for what the module does."""
        async with self._slots:
            grading = self.submission(exercise, folder)
            result = await grading.run()
        self._progress(exercise, "done", result)
        return Graded(result, str(grading.seeds), grading.sha256)
