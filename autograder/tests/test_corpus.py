"""Right answers in unusual styles pass; each wrong one fails the checks that its docstring names."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from autograder import catalog
from autograder.tests.conftest import Grade, failed

CORPUS = Path(__file__).parent / "submissions"
RIGHT = sorted(CORPUS.glob("right/*/*.py"))
WRONG = sorted(CORPUS.glob("wrong/*/*.py"))


def place(file: Path, folder: Path) -> tuple[str, Path]:
    """Put a submission where the grader looks for its exercise; the exercise's name and that folder."""
    name = file.parent.name
    shutil.copy(file, folder / f"{name}.py")
    return name, folder


def should_fail(file: Path) -> set[str]:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    line = next(line for line in text.splitlines() if line.startswith("Fails: "))
    return set(line.removeprefix("Fails: ").split(", "))


def ids(file: Path) -> str:
    return f"{file.parent.name}-{file.stem}"


@pytest.mark.slow
@pytest.mark.parametrize("file", RIGHT, ids=ids)
def test_right(file: Path, tmp_path: Path, grade: Grade) -> None:
    assert failed(grade(*place(file, tmp_path))) == {}


@pytest.mark.slow
@pytest.mark.parametrize("file", WRONG, ids=ids)
def test_wrong(file: Path, tmp_path: Path, grade: Grade) -> None:
    problems = failed(grade(*place(file, tmp_path)))
    details = "\n".join(f"{name}: {check.detail}" for name, check in problems.items())
    assert should_fail(file) <= set(problems), details
    assert all(check.detail and check.next_step for check in problems.values()), details


def test_every_check_that_is_graded_here_has_a_submission_that_fails_it() -> None:
    for exercise in catalog.EXERCISES:
        covered: set[str] = set()
        for file in WRONG:
            if file.parent.name == exercise.name:
                covered |= should_fail(file)
        assert covered == {check.id for check in exercise.checks if not check.needs}


def test_every_exercise_has_four_right_styles() -> None:
    for exercise in catalog.EXERCISES:
        assert sum(file.parent.name == exercise.name for file in RIGHT) >= 4
