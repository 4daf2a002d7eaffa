"""Arithmetic that a reader can redo: `2 * 32 * 8 * 128 * 2 bytes`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from autograder.pages import units
from autograder.pages.places import Wrong

UNITS = ("bytes", "ms", "µs", "s", "times", "%", "TFLOP/s", "GB/s")
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


def answer(text: str) -> str:
    """The result with its unit. Wrong where it is no arithmetic of numbers."""
    unit = next((each for each in UNITS if text.endswith(f" {each}")), "")
    expression = text.removesuffix(unit).strip()
    try:
        value = _value(ast.parse(expression, mode="eval").body)
    except (SyntaxError, ZeroDivisionError, OverflowError) as error:
        raise Wrong(
            f"expected arithmetic on numbers, then a unit of {', '.join(UNITS)} or none: {error}"
        ) from None
    return units.with_unit(value, unit)


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.BinOp() if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](_value(node.left), _value(node.right))  # type: ignore[no-any-return]
        case ast.UnaryOp() if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](_value(node.operand))  # type: ignore[no-any-return]
    raise SyntaxError(f"{ast.unparse(node)!r} is none")
