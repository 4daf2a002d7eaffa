"""What stands where in a learner's syntax tree: imports, calls, statements and loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=8)
def imported(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: `np` for "numpy", `nn` for "jax.nn"."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                names[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted(node: ast.AST, names: dict[str, str]) -> str:
    """`np.linalg.norm` as "numpy.linalg.norm"; "" for what is no dotted name."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value, names)
        return f"{owner}.{node.attr}" if owner else f".{node.attr}"
    return ""


def root(node: ast.AST) -> str:
    """`np` of `np.linalg.norm`; "" for what begins with no name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def calls(tree: ast.Module, line: int | None = None) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a file, or those that reach over one line, in reading order; each by its dotted name."""
    for name, node in _calls(tree):
        if line is None or node.lineno <= line <= (node.end_lineno or node.lineno):
            yield name, node


@lru_cache(maxsize=8)
def _calls(tree: ast.Module) -> tuple[tuple[str, ast.Call], ...]:
    names = imported(tree)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return tuple(
        (dotted(node.func, names), node)
        for node in sorted(found, key=lambda node: (node.lineno, node.col_offset))
    )


@lru_cache(maxsize=64)
def around(tree: ast.Module, line: int) -> list[ast.AST]:
    """The statements and expressions that reach over a line, the innermost last."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.stmt, ast.expr)) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]


@lru_cache(maxsize=8)
def loop(tree: ast.Module) -> int | None:
    """The line of the first Python loop, but for those over a few things that are spelled out."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            lines.append(node.lineno)
        elif isinstance(node, (ast.For, ast.comprehension)) and not isinstance(
            node.iter, (ast.Tuple, ast.List)
        ):
            lines.append(node.iter.lineno)
    return min(lines, default=None)


def truth_of(function: ast.FunctionDef, name: str) -> int | None:
    """The line that takes this argument itself as a condition, and no attribute of it."""
    for node in ast.walk(function):
        tested: list[ast.expr] = []
        if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            tested = [node.test]
        elif isinstance(node, ast.BoolOp):
            tested = node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            tested = [node.operand]
        elif isinstance(node, ast.Compare):
            tested = [node.left]
        elif isinstance(node, ast.Call):
            tested = [*node.args[:1], *(keyword.value for keyword in node.keywords)]
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            tested = tested if called == "bool" or "autocast" in called else []
        for condition in tested:
            if isinstance(condition, ast.Name) and condition.id == name:
                return condition.lineno
    return None


def definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """Functions and classes of the top level, and names that are assigned there."""
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


@lru_cache(maxsize=64)
def inside(tree: ast.Module, name: str) -> tuple[int, str] | None:
    """The line where a function of this name is defined below the top level, and in what."""
    for outer in ast.walk(tree):
        if not isinstance(outer, ast.stmt):
            continue
        for node in ast.iter_child_nodes(outer):
            if isinstance(node, Function) and node.name == name:
                if isinstance(outer, ast.ClassDef):
                    return node.lineno, f"the class {outer.name}"
                if isinstance(outer, Function):
                    return node.lineno, f"the function {outer.name}"
                return node.lineno, f"another statement, which begins at line {outer.lineno}"
    return None
