"""Notebooks in any state become notebooks that nbgrader can grade, with the student's work in them."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import compute_checksum

from autograder.catalog import find
from autograder.classroom.checking import released
from autograder.classroom.gradebook import TrustedCell, TrustedNotebook
from autograder.classroom.notebooks import notebook
from autograder.classroom.source import module_source
from autograder.classroom.submitted import MAX_CELL, MAX_PARTS, read
from autograder.tests.classroom import students
from autograder.tests.classroom.students import NAIVE, TEST, Notebook

EXERCISE = find(NAIVE)
assert EXERCISE is not None
RELEASED = released(notebook(EXERCISE))


def trusted() -> TrustedNotebook:
    """What the gradebook would know of it."""
    cells = []
    for cell in nbformat.from_dict(RELEASED)["cells"]:
        if ours := cell.metadata.get("nbgrader"):
            cells.append(
                TrustedCell(
                    ours.grade_id,
                    cell.cell_type,
                    "".join(cell.source),
                    ours.checksum,
                    ours.locked,
                    ours.solution,
                    ours.task,
                    ours.get("points"),
                )
            )
    return TrustedNotebook(NAIVE, tuple(cells))


def solved(change: Callable[[Notebook], object] = lambda made: None) -> Notebook:
    made = copy.deepcopy(RELEASED)
    for cell in made["cells"]:
        cell["source"] = "".join(cell["source"])
    students.fill(made, students.solved(NAIVE))
    change(made)
    return made


def mended(data: Any, folder: Path) -> tuple[Any, tuple[str, ...]]:
    path = folder / f"{NAIVE}.ipynb"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    made = read(path, trusted())
    nbformat.validate(made.notebook)
    MetadataValidator().validate_nb(made.notebook)
    ids = [students.grade_id(cell) for cell in made.notebook.cells if students.grade_id(cell)]
    assert sorted(ids) == sorted(cell.id for cell in trusted().cells)
    for cell in made.notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("locked"):
            assert compute_checksum(cell) == cell.metadata.nbgrader.checksum
    return made.notebook, made.notes


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda made: None, ""),
        (students.duplicate, "there are two cells 'naive_attention'"),
        (students.strip, "handed out: 'start'"),
        (students.delete, "'check-naive_attention'"),
        (students.rename, "no cell of this notebook is called 'my-naive_attention'"),
        (students.reorder, ""),
        (students.odd, ""),
        (students.forged, ""),
    ],
)
def test_work_survives(change: Callable[[Notebook], object], note: str, tmp_path: Path) -> None:
    made, notes = mended(solved(change), tmp_path)
    assert EXERCISE is not None
    space: dict[str, Any] = {}
    exec(module_source(made, EXERCISE).text, space)
    assert "einsum" in space[NAIVE].__code__.co_names
    assert any(note in each for each in notes) if note else not notes


@pytest.mark.parametrize(
    ("data", "note"),
    [
        ("", "is empty"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        pytest.param("[" + "[]," * MAX_PARTS + "[]]", "lists and objects", id="parts"),
        ("[]", "has no cells"),
        ('{"cells": {}}', "has no cells"),
        ('{"worksheets": []}', "has no cells"),
    ],
)
def test_what_is_no_notebook_is_one_as_handed_out(data: str, note: str, tmp_path: Path) -> None:
    made, notes = mended(data, tmp_path)
    assert len(notes) == 1 and note in notes[0]
    assert [cell.source for cell in made.cells] == [cell.source for cell in trusted().cells]


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / f"{NAIVE}.ipynb"
    assert "is missing from your submission" in read(path, trusted()).notes[0]
    path.mkdir()
    assert "not a file" in read(path, trusted()).notes[0]
    path.rmdir()
    os.mkfifo(path)
    assert "not a file" in read(path, trusted()).notes[0]
    path.unlink()
    (tmp_path / "secret").write_text(json.dumps(solved()))
    path.symlink_to("secret")
    assert "not a file" in read(path, trusted()).notes[0]


def test_a_changed_test_and_a_giant_cell(tmp_path: Path) -> None:
    def change(made: Notebook) -> None:
        made["cells"][students.place(made, TEST)]["source"] = "print('mine')"
        made["cells"].append(students.code("#" * (MAX_CELL + 1)))

    made, notes = mended(solved(change), tmp_path)
    assert "autograder.check" in made.cells[students.place(made, TEST)].source
    assert len(notes) == 1 and "was emptied" in notes[0]
