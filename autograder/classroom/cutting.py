"""A module cut into the code cells of a notebook, one a function; together they are the module again."""

from __future__ import annotations

import ast
from collections.abc import Sequence

SETUP = "setup"
"""The cell of what stands before the first function: imports, types, helpers."""


def cut(text: str, functions: Sequence[str]) -> dict[str, str]:
    """The text of each cell: `setup`, then every function of these that the module defines, in its order.

    A cell begins with the statement that first binds its function, its decorators and the comment that
    touches it, and goes on to the next one. SyntaxError where the text is not Python.
    """
    lines = text.split("\n")
    starts = {SETUP: 0}
    end = 0
    for node in ast.parse(text).body:
        for name in _bound(node):
            if name in functions and name not in starts:
                starts[name] = _start(lines, end, node.lineno)
        end = node.end_lineno or node.lineno
    ends = [*list(starts.values())[1:], len(lines)]
    return {
        name: "\n".join(lines[first:last]).strip("\n")
        for (name, first), last in zip(starts.items(), ends, strict=True)
    }


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _start(lines: Sequence[str], end: int, line: int) -> int:
    """The index of the first line that touches `line`, which counts from 1, and comes after `end`."""
    start = line - 1
    while start > end and lines[start - 1].strip():
        start -= 1
    return start
