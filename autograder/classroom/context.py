"""What our parts of an autograding tell each other about the notebook at hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.classroom.gradebook import TrustedNotebook

KEY = "attention_lab"


@dataclass(frozen=True)
class Context:
    """`root` is the course; `unsandboxed`: the instructor wrote that this machine itself is the sandbox."""

    root: Path
    student: str
    assignment: str
    trusted: TrustedNotebook
    notes: tuple[str, ...]
    unsandboxed: bool

    def __str__(self) -> str:
        return f"{self.student}, {self.trusted.name}"


def of(resources: Any) -> Context:
    """What `Submissions` put there when it read the notebook."""
    found: Context = resources[KEY]
    return found
