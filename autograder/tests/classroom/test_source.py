"""A module out of a notebook: what the functions need, whatever stands beside it."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import pytest

from autograder import catalog, provenance, workspace
from autograder.classroom.source import Module, module_source, of_cells
from autograder.results import CheckResult, ExerciseResult, Outcome, Report
from autograder.source import MAX_BYTES

EXERCISE = catalog.EXERCISES[0]
SOLUTION = "def naive_attention(query, key, value):\n    return query"


def module(*cells: str) -> Module:
    return of_cells([(str(number), cell) for number, cell in enumerate(cells, start=1)], EXERCISE)


def run(*cells: str) -> dict[str, Any]:
    """The names of the module after its import; it may need no package."""
    names: dict[str, Any] = {}
    exec(compile(module(*cells).text, "module", "exec"), names)
    return names


@pytest.mark.parametrize("exercise", catalog.EXERCISES, ids=lambda exercise: str(exercise.name))
def test_a_whole_solution_in_a_cell_keeps_its_code(exercise: catalog.Exercise) -> None:
    text = (workspace.solutions() / f"{exercise.name}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    names = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}
    wanted = [
        node
        for node in tree.body
        if not isinstance(node, ast.Expr)  # the docstring
        and not (isinstance(node, ast.Import) and (node.names[0].asname or node.names[0].name) not in names)
    ]
    kept = ast.parse(of_cells([("1", text)], exercise).text)
    assert [*map(ast.dump, kept.body)] == [*map(ast.dump, wanted)]


def test_names_of_other_cells_come_along_and_scratch_does_not() -> None:
    made = module(
        "import math, os",
        "def helper(x):\n    return deep(x) * SCALE",
        "SCALE = 2; other = open('secret')",
        SOLUTION.replace("query", "helper(query)").replace("(helper(query)", "(query"),
        "def deep(x):\n    return math.pi",
        "naive_attention(1, 2, 3)\noutput = naive_attention(1, 2, 3)",
        "from jax.nn import dot_product_attention\nassert dot_product_attention",
    )
    assert made.notes == ()
    kept = ["import math, os", "def helper", "SCALE = 2", "def naive_attention", "def deep"]
    assert [part.split("(x)")[0].split("(query")[0] for part in made.text.strip().split("\n\n")] == kept


def test_the_last_definition_wins() -> None:
    assert run(SOLUTION, SOLUTION.replace("return query", "return key"))["naive_attention"](1, 2, 3) == 2
    assert (
        run(SOLUTION, "old = naive_attention", "naive_attention = lambda *a: old(*a) + 1")["naive_attention"](
            1, 2, 3
        )
        == 2
    )


@pytest.mark.parametrize(
    "cell",
    [
        f"%%time\n{SOLUTION}",
        f"\n%%capture out\n{SOLUTION}",
        f"%matplotlib inline\n{SOLUTION}\n!ls -l $HOME 'it\nnaive_attention?",
        f"!pip install a \\\n  b\n{SOLUTION}",
        f"files = !ls\nnow = %time 1\nif files:\n    %time 2\n{SOLUTION}",
        f"{SOLUTION}\r\nx = 1\r\n",
        f"x = '''\n%time\n!ls'''; {SOLUTION.replace('def', chr(10) + 'def')}",
    ],
)
def test_magics_and_shell_lines_are_left_out(cell: str) -> None:
    made = module(cell)
    assert made.notes == ()
    assert made.text.strip() == SOLUTION


@pytest.mark.parametrize(
    "cell", ["%%bash\nls", "%%writefile f.py\ndef naive_attention(q): pass", "# nothing", ""]
)
def test_cells_that_are_not_python_give_nothing(cell: str) -> None:
    made = module(cell, SOLUTION)
    assert (made.text, made.notes) == (module(SOLUTION).text, ())


def test_what_a_string_holds_is_no_magic() -> None:
    assert run('TEXT = """\n%time\n!ls"""', "def naive_attention(*_):\n    return TEXT\n")[
        "naive_attention"
    ]() == ("\n%time\n!ls")


def test_decorators_unicode_and_comments() -> None:
    names = run(
        "twice = lambda f: lambda *a: 2 * f(*a)",
        "# größe\nGRÖSSE = 4; é = 'é'; n = len(é)",
        "@twice\n@(\n    twice\n)\ndef naive_attention(*inputs):  # ✓\n    return inputs[0] * GRÖSSE * n",
    )
    assert names["naive_attention"](1, 2, 3) == 16


def test_blocks_that_bind_a_name_come_whole() -> None:
    names = run(
        "try:\n    import nowhere_at_all as fast\nexcept ImportError:\n    fast = None",
        "TABLE = {}\nfor i in range(3):\n    TABLE[i] = i * i",
        "TABLE['x'] = 1",
        "def naive_attention(query, key, value):\n    return fast, TABLE",
    )
    assert names["naive_attention"](1, 2, 3) == (None, {0: 0, 1: 1, 2: 4, "x": 1})


def test_future_imports_come_first_and_stars_come_along() -> None:
    made = module("from math import *", "from __future__ import annotations", SOLUTION)
    assert made.text.splitlines()[::2][:2] == ["from __future__ import annotations", "from math import *"]
    compile(made.text, "module", "exec")


@pytest.mark.parametrize(
    ("cell", "note"),
    [
        ("def broken(:", "cell 1 is left out, since it is not valid Python: line 1: "),
        ("x = 1\nx = = 2", "cell 1 is left out, since it is not valid Python: line 2: "),
        ("def f(a, a): pass", "cell 1 is left out, since it is not valid Python: line 1: duplicate argument"),
        ("x = '\0'", "cell 1 is left out"),
        ("x = '\ud800'", "cell 1 is left out"),
        ("x = " + "(" * 5000, "cell 1 is left out"),
        ("x = " + "lambda: " * 3000 + "1", "cell 1 is left out: "),
        ("x = " + "-" * 30000 + "1", "cell 1 is left out"),
        ("import a" + ".b" * 30000, "cell 1 is left out: a name in it has more than 100 parts"),
        ("#" * (MAX_BYTES + 1), "cell 1 is left out: more than 64 kB of code"),
        ("!ls\n" * 200, "cell 1 is left out: more than 30 lines of it are not Python"),
    ],
)
def test_what_cannot_be_read_is_noted_and_the_rest_is_taken(cell: str, note: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = module(cell, SOLUTION)
    assert made.text == module(SOLUTION).text
    assert len(made.notes) == 1
    assert made.notes[0].startswith(note)
    assert not made.notes[0].endswith(": ")


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("TABLE.append(1)\nTABLE\nprint(TABLE)", "TABLE.append(1)"),
        ("# Squares.\n\nfor i in range(3):\n    TABLE.append(i)", "for i in range(3):"),
        ("if TABLE == []:\n    with open('x') as f:\n        TABLE.extend(f)", "if TABLE == []:"),
    ],
)
def test_a_call_that_would_change_what_the_module_uses_is_noted(cell: str, line: str) -> None:
    uses = "def naive_attention(*_):\n    return TABLE"
    assert module("TABLE = []", cell, uses).notes == (
        f"cell 2: `{line}` is left out: make it part of a function or an assignment",
    )
    kept = "TABLE = []\nfor i in range(3):\n    TABLE.append(i)\n    TABLE = [*TABLE]"
    assert module(kept, uses).notes == ()


def test_a_report_names_cells_and_their_lines() -> None:
    made = module(
        "%%time\n!pip \\\n  install\n\nimport math\nx = 1",
        "x = 1\n\n# Why.\ndef naive_attention(q):\n    return helper(q)",
        "def helper(q): return math",
    )
    assert [made.text.split("\n").index(line) for line in ("    return helper(q)", "import math")] == [4, 0]
    details = {
        "raised E at line 5: x at line 4": "raised E at line 5 of cell 2: x at line 4 of cell 2",
        "uses f at line 1; y": "uses f at line 5 of cell 1; y",
        "at line 7": "at line 7",
        "f(x): raised E at line 7": "f(x): raised E at line 1 of cell 3",
        "failed at line 0, line 3": "failed at line 0, line 3",
    }
    checks = tuple(CheckResult(str(n), Outcome.FAILED, 1, detail) for n, detail in enumerate(details))
    where = provenance.of(seeds={}, replay=False, device="", sha256={}, started="", seconds=1.0)
    report = made.located(Report((ExerciseResult("naive_attention", checks),), where))
    assert [check.detail for check in report.exercises[0].checks] == [*details.values()]


def test_all_of_a_notebook_is_bounded() -> None:
    made = module(*["#" * MAX_BYTES] * 5, SOLUTION)
    assert "naive_attention" not in made.text
    assert made.notes[-1] == "cell 6 is left out: more than 256 kB of code"


def test_cells_are_named_by_their_id_or_place() -> None:
    bad: dict[str, Any] = {"cell_type": "code", "source": ["def ", "f(:"], "metadata": {}}
    cells = [
        {"cell_type": "markdown", "source": SOLUTION, "metadata": {}},
        {**bad, "metadata": {"nbgrader": {"grade_id": "setup"}}},
        bad,
        {**bad, "metadata": None, "source": SOLUTION},
        {"cell_type": "code"},
        7,
    ]
    made = module_source({"cells": cells}, EXERCISE)
    assert [note.split(" is ")[0] for note in made.notes] == ["cell setup", "cell 3"]
    assert made.text.strip() == SOLUTION


@pytest.mark.parametrize("notebook", [{}, {"cells": None}, {"cells": {"a": 1}}])
def test_a_notebook_without_cells_is_an_empty_module(notebook: dict[str, Any]) -> None:
    assert module_source(notebook, EXERCISE) == Module("\n")
