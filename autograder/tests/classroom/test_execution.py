"""A hostile cell in the kernel of a class: what it can leave behind, and what is kept of what it sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nbformat import v4

from autograder import sandbox
from autograder.classroom import context
from autograder.classroom.execution import BoundedExecute
from autograder.classroom.gradebook import TrustedNotebook

BESIDE = """
import os, sys
folder = os.path.dirname(next(word for word in sys.argv if word.endswith("kernel.json")))
def tried(what, *where):
    try:
        what(*where)
    except OSError:
        return "refused"
    return "done"
print("beside the sockets:", tried(open, folder + "/file", "w"), tried(os.mkdir, folder + "/in"))
print("in its own folder:", tried(open, "/tmp/file", "w"))
for pid in ("self", 1):
    with open(f"/proc/{pid}/status") as file:
        print(*(line for line in file if line.startswith("Seccomp:")), sep="", end="")
"""
# Itself and the first process that it sees, by whether they have a filter (2).
FILTERED = ["Seccomp:\t2"] * 2 if "Seccomp:" in Path("/proc/self/status").read_text() else []
PAGE = 'display({"text/html": "<script>PWN</script>", "text/plain": "shown"}, raw=True)'
FORGED = """
kernel = get_ipython().kernel
kernel.session.send(kernel.iopub_socket, "stream", {"name": 7, "text": "\\x1b[31m"}, kernel.get_parent())
"""


def run(tmp_path: Path, *cells: str) -> Any:
    made = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
    here = context.Context(tmp_path, "ada", "attention", TrustedNotebook("one", ()), (), unsandboxed=False)
    made, _ = BoundedExecute(timeout=60).preprocess(made, {context.KEY: here, "metadata": {"path": ""}})
    return made.cells


@pytest.mark.slow
@pytest.mark.skipif(sandbox.kind() == "none", reason="it needs bubblewrap")
@pytest.mark.usefixtures("kernels")
def test_a_cell_fills_no_disk_and_sends_no_page(tmp_path: Path) -> None:
    beside, page, forged, last = run(tmp_path, BESIDE, PAGE, FORGED, "1 + 1")
    assert "".join(output.text for output in beside.outputs).splitlines() == [
        "beside the sockets: refused refused",
        "in its own folder: done",
        *FILTERED,
    ]
    assert [output.data for output in page.outputs] == [{"text/plain": "shown"}]
    why = "NotebookValidationError: 7 is not of type 'string'."
    assert [output.evalue for output in forged.outputs] == [f"Stopped: {why}"]
    assert [output.evalue for output in last.outputs] == [f"Not run: {why}"]
