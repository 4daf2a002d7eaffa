"""Which values of a module depend on its inputs. What does not is a constant, however it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from autograder.runner import allowed
from autograder.runner.ir_tools import operations, string

PASSES = 12
"""Each goes through the module once. JAX writes callers before what they call, so that two or three do."""


def varying(module: Any) -> set[Any] | None:
    """The values that depend on an argument of `main`; None where that cannot be told.

    The module is not validated yet: a function may lack its body, and a call its function.
    """
    try:
        return _varying(module)
    except (IndexError, KeyError, ValueError):  # UnicodeDecodeError is a ValueError
        return None


def _varying(module: Any) -> set[Any] | None:
    functions = {string(op.attributes["sym_name"]): op.operation for op in module.body.operations}
    found: set[Any] = set(functions["main"].regions[0].blocks[0].arguments) if "main" in functions else set()
    for _ in range(PASSES):
        before = len(found)
        for function in functions.values():
            for op in operations(function):
                _spread(op, functions, found)
        if len(found) == before:
            return found
    return None


def _spread(op: Any, functions: dict[str, Any], found: set[Any]) -> None:
    """Add what depends on values that are `found` already."""
    given = [operand in found for operand in op.operands]
    if name := allowed.CALLS.get(op.name):
        callee = functions[ir.FlatSymbolRefAttr(op.attributes[name]).value]
        block = callee.regions[0].blocks[0]
        found.update(argument for argument, varies in zip(block.arguments, given, strict=False) if varies)
        returned = _returned(block)
        found.update(result for result, value in zip(op.results, returned, strict=False) if value in found)
        return
    blocks = [block for region in op.regions for block in region.blocks]
    if any(given) or any(value in found for block in blocks for value in _returned(block)):
        found.update(op.results)
        found.update(argument for block in blocks for argument in block.arguments)


def _returned(block: Any) -> Sequence[Any]:
    last = list(block.operations)[-1:]
    return list(last[0].operation.operands) if last else []
