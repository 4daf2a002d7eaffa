"""A report for people: what passed, what did not and what to do now, what waits, and the points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from autograder import catalog
from autograder.catalog import Check
from autograder.report import plain
from autograder.report.words import count
from autograder.results import CheckResult, ExerciseResult, Outcome, Report

COURSE = Path("course")
WIDEST = 100
DETAIL_LINES = 12
OUTPUT_LINES = 16
TRACER = re.compile(r"Traced<|Tracer\(")
A_TRACER = (
    "A print in a traced function shows a tracer: its shape and dtype, and no values. To see values, call "
    "your function yourself in a Python session."
)
EARNED, WAITING, OPEN = "green", "cyan", "dim"


@dataclass(frozen=True)
class Row:
    """A paragraph, wrapped and indented; `limit` caps its lines, `lead` stands before each.

    `hang` indents all lines but the first further. `whole` keeps a word together that is wider than the
    screen: a path that can be copied.
    """

    text: Text
    indent: int = 0
    limit: int = 4
    lead: str = ""
    hang: int = 0
    whole: bool = False


def console(stream: TextIO) -> Console:
    """A console that writes text as it is, never as markup, at most 100 columns wide."""
    plain.safe(stream)
    # In a notebook too it is to write to this stream.
    made = Console(file=stream, markup=False, highlight=False, emoji=False, force_jupyter=False)
    made.width = min(made.width, WIDEST)
    return made


def show(report: Report, screen: Console, folder: Path, course: Path = COURSE) -> None:
    """Print the report of the modules in `folder`; the course's pages lie in `course`."""
    for row in rows(report, folder, course):
        lead = " " * row.indent + row.lead
        words = row.text.plain.split() if row.whole else ()
        lines = row.text.wrap(screen, max(screen.width - len(lead) - row.hang, 20, *map(len, words)))
        for number, line in enumerate(lines[: row.limit]):
            line.rstrip()
            screen.print(Text(lead + " " * row.hang * bool(number)) + line, soft_wrap=True)
        if len(lines) > row.limit:
            screen.print(Text(f"{lead}…"))


def rows(report: Report, folder: Path, course: Path = COURSE) -> Iterator[Row]:
    """The report, top to bottom."""
    if report.provenance.replay:
        yield _row("A replay, with the seeds of an earlier report: never a grade.", "bold")
    for result in report.exercises:
        yield from _exercise(result, folder, course)
        yield _row("")
    yield from _end(report)


def _exercise(result: ExerciseResult, folder: Path, course: Path) -> Iterator[Row]:
    exercise = catalog.find(result.name)
    title = f"{exercise.number} {exercise.name}: {exercise.title}" if exercise else result.name
    checks = {check.id: check for check in exercise.checks} if exercise else {}
    yield _row(title, "bold")
    yield Row(_bar([result], min(result.possible, 40)), 2)
    by = {outcome: [check for check in result.checks if check.outcome is outcome] for outcome in Outcome}
    if by[Outcome.PASSED]:
        yield _row(f"Passed: {_names(by[Outcome.PASSED])}", EARNED, 2)
    for group in _groups(by[Outcome.FAILED]):
        yield from _failed(group, checks)
    stubs = [check for check in by[Outcome.NOT_STARTED] if check.untouched]
    if stubs:
        yield _path(f"Not started: {_stubs(stubs, result, checks)} in {folder / result.name}.py")
    for group in _groups(check for check in by[Outcome.NOT_STARTED] if check not in stubs):
        points = _points(sum(check.points for check in group))
        yield _row(f"Not judged yet: {_names(group)} ({points}): {group[0].detail}", "", 2)
    for group in _groups(by[Outcome.NOT_GRADED]):
        yield _row(_waits(group), WAITING, 2)
    for group in _groups(by[Outcome.GRADER_ERROR]):
        yield _row(f"Our fault, not yours: {_names(group)} could not be judged", "bold magenta", 2)
        yield _row(group[0].detail, "", 4, DETAIL_LINES)
    if result.output.strip():
        yield from _printed(result.output)
    if exercise and (by[Outcome.FAILED] or by[Outcome.NOT_STARTED]):
        yield _path(f"Course page: {course / Path(exercise.page).name}")


def _failed(group: Sequence[CheckResult], checks: dict[str, Check]) -> Iterator[Row]:
    """One problem, and all the checks that it fails."""
    first, points = group[0], sum(check.points for check in group)
    title = f": {checks[first.id].title}" if len(group) == 1 and first.id in checks else ""
    yield _row(f"Failed: {_names(group)} ({_points(points)}){title}", "bold red", 2)
    yield _row(first.detail, "", 4, DETAIL_LINES)
    if first.diagnosis:
        yield _row(f"Looks like: {first.diagnosis}", "bold", 4)
    # Of several checks the first asks for the simplest: its hint comes first too.
    if step := first.next_step:
        yield _row(f"Next: {step}", "", 4)


def _printed(output: str) -> Iterator[Row]:
    lines = output.rstrip().splitlines()
    left = len(lines) - OUTPUT_LINES
    yield _row(f"It printed{f' (the last {OUTPUT_LINES} of {len(lines)} lines)' if left > 0 else ''}:", "", 2)
    for line in lines[-OUTPUT_LINES:]:
        yield Row(Text(line.expandtabs(4), OPEN), 4, 2, "│ ")
    if TRACER.search(output):
        yield _row(A_TRACER, "", 4)


def _end(report: Report) -> Iterator[Row]:
    if len(report.exercises) > 1:
        yield Row(Text("").append("Total ", "bold") + _bar(report.exercises, 25))
    legend = (("█", EARNED, " earned  "), ("░", WAITING, " waiting  "), ("·", OPEN, " open"))
    yield Row(Text.assemble(*(part for mark, style, name in legend for part in ((mark, style), name))))
    failed, untouched = report.count(Outcome.FAILED), report.count(Outcome.NOT_STARTED)
    faults, waiting = report.count(Outcome.GRADER_ERROR), report.count(Outcome.NOT_GRADED)
    if faults:
        fault = (
            f"The grader itself failed on {count(faults, 'check')}: our fault, not yours. Nothing was lost, "
            "and it costs no points. Run grade again; if it stays, run grade doctor and report both."
        )
        yield _row(fault, "bold magenta")
    parts = [f"{count(failed, 'check')} failed"] * bool(failed)
    pending = sum(
        check.outcome is Outcome.NOT_STARTED and not check.untouched
        for result in report.exercises
        for check in result.checks
    )
    parts += [f"{count(untouched - pending, 'check')} not started"] * bool(untouched - pending)
    parts += [f"{count(pending, 'check')} not judged yet"] * bool(pending)
    if parts:
        yield _row(f"{', '.join(parts)}.", "bold")
    elif not faults and report.count(Outcome.PASSED):
        yield _row("All that can be graded on this machine passed.", f"bold {EARNED}")
    elif waiting and not faults:
        yield _row("Nothing of this can be graded on this machine.", "bold")
    if report.provenance.sandbox == "none":
        yield _row(
            "No sandbox: your code ran under resource limits alone. Fine for self-study, not for a class; "
            "grade doctor says why."
        )
    if report.provenance.replay:
        yield _row("This was a replay, never a grade: run grade without --replay for one.", "bold")
    jax = report.provenance.versions.get("jax")
    on = f"{report.provenance.device}{f', JAX {jax}' if jax else ''}"
    yield _row(f"{report.provenance.seconds:.1f} s on {on}", OPEN)


def _bar(results: Iterable[ExerciseResult], width: int) -> Text:
    """Earned, waiting and open points as cells and as numbers."""
    results = list(results)
    earned, waiting, possible = (
        sum(getattr(result, name) for result in results) for name in ("earned", "waiting", "possible")
    )
    first = round(width * earned / (possible or 1))
    second = round(width * (earned + waiting) / (possible or 1))
    bar = Text("").append("█" * first, EARNED)
    bar.append("░" * (second - first), WAITING)
    bar.append("·" * (width - second), OPEN)
    bar.append(f"  {earned} earned")
    bar.append(f", {waiting} waiting" if waiting else "")
    bar.append(f", {possible - earned - waiting} open" if possible - earned - waiting else "")
    return bar.append(f" of {_points(possible)}")


def _waits(group: Sequence[CheckResult]) -> str:
    points, why = sum(check.points for check in group), group[0].detail
    verb = "waits" if points == 1 else "wait"
    reason = f"{verb} for {why[6:]}" if why.startswith("needs ") else f"{verb}: {why}"
    return f"{_points(points)} {reason} ({_names(group)})"


def _stubs(untouched: Sequence[CheckResult], result: ExerciseResult, checks: dict[str, Check]) -> str:
    if len(untouched) == len(result.checks):
        return "fill in the stub"
    exercise = catalog.find(result.name)
    first = exercise.functions[0] if exercise else ""
    functions = [(checks[check.id].function if check.id in checks else "") or first for check in untouched]
    points = _points(sum(check.points for check in untouched))
    return f"{', '.join(dict.fromkeys(functions))} ({points})"


def _groups(checks: Iterable[CheckResult]) -> list[list[CheckResult]]:
    """Checks by the mistake behind them, so that it is told once, with the words of the first."""
    groups: dict[tuple[str, ...], list[CheckResult]] = {}
    for check in checks:
        mistake = (check.cause,) if check.cause else (check.detail, check.diagnosis)
        groups.setdefault(mistake, []).append(check)
    return list(groups.values())


def _names(checks: Sequence[CheckResult]) -> str:
    """Their ids; those whose answers were given to a double come last, and marked."""
    real, doubles = (
        [check.id for check in checks if check.simulated is simulated] for simulated in (False, True)
    )
    return "; ".join(filter(None, (", ".join(real), "simulated: " * bool(doubles) + ", ".join(doubles))))


def _row(text: str, style: str = "", indent: int = 0, limit: int = 4) -> Row:
    return Row(Text(text, style), indent, limit, hang=2 if indent == 2 else 0)


def _path(text: str) -> Row:
    """A row that ends in a path."""
    return replace(_row(text, indent=2), whole=True)


def _points(number: int) -> str:
    return count(number, "point")
