"""The few things that MLIR's Python bindings lack, or spell differently between versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jaxlib.mlir import ir


def attributes(op: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of all attributes of an operation, its own and others."""
    for item in op.attributes:  # names in newer versions, pairs in older ones
        yield (item, op.attributes[item]) if isinstance(item, str) else (item.name, item.attr)


def operations(function: Any) -> Iterator[Any]:
    """Every operation inside another one, in its regions' regions too."""
    blocks = [block for region in function.regions for block in region.blocks]
    while blocks:
        for view in blocks.pop().operations:
            yield view.operation
            blocks += [block for region in view.operation.regions for block in region.blocks]


def string(attribute: Any) -> str:
    """The text of a string attribute; bytes that are not UTF-8 show as escapes."""
    return bytes(ir.StringAttr(attribute).value_bytes).decode("utf-8", "backslashreplace")


def signature(op: Any) -> str:
    """All that an operation says but for the values it takes: its attributes, and its types."""
    said = sorted(f"{name} = {attribute}" for name, attribute in attributes(op))
    types = [[str(value.type) for value in values] for values in (op.operands, op.results)]
    return f"{op.name} {said} {types}"


def replace(op: Any, values: Sequence[Any]) -> None:
    """Put other values in the place of an operation's results, and remove it."""
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


def call(name: str, types: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """A call of a function, at the current insertion point; its results."""
    callee: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(name)}
    return list(ir.Operation.create("func.call", list(types), list(operands), callee).results)
