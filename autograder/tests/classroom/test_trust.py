"""What stands between a student's code and the gradebook, piece by piece; `test_round` has it all."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder import sandbox
from autograder.catalog import EXERCISES
from autograder.classroom import gradebook, records, scores
from autograder.classroom.batch import Batch
from autograder.classroom.exporter import Submissions
from autograder.classroom.gradebook import TrustedNotebook
from autograder.classroom.groups import groups
from autograder.classroom.scores import _score
from autograder.results import CheckResult, Outcome, Report
from autograder.tests import reports

NAIVE = EXERCISES[0]
CPU, GPU = groups(NAIVE)


def report(*failed: str, gpu: Outcome = Outcome.NOT_GRADED) -> Report:
    outcomes = {**dict.fromkeys(failed, Outcome.FAILED), "speed": gpu}
    checks = [
        CheckResult(each.id, outcomes[each.id], each.points) for each in NAIVE.checks if each.id in outcomes
    ]
    return reports.report(reports.exercise(NAIVE.name, *checks))


def test_points_are_the_instructors() -> None:
    half = report("errors", "half_precision", "extreme_inputs")
    assert _score(half, CPU, 16.0) == 8.0
    assert _score(half, CPU, 4.0) == 2.0
    assert _score(report(), CPU, 4.0) == 4.0


def test_what_waits_has_no_score() -> None:
    assert _score(report(), GPU, 4.0) is None
    assert _score(report(gpu=Outcome.GRADER_ERROR), GPU, 4.0) is None
    assert _score(report(gpu=Outcome.NOT_STARTED), GPU, 4.0) == 0.0
    assert _score(report(gpu=Outcome.PASSED), GPU, 4.0) == 4.0


def test_a_record_says_what_it_changed(tmp_path: Path) -> None:
    def save(scores: dict[str, float | None]) -> records.Record:
        return records.save(
            tmp_path, records.record("ada", "attention", scores, report(), [], unsandboxed=False)
        )

    assert save({"check": 8.0, "gpu": None}).changes == ()
    assert save({"check": 8.0, "gpu": 4.0}).changes == ("gpu: waiting → 4",)
    assert save({"check": 7.5, "gpu": 4.0}).changes == ("check: 8 → 7.5",)
    (found,) = records.load(tmp_path, "attention")
    assert (found.student, found.gradings, found.scores) == ("ada", 3, {"check": 7.5, "gpu": 4.0})
    assert found.report["exercises"][0]["name"] == NAIVE.name


def test_a_students_words_do_nothing_to_a_terminal() -> None:
    made = records.record("ada", "attention", {}, report(), ["\x1b[2Jone\nline"], unsandboxed=False)
    assert made.notes == ("one line",)


def test_without_a_sandbox_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradebook, "names", lambda url, assignment: ("one",))
    monkeypatch.setattr(sandbox, "kind", lambda: "none")
    converter = Autograde(coursedir=CourseDirectory(assignment_id="attention", notebook_id="one"))
    with pytest.raises(NbGraderException, match="Install bubblewrap"):
        Submissions(parent=converter)
    Submissions(parent=converter, config=Config({"Submissions": {"machine_is_the_sandbox": True}}))


def test_before_the_assignment_is_made_the_next_step_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradebook, "names", lambda url, assignment: ())
    monkeypatch.setattr(sandbox, "kind", lambda: "bubblewrap")
    converter = Autograde(coursedir=CourseDirectory(assignment_id="attention"))
    with pytest.raises(NbGraderException, match="Next: nbgrader generate_assignment attention"):
        Submissions(parent=converter)


def test_a_batch_reads_each_notebook_of_the_gradebook_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def notebook(url: str, assignment: str, name: str) -> TrustedNotebook:
        read.append(name)
        return TrustedNotebook(name, ())

    monkeypatch.setattr(gradebook, "notebook", notebook)
    monkeypatch.setattr(gradebook, "names", lambda url, assignment: ("one", "two"))
    monkeypatch.setattr(sandbox, "kind", lambda: "bubblewrap")
    where = CourseDirectory(assignment_id="attention", notebook_id="one")
    exporter = Submissions(parent=Autograde(coursedir=where))
    for student, name in (("ada", "one"), ("ada", "one"), ("ada", "two"), ("bob", "one")):
        ours = {"student": student, "assignment": "attention", "notebook": name, "db_url": ""}
        exporter.from_filename(str(tmp_path / f"{name}.ipynb"), {"nbgrader": ours})
    assert read == ["one", "two"]


def test_a_grader_that_cannot_start_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> Batch:
        raise OSError("no room")

    monkeypatch.setattr(scores, "batch", gone)
    found = scores._graded(NAIVE, "")
    assert found.count(Outcome.GRADER_ERROR) == len(NAIVE.checks)
    assert _score(found, CPU, 16.0) is None


def test_the_machine_as_sandbox_stands_in_each_record() -> None:
    alone = records.record("ada", "attention", {}, report(), [], unsandboxed=True)
    assert "instructor" in alone.report["provenance"]["sandbox"]
