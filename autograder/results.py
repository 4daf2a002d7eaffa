"""What a grading says: outcomes, checks, exercises, the report, and their JSON (schema 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

SCHEMA = 1
STILL_THE_STUB = "is still the stub"
"""How the detail of a check ends whose function is not started."""


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_STARTED = "not_started"
    NOT_GRADED = "not_graded"
    GRADER_ERROR = "grader_error"


@dataclass(frozen=True)
class CheckResult:
    """One graded thing.

    `detail` says what was asked, what came and where, or why it was not graded; `diagnosis` names a
    known mistake ("" where none fits); `next_step` is what to do now. Checks with one `cause` fail by one
    mistake. `simulated` marks answers from a double.
    """

    id: str
    outcome: Outcome
    points: int
    detail: str = ""
    diagnosis: str = ""
    next_step: str = ""
    simulated: bool = False
    cause: str = ""

    @property
    def untouched(self) -> bool:
        """Whether its function is still the stub; other checks that are not started wait for one of them."""
        return self.outcome is Outcome.NOT_STARTED and self.detail.endswith(STILL_THE_STUB)

    @property
    def earned(self) -> int:
        return self.points if self.outcome is Outcome.PASSED else 0

    @property
    def waiting(self) -> int:
        return self.points if self.outcome in (Outcome.NOT_GRADED, Outcome.GRADER_ERROR) else 0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "outcome": str(self.outcome), "earned": self.earned}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CheckResult:
        """The result that `to_json` made this document of."""
        known = {field.name: document[field.name] for field in fields(cls) if field.name in document}
        return cls(**{**known, "outcome": Outcome(known["outcome"])})


@dataclass(frozen=True)
class ExerciseResult:
    """The checks of one exercise; `output` is what the learner's code printed, capped and cleaned."""

    name: str
    checks: tuple[CheckResult, ...]
    output: str = ""

    @property
    def earned(self) -> int:
        return sum(check.earned for check in self.checks)

    @property
    def possible(self) -> int:
        return sum(check.points for check in self.checks)

    @property
    def waiting(self) -> int:
        return sum(check.waiting for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "earned": self.earned,
            "possible": self.possible,
            "waiting": self.waiting,
            "checks": [check.to_json() for check in self.checks],
            "output": self.output,
        }


@dataclass(frozen=True)
class Provenance:
    """Where, when and from what a report came; `seed`, by exercise, lets a grade be replayed."""

    versions: dict[str, str]
    device: str
    seed: dict[str, str]
    replay: bool
    sandbox: str
    sha256: dict[str, str]
    started: str
    seconds: float


@dataclass(frozen=True)
class Report:
    exercises: tuple[ExerciseResult, ...]
    provenance: Provenance
    schema: int = field(default=SCHEMA)

    def count(self, outcome: Outcome) -> int:
        return sum(check.outcome is outcome for exercise in self.exercises for check in exercise.checks)

    @property
    def exit_code(self) -> int:
        """0 all that can be graded here passed; 1 something failed or is not started; 3 our own fault."""
        if self.count(Outcome.GRADER_ERROR):
            return 3
        return 1 if self.count(Outcome.FAILED) or self.count(Outcome.NOT_STARTED) else 0

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": self.schema,
            "exercises": [exercise.to_json() for exercise in self.exercises],
            "provenance": asdict(self.provenance),
        }
