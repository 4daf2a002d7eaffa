"""A notebook in a real kernel: what a student sees, and what nbgrader's Validate would make of it."""

from __future__ import annotations

from typing import Any

import nbclient
import nbformat
import pytest
from nbgrader.utils import determine_grade

from autograder import catalog
from autograder.classroom.notebooks import notebook

NAMES = ("setup", "kv_cache_bytes", "example-kv_cache_bytes", "check-kv_cache_bytes")


@pytest.mark.slow
@pytest.mark.usefixtures("kernels")
def test_a_student_corrects_a_mistake() -> None:
    source = notebook(catalog.EXERCISES[3])
    made = nbformat.from_dict(source)
    setup, function, example, check = (cell for cell in made.cells if cell.id in NAMES)
    wrong = nbformat.from_dict({**function, "source": function.source.replace("return 2 *", "return 1 *")})
    tests = [nbformat.from_dict(check) for _ in range(4)]
    made.cells = [tests[0], setup, wrong, tests[1], function, example, tests[2], tests[3]]
    nbclient.NotebookClient(made, timeout=120, kernel_name="python3").execute()
    assert [determine_grade(test) for test in tests] == [(0, 2), (0, 2), (2, 2), (2, 2)]
    shown = [_text(test) for test in tests]
    assert "kv_cache_bytes is not there yet: run the cell that defines it" in shown[0]
    assert "Failed: kv_cache_bytes (2 points)" in shown[1]
    assert "All that can be graded on this machine passed." in shown[2]
    assert shown[2] == shown[3]


def _text(cell: Any) -> str:
    """What it printed; nothing else but the points may have come out."""
    *streams, points = cell.outputs
    assert points.output_type == "execute_result"
    assert {output.name for output in streams} == {"stdout"}
    return "".join(output.text for output in streams)
