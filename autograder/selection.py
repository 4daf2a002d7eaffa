"""What a command line asks to be graded: exercises by number, name, path, or the beginning of a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder import workspace
from autograder.catalog import EXERCISES, Exercise, find

THERE = "there are: " + ", ".join(f"{exercise.number} {exercise.name}" for exercise in EXERCISES)


class Unclear(Exception):
    """Words that do not name exercises of one folder; the message says what they could name."""


@dataclass(frozen=True)
class Selection:
    """Exercises in the catalog's order, and the folder of their modules.

    `elsewhere` is true where nobody named the folder and it does not lie in the current one.
    """

    exercises: list[Exercise]
    folder: Path
    elsewhere: bool = False


def select(words: Sequence[str], folder: Path | None) -> Selection:
    """What these words and this folder mean; without words all exercises. Unclear or NoModules."""
    found = [asked(word) for word in words]
    chosen = [exercise for exercise in EXERCISES if not found or exercise in [one for one, _ in found]]
    modules = [exercise.name for exercise in chosen]
    named = {parent: str(parent) for _, parent in found if parent is not None}
    if folder is not None:
        named[folder] = f"--from {folder}"
    if len({each.resolve() for each in named}) > 1:
        raise Unclear(f"{' and '.join(named.values())} are two folders; grade one after the other")
    for each, name in named.items():
        return Selection(chosen, workspace.named(each, modules, name))
    here = Path.cwd()
    near = workspace.find(here, modules)
    return Selection(chosen, workspace.short(near), elsewhere=near not in (here, here / "exercises"))


def asked(word: str) -> tuple[Exercise, Path | None]:
    """The exercise that a word means, and the folder if the word is a path."""
    path = Path(word)
    if path.suffix != ".py":
        return _exercise(word), None
    exercise = next((exercise for exercise in EXERCISES if exercise.name == path.stem), None)
    if exercise is None:
        raise Unclear(f"{word} is no module of the course; {THERE}")
    bare = path.name == word and not path.exists()  # a module's name with its ending
    return exercise, None if bare else path.parent


def _exercise(word: str) -> Exercise:
    fits = [exercise for exercise in EXERCISES if word and exercise.name.startswith(word)]
    if exact := find(word):
        fits = [exact]
    if not fits and word and Path(word).is_dir():
        raise Unclear(f"{word} is a folder; grade the modules in it with --from {word}")
    if not fits:
        raise Unclear(f"there is no exercise {word or 'without a name'}; {THERE}")
    if len(fits) > 1:
        names = " and ".join(f"{exercise.number} {exercise.name}" for exercise in fits)
        raise Unclear(f"{word} is the beginning of {names}; write more of the name, or the number")
    return fits[0]
