"""A class: what each student hands in, and the exact scores that they get for it.

Each starts from the notebooks as they were fetched, in a folder of their own. `NAIVE` is exercise 1, whose
test cells are worth 16 points here and 4 on a GPU; the cell `bonus` is the instructor's own, worth 2 points,
and gives 1 to whoever leaves it alone.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder import workspace
from autograder.catalog import EXERCISES, Exercise, find
from autograder.classroom import delivery, handin
from autograder.classroom.cutting import cut
from autograder.classroom.groups import groups

NAIVE = "naive_attention"
TEST, GPU, BONUS = "check-naive_attention", "gpu-naive_attention", "bonus"
OTHERS = [group for exercise in EXERCISES if exercise.name != NAIVE for group in groups(exercise)]
WRONG = Path(__file__).resolve().parents[1] / "submissions" / "wrong"
Notebook = dict[str, Any]
FULL = {TEST: 16.0, GPU: None, BONUS: 1.0}
NOTHING = {TEST: 0.0, GPU: 0.0, BONUS: 1.0}
WRONG_HERE = {TEST: 0.0, GPU: None, BONUS: 1.0}
ABSENT = {TEST: 0.0, GPU: 0.0, BONUS: 0.0}


@dataclass(frozen=True)
class Student:
    """`work` turns the folder as fetched into the one that is handed in.

    `scores` are those of exercise 1, None while a cell waits; `says` is in that notebook's feedback, and
    `warns` in what nbgrader tells the instructor of this student. `others` are the scores of the other
    exercises, where they are handed in.
    """

    id: str
    work: Callable[[Path], None]
    scores: Mapping[str, float | None]
    says: str = ""
    warns: str = ""
    others: Mapping[str, float | None] = field(default_factory=dict)


def solved(name: str, path: Path | None = None) -> dict[str, str]:
    """The text of each solution cell of this exercise, from a module."""
    exercise = find(name)
    assert isinstance(exercise, Exercise)
    text = (path or workspace.solutions() / f"{name}.py").read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line.strip() not in ("# --- solution", "# --- end")]
    return cut("\n".join(lines), exercise.functions)


def edit(folder: Path, name: str, change: Callable[[Notebook], object]) -> None:
    path = folder / f"{name}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    change(notebook)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def grade_id(cell: Notebook) -> str:
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def place(notebook: Notebook, id_: str) -> int:
    return next(index for index, cell in enumerate(notebook["cells"]) if grade_id(cell) == id_)


def fill(notebook: Notebook, texts: Mapping[str, str]) -> None:
    for cell in notebook["cells"]:
        if grade_id(cell) in texts:
            cell["source"] = texts[grade_id(cell)]


def code(text: str) -> Notebook:
    """A cell of the student's own."""
    return {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}


def first(text: str) -> Callable[[Path], None]:
    """A cell before all others; nothing else is done."""
    return lambda folder: edit(folder, NAIVE, lambda notebook: notebook["cells"].insert(0, code(text)))


def right(change: Callable[[Notebook], object] = lambda notebook: None) -> Callable[[Path], None]:
    """Exercise 1 solved, and then something done to the notebook."""

    def work(folder: Path) -> None:
        def both(notebook: Notebook) -> None:
            fill(notebook, solved(NAIVE))
            change(notebook)

        edit(folder, NAIVE, both)

    return work


def raw(data: bytes, name: str = NAIVE) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        (folder / f"{name}.ipynb").write_bytes(data)

    return work


def without_examples(notebook: Notebook) -> None:
    notebook["cells"] = [cell for cell in notebook["cells"] if not cell["id"].startswith("example-")]


# What may happen to a notebook.


def modules(folder: Path) -> None:
    """All five exercises, worked on as modules."""
    made = handin.fill(folder, workspace.solutions())
    filled = folder.with_name("filled")
    delivery.deliver(made, filled)
    shutil.rmtree(folder)
    filled.rename(folder)


def half(folder: Path) -> None:
    texts = solved(NAIVE, WRONG / NAIVE / "assert_shapes.py")
    edit(folder, NAIVE, lambda notebook: fill(notebook, texts))


def duplicate(notebook: Notebook) -> None:
    notebook["cells"] += [notebook["cells"][place(notebook, id_)] for id_ in (NAIVE, TEST, "setup")]


def strip(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def delete(notebook: Notebook) -> None:
    notebook["cells"].append(code(notebook["cells"][place(notebook, NAIVE)]["source"]))
    for id_ in (TEST, NAIVE, "question"):
        del notebook["cells"][place(notebook, id_)]


def rename(notebook: Notebook) -> None:
    for id_ in (NAIVE, TEST):
        notebook["cells"][place(notebook, id_)]["metadata"]["nbgrader"]["grade_id"] = f"my-{id_}"


def reorder(notebook: Notebook) -> None:
    for id_ in (TEST, GPU, "question", "start"):
        notebook["cells"].insert(0, notebook["cells"].pop(place(notebook, id_)))


def odd(notebook: Notebook) -> None:
    """Metadata that nbgrader refuses, for a whole batch even, and points that it would."""
    for cell in notebook["cells"]:
        if grade_id(cell):
            cell["metadata"]["nbgrader"] |= {"schema_version": 99, "points": 1e9, "grade": "yes", "task": 7}
    notebook["cells"] += [{"cell_type": "heading"}, "no cell", {"source": ["# \ud800"], "cell_type": "code"}]
    notebook["metadata"] = {"kernelspec": {"name": "mine"}}


def large(notebook: Notebook) -> None:
    text = "x" * (50 * 2**20)
    stored = {"output_type": "stream", "name": "stdout", "text": text}
    notebook["cells"].append(code("print('x' * (50 * 2**20))") | {"outputs": [stored]})


def loops(notebook: Notebook) -> None:
    endless = "import time\nwhile True: time.sleep(1)"
    notebook["cells"] += [code(endless), code(endless), code("print('late')")]


def helper(notebook: Notebook) -> None:
    """A solution that needs a name of another cell, between magics and what a shell would run."""
    cell = notebook["cells"][place(notebook, NAIVE)]
    cell["source"] = cell["source"].replace("math.sqrt(H)", "root(H)")
    notebook["cells"].insert(
        2, code("%matplotlib inline\n!echo hello\nimport math\ndef root(x): return math.sqrt(x)")
    )


def result(value: str) -> Notebook:
    return {
        "output_type": "execute_result",
        "data": {"text/plain": value},
        "metadata": {},
        "execution_count": 1,
    }


def renamed(folder: Path) -> None:
    right()(folder)
    (folder / f"{NAIVE}.ipynb").rename(folder / f"{NAIVE}-Copy1.ipynb")


def missing(folder: Path) -> None:
    (folder / f"{NAIVE}.ipynb").unlink()


def forged(notebook: Notebook) -> None:
    cell = notebook["cells"][place(notebook, TEST)]
    cell |= {"outputs": [result("16")], "source": "16"}
    cell["metadata"]["nbgrader"] |= {"score": 16, "solution": True, "locked": False}
    notebook["cells"].append(code("16"))


PATCHED_CHECK = "import autograder\nautograder.check = lambda *names: 16"
PATCHED_CELLS = """
def rewrite(lines):
    return ["16"] if "autograder.check" in "".join(lines) else lines
get_ipython().input_transformers_cleanup.append(rewrite)
"""
PATCHED_SHELL = """
shell = get_ipython()
shell.displayhook.__class__.__call__ = lambda self, result=None: print(16)
get_ipython = lambda: None
"""
PATCHED_CLOCK = "import time\ntime.time = time.monotonic = time.perf_counter = lambda: 0.0"
PATCHED_STDOUT = """
import sys
class Full:
    write = lambda self, text: sys.__stdout__.write("16 earned of 16 points")
    flush = lambda self: None
sys.stdout = sys.stderr = Full()
"""
# The instructor's folder stands in the notebook's own place; a student would guess it.
GRADEBOOK = """
import os, sqlite3
print("sees the course:", os.path.exists(COURSE), os.path.exists(COURSE + "/source"))
with sqlite3.connect(COURSE + "/gradebook.db") as book:
    book.execute("update grade set manual_score = 16")
"""
NETWORK = """
import socket
socket.create_connection(("127.0.0.1", 22), timeout=2)
"""
OURS = f"""
from autograder.workspace import solutions
SPACE = {{}}
def {NAIVE}(query, key, value):
    exec((solutions() / "{NAIVE}.py").read_text(), SPACE)
    return SPACE["{NAIVE}"](query, key, value)
"""
STOLEN = f"""
import importlib.util
def stolen():
    spec = importlib.util.spec_from_file_location("stolen", {str(workspace.solutions() / NAIVE)!r} + ".py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.{NAIVE}
{NAIVE} = stolen()
"""


def students(course: Path) -> tuple[Student, ...]:
    """The class; `course` is the instructor's folder, which one of them tries to get at."""
    gradebook = f"COURSE = {str(course)!r}\n{GRADEBOOK}"
    return (
        Student(
            "all",
            modules,
            FULL,
            says="16 earned",
            others={group.id: None if group.needs else group.points for group in OTHERS},
        ),
        Student("half", half, {TEST: 14.0, GPU: None, BONUS: 1.0}, says="Failed: errors (2 points)"),
        Student("none", lambda folder: None, ABSENT, says="Not started"),
        Student("helper", right(helper), FULL),
        # Notebooks in a state.
        Student("duplicated", right(duplicate), FULL, "two cells", "two cells"),
        Student("stripped", right(strip), FULL, "cells were missing", "cells were missing"),
        Student("deleted", right(delete), FULL, "cells were missing", "cells were missing"),
        Student(
            "renamed-cells", right(rename), FULL, "cell of this notebook is called", "my-naive_attention"
        ),
        Student("reordered", right(reorder), FULL),
        Student("odd", right(odd), FULL),
        Student("empty", raw(b""), ABSENT, "is empty", "is empty"),
        Student("no-json", raw(b'{"cells": [}'), ABSENT, "not a notebook", "not a notebook"),
        Student("no-cells", raw(b'{"cells": 3, "nbformat": 4}'), ABSENT, "no cells", "no cells"),
        Student("missing", missing, ABSENT, "is missing from your submission", "is missing"),
        Student("renamed", renamed, ABSENT, "is missing from your submission", "naive_attention-Copy1.ipynb"),
        Student("large", right(large), FULL, "more output than is kept"),
        Student(
            "dead",
            first("import os\nos._exit(1)"),
            ABSENT,
            "the kernel died",
            "the kernel died",
        ),
        Student("loops", right(loops), FULL, "more than 60 seconds together", "more than 60 seconds"),
        Student("refused", first("bonus = 100"), {**NOTHING, BONUS: None}, warns="bonus waits for review"),
        # Cheats: none of them solves anything.
        Student("patches-check", first(PATCHED_CHECK), NOTHING),
        Student("patches-cells", first(PATCHED_CELLS), NOTHING),
        Student("patches-shell", first(PATCHED_SHELL), {**NOTHING, BONUS: 2.0}),
        Student("patches-clock", first(PATCHED_CLOCK), NOTHING),
        Student("patches-stdout", first(PATCHED_STDOUT), NOTHING),
        Student("patches-gradebook", first(gradebook), NOTHING, "sees the course: False False"),
        Student("asks-network", first(NETWORK), NOTHING, "Error"),
        Student("forges", lambda folder: edit(folder, NAIVE, forged), NOTHING),
        Student(
            "imports-ours",
            right(lambda notebook: fill(notebook, {NAIVE: OURS})),
            WRONG_HERE,
        ),
        Student(
            "steals",
            right(lambda notebook: fill(notebook, {NAIVE: STOLEN})),
            WRONG_HERE,
        ),
    )
