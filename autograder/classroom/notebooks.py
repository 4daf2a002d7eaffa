"""The source of nbgrader's assignment: a notebook an exercise, from its solution, its page and the catalog.

`nbgrader generate_assignment` makes of it what students get. It has to be told to put nothing in the place
of a solution, since the stub's own `raise` stands below: `c.ClearSolutions.code_stub = CODE_STUB`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder import workspace
from autograder.catalog import EXERCISES, Exercise
from autograder.classroom import prose
from autograder.classroom.cutting import SETUP, cut
from autograder.classroom.examples import EXAMPLES
from autograder.classroom.groups import QUESTION_POINTS, groups
from autograder.classroom.questions import question
from autograder.stubs import BEGIN, END

ASSIGNMENT = "attention"
CODE_STUB = {"python": ""}
QUESTION = "question"
CALL = "import autograder\n\nautograder.check("
"""What a test cell begins with."""
HELPERS = re.compile(rf"^{BEGIN}\n(.*?)^{END}\n", re.DOTALL | re.MULTILINE)
"""Regions at the top level: functions of the solution's own."""
SECTIONS = {"idea": "The idea", "formula": "The formula", "asked": "What is asked"}
"""By `grade_id`, what of an exercise's page is a cell of its own."""

Notebook = dict[str, Any]
Cell = dict[str, Any]

START = """\
# {number} · {title}

Fill in the cells that hold a TODO, and run them. The cell below each function grades what you have run so
far, as the command `grade` does. This notebook has {points} points{waiting}, and {question} more for the
question at its end. Should `import autograder` fail there, this notebook's kernel has no attention-lab yet:
ask your instructor how to install it.

You may add cells of your own, and your functions may use what these define. Lines for IPython or the shell,
and what is neither a definition nor an assignment, are no part of your solution.

Before you hand in, choose *Restart Kernel and Run All Cells*: what counts is what runs from top to bottom."""


def path(folder: Path, exercise: Exercise) -> Path:
    """Where a folder of the assignment has this exercise's notebook."""
    return folder / f"{exercise.name}.ipynb"


def write(folder: Path) -> list[Path]:
    """Write the source of all notebooks into `folder`, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for exercise in EXERCISES:
        text = json.dumps(notebook(exercise), indent=1, ensure_ascii=False) + "\n"
        path(folder, exercise).write_text(text, encoding="utf-8", newline="\n")
        written.append(path(folder, exercise))
    return written


def notebook(exercise: Exercise) -> Notebook:
    """One exercise's notebook, with the solution, as JSON (nbformat 4.5)."""
    return {
        "cells": list(_cells(exercise)),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cells(exercise: Exercise) -> Iterator[Cell]:
    checks, asked = groups(exercise), question(exercise)
    waiting = sum(group.points for group in checks if group.needs)
    start = START.format(
        number=exercise.number,
        title=exercise.title,
        points=sum(group.points for group in checks),
        waiting=f", {waiting} of them on a GPU" if waiting else "",
        question=QUESTION_POINTS,
    )
    yield _text("start", start)
    page = workspace.course() / Path(exercise.page).name
    for grade_id, title in SECTIONS.items():
        if found := prose.section(page, title):
            yield _text(grade_id, found)
    parts = _parts(exercise)
    for name in (SETUP, *exercise.functions):
        yield _code(name, parts[name], _nbgrader(name, solution=True))
        if name in EXAMPLES:
            yield _code(f"example-{name}", EXAMPLES[name])
        for group in checks:
            if group.function == name:
                call = f'{CALL}"{exercise.name}", "{group.id}")'
                yield _code(group.id, call, _nbgrader(group.id, points=group.points))
    yield _text("question-text", f"## Question ({QUESTION_POINTS} points)\n\n{asked.text}")
    answer = f"### BEGIN SOLUTION\n{asked.answer}\n\n**Rubric**\n\n{asked.rubric}\n### END SOLUTION"
    yield _markdown(QUESTION, answer, _nbgrader(QUESTION, solution=True, points=QUESTION_POINTS))


def _parts(exercise: Exercise) -> dict[str, str]:
    """The solution's cells, with nbgrader's marks in the place of ours."""
    stub = (workspace.exercises() / f"{exercise.name}.py").read_text(encoding="utf-8")
    text = (workspace.solutions() / f"{exercise.name}.py").read_text(encoding="utf-8")
    text = re.sub(r"^( *)# (\d+)\. ", r"\1# TODO \2: ", text, flags=re.MULTILINE)
    parts = cut(HELPERS.sub("", text), exercise.functions)
    made = {name: _with_raise(parts[name], name) for name in exercise.functions}
    begins = re.sub(r'\A""".*?"""\n+', "", cut(stub, exercise.functions)[SETUP], flags=re.DOTALL)
    helpers = "\n\n".join(region.strip("\n") + "\n" for region in HELPERS.findall(text))
    return {SETUP: f"{begins}\n\n\n### BEGIN SOLUTION\n{helpers}### END SOLUTION", **made}


def _with_raise(text: str, function: str) -> str:
    """A function's cell: the stub's last statement stands after the last region, which returns before it."""
    text = text.replace(BEGIN, "### BEGIN SOLUTION").replace(END, "### END SOLUTION")
    before, mark, after = text.rpartition("\n    ### END SOLUTION")
    return f'{before}{mark}\n    raise NotImplementedError("TODO: {function}"){after}'


def _nbgrader(grade_id: str, *, solution: bool = False, points: int | None = None) -> dict[str, Any]:
    """nbgrader's metadata, schema 3: what is no solution is locked, what has points is graded."""
    graded = {} if points is None else {"points": points}
    return {
        "grade": points is not None,
        "grade_id": grade_id,
        "locked": not solution,
        **graded,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }


def _code(name: str, text: str, nbgrader: dict[str, Any] | None = None) -> Cell:
    # An example fails on a stub; the tag lets the cells after it run all the same.
    metadata = {"nbgrader": nbgrader} if nbgrader else {"tags": ["raises-exception"]}
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": name,
        "metadata": metadata,
        "outputs": [],
        "source": text,
    }


def _markdown(name: str, text: str, nbgrader: dict[str, Any]) -> Cell:
    return {"cell_type": "markdown", "id": name, "metadata": {"nbgrader": nbgrader}, "source": text}


def _text(name: str, text: str) -> Cell:
    """A locked cell to read."""
    return _markdown(name, text, _nbgrader(name))
