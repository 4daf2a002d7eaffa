"""nbgrader's CSV with three columns more: what was earned, what can be, and what waits to be decided."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
    "earned",
    "possible",
    "waiting",
)


class PointsExportPlugin(ExportPlugin):
    """`nbgrader export --exporter=autograder.classroom.export.PointsExportPlugin`.

    The columns of nbgrader's own CSV, then `earned` and `possible` points, and `waiting`: those that nobody
    has decided yet, for want of a GPU or of a person. nbgrader counts them as 0.
    """

    def export(self, gradebook: Gradebook) -> None:
        """Write the file that --to names, or grades.csv."""
        with Path(self.to or "grades.csv").open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            for assignment in gradebook.assignments:
                for student in gradebook.students:
                    if _chosen(self.assignment, assignment.name) and _chosen(self.student, student.id):
                        table.writerow(_row(gradebook, assignment, student))


def _chosen(names: list[Any], name: str) -> bool:
    return not names or name in map(str, names)


def _row(gradebook: Gradebook, assignment: Any, student: Any) -> dict[str, Any]:
    row = {
        "assignment": assignment.name,
        "duedate": assignment.duedate,
        "student_id": student.id,
        "last_name": student.last_name,
        "first_name": student.first_name,
        "email": student.email,
        "max_score": assignment.max_score,
        "possible": assignment.max_score,
        **dict.fromkeys(("raw_score", "late_submission_penalty", "score", "earned", "waiting"), 0.0),
    }
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return row
    return row | {
        "timestamp": submission.timestamp,
        "raw_score": submission.score,
        "late_submission_penalty": submission.late_submission_penalty,
        "score": final(submission),
        "earned": submission.score,
        "waiting": waiting(submission),
    }


def final(submission: Any) -> float:
    """A submission's score less its late penalty, as nbgrader's own CSV has it."""
    return max(0.0, submission.score - (submission.late_submission_penalty or 0.0))


def waiting(submission: Any) -> float:
    """The points of a submission that have neither a score of ours nor of a person's."""
    grades = (grade for notebook in submission.notebooks for grade in notebook.grades)
    return float(
        sum(grade.max_score for grade in grades if grade.auto_score is None and grade.manual_score is None)
    )
