"""A grader whose own parts fail says so, ends, and leaves no process behind."""

from __future__ import annotations

import asyncio

import pytest

from autograder import catalog, sandbox, workspace
from autograder.grading import Grader
from autograder.results import ExerciseResult, Outcome
from autograder.sandbox import Child, Role


@pytest.mark.slow
def test_a_machine_where_no_runner_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sandbox.start

    async def start(role: Role, *rest: object, **options: object) -> Child:
        if role is Role.RUNNER:
            raise sandbox.SandboxUnavailable("install bubblewrap")
        return await real(role, *rest, **options)  # type: ignore[arg-type]

    async def graded() -> ExerciseResult:
        async with Grader() as grader:
            result = (await grader.grade(catalog.EXERCISES[0], workspace.solutions())).result
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    monkeypatch.setattr(sandbox, "start", start)
    for check in asyncio.run(graded()).checks:
        assert check.outcome in (Outcome.GRADER_ERROR, Outcome.NOT_GRADED)
        assert check.outcome is Outcome.NOT_GRADED or "install bubblewrap" in check.detail
