"""One grader for a whole batch of notebooks, in a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import functools
import tempfile
import threading
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from autograder import provenance
from autograder.catalog import Exercise
from autograder.grading import Grader
from autograder.results import Report

Result = TypeVar("Result")


class Batch:
    """Grades modules, one after the other. A sandbox dies with the thread it came from: this one stays."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="grader", daemon=True).start()
        self._grader = self._run(Grader().__aenter__())
        atexit.register(self.close)

    def grade(self, exercise: Exercise, text: str) -> Report:
        """The report on a module's text."""
        started, clock = datetime.now(UTC), time.monotonic()
        with tempfile.TemporaryDirectory(prefix="attention-lab-") as folder:
            (Path(folder) / f"{exercise.name}.py").write_text(text, encoding="utf-8")
            graded = self._run(self._grader.grade(exercise, Path(folder)))
        where = provenance.of(
            seeds={exercise.name: graded.seeds},
            replay=False,
            device=str(self._grader.gpu) if self._grader.gpu else "",
            sha256={exercise.name: graded.sha256},
            started=started.isoformat(timespec="seconds"),
            seconds=time.monotonic() - clock,
        )
        return Report((graded.result,), where)

    def close(self) -> None:
        if self._loop.is_running():
            self._run(self._grader.__aexit__())
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@functools.cache
def batch() -> Batch:
    """This process's; started when first asked for."""
    return Batch()
