"""Modules handed in as notebooks: put into the solution cells of a fetched assignment, and nothing else."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.catalog import EXERCISES, Exercise
from autograder.classroom import notebooks
from autograder.classroom.cells import grade_id
from autograder.classroom.cutting import SETUP, cut
from autograder.classroom.examples import EXAMPLES
from autograder.classroom.notebooks import QUESTION, Cell
from autograder.classroom.source import of_cells
from autograder.source import Unreadable, read

FETCH = f"fetch it again with nbgrader fetch_assignment {notebooks.ASSIGNMENT}, into another folder"

FETCH_FIRST = (
    f"fetch it first, with nbgrader fetch_assignment {notebooks.ASSIGNMENT}, or name the folder that it is in"
)


class Unfit(Exception):
    """What cannot be handed in as it is; the message says why, a line each, and what to do."""


@dataclass(frozen=True)
class Handin:
    """An assignment with these notebooks, by file name; `unanswered` are those whose question still is."""

    assignment: Path
    notebooks: dict[str, str]
    unanswered: tuple[str, ...]

    def write(self, target: Path) -> None:
        """Copy the assignment to `target`, a new folder, with these notebooks in it and no feedback."""
        beside = shutil.ignore_patterns(".ipynb_checkpoints", "feedback")  # as nbgrader submit does
        shutil.copytree(self.assignment, target, ignore=beside)
        for name, text in self.notebooks.items():
            (target / name).write_text(text, encoding="utf-8", newline="\n")


def fill(assignment: Path, modules: Path) -> Handin:
    """The notebooks in `assignment` with the modules of `modules`. Unfit where one is not as it should be."""
    if not any(notebooks.path(assignment, exercise).exists() for exercise in EXERCISES):
        raise Unfit(f"{assignment} holds no notebook of the assignment: {FETCH_FIRST}")
    filled: dict[str, dict[str, Any]] = {}
    problems = []
    for exercise in EXERCISES:
        try:
            filled[exercise.name] = _filled(exercise, notebooks.path(assignment, exercise), modules)
        except (Unfit, Unreadable) as why:
            problems.append(str(why))
    if problems:
        raise Unfit("\n".join(problems))
    return Handin(
        assignment,
        {
            f"{name}.ipynb": json.dumps(each, indent=1, ensure_ascii=False) + "\n"
            for name, each in filled.items()
        },
        tuple(name for name, each in filled.items() if not _answered(each)),
    )


def _filled(exercise: Exercise, path: Path, modules: Path) -> dict[str, Any]:
    """The notebook at `path` with the exercise's module in its solution cells."""
    notebook = _load(path)
    if found := list(_changes(exercise, notebook["cells"])):
        raise Unfit("\n".join(f"{path}: {why}" for why in found))
    module = read(modules, exercise.name)
    parts = cut(module.data.decode("utf-8-sig").replace("\r\n", "\n"), exercise.functions)
    if missed := of_cells(parts.items(), exercise).missed:
        notes = (note.partition(": ")[2] for note in missed)
        raise Unfit("\n".join(f"{exercise.name}.py: in a notebook {note}" for note in notes))
    cells = {grade_id(cell): cell for cell in notebook["cells"]}
    for name in (SETUP, *exercise.functions):
        text = parts.get(name, f"# {exercise.name}.py does not define {name}.")
        cells[name].update(source=text, outputs=[], execution_count=None)
    return notebook


def _answered(notebook: dict[str, Any]) -> bool:
    """Whether its question's cell is another than was handed out."""
    (question,) = (cell for cell in notebook["cells"] if grade_id(cell) == QUESTION)
    return _checksum(question) != str(_nbgrader(question)["checksum"])


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise Unfit(f"{path} does not exist: {FETCH}")
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            _nbgrader(cell)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unfit(f"{path} is not a notebook any more: {FETCH}") from None
    return dict(notebook)


def _changes(exercise: Exercise, cells: list[Cell]) -> Iterator[str]:
    """What differs from the notebook as it was released, but for the answer to its question."""
    there = Counter(map(grade_id, cells))
    for cell in notebooks.notebook(exercise)["cells"]:
        if (name := grade_id(cell)) and there[name] != 1:
            yield f"the cell {name} is there {there[name]} times, expected once: {FETCH}"
    for cell in cells:
        name, ours = grade_id(cell), _nbgrader(cell)
        if not name:
            if cell["cell_type"] == "code" and cell["source"].strip() not in ("", *EXAMPLES.values()):
                yield (
                    f"a cell of your own, `{cell['source'].strip().splitlines()[0][:60]}`, would be handed "
                    "in with the module: put what you need of it into the module, and delete the cell"
                )
        elif "checksum" not in ours:
            yield f"the cell {name} was not released by nbgrader: {FETCH_FIRST}"
        elif ours["checksum"] != _checksum(cell) and name != QUESTION:
            if ours.get("solution"):
                yield (
                    f"you edited the cell {name}, and the module would replace it: put your text into "
                    f"{exercise.name}.py, or hand in the notebook itself, with nbgrader submit"
                )
            else:
                yield f"the cell {name} was changed: {FETCH}"


def _nbgrader(cell: Cell) -> dict[str, Any]:
    return dict(cell["metadata"].get("nbgrader", {}))


def _checksum(cell: Cell) -> str:
    """What nbgrader calculates when it releases a cell: `nbgrader.utils.compute_checksum`."""
    ours = _nbgrader(cell)
    grade, solution = bool(ours.get("grade")), bool(ours.get("solution"))
    locked = not solution and (grade or bool(ours.get("locked")))
    parts = [cell["source"], cell["cell_type"], str(grade), str(solution), str(locked), ours["grade_id"]]
    if grade:
        parts.append(str(float(ours["points"])))
    return hashlib.md5("".join(parts).encode(), usedforsecurity=False).hexdigest()
