"""Where things are: the learner's modules, the stubs they began from, the solutions."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def find(start: Path, modules: Collection[str]) -> Path:
    """The folder to grade when none is named: `start` or its `exercises`, where one of these modules lies,
    else the checkout's."""
    for folder in (start, start / "exercises"):
        if any(os.path.lexists(folder / f"{module}.py") for module in modules):
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
