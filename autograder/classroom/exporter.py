"""How nbgrader reads what students handed in: no file ends a batch, and nothing runs without a sandbox."""

from __future__ import annotations

import functools
import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from nbconvert.exporters import NotebookExporter
from nbformat import v4
from nbgrader.converters.base import NbGraderException
from traitlets import Bool

from autograder import sandbox
from autograder.classroom import context, gradebook, submitted

NOT_MADE = (
    "Nothing was graded: gradebook.db knows no notebook of {name}, whose cells and points it would tell. "
    "Next: nbgrader generate_assignment {name}"
)
NO_SANDBOX = (
    "Nothing was graded: {why}. Install bubblewrap. If this machine is itself the sandbox (it holds "
    "nothing that students may not see or change, and is thrown away after the batch), write in "
    "nbgrader_config.py: c.Submissions.machine_is_the_sandbox = True. Every grade will say so."
)


class Submissions(NotebookExporter):
    """The exporter of `nbgrader autograde`: reads each notebook mended, and adds those that are missing."""

    machine_is_the_sandbox = Bool(
        False, help="Whether students' code may run on this machine without a sandbox."
    ).tag(config=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        if sandbox.kind() == "none" and not self.machine_is_the_sandbox:
            self._refuse(NO_SANDBOX.format(why=sandbox.why()))
        self._notes: dict[str, tuple[str, ...]] = {}
        self._trusted = functools.cache(gradebook.notebook)  # each reading opens the gradebook
        course = self._converter.coursedir
        known = gradebook.names(course.db_url, course.assignment_id)
        if not known:
            self._refuse(NOT_MADE.format(name=course.assignment_id))
        self._add_missing(known)

    def from_filename(self, filename: str, resources: Any = None, **options: Any) -> tuple[Any, Any]:
        """Mend the notebook in this file, when nbgrader sanitizes it and again when it grades the result."""
        ours = resources["nbgrader"]
        key = f"{ours['student']}/{ours['notebook']}"
        trusted = self._trusted(ours["db_url"], ours["assignment"], ours["notebook"])
        mended = submitted.read(Path(filename), trusted)
        if mended.notes:
            mended.notebook.cells.insert(0, v4.new_markdown_cell(_said(mended.notes)))
            self._notes[key] = mended.notes  # the second reading finds nothing to mend
        resources[context.KEY] = context.Context(
            Path(self._converter.coursedir.root),
            ours["student"],
            ours["assignment"],
            trusted,
            self._notes.get(key, ()),
            unsandboxed=sandbox.kind() == "none",
        )
        resources["metadata"] = {"name": ours["notebook"], "path": str(Path(filename).parent)}
        return self.from_notebook_node(mended.notebook, resources=resources, **options)

    def _refuse(self, why: str) -> NoReturn:
        self.log.error(why)
        raise NbGraderException(why)

    @property
    def _converter(self) -> Any:
        return self.parent

    def _add_missing(self, known: Sequence[str]) -> None:
        """A notebook that was not handed in is graded like an empty one, and its feedback says what to do."""
        course = self._converter.coursedir
        if course.notebook_id != "*":
            return
        handed_in = course.format_path(course.submitted_directory, course.student_id, course.assignment_id)
        for folder in glob.glob(handed_in):  # noqa: PTH207 (an absolute pattern); nbgrader passes over those that hold no notebook
            notebooks = self._converter.assignments.setdefault(folder, [])
            there = {Path(path).stem for path in notebooks}
            for name in sorted(there - set(known)):
                self.log.warning("%s: %s.ipynb is none of the assignment's; it is not graded", folder, name)
            notebooks += [str(Path(folder) / f"{name}.ipynb") for name in known if name not in there]


def _said(notes: tuple[str, ...]) -> str:
    lines = "".join(f"\n* {note}." for note in notes)
    return f"**What was changed in this notebook before it was graded**\n{lines}"
