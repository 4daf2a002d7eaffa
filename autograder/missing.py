"""A function that an exercise asks for and a file does not define: under which name or where it stands."""

from __future__ import annotations

import ast
import difflib
import re
from functools import cache, lru_cache

from autograder import lookup, workspace
from autograder.catalog import find
from autograder.source import Source

_DEFINES_NO = re.compile(r"^\w+\.py defines no (\w+)$")


def function(message: str, source: Source) -> tuple[str, str] | None:
    """The next step, and what to say in place of this message; None where it is about something else."""
    found = _DEFINES_NO.match(message)
    if not found:
        return None
    name, file = found[1], f"{source.name}.py"
    if place := lookup.inside(source.tree, name):
        line, outer = place
        said = f"{file} defines {name} at line {line} inside {outer}, and not at the top level"
        return f"Move {name} out, to the left margin of the file.", said
    if other := _renamed(name, source):
        line = lookup.definitions(source.tree)[other].lineno
        return f"Rename {other} at line {line} to {name}.", f"{file} defines {other} and no {name}"
    return f"Define {name}, with the arguments that the stub gives it.", message


@lru_cache(maxsize=64)
def _renamed(name: str, source: Source) -> str | None:
    """The definition that is meant, perhaps: of a name like it, or the only one with as many arguments.

    What the file itself uses is a helper.
    """
    wanted = _arguments(source.name)
    used = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    others = {
        found: node
        for found, node in lookup.definitions(source.tree).items()
        if found not in wanted and not isinstance(node, ast.ClassDef)
    }
    lower = {found.lower(): found for found in others}
    if close := difflib.get_close_matches(name.lower(), lower, 1, 0.6):
        return lower[close[0]]
    alike = [
        found
        for found, node in others.items()
        if isinstance(node, lookup.Function)
        and _count(node) == wanted.get(name)
        and found not in used
        and found[0] != "_"
    ]
    return alike[0] if len(alike) == 1 else None


@cache
def _arguments(module: str) -> dict[str, int]:
    """How many arguments each function takes that this exercise asks for."""
    exercise = find(module)
    tree = ast.parse((workspace.solutions() / f"{module}.py").read_text(encoding="utf-8"))
    functions = lookup.definitions(tree)
    return {
        name: _count(node)
        for name in (exercise.functions if exercise else ())
        if isinstance(node := functions.get(name), lookup.Function)
    }


def _count(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return len(node.args.posonlyargs) + len(node.args.args)
