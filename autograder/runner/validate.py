"""Reads an artifact that a submission made, and accepts nothing that is not on the list in allowed.py.

The parsed module is walked iteratively, every function of it, called or not. What is compiled afterwards is
this module serialised again, never the bytes that came.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from jax._src.interpreters.mlir import make_ir_context
from jaxlib import _jax
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

from autograder.arrays import Spec
from autograder.runner import allowed, cudnn
from autograder.runner.ir_tools import attributes, call, operations, replace, signature, string
from autograder.runner.job import Job
from autograder.runner.refusal import (
    COMPLEX,
    CONSTANT,
    DYNAMIC,
    FLOAT64,
    LOOPS,
    PLAIN,
    Refusal,
    large,
    low_precision,
    of,
    shown,
    unknown,
)
from autograder.runner.varying import varying

CUSTOM_CALL = "stablehlo.custom_call"


@dataclass(frozen=True)
class Valid:
    """A module that passed, serialised again: what the runner compiles.

    `largest` counts the elements of its largest value, `custom_calls` names those it came with.
    """

    module: bytes
    custom_calls: tuple[str, ...]
    largest: int


@dataclass
class _Function:
    """What one function holds, and how much it costs each time it is called."""

    ops: int = 0
    bytes: int = 0
    window_work: int = 0
    depth: int = 0
    calls: list[tuple[str, int]] = field(default_factory=list)


def validate(job: Job) -> Valid:
    """The job's artifact as a module that is safe to compile for this machine; raises Refusal."""
    with make_ir_context() as context, ir.Location.unknown(context):
        module = _parse(job.artifact, context)
        walk = _Walk(job, {call for like in job.like for call in _custom_calls(_parse(like, context))})
        walk.module(module)
        if job.cudnn is not None:
            cudnn.check(module, job.cudnn)
        _prepare(module)
        return Valid(_serialise(module), tuple(sorted(walk.custom_calls)), walk.largest)


def _parse(artifact: bytes, context: ir.Context) -> Any:
    if len(artifact) > allowed.MAX_BYTES:
        size = f"{len(artifact):,} bytes, of {allowed.MAX_BYTES:,} allowed"
        raise large(f"{size}: is a constant array in it?", CONSTANT)
    if not artifact.startswith(allowed.MAGIC):
        raise Refusal("invalid", "this is not a StableHLO artifact.")
    try:
        module = _jax.mlir.deserialize_portable_artifact(artifact, context)
        if not module.operation.verify():
            raise ValueError("it does not verify")
        # Locations can nest as deep as an attacker likes, and nobody needs them.
        passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(module.operation)
    except Exception as error:  # MLIR raises its own types, which differ between versions
        raise Refusal("invalid", f"this StableHLO artifact cannot be read: {shown(str(error))}.") from None
    return module


def _custom_calls(module: Any) -> set[str]:
    """The signatures of all custom calls in a module."""
    functions = [function.operation for function in module.body.operations]
    return {signature(op) for function in functions for op in operations(function) if op.name == CUSTOM_CALL}


def _serialise(module: Any) -> bytes:
    data: bytes = _jax.mlir.serialize_portable_artifact(module, stablehlo.get_current_version())
    return data


class _Walk:
    """Goes through a module once and raises Refusal at the first thing that is not allowed."""

    def __init__(self, job: Job, known: set[str]) -> None:
        self.job = job
        self.known = known
        self.custom_calls: set[str] = set()
        self.largest = 0
        self._ops = 0
        self._module: Any = None
        self._looked = False
        self._varying: set[Any] | None = None

    def module(self, module: Any) -> None:
        self._module = module
        for name, attribute in attributes(module.operation):
            if name != "sym_name" and allowed.MODULE_ATTRIBUTES.get(name) != str(attribute):
                raise Refusal("attribute", f"the module holds {shown(name)} = {shown(str(attribute))}.")
        functions: dict[str, _Function] = {}
        for op in module.body.operations:
            if op.operation.name != "func.func":
                raise unknown(op.operation.name, "operation")
            name = string(op.operation.attributes["sym_name"])
            functions[name] = self._function(op.operation)
            if name == "main":
                self._main(op.operation)
        if "main" not in functions:
            raise Refusal("invalid", "the module has no function named main.")
        _bound(_inlined(functions))

    def _varies(self, value: Any) -> bool:
        """Whether a value depends on the inputs. A mask of 0 and 1 in bfloat16 costs no precision."""
        if not self._looked:
            self._looked, self._varying = True, varying(self._module)
        return self._varying is None or value in self._varying

    def _main(self, function: Any) -> None:
        expected = f"({_types(self.job.ins)}) -> ({_types(self.job.outs)})"
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        found = f"({', '.join(map(str, kind.inputs))}) -> ({', '.join(map(str, kind.results))})"
        if found != expected:
            raise Refusal("type", f"the function's type is {shown(found)}, expected {shown(expected)}.")

    def _function(self, function: Any) -> _Function:
        for name, attribute in attributes(function):
            if name not in allowed.FUNCTION_ATTRIBUTES:
                raise Refusal("attribute", f"a function holds the attribute {shown(name)}.")
            if name in ("arg_attrs", "res_attrs"):
                for values in ir.ArrayAttr(attribute):
                    self._value_attributes(ir.DictAttr(values))
        if len(function.regions) != 1 or len(function.regions[0].blocks) != 1:
            raise Refusal("structure", "a function has no body, or one of several blocks.")
        result = _Function()
        stack = [(function.regions[0].blocks[0], 1)]
        while stack:
            block, depth = stack.pop()
            if depth > allowed.MAX_DEPTH:
                raise large(f"nested deeper than {allowed.MAX_DEPTH}", LOOPS)
            result.depth = max(result.depth, depth)
            for argument in block.arguments:
                result.bytes += self._value(argument)
            for view in block.operations:
                op = view.operation
                self._operation(op, result, depth)
                for region in op.regions:
                    if len(region.blocks) > 1:
                        raise Refusal("structure", "a region has several blocks.")
                    stack += [(inner, depth + 1) for inner in region.blocks]
        return result

    def _value_attributes(self, values: ir.DictAttr) -> None:
        for named in (values[index] for index in range(len(values))):
            if named.name not in allowed.VALUE_ATTRIBUTES:
                if "sharding" in named.name:
                    raise unknown(named.name, "attribute")
                raise Refusal("attribute", f"an argument or result holds {shown(named.name)}.")

    def _operation(self, op: Any, function: _Function, depth: int) -> None:
        self._ops += 1
        function.ops += 1
        if self._ops > allowed.MAX_OPS:
            raise large(f"more than {allowed.MAX_OPS:,} operations", LOOPS)
        names = allowed.OPS.get(op.name)
        if names is None:
            raise unknown(op.name, "operation")
        if op.successors:
            raise Refusal("structure", "an operation jumps to another block.")
        found = dict(attributes(op))
        known = op.name == CUSTOM_CALL and signature(op) in self.known
        if op.name == CUSTOM_CALL:  # what it calls says more than what it carries
            self._custom_call(string(found["call_target_name"]), known)
        for name in () if known else found:
            if name not in names:
                if "sharding" in name:
                    raise unknown(name, "attribute")
                raise Refusal("attribute", f"{op.name} holds the attribute {shown(name)}.")
        for result in op.results:
            function.bytes += self._value(result)
        match op.name:
            case "stablehlo.constant":
                if not isinstance(found["value"], (ir.DenseFPElementsAttr, ir.DenseIntElementsAttr)):
                    raise Refusal("attribute", "a constant is not plain numbers.")
            case "stablehlo.reduce_window":
                window = ir.DenseI64ArrayAttr(found["window_dimensions"])
                function.window_work += math.prod(op.results[0].type.shape) * math.prod(window)
            case "stablehlo.reduce_precision" if self.job.float32_only:
                raise unknown(op.name, "operation")
            case "stablehlo.dot_general" if self.job.float32_only and "algorithm" in found:
                raise low_precision("a dot algorithm")
            case "func.call" | "stablehlo.composite":
                callee = ir.FlatSymbolRefAttr(found[allowed.CALLS[op.name]]).value
                if "name" in found and (found_name := string(found["name"])) and "top_k" in found_name:
                    raise unknown(found_name, "composite")
                function.calls.append((callee, depth))

    def _custom_call(self, name: str, known: bool) -> None:
        self.custom_calls.add(name)
        if known:
            return
        if name.startswith("__cudnn$"):
            if self.job.cudnn is None:
                # A wrong decision rather than a wrong program: the check's own hint says what to look at.
                raise Refusal("cudnn", f"the program calls cuDNN ({shown(name)}) where it should not.", "")
            if name != allowed.CUDNN:
                raise Refusal(
                    "cudnn",
                    f"the program calls {shown(name)}, which is not plain attention.",
                    "Give it no bias, mask or dropout: is_causal is all the mask that there is.",
                )
        else:
            raise unknown(name, "custom call")

    def _value(self, value: Any) -> int:
        """The bytes of a value."""
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType) or kind.encoding is not None:
            raise Refusal("type", f"a value has the type {shown(str(kind))}.")
        if not kind.has_static_shape:
            raise of("dynamic", str(kind), DYNAMIC)
        element = str(kind.element_type)
        if element.startswith("complex"):
            raise of("complex", str(kind), COMPLEX)
        if element == "f64":
            raise of("float64", str(kind), FLOAT64)
        if element not in allowed.ITEM_BYTES or (element in allowed.FLOAT8 and not self.job.float8):
            raise Refusal("type", f"the program holds {shown(str(kind))}, a type that is not graded here.")
        if self.job.float32_only and element in allowed.LOW_PRECISION and self._varies(value):
            raise low_precision(str(kind))
        if kind.rank > allowed.MAX_RANK:
            raise large(f"a value has {kind.rank} axes, of {allowed.MAX_RANK} allowed")
        count = math.prod(kind.shape)
        size = count * allowed.ITEM_BYTES[element]
        if size > allowed.MAX_VALUE_BYTES:
            raise large(f"a value of {size:,} bytes ({kind}), of {allowed.MAX_VALUE_BYTES:,} allowed")
        self.largest = max(self.largest, count)
        return size


def _inlined(functions: dict[str, _Function]) -> _Function:
    """What main costs with every call inlined; each function once all that it calls is known."""
    done: dict[str, _Function] = {}
    waiting = dict(functions)
    while waiting:
        ready = [name for name, f in waiting.items() if all(callee in done for callee, _ in f.calls)]
        if not ready:
            raise Refusal("structure", "a function calls itself, or one that is not there.")
        for name in ready:
            f = waiting.pop(name)
            callees = [(done[callee], depth) for callee, depth in f.calls]
            done[name] = _Function(
                f.ops + sum(g.ops for g, _ in callees),
                f.bytes + sum(g.bytes for g, _ in callees),
                f.window_work + sum(g.window_work for g, _ in callees),
                max([f.depth, *(g.depth + depth for g, depth in callees)]),
            )
            _bound(done[name])
    return done["main"]


def _bound(total: _Function) -> None:
    if total.depth > allowed.MAX_DEPTH:
        raise large(f"nested deeper than {allowed.MAX_DEPTH}", LOOPS)
    if total.ops > allowed.MAX_OPS:
        raise large(f"{total.ops:,} operations, of {allowed.MAX_OPS:,} allowed", LOOPS)
    if total.bytes > allowed.MAX_TOTAL_BYTES:
        raise large(f"its values hold {total.bytes:,} bytes together, of {allowed.MAX_TOTAL_BYTES:,} allowed")
    if total.window_work > allowed.MAX_WINDOW_WORK:
        raise large(f"its windows (cumsum, reduce_window) take {total.window_work:,} steps", PLAIN)


def _prepare(module: Any) -> None:
    """Rewrite what a compiler might read by name, or what a CPU cannot run.

    A composite becomes a call of its decomposition: XLA recognises some by name and forgets what was
    validated. On a CPU a dot algorithm goes, as the CPU knows few (the result's type still says how to
    accumulate), and cuDNN's attention becomes our own.
    """
    for function in list(module.body.operations):
        for op in list(operations(function.operation)):
            if op.name == "stablehlo.composite":
                name = ir.FlatSymbolRefAttr(op.attributes["decomposition"]).value
                with ir.InsertionPoint(op):
                    replace(op, call(name, [result.type for result in op.results], list(op.operands)))
            elif allowed.ON_GPU:
                continue
            elif op.name == "stablehlo.dot_general" and "algorithm" in op.attributes:
                del op.attributes["algorithm"]
            elif op.name == CUSTOM_CALL and string(op.attributes["call_target_name"]) == allowed.CUDNN:
                cudnn.emulate(module, op)


def _types(specs: tuple[Spec, ...]) -> str:
    return ", ".join(
        f"tensor<{''.join(f'{n}x' for n in spec.shape)}{allowed.ELEMENTS[spec.dtype]}>" for spec in specs
    )
