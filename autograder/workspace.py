"""Where things are: the learner's modules, the stubs they began from, the solutions."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def find(start: Path) -> Path:
    """The folder to grade when none is named: `start` itself, its `exercises`, or the checkout's."""
    for folder in (start, start / "exercises"):
        if any(folder.glob("naive_attention.py")):
            return folder
    return exercises()


def exercises() -> Path:
    """The stubs as they came."""
    return _files("exercises")


def solutions() -> Path:
    return _files("solutions")


def course() -> Path:
    """The course's pages and what they show."""
    return _files("course")


def _files(name: str) -> Path:
    packed = PACKAGE / "_files" / name
    return packed if packed.is_dir() else PACKAGE.parent / name
