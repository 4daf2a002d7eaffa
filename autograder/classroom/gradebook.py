"""What the instructor's gradebook knows of a notebook: the only word on its cells, their ids and points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbgrader.api import Gradebook, MissingEntry

from autograder import catalog
from autograder.catalog import Exercise
from autograder.classroom.groups import Group, groups


@dataclass(frozen=True)
class TrustedCell:
    """A cell of the notebook as it was handed out; `points` is None where it is not graded."""

    id: str
    cell_type: str
    source: str
    checksum: str
    locked: bool
    solution: bool
    task: bool
    points: float | None

    @property
    def metadata(self) -> dict[str, Any]:
        """nbgrader's metadata for it, schema 3."""
        graded = {} if self.points is None else {"points": self.points}
        return {
            "grade_id": self.id,
            "grade": self.points is not None and not self.task,
            "solution": self.solution,
            "locked": self.locked,
            "task": self.task,
            "schema_version": 3,
            "cell_type": self.cell_type,
            "checksum": self.checksum,
            **graded,
        }


@dataclass(frozen=True)
class TrustedNotebook:
    """A notebook's graded, locked and solution cells, in the order in which they were handed out."""

    name: str
    cells: tuple[TrustedCell, ...]

    @property
    def exercise(self) -> Exercise | None:
        """The exercise whose checks its test cells ask for; None where nbgrader alone grades it."""
        exercise = next((each for each in catalog.EXERCISES if each.name == self.name), None)
        ids = {cell.id for cell in self.cells}
        return exercise if exercise and any(group.id in ids for group in groups(exercise)) else None

    @property
    def tests(self) -> dict[str, tuple[Group, float]]:
        """Our test cells by id: the group of checks, and the points that the instructor gives for it."""
        points = {cell.id: cell.points for cell in self.cells if cell.points is not None}
        ours = groups(self.exercise) if self.exercise else ()
        return {group.id: (group, points[group.id]) for group in ours if group.id in points}


def notebook(url: str, assignment: str, name: str) -> TrustedNotebook:
    """This notebook of the assignment; MissingEntry where the gradebook at `url` has none of that name."""
    with Gradebook(url) as book:
        found = book.find_notebook(name, assignment)
        points = {cell.name: cell.max_score for cell in (*found.grade_cells, *found.task_cells)}
        solutions = {cell.name for cell in found.solution_cells}
        tasks = {cell.name for cell in found.task_cells}
        return TrustedNotebook(
            name,
            tuple(
                TrustedCell(
                    cell.name,
                    cell.cell_type,
                    cell.source or "",
                    cell.checksum or "",
                    cell.locked,
                    cell.name in solutions,
                    cell.name in tasks,
                    points.get(cell.name),
                )
                for cell in found.source_cells
            ),
        )


def names(url: str, assignment: str) -> tuple[str, ...]:
    """The assignment's notebooks; none where it has not been generated."""
    with Gradebook(url) as book:
        try:
            return tuple(sorted(each.name for each in book.find_assignment(assignment).notebooks))
        except MissingEntry:
            return ()
