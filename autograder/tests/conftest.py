"""A grader that the tests of one process share, and submissions as folders of one module."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder import catalog
from autograder.grading import Grader
from autograder.results import CheckResult, ExerciseResult, Outcome
from autograder.tests import puppet

Grade = Callable[[str, Path], ExerciseResult]


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Functions by name: by their address, two processes would not agree on which tests there are."""
    return getattr(val, "__name__", None) if callable(val) else None


@pytest.fixture(scope="session")
def grade() -> Iterator[Grade]:
    """Grade one exercise's module in a folder."""
    with asyncio.Runner() as loop:
        grader = loop.run(Grader().__aenter__())

        def run(name: str, folder: Path) -> ExerciseResult:
            exercise = catalog.find(name)
            assert exercise is not None
            return loop.run(grader.grade(exercise, folder)).result

        yield run
        loop.run(grader.__aexit__())


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    """A checkout whose children run what a test sends."""
    with puppet.tree() as path:
        yield path


@pytest.fixture(params=["bubblewrap", "none"])
def confined(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, top: Path) -> str:
    """Once under each kind of confinement: its name."""
    puppet.use(monkeypatch, top, request.param)
    return str(request.param)


def failed(result: ExerciseResult) -> dict[str, CheckResult]:
    """The checks that failed; a fault of the grader is a defect of ours."""
    for check in result.checks:
        assert check.outcome is not Outcome.GRADER_ERROR, check
    return {check.id: check for check in result.checks if check.outcome is Outcome.FAILED}
