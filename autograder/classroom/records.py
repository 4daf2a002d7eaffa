"""What the instructor keeps of each grading: grades/ASSIGNMENT/STUDENT/NOTEBOOK.json.

It outlives `nbgrader autograde --force`, which deletes what it graded before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from autograder.results import Report
from autograder.sandbox.output import clean

FOLDER = "grades"
MACHINE = "the machine itself (so the instructor wrote)"


@dataclass(frozen=True)
class Record:
    """One notebook of one student as last graded.

    `report` is the document of `grade --json`; `scores` are by test cell, None while it waits; `notes` is
    what was mended or left out; `changes` is what the last grading changed, and `gradings` counts them.
    """

    student: str
    assignment: str
    notebook: str
    scores: Mapping[str, float | None]
    report: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    gradings: int = 1

    def after(self, earlier: Record | None) -> Record:
        """This record, with what it changes in the earlier one of the same notebook."""
        if earlier is None:
            return self
        cells = {**earlier.scores, **self.scores}
        changes = tuple(
            f"{cell}: {_shown(earlier.scores.get(cell))} → {_shown(self.scores.get(cell))}"
            for cell in cells
            if earlier.scores.get(cell) != self.scores.get(cell)
        )
        return replace(self, changes=changes, gradings=earlier.gradings + 1)


def record(
    student: str,
    assignment: str,
    scores: Mapping[str, float | None],
    report: Report,
    notes: Sequence[str],
    unsandboxed: bool,
) -> Record:
    """The record of a first grading; its notes are safe to print.

    `unsandboxed`: whether the instructor wrote that the machine itself is the sandbox.
    """
    document = report.to_json()
    if unsandboxed:
        document["provenance"]["sandbox"] = MACHINE
    plain = tuple(" ".join(clean(note).split()) for note in notes)  # a student's words, on a terminal
    return Record(student, assignment, report.exercises[0].name, dict(scores), document, plain)


def save(root: Path, new: Record) -> Record:
    """Write it below the course's folder; returns it with what it changed."""
    path = _path(root, new)
    new = new.after(_read(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".tmp")
    beside.write_text(json.dumps(asdict(new), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(path)
    return new


def load(root: Path, assignment: str) -> Iterator[Record]:
    """All records of an assignment, by student and notebook."""
    for path in sorted((root / FOLDER / assignment).glob("*/*.json")):
        if found := _read(path):
            yield found


def _path(root: Path, of: Record) -> Path:
    return root / FOLDER / of.assignment / of.student / f"{of.notebook}.json"


def _read(path: Path) -> Record | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        document |= {name: tuple(document[name]) for name in ("notes", "changes")}
        return Record(**document)
    except (OSError, ValueError, TypeError, KeyError):  # none yet, or one that an older version wrote
        return None


def _shown(score: float | None) -> str:
    return "waiting" if score is None else f"{score:g}"
