"""A class's marks: from each grading's record, and from the gradebook, which has the last word on points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

from autograder import catalog
from autograder.classroom import records
from autograder.classroom.export import final, waiting
from autograder.results import CheckResult, Outcome


@dataclass(frozen=True)
class Mark:
    """What one student's check came to."""

    student: str
    exercise: str
    check: CheckResult


@dataclass(frozen=True)
class Total:
    """A student's points as nbgrader counts them, persons' scores and late penalties included."""

    student: str
    score: float
    possible: float
    waiting: float
    penalty: float


@dataclass(frozen=True)
class Grading:
    """How one notebook's last grading went; `notes` is what was mended, `changes` what it changed."""

    student: str
    exercise: str
    seconds: float
    sandbox: str
    notes: tuple[str, ...]
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Class:
    """All of an assignment."""

    assignment: str
    marks: tuple[Mark, ...]
    totals: tuple[Total, ...]
    gradings: tuple[Grading, ...]

    def tally(self, exercise: str, check: str) -> Counter[Outcome]:
        """How many students' check came to what."""
        return Counter(
            mark.check.outcome for mark in self.marks if (mark.exercise, mark.check.id) == (exercise, check)
        )

    def failures(self) -> list[tuple[int, Mark]]:
        """The commonest first: how many students, and one of their marks."""
        kinds: dict[tuple[str, str, str], list[Mark]] = {}
        for mark in self.marks:
            if mark.check.outcome is Outcome.FAILED:
                kinds.setdefault((mark.exercise, mark.check.id, mark.check.diagnosis), []).append(mark)
        return sorted(((len(each), each[0]) for each in kinds.values()), key=lambda kind: -kind[0])

    def alike(self, outcomes: Iterable[Outcome]) -> list[tuple[str, str]]:
        """The checks, by exercise, that came to one of these with everybody who began the exercise."""
        wanted, found = set(outcomes), []
        for exercise in catalog.EXERCISES:
            for check in exercise.checks:
                tally = self.tally(exercise.name, check.id)
                del tally[Outcome.NOT_STARTED], tally[Outcome.NOT_GRADED], tally[Outcome.GRADER_ERROR]
                if tally and set(tally) <= wanted:
                    found.append((exercise.name, check.id))
        return found


def read(root: Path, assignment: str) -> Class:
    """The assignment's marks, from the course in `root`."""
    found = tuple(records.load(root, assignment))
    return Class(
        assignment,
        tuple(mark for record in found for mark in _marks(record)),
        tuple(_totals(f"sqlite:///{root.resolve() / 'gradebook.db'}", assignment)),
        tuple(_grading(record) for record in found),
    )


def _marks(record: records.Record) -> Iterable[Mark]:
    for document in record.report["exercises"][0]["checks"]:
        yield Mark(record.student, record.notebook, CheckResult.from_json(document))


def _grading(record: records.Record) -> Grading:
    where = record.report["provenance"]
    return Grading(
        record.student, record.notebook, where["seconds"], where["sandbox"], record.notes, record.changes
    )


def _totals(url: str, assignment: str) -> Sequence[Total]:
    with Gradebook(url) as book:
        try:
            possible = book.find_assignment(assignment).max_score
        except MissingEntry:
            return []
        totals = []
        for submission in book.assignment_submissions(assignment):
            penalty = submission.late_submission_penalty or 0.0
            totals.append(
                Total(submission.student.id, final(submission), possible, waiting(submission), penalty)
            )
        return sorted(totals, key=lambda total: total.student)
