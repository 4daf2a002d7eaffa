"""A module cut into the code cells of a notebook: one of what all need, then one a function."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from autograder.classroom.statements import names

SETUP = "setup"
"""The cell of what stands before the first function, imports, types, and of all helpers."""


@dataclass(frozen=True)
class _Piece:
    """Statements with the comment that touches them and what follows up to the next ones."""

    text: str
    nodes: tuple[ast.stmt, ...]

    @property
    def names(self) -> frozenset[str]:
        """What they bind."""
        return frozenset().union(*(names(self.text, node)[0] for node in self.nodes))

    def stands_alone(self, without: Collection[str]) -> bool:
        """Whether this is a function that can be defined without these names."""
        if not all(isinstance(node, ast.FunctionDef) for node in self.nodes):
            return False
        symbols = symtable.symtable(self.text, "cell", "exec").get_symbols()
        return not any(symbol.is_referenced() and symbol.get_name() in without for symbol in symbols)


def cut(text: str, functions: Sequence[str]) -> dict[str, str]:
    """The text of each cell: `setup`, then every function of these that the module defines, in its order.

    A function's cell goes on to the next one. But functions in between, helpers, go to `setup` where they
    can, so that each cell can be run after those before it. SyntaxError where the text is not Python.
    """
    parts: dict[str, list[str]] = {SETUP: []}
    current, later = SETUP, set[str]()
    for piece in _pieces(text):
        bound = piece.names
        current = next((name for name in functions if name in bound and name not in parts), current)
        if not bound.intersection(functions) and piece.stands_alone(later):
            parts[SETUP].append(piece.text)
            continue
        if current != SETUP:
            later |= bound
        parts.setdefault(current, []).append(piece.text)
    return {name: "".join(part).strip("\n") for name, part in parts.items()}


def _pieces(text: str) -> Iterator[_Piece]:
    lines = text.split("\n")
    starts: list[int] = []
    nodes: list[list[ast.stmt]] = []
    end = 0
    for node in ast.parse(text).body:
        start = node.lineno - 1
        while start > end and lines[start - 1].strip():  # its decorators, and the comment above
            start -= 1
        if nodes and start < end:  # it begins on the line on which the one before ends
            nodes[-1].append(node)
        else:
            starts.append(start if nodes else 0)
            nodes.append([node])
        end = node.end_lineno or node.lineno
    ends = [*starts[1:], len(lines)][: len(starts)]  # of comments alone there is none
    for first, last, own in zip(starts, ends, nodes, strict=True):
        yield _Piece("\n".join([*lines[first:last], ""]), tuple(own))
