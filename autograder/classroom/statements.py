"""The statements of a notebook's cell: what each binds, what it uses, and what is IPython's left out."""

from __future__ import annotations

import ast
import re
import symtable
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.source import bounded

MAX_MAGICS = 30
IN_PYTHON = ("time", "capture", "prun")
"""The cell magics that run the rest of their cell as Python, and keep the names."""
MAGIC = re.compile(r"(\s*+)(?:[%!?]|[\w.,\s]+=\s*[%!]|[\w.]+\?).*", re.DOTALL)


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a cell, the names it binds and those it looks up, at once or later.

    `line` is where its text begins in the cell, from 1.
    """

    cell: str
    line: int
    text: str
    node: ast.stmt
    binds: frozenset[str]
    uses: frozenset[str]

    @property
    def acts_on(self) -> frozenset[str]:
        """The names whose methods this calls for what they do: `x.append(1)`, by itself or in a block."""
        if isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return frozenset()
        calls = [part.value for part in ast.walk(self.node) if isinstance(part, ast.Expr)]
        methods = [call.func for call in calls if isinstance(call, ast.Call)]
        return frozenset(_root(method) for method in methods if isinstance(method, ast.Attribute)) - {""}

    @property
    def first_line(self) -> str:
        """Its own, after comments."""
        return self.text.split("\n")[self.node.lineno - self.line].strip()


def statements(cell: str, text: str) -> list[Statement]:
    """A cell's statements; SyntaxError or ValueError where Python cannot read it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    bounded(text)
    lines = text.split("\n")
    first = next((index for index, line in enumerate(lines) if line), 0)
    if magic := re.match(r"%%(\w+)", lines[first]):
        if magic[1] not in IN_PYTHON:
            return []
        lines[first] = ""
    with warnings.catch_warnings():  # theirs, on a screen of ours
        warnings.simplefilter("ignore")
        lines, tree = _parsed(lines)
        return [
            Statement(cell, line, own, node, *names(own, node)) for line, own, node in _texts(lines, tree)
        ]


def _texts(lines: list[str], tree: ast.Module) -> Iterator[tuple[int, str, ast.stmt]]:
    """Each statement with its text, from the end of the one before, and the line where that begins."""
    data = [line.encode() + b"\n" for line in lines]
    row = column = 0
    for node in tree.body:
        end_row, end = (node.end_lineno or 1) - 1, node.end_col_offset or 0
        if row == end_row:
            part = data[row][column:end]
        else:
            part = data[row][column:] + b"".join(data[row + 1 : end_row]) + data[end_row][:end]
        own = part.decode().lstrip(" \t;\n")
        yield end_row + 1 - own.count("\n"), own, node
        row, column = end_row, end


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
            last = at
            while lines[last].endswith("\\") and last + 1 < len(lines):
                last += 1
            lines = [*lines[:at], f"{match[1]}pass", *[""] * (last - at), *lines[last + 1 :]]
    raise ValueError(f"more than {MAX_MAGICS} lines of it are not Python")


def names(text: str, node: ast.stmt) -> tuple[frozenset[str], frozenset[str]]:
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
