"""Where a hand-in goes: a folder, a zip, or nbgrader's exchange."""

from __future__ import annotations

import logging
import shutil
import tempfile
from pathlib import Path
from typing import Any

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
        try:
            if to.suffix == ".zip":
                shutil.make_archive(str(to.with_suffix("")), "zip", place, folder.name)
            else:
                shutil.copytree(folder, to)
        except OSError as error:
            raise Unfit(f"{to} cannot be written: {error.strerror or error}. Name another place") from None
    return f"Written to {to}"


def _submit(folder: Path, course: str) -> str:
    """As `nbgrader submit` does, with the configuration that it would read here."""
    try:
        from nbgrader.exchange import ExchangeError
    except ImportError:
        raise Unfit(
            "nbgrader is not installed: pip install nbgrader, or write what you would hand in with --to DIR"
        ) from None
    try:
        app, exchange = _configured(folder, course)
    except (Exception, SystemExit) as why:  # whatever a configuration's own Python does
        raise Unfit(
            f"nbgrader's configuration does not load: {type(why).__name__}: {why}.\n"
            "Correct nbgrader_config.py, or ask your instructor for it again"
        ) from None
    try:
        exchange.start()
    except (ExchangeError, OSError, RuntimeError) as why:
        raise Unfit(_next_step(app, exchange) or f"nbgrader's exchange refused it: {why}") from None
    return f"{app.coursedir.course_id}, {folder.name}, {exchange.timestamp}"


def _configured(folder: Path, course: str) -> tuple[Any, Any]:
    """nbgrader's application, and its exchange, ready to take the assignment in `folder`."""
    from nbgrader.apps import SubmitApp
    from nbgrader.apps.baseapp import NbGrader

    app = SubmitApp(raise_config_file_errors=True)
    app.log.setLevel(logging.CRITICAL + 1)  # its errors come as exceptions too
    app.initialize([])
    app.log.setLevel(logging.CRITICAL + 1)  # again: the configuration has a level too
    NbGrader.start(app)  # what SubmitApp's own start does first, before it ends the process on an error
    app.coursedir.course_id = course or app.coursedir.course_id
    app.coursedir.assignment_id = folder.name
    exchange = app.exchange.Submit(coursedir=app.coursedir, authenticator=app.authenticator, parent=app)
    exchange.assignment_dir, exchange.path_includes_course = str(folder.parent), False
    return app, exchange


def _next_step(app: Any, exchange: Any) -> str:
    """What to do where nbgrader's exchange refused a hand-in for want of a name; "" where it was not that."""
    if not any(app.config.get(name) for name in ("Exchange", "ExchangeFactory")):
        return (
            "no nbgrader_config.py that nbgrader reads here names your course's exchange.\n"
            "Ask your instructor for one with c.Exchange.root and c.CourseDirectory.course_id, and put it "
            f"into {Path.cwd()}; or write what you would hand in, with --to DIR"
        )
    root, course, assignment = Path(exchange.root), app.coursedir.course_id, app.coursedir.assignment_id
    if not root.is_dir():
        return ""
    courses = sorted(path.parent.name for path in root.glob("*/outbound"))
    if course not in courses:
        named = f"has no course {course}" if course else "was asked for no course"
        return f"the exchange {root} {named}; name one with --course, of: {', '.join(courses) or 'none yet'}"
    released = sorted(path.name for path in (root / course / "outbound").iterdir())
    if assignment not in released:
        return (
            f"{course} has released no assignment {assignment}, only: {', '.join(released) or 'none yet'}. "
            "The folder's name is the assignment's: give it the name that it was fetched under"
        )
    return ""
