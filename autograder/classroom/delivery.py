"""Where a hand-in goes: a folder, a zip, or nbgrader's exchange."""

from __future__ import annotations

import logging
import shutil
import tempfile
from pathlib import Path

from autograder.classroom.handin import Handin, Unfit


def deliver(made: Handin, to: Path | None = None, course: str = "") -> str:
    """Write to `to`, a new folder or .zip, or else hand in to nbgrader's course; what was done.

    Unfit where that cannot be. nbgrader's own configuration says where its exchange is, and which course this
    is where `course` does not.
    """
    if to and (to.exists() or to.is_symlink()):
        raise Unfit(f"{to} is there already: name a new folder, or a new file that ends in .zip")
    with tempfile.TemporaryDirectory(prefix="attention-lab-") as place:
        folder = Path(place) / made.assignment.resolve().name
        made.write(folder)
        if not to:
            return f"Handed in to {_submit(folder, course)}"
        if to.suffix == ".zip":
            shutil.make_archive(str(to.with_suffix("")), "zip", place, folder.name)
        else:
            shutil.copytree(folder, to)
    return f"Written to {to}"


def _submit(folder: Path, course: str) -> str:
    """As `nbgrader submit` does, with the configuration that it would read here."""
    try:
        from nbgrader.apps import SubmitApp
        from nbgrader.apps.baseapp import NbGrader
        from nbgrader.exchange import ExchangeError
    except ImportError:
        raise Unfit(
            "nbgrader is not installed: pip install nbgrader, or write what you would hand in with --to DIR"
        ) from None
    app = SubmitApp()
    app.log.setLevel(logging.CRITICAL + 1)  # its errors come as exceptions too
    app.initialize([])
    app.log.setLevel(logging.CRITICAL + 1)
    NbGrader.start(app)  # what SubmitApp's own start does first, before it ends the process on an error
    app.coursedir.course_id = course or app.coursedir.course_id
    app.coursedir.assignment_id = folder.name
    exchange = app.exchange.Submit(coursedir=app.coursedir, authenticator=app.authenticator, parent=app)
    exchange.assignment_dir, exchange.path_includes_course = str(folder.parent), False
    try:
        exchange.start()
    except (ExchangeError, OSError, RuntimeError) as why:
        raise Unfit(f"nbgrader's exchange refused it: {why}") from None
    return f"{app.coursedir.course_id}, {folder.name}, {exchange.timestamp}"
