"""A learner's module, taken out of a notebook: the functions that are asked for, and what they need.

A notebook holds more than a solution: examples, attempts, a comparison with a library. Of all that, the
module is what Python would still know as the functions asked for, with every name they use; so an attempt
that raises, or a library's attention in a cell beside, costs nobody a point.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograder import workspace
from autograder.catalog import Exercise
from autograder.classroom.cells import grade_id
from autograder.classroom.statements import Statement, statements
from autograder.results import CheckResult, Report
from autograder.source import MAX_BYTES

MAX_NOTEBOOK = 4 * MAX_BYTES


@dataclass(frozen=True)
class Module:
    """A module's text and the names that it binds.

    `places` are where its parts come from: a line of the text, the cell, and the line there. Notes, each
    naming a cell, say which could not be read, and which statements a learner might miss.
    """

    text: str
    names: frozenset[str] = frozenset()
    places: tuple[tuple[int, str, int], ...] = ()
    unread: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return self.unread + self.missed

    def located(self, report: Report) -> Report:
        """The report on this module, with the notebook's lines in the place of the module's."""
        return replace(
            report,
            exercises=tuple(
                replace(result, checks=tuple(map(self._located, result.checks)))
                for result in report.exercises
            ),
        )

    def _located(self, check: CheckResult) -> CheckResult:
        return replace(check, detail=re.sub(r" at line (\d{1,6})\b", self._where, check.detail))

    def _where(self, match: re.Match[str]) -> str:
        found = bisect_right(self.places, int(match[1]), key=lambda place: place[0])
        if not found:
            return match[0]
        first, cell, line = self.places[found - 1]
        return f" at line {line + int(match[1]) - first} of cell {cell}"


def module_source(notebook: Mapping[str, Any], exercise: Exercise) -> Module:
    """The exercise's module out of a notebook's code cells, run from top to bottom; raises nothing."""
    return of_cells(_code(notebook), exercise)


def of_cells(cells: Iterable[tuple[str, str]], exercise: Exercise) -> Module:
    """The exercise's module out of these cells, each a name and a text, in the order in which they ran.

    Lines for IPython or the shell are left out, and so are bare expressions.
    """
    found: list[Statement] = []
    unread: list[str] = []
    left = MAX_NOTEBOOK
    for cell, text in cells:
        left -= len(text)
        try:
            if len(text) > MAX_BYTES or left < 0:
                raise ValueError(f"more than {(MAX_BYTES if left >= 0 else MAX_NOTEBOOK) // 1024} kB of code")
            found += statements(cell, text)  # all of the cell or, as in a kernel, nothing
        except SyntaxError as error:
            where = f"line {error.lineno}: " if error.lineno else ""
            unread.append(f"cell {cell} is left out, since it is not valid Python: {where}{error.msg}")
        except (ValueError, RecursionError, MemoryError) as error:
            unread.append(f"cell {cell} is left out: {str(error) or type(error).__name__}")
    kept = _needed(found, _asked(exercise))
    made = {
        name for each in kept if not isinstance(each.node, ast.Import | ast.ImportFrom) for name in each.binds
    }
    inside = {id(each) for each in kept}
    missed = tuple(
        f"cell {each.cell}: `{each.first_line[:80]}` is left out: make it part of a function or an assignment"
        for each in found
        if id(each) not in inside and not made.isdisjoint(each.acts_on)
    )
    names = frozenset(name for each in kept for name in each.binds)
    places, line = [], 1
    for each in kept:
        places.append((line, each.cell, each.line))
        line += each.text.count("\n") + 2
    text = "\n\n".join(each.text for each in kept) + "\n"
    return Module(text, names, tuple(places), tuple(unread), missed)


def _asked(exercise: Exercise) -> set[str]:
    """The exercise's functions, and the names of the stub's types."""
    stub = ast.parse((workspace.exercises() / f"{exercise.name}.py").read_text(encoding="utf-8"))
    return {*exercise.functions, *(node.name for node in stub.body if isinstance(node, ast.ClassDef))}


def _code(notebook: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each code cell's name, its `grade_id` or its place, and its text."""
    cells = notebook.get("cells")
    for number, cell in enumerate(cells if isinstance(cells, list) else (), start=1):
        if not isinstance(cell, Mapping) or cell.get("cell_type") != "code":
            continue
        text = cell.get("source")
        if isinstance(text, list):
            text = "".join(map(str, text))
        if isinstance(text, str):
            yield grade_id(cell)[:80] or f"{number}", text


def _needed(found: list[Statement], names: set[str]) -> list[Statement]:
    """Those that bind these names, and what they in turn use; in order, those of __future__ first."""
    binding: dict[str, list[int]] = {}
    for index, statement in enumerate(found):
        for name in statement.binds:
            binding.setdefault(name, []).append(index)
    kept: set[int] = set()
    seen = {"*", *names}
    todo = list(seen)
    while todo:
        for index in binding.get(todo.pop(), ()):
            if index not in kept:
                kept.add(index)
                new = found[index].uses - seen
                seen |= new
                todo += new
    future = {index for index in kept if getattr(found[index].node, "module", "") == "__future__"}
    return [found[index] for index in (*sorted(future), *sorted(kept - future))]
