"""From the solutions to what students get, and from their modules back to notebooks and modules."""

from __future__ import annotations

import ast
import copy
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader import utils
from typer.testing import CliRunner

from autograder import catalog, workspace
from autograder.catalog import Exercise
from autograder.classroom import checking, delivery, handin, notebooks
from autograder.classroom.delivery import deliver
from autograder.classroom.source import module_source
from autograder.cli import app
from autograder.results import Outcome
from autograder.source import parse
from autograder.submission import untouched_functions
from autograder.tests.conftest import Grade, failed

Notebook = dict[str, Any]
EXERCISES = pytest.mark.parametrize("exercise", catalog.EXERCISES, ids=lambda exercise: str(exercise.name))
NAIVE = catalog.EXERCISES[0]


@pytest.fixture(scope="module")
def released() -> dict[str, Notebook]:
    """What students get, by exercise."""
    return {each.name: checking.released(notebooks.notebook(each)) for each in catalog.EXERCISES}


@pytest.fixture
def fetched(released: dict[str, Notebook], tmp_path: Path) -> Path:
    """The assignment in a student's folder."""
    folder = tmp_path / "attention"
    folder.mkdir()
    for exercise in catalog.EXERCISES:
        notebooks.path(folder, exercise).write_text(json.dumps(released[exercise.name]), encoding="utf-8")
    (folder / "data.txt").write_text("as it was", encoding="utf-8")
    return folder


def change(folder: Path, how: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the cells of the first notebook."""
    path = notebooks.path(folder, NAIVE)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    how(notebook["cells"])
    path.write_text(json.dumps(notebook), encoding="utf-8")


def cell(cells: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(each for each in cells if each["id"] == name)


@EXERCISES
def test_students_get_stubs_and_nothing_is_given_away(
    exercise: Exercise, released: dict[str, Notebook]
) -> None:
    student = released[exercise.name]
    assert list(checking.given_away(exercise, notebooks.notebook(exercise), student)) == []
    text = module_source(student, exercise).text
    assert untouched_functions(exercise, parse(exercise.name, text.encode())) == set(exercise.functions)
    assert "Rubric" not in json.dumps(student)


@EXERCISES
def test_a_solution_that_is_left_in_is_found(exercise: Exercise) -> None:
    source = notebooks.notebook(exercise)
    found = "\n".join(checking.given_away(exercise, source, source))
    assert f"the cell {exercise.functions[0]} gives away" in found
    assert f"the cell {exercise.functions[0]} is not the stub" in found
    assert "the cell question gives away" in found


def test_a_cell_that_uses_the_grader_is_found(released: dict[str, Notebook]) -> None:
    student = copy.deepcopy(released["naive_attention"])
    cell(student["cells"], "example-naive_attention")["source"] = "from autograder import oracle"
    assert list(checking.given_away(NAIVE, notebooks.notebook(NAIVE), student)) == [
        "the cell example-naive_attention uses the grader for something else than a check"
    ]


@EXERCISES
def test_modules_come_back_out_of_the_notebooks(exercise: Exercise, fetched: Path, tmp_path: Path) -> None:
    made = handin.fill(fetched, workspace.solutions())
    notebook = json.loads(made.notebooks[f"{exercise.name}.ipynb"])
    nbformat.validate(nbformat.from_dict(notebook))
    module = module_source(notebook, exercise)
    assert module.notes == ()
    there = {ast.dump(node) for node in ast.parse(module.text).body}
    text = (workspace.solutions() / f"{exercise.name}.py").read_text(encoding="utf-8")
    solution = [node for node in ast.parse(text).body if not isinstance(node, ast.Import | ast.Expr)]
    assert {ast.dump(node) for node in solution} <= there


@pytest.mark.slow
def test_a_module_that_comes_back_gets_its_points(fetched: Path, grade: Grade, tmp_path: Path) -> None:
    made = handin.fill(fetched, workspace.solutions())
    module = module_source(json.loads(made.notebooks["naive_attention.ipynb"]), NAIVE)
    (tmp_path / "naive_attention.py").write_text(module.text, encoding="utf-8")
    result = grade("naive_attention", tmp_path)
    assert failed(result) == {}
    assert {check.id for check in result.checks if check.outcome is not Outcome.PASSED} <= {"speed"}


def test_only_solution_cells_change(fetched: Path) -> None:
    change(fetched, lambda cells: cell(cells, "question").update(source="Since it moves the matrix."))
    before = json.loads(notebooks.path(fetched, NAIVE).read_text(encoding="utf-8"))
    made = handin.fill(fetched, workspace.solutions())
    after = json.loads(made.notebooks["naive_attention.ipynb"])
    assert made.unanswered == tuple(each.name for each in catalog.EXERCISES[1:])
    for each in before["cells"]:
        each["source"] = "".join(each["source"])
    changed = [old["id"] for old, new in zip(before["cells"], after["cells"], strict=True) if old != new]
    assert changed == ["setup", "naive_attention"]
    assert cell(after["cells"], "setup")["metadata"] == cell(before["cells"], "setup")["metadata"]


def test_a_function_that_the_module_lacks_leaves_no_stub(fetched: Path, tmp_path: Path) -> None:
    for exercise in catalog.EXERCISES:
        (tmp_path / f"{exercise.name}.py").write_text("import jax\n", encoding="utf-8")
    notebook = json.loads(handin.fill(fetched, tmp_path).notebooks["naive_attention.ipynb"])
    source = cell(notebook["cells"], "naive_attention")["source"]
    assert source == "# naive_attention.py does not define naive_attention."


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (
            lambda cells: cells.remove(cell(cells, "check-naive_attention")),
            "the cell check-naive_attention is there 0 times, expected once: fetch it again",
        ),
        (lambda cells: cells.append(cell(cells, "setup")), "the cell setup is there 2 times"),
        (
            lambda cells: cell(cells, "check-naive_attention").update(source="16"),
            "the cell check-naive_attention was changed: fetch it again",
        ),
        (lambda cells: cell(cells, "idea").update(source="No idea."), "the cell idea was changed"),
        (
            lambda cells: cell(cells, "check-naive_attention")["metadata"]["nbgrader"].update(points=99),
            "the cell check-naive_attention was changed",
        ),
        (
            lambda cells: cell(cells, "naive_attention").update(source="def naive_attention(q, k, v): ..."),
            "you edited the cell naive_attention, and the module would replace it: put your text into",
        ),
        (
            lambda cells: cells.append({"cell_type": "code", "metadata": {}, "source": "\nx = 1\ny = 2"}),
            "a cell of your own, `x = 1`, would be handed in with the module",
        ),
        (
            lambda cells: [each["metadata"].get("nbgrader", {}).pop("checksum", 0) for each in cells],
            "the cell start was not released by nbgrader: fetch it first",
        ),
        (lambda cells: [each.update(metadata={}) for each in cells], "the cell start is there 0 times"),
        (lambda cells: cells.append(7), "is not a notebook any more: fetch it again"),
    ],
)
def test_a_notebook_changed_elsewhere_is_refused(fetched: Path, how: Any, why: str) -> None:
    change(fetched, how)
    with pytest.raises(handin.Unfit) as refused:
        handin.fill(fetched, workspace.solutions())
    assert why in str(refused.value)
    assert all("naive_attention.ipynb" in line for line in str(refused.value).splitlines())


def test_cells_that_carry_nothing_may_come_and_go(fetched: Path) -> None:
    def tidy(cells: list[dict[str, Any]]) -> None:
        cells.remove(cell(cells, "example-naive_attention"))
        cells.append({"cell_type": "code", "metadata": {}, "source": " \n"})
        cells.append({"cell_type": "markdown", "metadata": {}, "source": "To do."})

    change(fetched, tidy)
    assert len(handin.fill(fetched, workspace.solutions()).notebooks) == 5


def test_a_module_that_a_notebook_would_change_is_refused(fetched: Path, tmp_path: Path) -> None:
    for exercise in catalog.EXERCISES:
        (tmp_path / f"{exercise.name}.py").write_text("# Nothing yet.", encoding="utf-8")
    assert len(handin.fill(fetched, tmp_path).notebooks) == 5
    text = "T = []\nT.append(2)\ndef naive_attention(*_):\n    return T\n"
    (tmp_path / "naive_attention.py").write_text(text, encoding="utf-8")
    with pytest.raises(
        handin.Unfit, match=r"^naive_attention.py: in a notebook `T.append\(2\)` is left out: make"
    ):
        handin.fill(fetched, tmp_path)


def test_everything_that_is_missing_is_said_at_once(fetched: Path, tmp_path: Path) -> None:
    notebooks.path(fetched, NAIVE).unlink()
    notebooks.path(fetched, catalog.EXERCISES[1]).write_text("{", encoding="utf-8")
    (tmp_path / "causal_check.py").write_text("def is_causal(:", encoding="utf-8")
    (tmp_path / "grouped_query.py").write_text("", encoding="utf-8")
    with pytest.raises(handin.Unfit) as refused:
        handin.fill(fetched, tmp_path)
    for line, expected in zip(
        str(refused.value).splitlines(),
        (
            "naive_attention.ipynb does not exist: fetch it again",
            "cudnn_attention.ipynb is not a notebook any more",
            "causal_check.py is not valid Python: line 1",
            "grouped_query.py is empty",
            "fp8_autocast.py does not exist",
        ),
        strict=True,
    ):
        assert expected in line


@EXERCISES
def test_checksums_are_nbgraders(exercise: Exercise, released: dict[str, Notebook]) -> None:
    known = [each for each in released[exercise.name]["cells"] if each["metadata"].get("nbgrader")]
    assert len(known) > 8
    for each in known:
        each = {**each, "source": "".join(each["source"])}
        node = nbformat.from_dict(each)
        assert handin._checksum(each) == utils.compute_checksum(node)


def test_a_folder_or_a_zip_is_written(fetched: Path, tmp_path: Path) -> None:
    """Without the feedback that nbgrader has put beside the notebooks."""
    (fetched / "feedback").mkdir()
    (fetched / "feedback" / "naive_attention.html").touch()
    made = handin.fill(fetched, workspace.solutions())
    assert deliver(made, tmp_path / "out") == f"Written to {tmp_path / 'out'}"
    assert deliver(made, tmp_path / "out.zip") == f"Written to {tmp_path / 'out.zip'}"
    names = {"data.txt", *made.notebooks}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    text = (tmp_path / "out" / "naive_attention.ipynb").read_text(encoding="utf-8")
    assert text == made.notebooks["naive_attention.ipynb"]
    with zipfile.ZipFile(tmp_path / "out.zip") as packed:
        assert {name for name in packed.namelist() if not name.endswith("/")} == {
            f"attention/{name}" for name in names
        }
    with pytest.raises(handin.Unfit, match="is there already: name a new folder"):
        deliver(made, tmp_path / "out")
    for name in ("in", "in.zip"):
        below = tmp_path / "out.zip" / name
        with pytest.raises(handin.Unfit, match=f"{name} cannot be written: Not a directory. Name another"):
            deliver(made, below)


def test_the_command_hands_in_through_the_exchange(fetched: Path, tmp_path: Path) -> None:
    def submit(*more: str) -> subprocess.CompletedProcess[str]:
        """In a process of its own, as nbgrader's application takes hold of the streams."""
        command = [sys.executable, "-m", "autograder", "submit", "--from", str(workspace.solutions()), *more]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    course = tmp_path / "exchange" / "c1"
    for folder in (course / "inbound", course / "outbound" / "attention"):
        folder.mkdir(parents=True)
    (tmp_path / "exchange").chmod(0o777)
    (tmp_path / "nbgrader_config.py").write_text(
        "c = get_config()\n"
        f"c.Exchange.root = {str(tmp_path / 'exchange')!r}\nc.Exchange.cache = {str(tmp_path / 'cache')!r}\n"
        "c.Exchange.path_includes_course = True\n",
        encoding="utf-8",
    )
    done = submit("--course", "c1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Handed in to c1, attention, 20")
    assert "The question is not answered yet in: naive_attention, " in done.stdout
    assert done.stderr == ""
    (submitted,) = (course / "inbound").iterdir()
    assert submitted.name.split("+")[1] == "attention"
    assert len(list(submitted.glob("*.ipynb"))) == 5


@pytest.mark.parametrize(
    ("settings", "name", "course", "said"),
    [
        (
            "",
            "attention",
            "",
            "names your course's exchange.\nAsk your instructor for one with c.Exchange.root",
        ),
        ("", "attention", "c1", "put it into {here}; or write what you would hand in, with --to DIR"),
        ("ROOT", "attention", "", "{root} was asked for no course; name one with --course, of: c1, c2"),
        ("ROOT", "attention", "c3", "{root} has no course c3; name one with --course, of: c1, c2"),
        (
            "ROOT",
            "hw1",
            "c1",
            "c1 has released no assignment hw1, only: attention, warm-up. The folder's name",
        ),
        ("ROOT", "hw1", "c2", "c2 has released no assignment hw1, only: none yet"),
        ("c.Exchange.root = '/dev/null/x'", "attention", "c1", "exchange refused it: Unwritable directory"),
        ("c.Exchange.root = 7", "attention", "c1", "configuration does not load: TraitError: The 'root'"),
        ("(", "attention", "c1", "does not load: SyntaxError: '(' was never closed"),
        (
            "raise SystemExit('no')",
            "attention",
            "c1",
            "does not load: SystemExit: no.\nCorrect nbgrader_config",
        ),
    ],
)
def test_what_the_exchange_lacks_is_said(
    settings: str, name: str, course: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, here = tmp_path / "exchange", tmp_path / "student"
    for folder in ("c1/inbound", "c1/outbound/attention", "c1/outbound/warm-up", "c2/inbound", "c2/outbound"):
        (root / folder).mkdir(parents=True)
    root.chmod(0o777)
    (here / name).mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [*sys.path])  # nbgrader adds to it
    if settings:
        text = settings.replace("ROOT", f"c.Exchange.root = {str(root)!r}")
        (here / "nbgrader_config.py").write_text(f"c = get_config()\n{text}\n", encoding="utf-8")
    with pytest.raises(handin.Unfit) as refused:
        delivery._submit(here / name, course)
    assert said.format(here=here, root=root) in str(refused.value)
    assert not any(path.is_file() for path in root.rglob("*"))


def test_the_command_says_what_is_missing(
    fetched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["submit", "--from", str(workspace.solutions())]
    missing = CliRunner().invoke(app, [*command, "elsewhere"])
    assert missing.exit_code == 2
    assert missing.stderr.splitlines() == [
        "grade submit: nothing was handed in.",
        f"elsewhere holds no notebook of the assignment: {handin.FETCH_FIRST}",
    ]
    monkeypatch.setitem(sys.modules, "nbgrader.exchange", None)
    missing = CliRunner().invoke(app, command)
    assert missing.exit_code == 2
    assert "nbgrader is not installed: pip install nbgrader, or write" in missing.stderr


def test_the_command_line_starts_without_nbgrader_and_jax() -> None:
    heavy = ["nbgrader", "nbformat", "IPython", "jax", "numpy", "autograder.classroom.handin"]
    code = f"import sys, autograder.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
