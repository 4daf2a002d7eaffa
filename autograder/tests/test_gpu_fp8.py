"""On a GPU with TransformerEngine, FP8 that runs passes, and FP8 that does not run fails."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder import device, workspace
from autograder.catalog import GPU_FP8, LEAST, find
from autograder.grading import Grader
from autograder.results import CheckResult, Outcome
from autograder.tests.conftest import Grade

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("gpu")]
NAME = "fp8_autocast"
CORPUS = Path(__file__).parent / "submissions"
RIGHT = sorted(CORPUS.glob(f"right/{NAME}/*.py"))
WRONG = (
    "apply_outside",  # only init is inside autocast
    "init_outside",
    "both_outside",
    "enabled_left_out",
    "recipe_left_out",
    "never_supported",  # refuses this very GPU
    "engine_calls",  # takes TransformerEngine's attention for FP8
)


@pytest.fixture(scope="module")
def grade_here() -> Iterator[Grade]:
    with asyncio.Runner() as loop:
        gpu = loop.run(device.find())
        if gpu is None or gpu.number < LEAST[GPU_FP8]:
            pytest.skip(f"{GPU_FP8}; here is {gpu or 'none that JAX can use'}")
        if missing := loop.run(device.engine()):
            pytest.skip(f"{GPU_FP8}; {missing}")
        grader = loop.run(Grader().__aenter__())
        exercise = find(NAME)
        assert exercise is not None
        yield lambda name, folder: loop.run(grader.grade(exercise, folder)).result
        loop.run(grader.__aexit__())


def real_fp8(grade_here: Grade, file: Path, folder: Path) -> CheckResult:
    shutil.copy(file, folder / f"{NAME}.py")
    return next(check for check in grade_here(NAME, folder).checks if check.id == "real_fp8")


def test_the_solution_passes_everything(grade_here: Grade) -> None:
    result = grade_here(NAME, workspace.solutions())
    assert {check.id: check.detail for check in result.checks if check.outcome is not Outcome.PASSED} == {}


@pytest.mark.parametrize("file", RIGHT, ids=lambda file: file.stem)
def test_right_styles_pass(file: Path, tmp_path: Path, grade_here: Grade) -> None:
    check = real_fp8(grade_here, file, tmp_path)
    assert check.outcome is Outcome.PASSED, check.detail


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_fail(name: str, tmp_path: Path, grade_here: Grade) -> None:
    check = real_fp8(grade_here, CORPUS / "wrong" / NAME / f"{name}.py", tmp_path)
    print(name, check.detail, check.diagnosis, sep="\n  ")
    assert check.outcome is Outcome.FAILED, check.detail
