"""The question in each notebook that a person grades: text, model answer and rubric, from questions.md.

Its numbers are filled in from the measurements, as in the course's pages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder import workspace
from autograder.catalog import Exercise
from autograder.classroom.prose import MARKER

FILE = Path(__file__).with_suffix(".md")
PARTS = ("Question", "Answer", "Rubric")


@dataclass(frozen=True)
class Question:
    """Markdown each. Students get the text alone."""

    text: str
    answer: str
    rubric: str


def question(exercise: Exercise) -> Question:
    """The question of this exercise's notebook."""
    text = MARKER.sub("", FILE.read_text(encoding="utf-8"))
    _, *chapters = re.split(r"^# (\w+)$", text, flags=re.MULTILINE)
    chapter = dict(zip(chapters[::2], chapters[1::2], strict=True))[exercise.name]
    _, *parts = re.split(r"^## (\w+)$", chapter, flags=re.MULTILINE)
    assert tuple(parts[::2]) == PARTS, f"{exercise.name}: expected {PARTS}, got {parts[::2]}"
    return Question(*(re.sub(r"\n{3,}", "\n\n", part).strip() for part in parts[1::2]))


def filled() -> tuple[str, list[str]]:
    """What questions.md should hold by the measurements, and what could not be found out."""
    from autograder.pages import filling, places

    text = FILE.read_text(encoding="utf-8")
    data = workspace.course() / "figures" / "h200"
    answer = partial(filling.answer, path=FILE, text=text, data=data)
    made, problems = places.fill(FILE.name, text, answer)
    return made, [str(problem) for problem in problems]
