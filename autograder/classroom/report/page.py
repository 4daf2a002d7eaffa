"""The report as a page of one file, and as a table of marks."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from autograder import catalog
from autograder.classroom.report import figures
from autograder.classroom.report.marks import Class, Mark
from autograder.report.words import count
from autograder.results import Outcome

COMMONEST = 20
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd; vertical-align: top }
td:first-child { white-space: nowrap }
th { text-align: left; font-weight: 600 } td.number { text-align: right; font-variant-numeric: tabular-nums }
svg { max-width: 100%; height: auto }
"""
HEADER = ("student", "exercise", "check", "outcome", "points", "earned", "waiting", "diagnosis", "detail")


def table(of: Class, path: Path) -> None:
    """Write the marks as CSV, a row a student and check."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for mark in of.marks:
            check = mark.check
            points = (check.points, check.earned, check.waiting)
            said = (check.diagnosis, check.detail)
            writer.writerow((mark.student, mark.exercise, check.id, check.outcome, *points, *said))


def page(of: Class, path: Path) -> None:
    """Write the page; it needs no other file and no network."""
    title = f"{of.assignment}: {count(len(of.totals), 'student')}"
    parts = [
        f"<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>{escape(title)}</title>",
        f"<style>{STYLE}</style>\n<h1>{escape(title)}</h1>",
        "<h2>Scores</h2>",
        figures.scores(of),
        _students(of),
        "<h2>Checks</h2>",
        figures.checks(of),
        f"<p>Everybody who began passed: {_named(of.alike([Outcome.PASSED]))}.</p>",
        f"<p>Nobody passed: {_named(of.alike([Outcome.FAILED]))}.</p>",
        "<h2>Commonest failures</h2>",
        _failures(of.failures()),
        "<h2>Gradings</h2>",
        figures.seconds(of),
        _gradings(of),
    ]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _students(of: Class) -> str:
    names = [exercise.name for exercise in catalog.EXERCISES]
    points: dict[tuple[str, str], int] = {}
    for mark in of.marks:
        key = mark.student, mark.exercise
        points[key] = points.get(key, 0) + mark.check.earned
    head = ("student", *names, "late penalty", "waiting", "score", "possible")
    rows = [
        (
            total.student,
            *(points.get((total.student, name), "") for name in names),
            f"{total.penalty:g}" if total.penalty else "",
            f"{total.waiting:g}" if total.waiting else "",
            f"{total.score:g}",
            f"{total.possible:g}",
        )
        for total in of.totals
    ]
    note = (
        "<p>Exercises: points of their checks. Score: as nbgrader counts it, with persons' scores and late "
        "penalties. Waiting: points that need a GPU or a person, counted as 0 until then.</p>"
    )
    return note + _table(head, rows)


def _failures(kinds: Sequence[tuple[int, Mark]]) -> str:
    rows = [
        (students, mark.exercise, check.id, check.diagnosis or f"no known mistake; for one: {check.detail}")
        for students, mark in kinds[:COMMONEST]
        for check in (mark.check,)
    ]
    return _table(("students", "exercise", "check", "looks like"), rows)


def _gradings(of: Class) -> str:
    confined = ", ".join(sorted({grading.sandbox for grading in of.gradings})) or "nothing was graded"
    rows = [(each.student, each.exercise, "; ".join(each.notes)) for each in of.gradings if each.notes]
    faults = [
        (mark.student, mark.exercise, mark.check.id, mark.check.detail)
        for mark in of.marks
        if mark.check.outcome is Outcome.GRADER_ERROR
    ]
    changed = [(each.student, each.exercise, "; ".join(each.changes)) for each in of.gradings if each.changes]
    return "\n".join(
        (
            f"<p>Students' code was confined by: {escape(confined)}.</p>",
            "<h3>What was mended, or left out</h3>" + _table(("student", "exercise", "what"), rows),
            "<h3>Our faults, which wait</h3>" + _table(("student", "exercise", "check", "what"), faults),
            "<h3>What the last grading changed</h3>" + _table(("student", "exercise", "what"), changed),
        )
    )


def _named(checks: Iterable[tuple[str, str]]) -> str:
    return escape(", ".join(f"{exercise} {check}" for exercise, check in checks) or "none")


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    if not rows:
        return "<p>None.</p>"
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = ["".join(map(_cell, row)) for row in rows]
    return f"<table><tr>{cells}</tr>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"


def _cell(value: object) -> str:
    text = str(value)
    number = text.replace(".", "", 1).isdigit()
    return f"<td class='number'>{text}</td>" if number else f"<td>{escape(text)}</td>"
