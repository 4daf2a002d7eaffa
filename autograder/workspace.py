"""Where things are: the learner's modules, the stubs they began from, the solutions, the course's pages."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Collection
from pathlib import Path

from autograder.catalog import EXERCISES

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent
WINDOWS = os.name == "nt"


class NoModules(Exception):
    """No module was found; the message says which ones, where they were looked for, and what to do."""


def find(start: Path, modules: Collection[str]) -> Path:
    """The folder to grade when none is named, or NoModules.

    It is `start` or its `exercises`: where one of these modules lies, else where any of the course's does.
    Anywhere else in the checkout it is the checkout's `exercises`.
    """
    near = (start, start / "exercises")
    for wanted in (modules, [exercise.name for exercise in EXERCISES]):
        for folder in near:
            if holds(folder, wanted):
                return folder
    if not _packed() and start.resolve().is_relative_to(ROOT):
        return exercises()
    copy = (
        _command("xcopy", "/I", exercises(), "exercises")
        if WINDOWS
        else _command("cp", "-r", exercises(), ".")
    )
    raise NoModules(
        f"there is no {_files_of(modules)} in {near[0]} or {near[1]}. "
        f"Name the folder of your modules with --from DIR, or copy the stubs here: {copy}"
    )


def named(folder: Path, modules: Collection[str], name: str) -> Path:
    """`folder`, which the option or argument `name` names; NoModules unless it holds one of these modules."""
    if not folder.is_dir():
        raise NoModules(f"{name} is {'a file' if folder.exists() else 'not there'}; name a folder of modules")
    if not holds(folder, modules):
        step = recovery(folder, *modules) if len(modules) == 1 else f"The stubs are in {exercises()}"
        raise NoModules(f"{name} holds no {_files_of(modules)}. {step}")
    return folder


def holds(folder: Path, modules: Collection[str]) -> bool:
    """Whether one of these modules lies in the folder, be it a broken link."""
    return any(os.path.lexists(folder / f"{module}.py") for module in modules)


def recovery(folder: Path, module: str) -> str:
    """How a module that is lost comes back into `folder`, as the stub that it was."""
    target, stub = folder / f"{module}.py", exercises() / f"{module}.py"
    if folder.resolve() != exercises():
        return f"Copy the stub: {_command('copy' if WINDOWS else 'cp', short(stub), short(target))}"
    if not (ROOT / ".git").exists():
        return f"Take {module}.py from a fresh copy of attention-lab."
    if Path.cwd().is_relative_to(ROOT):
        return f"Bring the stub back: {_command('git', 'checkout', '--', os.path.relpath(stub))}"
    return f"Bring the stub back: {_command('git', '-C', ROOT, 'checkout', '--', stub.relative_to(ROOT))}"


def short(path: Path) -> Path:
    """As seen from the current folder where it lies below, else absolute."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def exercises() -> Path:
    """The stubs as they came; in a checkout they are what the learner edits."""
    return _files("exercises")


def solutions() -> Path:
    return _files("solutions")


def course() -> Path:
    """The course's pages and what they show."""
    return _files("course")


def _packed() -> bool:
    """Whether this is an installed wheel, which nobody edits, and no checkout."""
    return (PACKAGE / "_files").is_dir()


def _files(name: str) -> Path:
    return (PACKAGE / "_files" if _packed() else ROOT) / name


def _files_of(modules: Collection[str]) -> str:
    return " or ".join(f"{module}.py" for module in modules)


def _command(*words: str | Path) -> str:
    """A command line, quoted as this system's shell wants it."""
    parts = [str(word) for word in words]
    return subprocess.list2cmdline(parts) if WINDOWS else shlex.join(parts)
