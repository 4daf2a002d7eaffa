"""Runs a notebook's cells so that people see what they print; no score of ours comes from there."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from nbclient.util import run_sync
from nbformat import NotebookNode, v4
from nbgrader import utils
from nbgrader.preprocessors import Execute

from autograder.classroom import context, outputs
from autograder.classroom.cells import grade_id
from autograder.classroom.gradebook import TrustedNotebook
from autograder.classroom.kernel import MAX_MESSAGE, SandboxedKernelManager
from autograder.sandbox.output import clean

MAX_OUTPUT = 2**20
"""Characters of output that a notebook keeps; what comes after is dropped as it comes."""
LEFT_OUT = "\n(more output than is kept: the rest is left out)\n"
UNHEARD = f"what a cell printed did not come through: more than {MAX_MESSAGE // 2**20} MB at once, perhaps"


class BoundedExecute(Execute):
    """nbgrader's Execute in a sandboxed kernel, with one time limit and one limit on output a notebook.

    `timeout` is the seconds that a whole notebook may take. Our own test cells are not run, nor is a notebook
    of ours without a student's code. Whatever ends the kernel ends the run of this notebook alone: cells that
    were not run hold an error, so that nbgrader gives nothing for them.
    """

    def __init__(self, **traits: Any) -> None:
        super().__init__(
            **{
                "kernel_manager_class": SandboxedKernelManager,
                "kernel_name": "python3",
                "shutdown_kernel": "immediate",
                "store_widget_state": False,
                **traits,
            }
        )
        self.interrupt_on_timeout = False
        self.error_on_timeout: dict[str, str] = {}
        self.timeout_func = lambda cell: max(1, round(self._until - time.monotonic()))

    def preprocess(self, nb: NotebookNode, resources: Any, km: Any = None) -> tuple[NotebookNode, Any]:
        self._until = time.monotonic() + self.timeout
        self._printed = 0
        self._at = 0
        self._manager: SandboxedKernelManager | None = None
        self._here = context.of(resources)
        if _untouched(nb, self._here.trusted):
            _not_run([cell for cell in nb.cells if utils.is_grade(cell)], "no code in this notebook is yours")
            return nb, resources
        self._folder = Path(tempfile.mkdtemp(prefix="attention-kernel-"))
        ended = ""
        try:
            nb, resources = super().preprocess(nb, resources, km)
        except Exception as error:  # a notebook may do anything to its kernel
            ended = self._why(error)
            self.log.warning("%s: its cells were not run to the end: %s", self._here, ended)
        finally:
            self._take_away()
        outputs.shown(nb.cells)
        if ended:
            _not_run(nb.cells[self._at :], ended)
        return nb, resources

    def create_kernel_manager(self) -> Any:
        manager: SandboxedKernelManager = super().create_kernel_manager()
        manager.share(self._folder, [self._here.root])
        self._manager = manager
        return manager

    async def async_start_new_kernel_client(self) -> AsyncKernelClient:
        """A client that has heard from the kernel, so that both need the folder no more.

        In one that is gone nothing can be made: no cell fills the disk.
        """
        client: AsyncKernelClient = await super().async_start_new_kernel_client()
        if not self._here.unsandboxed:  # there it is the kernel's home too
            self._take_away()
        assert self._manager is not None
        threading.Thread(target=self._manager.watch, daemon=True).start()
        return client

    start_new_kernel_client = run_sync(async_start_new_kernel_client)

    def _take_away(self) -> None:
        with suppress(RecursionError):  # folders in folders
            shutil.rmtree(self._folder, ignore_errors=True)

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> tuple[NotebookNode, Any]:
        self._at = index
        if grade_id(cell) in self._here.trusted.tests:
            return cell, resources
        if cell.cell_type == "code" and cell.source.strip() and time.monotonic() > self._until:
            raise TimeoutError
        return super().preprocess_cell(cell, resources, index)

    def process_message(self, msg: Any, cell: NotebookNode, cell_index: int) -> Any:
        size = len(repr(msg["content"])) if msg["msg_type"] != "status" else 0
        self._printed += size
        if self._printed > MAX_OUTPUT and size:
            if self._printed - size <= MAX_OUTPUT:
                cell.outputs.append(v4.new_output("stream", text=LEFT_OUT))
            return None
        return super().process_message(msg, cell, cell_index)

    def _why(self, error: Exception) -> str:
        name = type(error).__name__
        if self._manager and self._manager.verdict:
            return self._manager.verdict
        if "Timeout" in name:
            late = time.monotonic() > self._until - 1
            return f"they took more than {self.timeout} seconds together" if late else UNHEARD
        if "DeadKernel" in name:
            return "the kernel died"
        first, *_ = clean(str(error)).split("\n")  # its words may be the student's
        return f"{name}: {first[:200].rstrip('.')}"


def _not_run(cells: Sequence[NotebookNode], why: str) -> None:
    """Let these cells hold an error; the first, where the run ended, what it printed until then too."""
    for number, cell in enumerate(cells):
        if cell.cell_type == "code" and cell.source.strip():
            text = f"{'Stopped' if number == 0 else 'Not run'}: {why}."
            cell.outputs = [
                *(cell.get("outputs", ()) if number == 0 else ()),
                v4.new_output("error", ename="Stopped", evalue=text, traceback=[text]),
            ]


def _untouched(nb: NotebookNode, trusted: TrustedNotebook) -> bool:
    """Whether it is a notebook of ours, and no code in it is the student's."""
    if trusted.exercise is None:
        return False
    texts = {cell.id: cell.source for cell in trusted.cells}
    return all(texts.get(grade_id(cell)) == cell.source for cell in nb.cells if cell.cell_type == "code")
