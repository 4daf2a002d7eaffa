"""Whether the notebooks are fit for a class: stable ids, valid for nbgrader, and nothing given away."""

from __future__ import annotations

import ast
import copy
import json
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from autograder import workspace
from autograder.catalog import EXERCISES, Exercise
from autograder.classroom import notebooks, questions
from autograder.classroom.cutting import SETUP, cut
from autograder.classroom.notebooks import CALL, CODE_STUB, Notebook, notebook

IDS = Path(__file__).with_name("cells.txt")
SHORT = 20
"""Lines of a solution up to this length may stand elsewhere by chance."""


def ids() -> str:
    """A line for each cell that nbgrader knows: notebook, `grade_id`, points."""
    lines = []
    for exercise in EXERCISES:
        for cell in notebook(exercise)["cells"]:
            if ours := cell["metadata"].get("nbgrader"):
                lines.append(f"{exercise.name} {ours['grade_id']} {ours.get('points', '')}".rstrip())
    return "\n".join(lines) + "\n"


def problems() -> list[str]:
    """What is wrong, a sentence each. nbgrader's own part is left out where it is not installed."""
    made, found = questions.filled()
    if made != questions.FILE.read_text(encoding="utf-8"):
        found.append("questions.md is out of step with the measurements: run the command without --check")
    if ids() != IDS.read_text(encoding="utf-8"):
        found.append(
            "the cells' ids or points differ from cells.txt. Gradebooks know cells by them: "
            "if this is meant, run the command without --check"
        )
    if find_spec("nbgrader"):
        for exercise in EXERCISES:
            source = notebook(exercise)
            found += [f"{exercise.name}: {why}" for why in given_away(exercise, source, released(source))]
    return found


def released(source: Notebook) -> Notebook:
    """What `nbgrader generate_assignment` makes of a notebook. nbgrader's error where it refuses it."""
    import nbformat
    from nbgrader import preprocessors
    from traitlets.config import Config

    made = nbformat.from_dict(copy.deepcopy(source))
    nbformat.validate(made)
    config = Config({"ClearSolutions": {"code_stub": CODE_STUB}})
    for step in ("LockCells", "ClearSolutions", "ClearOutput", "CheckCellMetadata", "ComputeChecksums"):
        made, _ = getattr(preprocessors, step)(config=config).preprocess(made, {})
    return dict(json.loads(nbformat.writes(made)))


def given_away(exercise: Exercise, source: Notebook, student: Notebook) -> Iterator[str]:
    """What a student's version of `source` holds that it should not, or lacks."""
    stub = (workspace.exercises() / f"{exercise.name}.py").read_text(encoding="utf-8")
    stubs = cut(stub, exercise.functions)
    secrets = {line for cell in source["cells"] for line in _solution(cell["source"]) if len(line) > SHORT}
    for cell in student["cells"]:
        name, text = cell["id"], "".join(cell["source"])
        if leaks := [line for line in text.splitlines() if line.strip() in secrets]:
            yield f"the cell {name} gives away {leaks[0].strip()!r}"
        if name in exercise.functions and ast.dump(ast.parse(text)) != ast.dump(ast.parse(stubs[name])):
            yield f"the cell {name} is not the stub of exercises/{exercise.name}.py"
        if name == SETUP and ast.dump(ast.parse(text)) != ast.dump(_without_docstring(stubs[name])):
            yield f"the cell {name} is not what exercises/{exercise.name}.py begins with"
        if cell["cell_type"] == "code" and "autograder" in text and not text.startswith(CALL):
            yield f"the cell {name} uses the grader for something else than a check"


def _solution(text: str | list[str]) -> list[str]:
    """The lines of a cell's regions."""
    regions = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", "".join(text), re.DOTALL)
    return [line.strip() for region in regions for line in region.splitlines()]


def _without_docstring(text: str) -> ast.Module:
    tree = ast.parse(text)
    return ast.Module(tree.body[1:], [])


def main(check: bool, folder: Path | None) -> int:
    """The command `python -m autograder.author notebooks`; exit status 1 where something is wrong."""
    try:
        written = [] if check else _write(folder)
    except OSError as error:
        print(f"{folder} cannot be written: {error.strerror or error}. Name another DIR.", file=sys.stderr)
        return 1
    for path in written:
        print(f"wrote {path}")
    if not check and folder is None:
        print("no notebook was written: name a DIR for them, as in: notebooks DIR")
    found = problems()
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


def _write(folder: Path | None) -> list[Path]:
    questions.FILE.write_text(questions.filled()[0], encoding="utf-8", newline="\n")
    IDS.write_text(ids(), encoding="utf-8", newline="\n")
    return [questions.FILE, IDS, *(notebooks.write(folder) if folder else ())]
