"""What a student reads of a grading is what `grade` shows of it at home, and nothing else of the report."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nbformat import v4

from autograder.catalog import EXERCISES
from autograder.classroom import context, feedback, scores
from autograder.classroom.gradebook import TrustedCell, TrustedNotebook
from autograder.classroom.groups import Group, groups
from autograder.report import terminal
from autograder.results import CheckResult, ExerciseResult, Outcome, Provenance, Report
from autograder.tests import reports
from autograder.tests.classroom.test_rendering import page

NAIVE = EXERCISES[0]
GROUPS = groups(NAIVE)
Text = Callable[[Report, Group, Any], str]


def graded() -> Report:
    """A report whose every word is found again: what passed or waits knows something too."""
    result = reports.exercise(
        NAIVE.name,
        reports.failed("half_precision", 3, "expected 1.0625", "rounded-scores", "keep-float32"),
        reports.failed("errors", 2, "expected ValueError", "", "check-ranks"),
        CheckResult("float32", Outcome.PASSED, 6, "hidden-scenario", "hidden-mistake", "hidden-step"),
        output="it-printed this\n",
    )
    where = Provenance(
        versions={"python": "version-of-python", "jax": "version-of-jax", "numpy": "version-of-numpy"},
        device="this-device",
        seed={NAIVE.name: "0123456789abcdef-fedcba9876543210"},
        replay=False,
        sandbox="the-sandbox",
        sha256={NAIVE.name: "ab" * 32},
        started="2026-11-30T12:00:00+00:00",
        seconds=98765.4321,
    )
    return Report((result,), where)


def at_home(report: Report, group: Group) -> str:
    """What `grade` would print, were these all the checks of the exercise."""
    result = report.exercises[0]
    ids = {check.id for check in group.checks}
    part = ExerciseResult(result.name, tuple(each for each in result.checks if each.id in ids), result.output)
    screen = io.StringIO()
    terminal.show(replace(report, exercises=(part,)), terminal.console(screen), Path())
    return screen.getvalue()


def said(document: Any) -> Iterator[str]:
    """Every text and measured time in a report's document, but for the names that all know."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from said(value) if name not in ("outcome", "id", "name") else ()
    elif isinstance(document, list):
        for value in document:
            yield from said(value)
    elif isinstance(document, str | float):
        yield str(document).strip()


def more_than_at_home(report: Report, root: Path) -> list[str]:
    """What the autograded notebook's outputs and the student's page hold, and the terminal does not."""
    cells = [
        TrustedCell(group.id, "code", "", "", True, False, False, points=float(group.points))
        for group in GROUPS
    ]
    trusted = TrustedNotebook(NAIVE.name, tuple(cells))
    notebook = v4.new_notebook(cells=[v4.new_code_cell() for _ in cells])
    for node, cell in zip(notebook.cells, cells, strict=True):
        node.metadata["nbgrader"] = cell.metadata | {"score": 0}
    here = context.Context(root, "ada", "attention", trusted, (), unsandboxed=False)
    notebook, _ = scores.TrustedScores().preprocess(notebook, {context.KEY: here})
    home = [at_home(report, group) for group in GROUPS]
    found = []
    for node, shown in zip(notebook.cells, home, strict=True):
        stream, *results = node.outputs
        found += [line for line in stream.text.splitlines() if line not in shown.splitlines()]
        found += [text for each in results for text in each.data.values() if f" {text} earned" not in shown]
    html = unescape(page("feedback", notebook, root))
    assert all(line in html for shown in home for line in shown.splitlines()), "the page lacks the report"
    secrets = {text for text in said(report.to_json()) if text and not any(text in shown for shown in home)}
    assert {"0123456789abcdef-fedcba9876543210", "hidden-scenario", "98765.4321"} <= secrets
    return found + sorted(text for text in secrets if text in html)


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Report:
    made = graded()
    monkeypatch.setattr(scores, "batch", lambda: SimpleNamespace(grade=lambda exercise, text: made))
    return made


def test_feedback_is_what_grade_shows(report: Report, tmp_path: Path) -> None:
    assert more_than_at_home(report, tmp_path) == []


@pytest.mark.parametrize(
    ("leak", "found"),
    [
        (lambda report: report.provenance.seed[NAIVE.name], "0123456789abcdef-fedcba9876543210"),
        (lambda report: report.provenance.started, "2026-11-30T12:00:00+00:00"),
        (lambda report: json.dumps(report.to_json()["exercises"]), "hidden-scenario"),
    ],
)
def test_what_it_shows_beyond_that_is_found(
    leak: Callable[[Report], str],
    found: str,
    report: Report,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest: Text = feedback.text
    monkeypatch.setattr(feedback, "text", lambda of, *more: f"{honest(of, *more)}{leak(of)}\n")
    assert found in more_than_at_home(report, tmp_path)
