"""What a student reads below a test cell: what `grade` shows of its checks, and nothing else of the report.

It may name a number that was expected: inputs are drawn afresh in each run, so that it helps in no other.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from autograder.classroom.groups import Group
from autograder.report import terminal
from autograder.results import CheckResult, Report


def checks(report: Report, group: Group) -> tuple[CheckResult, ...]:
    """The results of the group's checks."""
    ids = {check.id for check in group.checks}
    return tuple(check for check in report.exercises[0].checks if check.id in ids)


def text(report: Report, group: Group, notes: Sequence[str] = ()) -> str:
    """The report on these checks alone, and what was left out of the module that they saw."""
    part = replace(report, exercises=(replace(report.exercises[0], checks=checks(report, group)),))
    page = io.StringIO()
    terminal.show(part, terminal.console(page), Path())
    name = report.exercises[0].name
    shown = re.sub(rf"(Not started: [^.]*\b){name}\.py", rf"\1{name}.ipynb", page.getvalue())
    return shown + "".join(f"Note: {note}.\n" for note in notes)
