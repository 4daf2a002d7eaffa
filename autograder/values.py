"""Where a learner's code asks for the value of an array that JAX traces, and what to write there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder import lookup
from autograder.text import cut

UNKNOWN = (
    "The value of an array was needed while tracing.",
    "Use shapes and dtypes for Python decisions, and jnp.where or lax for decisions on values.",
)
KINDS = frozenset(
    {
        "ConcretizationTypeError",
        "NonConcreteBooleanIndexError",
        "TracerArrayConversionError",
        "TracerBoolConversionError",
        "TracerIntegerConversionError",
    }
)
"""JAX's types for it."""
SIZES = "For a size write math.sqrt(query.shape[-1]) or the like: sizes are Python ints while tracing."
STATIC = frozenset({"shape", "ndim", "size", "dtype"})
CASTS = {"float": "jnp.float32", "int": "jnp.int32", "bool": "bool", "complex": "jnp.complex64"}
PYTHON = {
    "max": "jnp.maximum",
    "min": "jnp.minimum",
    "any": "jnp.any",
    "all": "jnp.all",
    "sorted": "jnp.sort",
}
MAX_QUOTED = 60


def needed(kinds: set[str], message: str, line: int, tree: ast.Module) -> tuple[str, str] | None:
    """A diagnosis and the next step, where this line shows what asks for a value."""
    if "NonConcreteBooleanIndexError" in kinds:
        step = f"Write jnp.where(mask, x, 0) in place of x[mask] at line {line}: a mask gives no fixed size."
        return UNKNOWN[0], step
    if "TracerBoolConversionError" in kinds:
        return _decision(line, tree)
    if "TracerIntegerConversionError" in kinds:
        return _counted(line, tree)
    if "TracerArrayConversionError" in kinds or "setting an array element" in message:
        return _numpy(line, tree) or _converted(line, tree)
    return _converted(line, tree) or _numpy(line, tree)


def _asks(what: str) -> str:
    return f"{what} asks for the value of an array, and while JAX traces there is none."


def _decision(line: int, tree: ast.Module) -> tuple[str, str] | None:
    """An if, while or assert, or what else takes a truth value."""
    for node in reversed(lookup.around(tree, line)):
        if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp)) and _over(node.test, line):
            quoted = cut(ast.unparse(node.test), MAX_QUOTED)
            if isinstance(node, ast.Assert):
                step = f"Let the assert at line {line} ask for shapes and dtypes alone, or remove it."
                return _asks(f"`assert {quoted}`"), step
            if isinstance(node, ast.While):
                step = f"Write array operations or lax.scan in place of the while at line {line}."
                return _asks(f"`while {quoted}:`"), step
            shown = f"`… if {quoted} else …`" if isinstance(node, ast.IfExp) else f"`if {quoted}:`"
            step = f"Write jnp.where(condition, one, other) in place of the if at line {line}."
            return _asks(shown), f"{step} A Python if may ask for shapes and dtypes alone."
    for name, call in lookup.calls(tree, line):
        if name in PYTHON and _may_be_array(call):
            return _asks(f"{name}(…)"), f"Write {PYTHON[name]} in place of {name} at line {line}."
        if name == "bool":
            return _asks("bool(…)"), f"Leave bool(…) out at line {line}: keep the array, and use jnp.where."
    for node in reversed(lookup.around(tree, line)):
        if isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            step = f"Write &, | and ~ in place of and, or and not at line {line}, with brackets around it."
            return _asks("`and`, `or` or `not`"), step
    return None


def _counted(line: int, tree: ast.Module) -> tuple[str, str] | None:
    for name, _ in lookup.calls(tree, line):
        if name == "range":
            step = f"Let range at line {line} count up to a size, such as key.shape[1]."
            return _asks("range(…)"), f"{step} Sizes are Python ints while tracing."
    return None


def _numpy(line: int, tree: ast.Module) -> tuple[str, str] | None:
    """A call of NumPy: of those on the line, the first that takes more than sizes."""
    found = [(name, call) for name, call in lookup.calls(tree, line) if name.startswith("numpy.")]
    arguments = _arguments(line, tree)
    takes = [call for _, call in found if arguments.intersection(_names(call))]
    called = (takes or [call for _, call in found if _may_be_array(call)] or [call for _, call in found])[:1]
    for call in called:
        shown = ast.unparse(call.func)
        first = shown.partition(".")[0]
        if "." in shown:
            step = f"Write jnp in place of {first} at line {line}."
        else:
            step = f"Write jnp.{shown} in place of NumPy's {shown} at line {line}."
        return _asks(f"NumPy's {shown}"), step
    roots = {name.partition(".")[0] for name in lookup.imported(tree).values()} - {"jax", "math"}
    for name, call in lookup.calls(tree, line):
        if name.partition(".")[0] in roots:
            shown = ast.unparse(call.func)
            return _asks(shown), f"Write it with jax.numpy or jax.nn in place of {shown} at line {line}."
    return None


def _converted(line: int, tree: ast.Module) -> tuple[str, str] | None:
    """A conversion to a Python number: float(…), math.sqrt(…), .item()."""
    for name, call in _inner_first(list(lookup.calls(tree, line))):
        shown = ast.unparse(call.func)
        if name in CASTS and _may_be_array(call):
            step = f"Leave {name}(…) out at line {line}, or write .astype({CASTS[name]}). {SIZES}"
            return _asks(f"{name}(…)"), step
        if name.startswith("math.") and _may_be_array(call):
            other = name.removeprefix("math.")
            step = f"Write jnp.{other} in place of {shown} at line {line}, for an array. {SIZES}"
            return _asks(f"{shown}(…)"), step
        if name.endswith((".item", ".tolist")):
            method = name.rpartition(".")[2]
            return _asks(f".{method}()"), f"Leave .{method}() out at line {line}: keep the array."
    return None


def _inner_first(found: list[tuple[str, ast.Call]]) -> Iterator[tuple[str, ast.Call]]:
    """In the order in which Python calls them: by where a call ends."""
    return iter(sorted(found, key=lambda item: (item[1].end_lineno or 0, item[1].end_col_offset or 0)))


def _over(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _may_be_array(call: ast.Call) -> bool:
    """Whether it takes anything but numbers and sizes that are spelled out."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(_names(argument) or isinstance(argument, ast.Call) for argument in given)


def _names(node: ast.AST) -> set[str]:
    """The names that it looks up, but for those whose shape or dtype alone is asked for."""
    if isinstance(node, ast.Attribute) and node.attr in STATIC:
        return set()
    if isinstance(node, ast.Name):
        return {node.id}
    return set().union(*(_names(child) for child in ast.iter_child_nodes(node)))


def _arguments(line: int, tree: ast.Module) -> set[str]:
    """The arguments of the functions around a line."""
    return {
        argument.arg
        for node in lookup.around(tree, line)
        if isinstance(node, lookup.Function)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    }
