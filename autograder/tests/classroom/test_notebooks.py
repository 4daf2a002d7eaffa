"""The assignment: stable, valid for nbgrader, filled from the measurements, and it gives nothing away."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from autograder import author, catalog, workspace
from autograder.classroom import checking, cutting, groups, notebooks, prose, questions
from autograder.classroom.examples import EXAMPLES

EXERCISES = pytest.mark.parametrize("exercise", catalog.EXERCISES, ids=lambda exercise: str(exercise.name))


def cells(exercise: catalog.Exercise) -> dict[str, dict[str, Any]]:
    return {cell["id"]: cell for cell in notebooks.notebook(exercise)["cells"]}


def test_ids_and_points_are_the_ones_that_gradebooks_know() -> None:
    assert checking.ids() == checking.IDS.read_text(encoding="utf-8")


def test_numbers_of_the_questions_are_the_measured_ones() -> None:
    made, problems = questions.filled()
    assert problems == []
    assert made == questions.FILE.read_text(encoding="utf-8")


@EXERCISES
def test_a_notebook_holds_the_whole_exercise(exercise: catalog.Exercise) -> None:
    made = cells(exercise)
    assert {"start", "idea", "asked", "setup", *exercise.functions, "question"} <= set(made)
    points = {name: cell["metadata"].get("nbgrader", {}).get("points", 0) for name, cell in made.items()}
    assert sum(points.values()) == 20 + groups.QUESTION_POINTS
    assert {group.id for group in groups.groups(exercise)} == {
        name for name, cell in made.items() if points[name] and cell["cell_type"] == "code"
    }
    for name, cell in made.items():
        assert cell["metadata"].get("nbgrader", {"grade_id": name})["grade_id"] == name
        assert cell["cell_type"] != "markdown" or "<!--" not in cell["source"]
    assert {name for name in made if name.startswith("example-")} <= {f"example-{name}" for name in EXAMPLES}


@EXERCISES
def test_the_cells_together_are_the_solution(exercise: catalog.Exercise) -> None:
    made = cells(exercise)
    text = "\n\n\n".join(made[name]["source"] for name in (cutting.SETUP, *exercise.functions))
    kept = ast.parse(text).body
    for node in kept:
        if isinstance(node, ast.FunctionDef) and node.name in exercise.functions:
            assert ast.unparse(node.body.pop()) == f"raise NotImplementedError('TODO: {node.name}')"
    solution = (workspace.solutions() / f"{exercise.name}.py").read_text(encoding="utf-8")
    assert sorted(map(ast.dump, kept)) == sorted(map(ast.dump, ast.parse(solution).body[1:]))


@EXERCISES
def test_a_rubric_gives_all_the_points(exercise: catalog.Exercise) -> None:
    asked = questions.question(exercise)
    points = [int(line[2]) for line in asked.rubric.splitlines() if line.startswith("- ")]
    assert sum(points) == groups.QUESTION_POINTS
    assert asked.rubric not in asked.text


def test_examples_are_of_functions_there_are() -> None:
    assert set(EXAMPLES) == {name for exercise in catalog.EXERCISES for name in exercise.functions}


def test_prose_fits_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("<svg/>", encoding="utf-8")
    (tmp_path / "page.md").write_text(
        "# Page\n\n### Asked\n\nT is <!-- seq T: x -->4 ms<!-- end -->, [here](other.md#x), [there](https://x.y).\n"
        "K heads (see the\n[letters](l.md)), K ≤ N\n([stage 3](3.md), [4](4.md)), N ([9](9.md) says why).\n"
        "![two\nlines](a.svg) ![none](b.svg) $`x`$\n\n"
        "```math\nx [a](b)\n```\n\n```python\n# Comment\nf[0](x)\n```\n"
        "#### Below\n\n## Next\n",
        encoding="utf-8",
    )
    made = prose.section(tmp_path / "page.md", "Asked")
    assert made == (
        "## Asked\n\nT is 4 ms, here, [there](https://x.y).\n"
        "K heads, K ≤ N, N (9 says why).\n"
        "![two lines](data:image/svg+xml;base64,PHN2Zy8+) *none* $x$\n\n"
        "$$\nx a\n$$\n\n```python\n# Comment\nf[0](x)\n```\n#### Below"
    )
    assert prose.section(tmp_path / "page.md", "Comment") is None


def test_a_module_is_cut_at_its_functions() -> None:
    f = "# Why.\n@a.b(\n    1\n)\ndef f(): ...\n\n\nY = f; Z = 1"
    g = "g = a.jit(Y)\n\nX = 3\n\ndef f(): pass"
    bound = "@a.jit\ndef _bound(y=Y): ..."
    helper = "def _helper(): return Y, f"
    text = f"'''Doc.'''\nimport a\n\nX = 1\n{f}\n\n\n{bound}\n\n{helper}\n\n\n{g}\n"
    assert cutting.cut(text, ["g", "f", "h"]) == {
        "setup": f"'''Doc.'''\nimport a\n\nX = 1\n{helper}",
        "f": f"{f}\n\n\n{bound}",
        "g": g,
    }
    choice = "if a:\n    def f(): pass\nelse:\n    f = None"
    assert cutting.cut(f"{choice}\n\nfrom b import g", ["f", "g"]) == {
        "setup": "",
        "f": choice,
        "g": "from b import g",
    }


def test_the_command_writes_notebooks_and_checks_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, asked = (tmp_path / name for name in ("cells.txt", "questions.md"))
    ids.write_text("naive_attention setup\n", encoding="utf-8")
    asked.write_text(questions.FILE.read_text(encoding="utf-8").replace("3.22 GB", "3 GB"), encoding="utf-8")
    monkeypatch.setattr(checking, "IDS", ids)
    monkeypatch.setattr(questions, "FILE", asked)
    monkeypatch.setattr(checking, "find_spec", lambda name: None)
    assert checking.main(check=True, folder=tmp_path / "made") == 1
    shown = capsys.readouterr().err
    assert "questions.md is out of step" in shown
    assert "ids or points differ" in shown
    assert checking.main(check=False, folder=asked / "made") == 1
    assert f"{asked / 'made'} cannot be written: Not a directory" in capsys.readouterr().err
    assert checking.main(check=False, folder=None) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"wrote {asked}",
        f"wrote {ids}",
        "no notebook was written: name a DIR for them, as in: notebooks DIR",
    ]
    assert checking.main(check=False, folder=tmp_path / "made") == 0
    assert f"wrote {tmp_path / 'made' / 'causal_check.ipynb'}" in capsys.readouterr().out
    assert checking.main(check=True, folder=tmp_path / "made") == 0
    made = json.loads((tmp_path / "made" / "causal_check.ipynb").read_text(encoding="utf-8"))
    assert made == notebooks.notebook(catalog.EXERCISES[2])
    assert author.parser().parse_args(["notebooks", "--check"]).check


@EXERCISES
def test_examples_run_beside_the_solution(
    exercise: catalog.Exercise, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {"__name__": "notebook"}
    module = ModuleType("notebook")
    sys.modules["notebook"] = module  # dataclasses look their module up
    try:
        for name, cell in cells(exercise).items():
            if cell["cell_type"] == "code" and "autograder.check" not in cell["source"]:
                exec(compile(cell["source"], name, "exec"), names)
                assert bool(capsys.readouterr().out) == name.startswith("example-")
    finally:
        del sys.modules["notebook"]
