"""A grader whose own parts fail says so, ends, and leaves no process behind."""

from __future__ import annotations

import asyncio

import pytest

from autograder import catalog, sandbox, workspace
from autograder.gate import Gate
from autograder.grading import Grader
from autograder.plan import Problem, Verdicts
from autograder.reference import Reference
from autograder.results import ExerciseResult, Outcome
from autograder.sandbox import Child, Role
from autograder.submission import Settings, Submission


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


@pytest.mark.parametrize(
    ("on_gpu", "simulated"),
    [
        ({}, {"labels", "turing", "cudnn_values"}),
        ({"path": None}, {"turing"}),
        ({"path": Problem("no custom call"), "memory": None}, {"labels", "turing", "cudnn_values"}),
    ],
)
def test_simulated_points_are_confirmed_by_what_passes_on_a_gpu(
    on_gpu: Verdicts, simulated: set[str]
) -> None:
    exercise = catalog.EXERCISES[1]
    grading = Submission(
        exercise, workspace.solutions(), Settings(), Reference(), None, Gate(), lambda *_: None
    )
    here = [check for check in exercise.checks if not check.needs]
    verdicts = {**dict.fromkeys(check.id for check in here), **on_gpu}
    results = [grading._check(check, verdicts, set()) for check in here]
    assert {result.id for result in results if result.simulated} == simulated


def test_what_confirms_a_simulated_check_is_a_check_on_a_gpu() -> None:
    for exercise in catalog.EXERCISES:
        on_gpu = {check.id for check in exercise.checks if check.needs}
        assert {check.real for check in exercise.checks if check.simulated} <= {"", *on_gpu}
        assert not [check for check in exercise.checks if check.real and not check.simulated]
