"""Stubs are made from solutions, and a stub that is out of step is found."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from autograder import author, stubs

SOLUTION = '''"""Exercise 0."""

import math


# --- solution
def _helper() -> float:
    return math.pi


# --- end


def area(r: float) -> float:
    """π r²."""
    # 1. Square the radius.
    # --- solution
    square = r * r
    # --- end

    # 2. Multiply.
    # --- solution
    return _helper() * square
    # --- end
'''

STUB = '''"""Exercise 0."""

import math


def area(r: float) -> float:
    """π r²."""
    # TODO 1: Square the radius.

    # TODO 2: Multiply.
    raise NotImplementedError("TODO: area")
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one solution and its stub."""
    for folder, text in (("solutions", SOLUTION), ("exercises", STUB)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "area.py").write_text(text, encoding="utf-8")
    return tmp_path


def test_stub_keeps_documentation_and_drops_regions() -> None:
    assert stubs.stub(SOLUTION) == STUB


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("# --- end\n", "line 1: unexpected '# --- end'"),
        ("# --- solution\n# --- solution\n", "line 2: unexpected '# --- solution'"),
        ("x = 1\n# --- solution\n", "line 2: '# --- solution' is never closed"),
    ],
)
def test_marks_that_do_not_pair_up(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stubs.stub(source)


def test_check_passes_in_step(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert author.main(["stubs", "--check"], project) == 0
    assert capsys.readouterr().err == ""


def test_check_shows_what_is_out_of_step(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale = STUB.replace("Multiply", "Add")
    (project / "exercises" / "area.py").write_text(stale, encoding="utf-8")
    (project / "exercises" / "old.py").write_text("", encoding="utf-8")
    (project / "solutions" / "new.py").write_text(SOLUTION, encoding="utf-8")
    assert author.main(["stubs", "--check"], project) == 1
    shown = capsys.readouterr().err
    assert "exercises/area.py: out of step" in shown
    assert "-    # TODO 2: Add.\n+    # TODO 2: Multiply." in shown
    assert "exercises/old.py: has no solution" in shown
    assert "exercises/new.py: missing" in shown
    assert (project / "exercises" / "area.py").read_text(encoding="utf-8") == stale


def test_stubs_are_written(project: Path) -> None:
    (project / "exercises" / "area.py").unlink()
    assert author.main(["stubs"], project) == 0
    assert author.main(["stubs", "--check"], project) == 0


def test_broken_solution_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "solutions" / "area.py").write_text("# --- end\n", encoding="utf-8")
    assert author.main(["stubs", "--check"], project) == 1
    assert "solutions/area.py: line 1" in capsys.readouterr().err


def test_this_projects_stubs_are_in_step() -> None:
    assert stubs.differences() == []


@pytest.mark.parametrize("path", stubs.stubs(), ids=lambda path: str(path.stem))
def test_stub_is_documented_and_raises(path: Path) -> None:
    """Every public function has a docstring, numbered TODOs, and nothing after them but the raise."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions and ast.get_docstring(tree)
    for function in functions:
        assert ast.get_docstring(function)
        assert len(function.body) == 2
        assert ast.unparse(function.body[1]) == f"raise NotImplementedError('TODO: {function.name}')"
        assert "# TODO 1: " in (ast.get_source_segment(text, function) or "")
    assert "solution" not in text
