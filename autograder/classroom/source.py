"""A learner's module, taken out of a notebook: the functions that are asked for, and what they need.

A notebook holds more than a solution: examples, attempts, a comparison with a library. Of all that, the
module is what Python would still know as the functions asked for, with every name they use; so an attempt
that raises, or a library's attention in a cell beside, costs nobody a point.
"""

from __future__ import annotations

import ast
import re
import symtable
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autograder import workspace
from autograder.catalog import Exercise
from autograder.source import MAX_BYTES

MAX_NOTEBOOK = 16 * MAX_BYTES
MAX_MAGICS = 100
IN_PYTHON = ("time", "capture", "prun")
"""The cell magics that run the rest of their cell as Python, and keep the names."""
MAGIC = re.compile(r"(\s*+)(?:[%!?]|[\w.,\s]+=\s*[%!]|[\w.]+\?).*", re.DOTALL)


@dataclass(frozen=True)
class Module:
    """A module's text and the names that it binds.

    Notes, each naming a cell, say which could not be read, and which statements a learner might miss.
    """

    text: str
    names: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return self.unread + self.missed


@dataclass(frozen=True)
class _Statement:
    """A statement at the top level of a cell, the names it binds and those it looks up, at once or later."""

    cell: str
    text: str
    node: ast.stmt
    binds: frozenset[str]
    uses: frozenset[str]


def module_source(notebook: Mapping[str, Any], exercise: Exercise) -> Module:
    """The exercise's module out of a notebook's code cells, run from top to bottom; raises nothing."""
    return of_cells(_code(notebook), exercise)


def of_cells(cells: Iterable[tuple[str, str]], exercise: Exercise) -> Module:
    """The exercise's module out of these cells, each a name and a text, in the order in which they ran.

    Lines for IPython or the shell are left out, and so are bare expressions.
    """
    statements: list[_Statement] = []
    unread: list[str] = []
    left = MAX_NOTEBOOK
    for cell, text in cells:
        left -= len(text)
        try:
            if len(text) > MAX_BYTES or left < 0:
                raise ValueError(f"more than {(MAX_BYTES if left >= 0 else MAX_NOTEBOOK) // 1024} kB of code")
            statements += list(_statements(cell, text))  # all of the cell or, as in a kernel, nothing
        except SyntaxError as error:
            where = f"line {error.lineno}: " if error.lineno else ""
            unread.append(f"cell {cell} is left out, since it is not valid Python: {where}{error.msg}")
        except (ValueError, RecursionError, MemoryError) as error:
            unread.append(f"cell {cell} is left out: {error or type(error).__name__}")
    kept = _needed(statements, _asked(exercise))
    made = {
        name for each in kept if not isinstance(each.node, ast.Import | ast.ImportFrom) for name in each.binds
    }
    missed = tuple(
        f"cell {each.cell}: `{each.text.splitlines()[-1][:80]}` is left out; "
        "in the module it would have to be part of a function or an assignment"
        for each in statements
        if isinstance(each.node, ast.Expr) and _acts_on(each.node.value) in made
    )
    names = frozenset(name for each in kept for name in each.binds)
    return Module("\n\n".join(each.text for each in kept) + "\n", names, tuple(unread), missed)


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
        metadata = cell.get("metadata")
        ours = metadata.get("nbgrader") if isinstance(metadata, Mapping) else None
        name = ours.get("grade_id") if isinstance(ours, Mapping) else None
        if isinstance(text, list):
            text = "".join(map(str, text))
        if isinstance(text, str):
            yield f"{name}"[:80] if name else f"{number}", text


def _statements(cell: str, text: str) -> Iterator[_Statement]:
    """A cell's statements; SyntaxError or ValueError where Python cannot read it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    first, _, rest = text.lstrip("\n").partition("\n")
    if magic := re.match(r"%%(\w+)", first):
        if magic[1] not in IN_PYTHON:
            return
        text = rest
    with warnings.catch_warnings():  # theirs, on a screen of ours
        warnings.simplefilter("ignore")
        lines, tree = _parsed(text.split("\n"))
        data = [line.encode() + b"\n" for line in lines]
        row = column = 0
        for node in tree.body:
            end_row, end = (node.end_lineno or 1) - 1, node.end_col_offset or 0
            if row == end_row:
                part = data[row][column:end]
            else:
                part = data[row][column:] + b"".join(data[row + 1 : end_row]) + data[end_row][:end]
            row, column = end_row, end
            own = part.decode().lstrip(" \t;\n")
            yield _Statement(cell, own, node, *_names(own, node))


def _parsed(lines: list[str]) -> tuple[list[str], ast.Module]:
    """The lines and their tree. Where Python refuses a line that is IPython's, `pass` stands in its place."""
    for _ in range(MAX_MAGICS):
        try:
            return lines, ast.parse("\n".join(lines))
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            match = MAGIC.fullmatch(lines[at]) if 0 <= at < len(lines) else None
            if match is None:
                raise
            while lines[at].endswith("\\") and at + 1 < len(lines):
                lines = [*lines[:at], lines[at][:-1], *lines[at + 2 :]]
            lines = [*lines[:at], f"{match[1]}pass", *lines[at + 1 :]]
    raise ValueError(f"more than {MAX_MAGICS} lines of it are not Python")


def _names(text: str, node: ast.stmt) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a statement binds, and those of the module that it looks up, at once or later."""
    table = symtable.symtable(text, "cell", "exec")
    symbols = table.get_symbols()
    binds = {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}
    uses = {each.get_name() for each in symbols if each.is_referenced()}
    inner = table.get_children()
    while inner:
        nested = inner.pop()
        uses |= {each.get_name() for each in nested.get_symbols() if each.is_global()}
        inner += nested.get_children()
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    for part in () if inside else ast.walk(node):  # x[0] = 1 and x.y = 1 make something else of x
        if isinstance(part, ast.Subscript | ast.Attribute) and isinstance(part.ctx, ast.Store | ast.Del):
            binds.add(_root(part))
        elif isinstance(part, ast.ImportFrom) and (part.module == "__future__" or part.names[0].name == "*"):
            binds.add("*")
    return frozenset(binds - {""}), frozenset(uses)


def _root(node: ast.expr) -> str:
    """The name that `name.attribute[index]` begins with; "" where it begins with none."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _acts_on(node: ast.expr) -> str:
    """The name whose method this calls; "" where it does not."""
    return _root(node.func) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _needed(statements: list[_Statement], names: set[str]) -> list[_Statement]:
    """Those that bind these names, and what they in turn use; in order, those of __future__ first."""
    binding: dict[str, list[int]] = {}
    for index, statement in enumerate(statements):
        for name in statement.binds:
            binding.setdefault(name, []).append(index)
    kept: set[int] = set()
    seen = {"*", *names}
    todo = list(seen)
    while todo:
        for index in binding.get(todo.pop(), ()):
            if index not in kept:
                kept.add(index)
                new = statements[index].uses - seen
                seen |= new
                todo += new
    future = {index for index in kept if getattr(statements[index].node, "module", "") == "__future__"}
    return [statements[index] for index in (*sorted(future), *sorted(kept - future))]
