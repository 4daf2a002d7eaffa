"""Arithmetic that a reader can redo: `2 * 32 * 8 * 128 * 2 bytes`.

A fact of a sweep's machine stands in it by name, as it was measured: `1e9 / (seq.copy_gbytes_s * 1e9) s`.
So does a price of terraform/README.md, in dollars an hour: `72 * price('Asleep')`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.pages import measurements, prices, units
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


def answer(text: str, folder: Path) -> str:
    """The result with its unit; `folder` has the measurements. Wrong where it is no arithmetic of numbers."""
    unit = next((each for each in UNITS if text.endswith(f" {each}")), "")
    expression = text.removesuffix(unit).strip()
    try:
        value = _value(ast.parse(expression, mode="eval").body, folder)
    except (SyntaxError, ZeroDivisionError, OverflowError) as error:
        raise Wrong(
            f"expected arithmetic on numbers, then a unit of {', '.join(UNITS)} or none: {error}"
        ) from None
    return units.with_unit(value, unit)


def _value(node: ast.expr, folder: Path) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Attribute(value=ast.Name(id=sweep), attr=name):
            fact = measurements.fact(sweep, name, folder)
            if isinstance(fact, (int, float)):
                return fact
        case ast.Call(func=ast.Name(id="price"), args=[ast.Constant(value=str() as what)]):
            return prices.hourly(what, folder)
        case ast.BinOp() if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](_value(node.left, folder), _value(node.right, folder))  # type: ignore[no-any-return]
        case ast.UnaryOp() if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](_value(node.operand, folder))  # type: ignore[no-any-return]
    raise SyntaxError(f"{ast.unparse(node)!r} is none")
