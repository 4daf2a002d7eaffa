"""Right answers in unusual styles pass; each wrong one fails the checks that its docstring names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from autograder import catalog, stubs, workspace
from autograder.tests.conftest import Grade, failed

CORPUS = Path(__file__).parent / "submissions"
RIGHT = sorted(CORPUS.glob("right/*/*.py"))
WRONG = sorted(CORPUS.glob("wrong/*/*.py"))


def place(source: str, name: str, folder: Path) -> tuple[str, Path]:
    """Put a submission where the grader looks for its exercise."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return name, folder


def without_others(file: Path) -> str:
    """The module with the functions that its checks do not ask about as the stub has them: not started."""
    exercise = catalog.find(file.parent.name)
    assert exercise is not None
    asked = asked_of(file, exercise)
    solution = (workspace.solutions() / f"{exercise.name}.py").read_text(encoding="utf-8")
    by_name = {node.name: node for node in functions(stubs.stub(solution))}
    module = ast.parse(file.read_text(encoding="utf-8"))
    for place, node in enumerate(module.body):
        if isinstance(node, ast.FunctionDef) and node.name in set(exercise.functions) - asked:
            module.body[place] = by_name[node.name]
    # A stub's annotations name types that the module may not have: they stay text.
    return "from __future__ import annotations\n" + ast.unparse(module)


def asked_of(file: Path, exercise: catalog.Exercise) -> set[str]:
    """The functions that the checks which this one should fail ask about."""
    named = should_fail(file)
    return {check.function or exercise.functions[0] for check in exercise.checks if check.id in named}


def functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


def should_fail(file: Path) -> set[str]:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    line = next(line for line in text.splitlines() if line.startswith("Fails: "))
    return set(line.removeprefix("Fails: ").split(", "))


def ids(file: Path) -> str:
    return f"{file.parent.name}-{file.stem}"


@pytest.mark.slow
@pytest.mark.parametrize("file", RIGHT, ids=ids)
def test_right(file: Path, tmp_path: Path, grade: Grade) -> None:
    source = file.read_text(encoding="utf-8")
    assert failed(grade(*place(source, file.parent.name, tmp_path))) == {}


@pytest.mark.slow
@pytest.mark.parametrize("file", WRONG, ids=ids)
def test_wrong(file: Path, tmp_path: Path, grade: Grade) -> None:
    problems = failed(grade(*place(without_others(file), file.parent.name, tmp_path)))
    details = "\n".join(f"{name}: {check.detail}" for name, check in problems.items())
    assert should_fail(file) <= set(problems), details
    assert all(check.detail and check.next_step for check in problems.values()), details


def test_no_wrong_one_fails_for_want_of_another_function() -> None:
    for file in WRONG:
        exercise = catalog.find(file.parent.name)
        assert exercise is not None
        asked = asked_of(file, exercise)
        for function in functions(file.read_text(encoding="utf-8")):
            if function.name in asked:
                called = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
                assert not called & (set(exercise.functions) - asked), file


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
