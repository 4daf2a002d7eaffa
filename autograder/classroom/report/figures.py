"""The report's pictures, as SVG text to stand in a page."""

from __future__ import annotations

import io

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autograder import catalog
from autograder.classroom.report.marks import Class
from autograder.results import Outcome

COLOURS = {
    Outcome.PASSED: ("passed", "#2a9d63"),
    Outcome.FAILED: ("failed", "#c8503c"),
    Outcome.NOT_STARTED: ("not started", "#b9b9b9"),
    Outcome.NOT_GRADED: ("waiting", "#4b8bbe"),
    Outcome.GRADER_ERROR: ("our fault", "#8e5bb0"),
}

BEGUN = 0.2
"""Seconds: a grading that took less found nothing to run."""


def scores(of: Class) -> str:
    """How many students have how many points."""
    figure = Figure(figsize=(7, 2.6), layout="constrained")
    axes = figure.subplots()
    possible = max((total.possible for total in of.totals), default=1.0)
    axes.hist([total.score for total in of.totals], bins=20, range=(0, possible), color="#4b8bbe")
    _label(axes, f"score, of {possible:g}", "students")
    return _svg(figure)


def checks(of: Class) -> str:
    """For each check, how many students passed it, failed it, did not start or wait."""
    rows = [(exercise.name, check.id) for exercise in catalog.EXERCISES for check in exercise.checks]
    figure = Figure(figsize=(7, 0.24 * len(rows) + 1), layout="constrained")
    axes = figure.subplots()
    tallies = [of.tally(*row) for row in rows]
    left = [0] * len(rows)
    for outcome, (name, colour) in COLOURS.items():
        counts = [tally[outcome] for tally in tallies]
        if any(counts):
            axes.barh(
                [f"{exercise}: {check}" for exercise, check in rows],
                counts,
                0.75,
                left,
                color=colour,
                label=name,
            )
        left = [before + count for before, count in zip(left, counts, strict=True)]
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.tick_params("y", labelsize=7)
    figure.legend(loc="outside upper center", ncols=len(COLOURS), frameon=False, fontsize=8)
    _label(axes, "students", "")
    return _svg(figure)


def seconds(of: Class) -> str:
    """How long the grading of a notebook took that somebody had begun."""
    figure = Figure(figsize=(7, 2.2), layout="constrained")
    axes = figure.subplots()
    axes.hist(
        [grading.seconds for grading in of.gradings if grading.seconds > BEGUN], bins=20, color="#8a8a8a"
    )
    _label(axes, "seconds a notebook", "notebooks")
    return _svg(figure)


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return "<svg" + text.getvalue().partition("<svg")[2]
