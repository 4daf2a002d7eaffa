"""A class's whole round through real nbgrader, from the course to the grades; one course for all students."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from nbgrader.apps.api import NbGraderAPI
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.plugins import CsvExportPlugin
from traitlets.config.loader import PyFileConfigLoader
from typer.testing import CliRunner

from autograder import sandbox
from autograder.catalog import EXERCISES, Exercise
from autograder.classroom import cli, course
from autograder.classroom.batch import Batch
from autograder.classroom.export import PointsExportPlugin
from autograder.results import Outcome, Report
from autograder.tests.classroom.students import (
    BONUS,
    FULL,
    GPU,
    NAIVE,
    TEST,
    Student,
    code,
    edit,
    right,
    students,
    without_examples,
)

SETTINGS = """
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
OTHER_NAMES = [exercise.name for exercise in EXERCISES if exercise.name != NAIVE]
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

    def autograde(self, *students: str) -> str:
        """What nbgrader says while it grades these, a process a pattern, as an instructor with many would."""
        logs = [self.folder / f"{number}.log" for number in range(len(students))]
        command = [sys.executable, "-W", "ignore", "-m", "nbgrader", "autograde", "attention"]
        processes = []
        for pattern, log in zip(students, logs, strict=True):
            with log.open("w") as file:
                words = [*command, f"--student={pattern}"]
                processes.append(subprocess.Popen(words, cwd=self.folder, stdout=file, stderr=file))
        ended = [process.wait(SECONDS) for process in processes]
        said = "".join(log.read_text() for log in logs)
        assert not any(ended), said[-4000:]
        return said

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
    assert result["success"], result.get("log", "") + result.get("error", "")
    return str(result.get("log", ""))


@pytest.mark.slow
@pytest.mark.skipif(sandbox.kind() == "none", reason="a class is graded only where bubblewrap works")
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")  # nbgrader's own
@pytest.mark.usefixtures("kernels")
def test_a_class_is_graded_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # nbgrader starts the program alembic.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    nbgrader = _course(tmp_path / "course")
    group = students(nbgrader.folder)
    fetched = nbgrader.fetch(tmp_path / "fetched")
    for student in group:
        _hand_in(nbgrader, student, fetched)
    _done(nbgrader.api.collect("attention"))

    log = nbgrader.autograde("l*", "[a-k]*", "[m-z]*")
    _check_scores(nbgrader, group)
    _check_messages(nbgrader, group, log)
    _check_regrades(nbgrader, fetched, monkeypatch)
    _check_feedback(nbgrader)
    _check_tables(nbgrader, tmp_path)
    _check_report(nbgrader.folder)


def _course(folder: Path) -> Nbgrader:
    """A course with a test of the instructor's own, released."""
    course.init(folder)
    with (folder / "nbgrader_config.py").open("a") as file:
        file.write(SETTINGS)
    source = folder / "source" / "attention"
    own = code("globals().get('bonus', 1)") | {"id": BONUS, "metadata": {"nbgrader": OWN}}
    edit(source, NAIVE, lambda notebook: notebook["cells"].append(own))
    for path in source.glob("*.ipynb"):  # examples compile: half of what a notebook's run takes
        edit(source, path.stem, without_examples)
    nbgrader = Nbgrader(folder)
    _done(nbgrader.api.generate_assignment("attention"))
    _done(nbgrader.api.release_assignment("attention"))
    return nbgrader


def _hand_in(nbgrader: Nbgrader, student: Student, fetched: Path) -> None:
    folder = fetched.parent.with_name(f"home-{student.id}")
    work = folder / "attention"
    shutil.copytree(fetched, work)
    student.work(work)
    for path in work.glob("*.ipynb"):
        if path.stem in OTHER_NAMES and not student.others:
            path.unlink()
    nbgrader.submit(student.id, folder)
    shutil.rmtree(folder)


def _check_scores(nbgrader: Nbgrader, group: Sequence[Student]) -> None:
    found = nbgrader.scores()
    cells = {student.id: found[student.id][NAIVE] for student in group}
    for each in cells.values():
        each.pop("question")
    assert cells == {student.id: dict(student.scores) for student in group}
    for student in group:
        others = {cell: score for name in OTHER_NAMES for cell, score in found[student.id][name].items()}
        others.pop("question")
        assert others == (student.others or dict.fromkeys(others, 0.0)), student.id


def _check_messages(nbgrader: Nbgrader, group: Sequence[Student], log: str) -> None:
    """What each student is told, and what the instructor is."""
    for student in group:
        lines = [line for line in log.splitlines() if student.id in line]
        assert any(student.warns in line for line in lines), (student.id, student.warns, lines)
        path = nbgrader.folder / "autograded" / student.id / "attention" / f"{NAIVE}.ipynb"
        assert student.says in path.read_text(encoding="utf-8"), (student.id, student.says)
        assert path.stat().st_size < 4 * 2**20


def _check_regrades(nbgrader: Nbgrader, fetched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's score, a late and better second attempt, a pod, a fault of ours, and nothing new."""
    with nbgrader.api.gradebook as book:
        book.find_grade("question", NAIVE, "attention", "half").manual_score = 3.0
        book.find_assignment("attention").duedate = datetime.now(UTC).replace(tzinfo=None)
        book.db.commit()
    _hand_in(nbgrader, Student("half", right(), FULL), fetched)
    _done(nbgrader.api.collect("attention", update=True))
    log = _done(nbgrader.api.autograde("attention", "half", force=False))
    assert f"half, {NAIVE}: graded again: {TEST}: 14 → 16" in log
    scores = nbgrader.scores()["half"][NAIVE]
    assert scores == {**FULL, "question": 3.0}
    with nbgrader.api.gradebook as book:
        assert book.find_submission_notebook(NAIVE, "attention", "half").late_submission_penalty == 20.0

    assert f"empty, {NAIVE}: graded again: nothing changed" in _done(
        nbgrader.api.autograde("attention", "empty")
    )

    passed = {Outcome.NOT_GRADED: Outcome.PASSED}
    for student, outcomes, expected, waits in (
        ("helper", passed, {TEST: 16.0, GPU: 4.0}, False),
        ("duplicated", dict.fromkeys(Outcome, Outcome.GRADER_ERROR), {TEST: None, GPU: None}, True),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Batch, "grade", _judged_as(outcomes))
            _done(nbgrader.api.autograde("attention", student))
        with nbgrader.api.gradebook as book:
            for cell, score in expected.items():
                grade = book.find_grade(cell, NAIVE, "attention", student)
                assert (grade.auto_score, grade.needs_manual_grade) == (score, waits), (student, cell)


def _judged_as(outcomes: Mapping[Outcome, Outcome]) -> Callable[..., Report]:
    """A grader that gives other outcomes, as one on another machine may."""
    really = Batch.grade

    def grade(self: Batch, exercise: Exercise, text: str) -> Report:
        report = really(self, exercise, text)
        result = report.exercises[0]
        checks = [replace(each, outcome=outcomes.get(each.outcome, each.outcome)) for each in result.checks]
        return replace(report, exercises=(replace(result, checks=tuple(checks)),))

    return grade


def _check_feedback(nbgrader: Nbgrader) -> None:
    for student, says in (
        ("half", "16 earned of 16 points"),
        ("no-json", "is not a notebook"),
        ("missing", "is missing"),
    ):
        _done(nbgrader.api.generate_feedback("attention", student))
        text = (nbgrader.folder / "feedback" / student / "attention" / f"{NAIVE}.html").read_text()
        assert says in text
        assert "BEGIN SOLUTION" not in text and "Rubric" not in text
    _done(nbgrader.api.release_feedback("attention", "half"))
    assert list((nbgrader.folder / "exchange" / "attention" / "feedback").iterdir())


def _check_tables(nbgrader: Nbgrader, folder: Path) -> None:
    """nbgrader's own CSV, and ours, which adds columns to it."""
    tables = []
    for plugin in (CsvExportPlugin, PointsExportPlugin):
        exporter = plugin(config=nbgrader.config)
        exporter.to = str(folder / f"{plugin.__name__}.csv")
        with nbgrader.api.gradebook as book:
            exporter.export(book)
        with Path(exporter.to).open(newline="") as file:
            tables.append({row["student_id"]: row for row in csv.DictReader(file)})
    plain, ours = tables
    for student, row in plain.items():
        assert row == {column: ours[student][column] for column in row}
    points = {
        student: tuple(float(row[name]) for name in ("earned", "possible", "waiting"))
        for student, row in ours.items()
    }
    assert points["all"] == (82.0, 127.0, 19.0)  # 81 of the 100 points wait for no GPU, and one of the bonus
    assert points["half"] == (20.0, 127.0, 4.0)  # with 3 for the question
    assert points["duplicated"] == (1.0, 127.0, 100.0)  # our fault, in all five
    assert float(ours["half"]["score"]) == 0.0


def _check_report(folder: Path) -> None:
    assert CliRunner().invoke(cli.app, ["report", str(folder)]).exit_code == 0
    with (folder / "report.csv").open(newline="") as file:
        marks = {(row["student"], row["exercise"], row["check"]): row for row in csv.DictReader(file)}
    assert len(marks) == len(students(folder)) * sum(len(exercise.checks) for exercise in EXERCISES)
    assert marks["half", NAIVE, "errors"]["outcome"] == "passed"
    assert marks["steals", NAIVE, "float32"]["outcome"] == "failed"
    assert marks["all", NAIVE, "speed"]["waiting"] == "4"
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 3 and "src=" not in page and 'href="http' not in page
    assert f"<td>empty</td><td>{NAIVE}</td><td>{NAIVE}.ipynb is empty" in page
    assert f"<td>half</td><td>{NAIVE}</td><td>{TEST}: 14 → 16</td>" in page
