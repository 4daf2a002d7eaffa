"""`autograder.check` in a kernel: the report at once, and a value that nbgrader's Validate understands."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import autograder
from autograder import catalog, provenance
from autograder.catalog import Exercise
from autograder.classroom import groups, live
from autograder.classroom.source import MAX_NOTEBOOK
from autograder.results import STILL_THE_STUB, CheckResult, ExerciseResult, Outcome, Report
from autograder.sandbox import SandboxUnavailable

EXERCISE = catalog.EXERCISES[0]
CPU, GPU = groups.groups(EXERCISE)
SOLUTION = "def naive_attention(query, key, value):\n    return query"


class Grader:
    """Stands in for the batch's: `outcomes` by check, passed where none is said."""

    def __init__(self, **outcomes: Outcome) -> None:
        self.outcomes = {"speed": Outcome.NOT_GRADED, **outcomes}
        self.graded: list[str] = []

    def grade(self, exercise: Exercise, text: str) -> Report:
        self.graded.append(text)
        results = []
        for check in exercise.checks:
            outcome = self.outcomes.get(check.id, Outcome.PASSED)
            detail = f"it {STILL_THE_STUB}" if outcome is Outcome.NOT_STARTED else check.needs
            results.append(CheckResult(check.id, outcome, check.points, detail))
        where = provenance.of(seeds={}, replay=False, device="", sha256={}, started="", seconds=1.0)
        return Report((ExerciseResult(exercise.name, tuple(results)),), where)


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the kernel ran so far."""
    ran = ["", SOLUTION]
    shell = SimpleNamespace(history_manager=SimpleNamespace(input_hist_raw=ran))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    live._graded.cache_clear()
    return ran


def use(monkeypatch: pytest.MonkeyPatch, **outcomes: Outcome) -> Grader:
    grader = Grader(**outcomes)
    monkeypatch.setattr(live, "batch", lambda: grader)
    return grader


@pytest.mark.parametrize(
    ("outcomes", "group", "value", "shown"),
    [
        ({}, CPU, CPU.points, "All that can be graded on this machine passed."),
        ({}, GPU, None, "4 points wait for an NVIDIA GPU"),
        ({"errors": Outcome.FAILED}, CPU, CPU.points - 2, "Failed: errors (2 points)"),
        ({"speed": Outcome.FAILED}, GPU, 0, "Failed: speed"),
        ({"speed": Outcome.PASSED}, GPU, 4, "Passed: speed"),
        (dict.fromkeys([c.id for c in CPU.checks], Outcome.NOT_STARTED), CPU, 0, "Not started: "),
        ({"errors": Outcome.GRADER_ERROR}, CPU, None, "Our fault, not yours: errors"),
        ({"errors": Outcome.GRADER_ERROR, "float32": Outcome.FAILED}, CPU, CPU.points - 6, "Failed: float32"),
    ],
)
def test_the_value_is_below_the_points_exactly_where_something_is_wrong(
    cells: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    outcomes: dict[str, Outcome],
    group: groups.Group,
    value: int | None,
    shown: str,
) -> None:
    use(monkeypatch, **outcomes)
    assert autograder.check("naive_attention", group.id) == value
    printed = capsys.readouterr()
    assert shown in printed.out
    assert printed.err == ""
    other = GPU if group is CPU else CPU
    assert not any(check.id in printed.out for check in other.checks)


def test_the_checks_of_one_function_are_graded_once(
    cells: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grader = use(monkeypatch)
    for group in (CPU, GPU, CPU):
        autograder.check("naive_attention", group.id)
        cells.append("unrelated = 1")
    assert len(grader.graded) == 1
    cells.append(SOLUTION.replace("return query", "return key"))
    autograder.check("naive_attention", CPU.id)
    assert [text.split()[-1] for text in grader.graded] == ["query", "key"]


def test_a_function_that_was_not_run_is_asked_for(
    cells: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    grader = use(monkeypatch)
    cells[1] = "def naive_attention(:"
    assert autograder.check("naive_attention", CPU.id) == 0
    assert "naive_attention is not there yet: run the cell that defines it" in capsys.readouterr().out
    assert grader.graded == []


def test_what_a_long_session_ran_last_counts(cells: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    grader = use(monkeypatch)
    cells[1:1] = ["#" * 60_000] * (MAX_NOTEBOOK // 60_000 + 1)
    autograder.check("naive_attention", CPU.id)
    assert grader.graded == [SOLUTION + "\n"]


def test_a_fault_of_ours_is_said_and_fails_nobody(
    cells: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "batch", lambda: 1 / 0)
    assert autograder.check("naive_attention", CPU.id) is None
    printed = capsys.readouterr()
    assert "our fault, not yours. ZeroDivisionError" in printed.out
    assert printed.err == ""


def test_nbgrader_without_our_configuration_gives_no_points(
    cells: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grader = use(monkeypatch)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(RuntimeError, match="To the instructor: make a course with grade course init"):
        autograder.check("naive_attention", CPU.id)
    assert grader.graded == []


def test_misuse_is_an_error_that_says_what_there_is(
    cells: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="no exercise 'naive'; there are naive_attention, cudnn"):
        autograder.check("naive", CPU.id)
    with pytest.raises(ValueError, match="has no checks 'speed'"):
        autograder.check("naive_attention", "speed")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    with pytest.raises(RuntimeError, match="works in a notebook; elsewhere run the command `grade`"):
        autograder.check("naive_attention", CPU.id)


@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        (SandboxUnavailable("install bubblewrap"), "Nothing was graded: install bubblewrap.\n"),
        (OSError("no space"), "The grader itself failed: our fault, not yours. OSError: no space\n"),
    ],
)
def test_where_nothing_can_be_graded_nobody_loses_a_point(
    fault: Exception,
    shown: str,
    cells: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def grade(exercise: Exercise, text: str) -> Report:
        raise fault

    monkeypatch.setattr(live, "batch", lambda: SimpleNamespace(grade=grade))
    assert autograder.check(EXERCISE.name, CPU.id) is None
    assert capsys.readouterr().out == shown
