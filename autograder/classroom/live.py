"""`autograder.check`: in a notebook's kernel, what `grade` says of the cells that were run so far."""

from __future__ import annotations

import functools
import os
import sys
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from autograder import catalog
from autograder.catalog import Exercise
from autograder.classroom import feedback
from autograder.classroom.batch import batch
from autograder.classroom.groups import Group, find, of_function
from autograder.classroom.source import MAX_NOTEBOOK, of_cells
from autograder.results import Outcome, Report
from autograder.sandbox import SandboxUnavailable

UNCONFIGURED = (
    "nbgrader autograde runs without the configuration of this assignment's course: a score from here would "
    "be worth nothing. To the instructor: make a course with grade course init, and grade in its folder"
)


def check(module: str, group_id: str) -> int | None:
    """Grade the cells run so far, and print the report on this group of checks.

    Args:
        module: an exercise's name, as in "naive_attention".
        group_id: the `grade_id` of the test cell, as in "check-naive_attention".

    Returns:
        The points earned. None where nothing failed but something waits or could not be judged: nbgrader's
        Validate takes a number below the cell's points for a failure, and nothing for none.

    Raises:
        ValueError: there is no such exercise, or it has no such group.
        RuntimeError: called elsewhere than in a notebook, or by nbgrader without our configuration.
    """
    exercise = catalog.find(module)
    if exercise is None:
        raise ValueError(f"no exercise {module!r}; there are {', '.join(e.name for e in catalog.EXERCISES)}")
    group = find(exercise, group_id)
    if os.environ.get("NBGRADER_EXECUTION") == "autograde":  # ours runs no test cell
        raise RuntimeError(UNCONFIGURED)
    alone = of_function(exercise, group.function)  # so that another's change grades nothing again
    source = of_cells(_run_so_far(), alone)
    if group.function not in source.names:
        print(f"{group.function} is not there yet: run the cell that defines it, then this one again.")
        return 0
    try:
        report = source.located(_graded(alone, source.text))
    except SandboxUnavailable as why:
        print(f"Nothing was graded: {why}.")
        return None
    except Exception as error:  # nothing of ours may look like a learner's failure
        print(f"The grader itself failed: our fault, not yours. {type(error).__name__}: {error}")
        return None
    print(feedback.text(report, group, source.missed), end="")
    return _points(report, group)


def _run_so_far() -> Iterator[tuple[str, str]]:
    """Each cell that this kernel ran, by its number, oldest first; of a long session the last ones."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        raise RuntimeError("autograder.check works in a notebook; elsewhere run the command `grade`")
    ran = shell.history_manager.input_hist_raw
    sizes = list(accumulate(len(text) for text in reversed(ran)))
    first = len(ran) - bisect_right(sizes, MAX_NOTEBOOK)
    for number, text in enumerate(ran[first:], start=first):
        yield f"In [{number}]", text


@functools.lru_cache(maxsize=16)
def _graded(exercise: Exercise, text: str) -> Report:
    """One grading for all the checks of one function, until it or what it uses changes."""
    return batch().grade(exercise, text)


def _points(report: Report, group: Group) -> int | None:
    results = feedback.checks(report, group)
    earned = sum(result.earned for result in results)
    wrong = any(result.outcome in (Outcome.FAILED, Outcome.NOT_STARTED) for result in results)
    return earned if wrong or earned == group.points else None
