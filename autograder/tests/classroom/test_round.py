"""A class's whole round through real nbgrader, from the course to the grades; one course for all students."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from nbgrader.apps.api import NbGraderAPI
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from traitlets.config.loader import PyFileConfigLoader

from autograder.classroom import course
from autograder.tests.classroom.students import BONUS, CAUSAL, NAIVE, Student, code, edit, students

SETTINGS = """
c.BoundedExecute.timeout = 20
c.Exchange.cache = str(Path(__file__).resolve().parent / "cache")
c.ExchangeCollect.check_owner = False
c.LateSubmissionPlugin.penalty_method = "zero"
"""
OWN = {
    "grade_id": BONUS,
    "grade": True,
    "locked": True,
    "solution": False,
    "task": False,
    "points": 2,
    "schema_version": 3,
}
SECONDS = 600


class Nbgrader:
    """nbgrader in a course's folder: in this process, or by its command line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = PyFileConfigLoader("nbgrader_config.py", str(folder)).load_config()
        self.api = NbGraderAPI(config=self.config)

    def fetch(self, into: Path) -> Path:
        """The assignment as a student gets it."""
        into.mkdir()
        exchange = self._exchange("FetchAssignment")
        exchange.assignment_dir = str(into)
        exchange.start()
        return into / "attention"

    def submit(self, student: str, folder: Path) -> None:
        exchange = self._exchange("Submit", student_id=student)
        exchange.assignment_dir = str(folder)
        exchange.start()

    def _exchange(self, action: str, **where: str) -> Any:
        there = CourseDirectory(config=self.config, assignment_id="attention", **where)
        exchange = getattr(ExchangeFactory(config=self.config), action)
        return exchange(coursedir=there, authenticator=Authenticator(), config=self.config)

    def command(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "nbgrader", *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def scores(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """By student, notebook and cell, what nbgrader holds for it: a person's score before ours."""
        found: dict[str, dict[str, dict[str, float | None]]] = {}
        with self.api.gradebook as book:
            for submission in book.assignment_submissions("attention"):
                for notebook in submission.notebooks:
                    cells = found.setdefault(submission.student.id, {}).setdefault(notebook.name, {})
                    for grade in notebook.grades:
                        manual = grade.manual_score
                        cells[grade.name] = grade.auto_score if manual is None else manual
        return found


def _done(result: dict[str, Any]) -> str:
    assert result["success"], result.get("log", "")[-3000:] + result.get("error", "")
    return str(result.get("log", ""))


def _output(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, output[-4000:]
    return output


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_class_is_graded_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # nbgrader starts the program alembic.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    nbgrader = _course(tmp_path / "course")
    group = students(nbgrader.folder)
    fetched = nbgrader.fetch(tmp_path / "fetched")
    for student in group:
        _hand_in(nbgrader, student, fetched)
    _done(nbgrader.api.collect("attention"))

    # Two processes, as an instructor with two cores would.
    both = [nbgrader.command("autograde", "attention", f"--student={each}*") for each in ("[a-m]", "[n-z]")]
    log = "".join(map(_output, both))
    _check_scores(nbgrader, group)
    _check_messages(nbgrader, group, log)


def _course(folder: Path) -> Nbgrader:
    """A course of two exercises, with a test of the instructor's own, released."""
    course.init(folder)
    with (folder / "nbgrader_config.py").open("a") as file:
        file.write(SETTINGS)
    source = folder / "source" / "attention"
    for path in source.glob("*.ipynb"):
        if path.stem not in (NAIVE, CAUSAL):
            path.unlink()
    own = code("globals().get('bonus', 1)") | {"id": BONUS, "metadata": {"nbgrader": OWN}}
    edit(source, NAIVE, lambda notebook: notebook["cells"].append(own))
    nbgrader = Nbgrader(folder)
    _done(nbgrader.api.generate_assignment("attention"))
    _done(nbgrader.api.release_assignment("attention"))
    return nbgrader


def _hand_in(nbgrader: Nbgrader, student: Student, fetched: Path) -> None:
    folder = fetched.parent.with_name(f"home-{student.id}")
    work = folder / "attention"
    shutil.copytree(fetched, work)
    if not student.causal:
        (work / f"{CAUSAL}.ipynb").unlink()
    student.work(work)
    nbgrader.submit(student.id, folder)
    shutil.rmtree(folder)


def _check_scores(nbgrader: Nbgrader, group: Sequence[Student]) -> None:
    found = nbgrader.scores()
    cells = {student.id: found[student.id][NAIVE] for student in group}
    for each in cells.values():
        each.pop("question")
    assert cells == {student.id: dict(student.scores) for student in group}
    for student in group:
        for cell, score in found[student.id][CAUSAL].items():
            assert score == student.causal.get(cell, 0.0) or cell == "question", (student.id, cell, score)


def _check_messages(nbgrader: Nbgrader, group: Sequence[Student], log: str) -> None:
    """What each student is told, and what the instructor is."""
    for student in group:
        lines = [line for line in log.splitlines() if student.id in line]
        assert any(student.warns in line for line in lines), (student.id, student.warns, lines)
        path = nbgrader.folder / "autograded" / student.id / "attention" / f"{NAIVE}.ipynb"
        assert student.says in path.read_text(encoding="utf-8"), (student.id, student.says)
        assert path.stat().st_size < 4 * 2**20
