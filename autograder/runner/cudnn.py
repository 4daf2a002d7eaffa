"""cuDNN's fused attention in an artifact: is it the call that JAX makes, and on a CPU, what it computes.

The call must be, but for its scale, the one that this process traces itself for the same types and mask,
and the function must be that call and nothing else: arguments reach it, and its result the output, through
transposes and reshapes only. Then its numbers judge it.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
from jax import export, lax
from jax._src.cudnn import fused_attention_stablehlo as probed
from jaxlib.mlir import ir

from autograder.runner import allowed
from autograder.runner.ir_tools import attributes, call, operations, replace, string
from autograder.runner.refusal import Refusal, shown
from autograder.wire import WireError, strict_json

MASKS = {False: "NO_MASK", True: "CAUSAL"}
DTYPES = {"bf16": jnp.bfloat16, "f16": jnp.float16}
LIBRARY = "Call jax.nn.dot_product_attention with query, key, value, is_causal and implementation='cudnn'."
MOVES = ("stablehlo.transpose", "stablehlo.reshape")
Types = tuple[tuple[tuple[int, ...], str], ...]
Call = dict[str, str]


def check(module: Any, is_causal: bool) -> None:
    """Raise Refusal unless each cuDNN call in the module is JAX's own, and the function nothing but it."""
    functions = {string(f.operation.attributes["sym_name"]): f.operation for f in module.body.operations}
    calls = [op for f in functions.values() for op in operations(f) if op.name == "stablehlo.custom_call"]
    if not calls:
        return
    for op in calls:
        _check_call(op, is_causal)
    flow = _Flow(functions)
    for op in calls:
        for number, name in enumerate(("query", "key", "value")):
            for origin in flow.origins(op.operands[number]):
                if origin != "argument":
                    raise Refusal(
                        "cudnn",
                        f"the {name} of the cuDNN call comes from {origin}, not from an argument.",
                        "Give query, key and value to the library as they came (transposes and reshapes are "
                        "welcome).",
                    )
    for value in _returned(functions["main"]):
        for origin in flow.origins(value):
            if origin != "cuDNN":
                raise Refusal(
                    "cudnn",
                    f"the output comes from {origin}, not from its cuDNN call.",
                    "Return what the library returns (transposes and reshapes are welcome).",
                )


def emulate(module: Any, op: Any) -> None:
    """Replace a checked cuDNN call by the same attention in plain operations; its workspace by zeros."""
    config = strict_json(string(op.attributes["backend_config"]).encode())["cudnn_fmha_backend_config"]
    types = tuple((tuple(v.type.shape), str(v.type.element_type)) for v in op.operands)
    text = _attention(types, float(config["fmha_scale"]), config["mask_type"] == MASKS[True])
    names = {string(f.operation.attributes["sym_name"]) for f in module.body.operations}
    name = next(name for i in range(len(names) + 1) if (name := f"attention{i}") not in names)
    own = ir.Module.parse(text)
    [function] = own.body.operations
    function.operation.attributes["sym_name"] = ir.StringAttr.get(name)
    function.operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
    module.body.append(function)
    with ir.InsertionPoint(op):
        replace(op, call(name, [result.type for result in op.results], list(op.operands)))


def _check_call(op: Any, is_causal: bool) -> None:
    try:
        types = tuple((tuple(v.type.shape), str(v.type.element_type)) for v in op.operands)
        own = _own_call(types, is_causal)
    except Exception as error:  # whatever JAX says of types that it does not hand to cuDNN
        raise Refusal(
            "cudnn",
            f"cuDNN's attention does not take these inputs: {shown(str(error))}.",
            LIBRARY,
        ) from None
    found = _described(op)
    mask = found["mask_type"]
    if mask != own["mask_type"]:
        raise Refusal(
            "cudnn",
            f"the cuDNN call has the mask {shown(mask)}, where is_causal={is_causal} asks for "
            f"{own['mask_type']}.",
            "Pass is_causal on to the library.",
        )
    for name in sorted(own.keys() | found.keys()):
        if own.get(name) != found.get(name):
            raise Refusal(
                "cudnn", f"the cuDNN call's {shown(name)} is not what JAX makes of these inputs.", LIBRARY
            )


def _described(op: Any) -> Call:
    """Everything about a call but its operands and its scale, by name, in text that compares strictly."""
    found = dict(attributes(op))
    try:
        config = strict_json(string(found.pop("backend_config")).encode())
        inner = config["cudnn_fmha_backend_config"]
        scale = inner.pop("fmha_scale")
        mask = inner["mask_type"]
    except (WireError, KeyError, TypeError, AttributeError):
        raise Refusal("cudnn", "the cuDNN call's backend_config is not JAX's.", LIBRARY) from None
    if type(scale) not in (int, float) or type(mask) is not str:
        raise Refusal("cudnn", "the cuDNN call's scale is not a finite number.", LIBRARY)
    return {
        **{name: str(attribute) for name, attribute in found.items()},
        "backend_config": json.dumps(config, sort_keys=True),
        "mask_type": mask,
        "result types": str([str(result.type) for result in op.results]),
    }


@functools.lru_cache(maxsize=256)
def _own_call(types: Types, is_causal: bool) -> Call:
    """The call that JAX makes of these types for a Hopper GPU."""
    query, key, value = (jax.ShapeDtypeStruct(shape, DTYPES[element]) for shape, element in types)

    def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return jax.nn.dot_product_attention(q, k, v, is_causal=is_causal, implementation="cudnn")

    checks = [export.DisabledSafetyCheck.custom_call(allowed.CUDNN)]
    with _probes():
        exported = export.export(jax.jit(attention), platforms=["cuda"], disabled_checks=checks)
        text = exported(query, key, value).mlir_module()
    module = ir.Module.parse(text)
    for function in module.body.operations:
        for op in operations(function.operation):
            if op.name == "stablehlo.custom_call":
                return _described(op)
    raise ValueError("JAX makes no cuDNN call of them")


@contextmanager
def _probes() -> Iterator[None]:
    """Answer JAX's three private questions about the GPU, which there may not be, as Hopper would."""
    answers = {
        "check_cudnn_version": lambda: 91900,
        "check_compute_capability": lambda capability: float(capability) <= 9.0,
        "is_cuda_compute_capability_equal": lambda capability: capability == "9.0",
    }
    real = {name: getattr(probed, name) for name in answers}
    try:
        for name, answer in answers.items():
            setattr(probed, name, answer)
        yield
    finally:
        for name, answer in real.items():
            setattr(probed, name, answer)


class _Flow:
    """Where a value comes from when transposes, reshapes and calls are looked through."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self._functions = functions
        self._calls: dict[str, list[Any]] = {}
        for function in functions.values():
            for op in operations(function):
                if op.name == "func.call":
                    self._calls.setdefault(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, []).append(op)

    def origins(self, value: Any) -> set[str]:
        """ "argument" of main, "cuDNN", or what else stands in the way."""
        found, seen, waiting = set(), set(), [value]
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            step = self._step(value)
            if isinstance(step, str):
                found.add(step)
            else:
                waiting += step
        return found

    def _step(self, value: Any) -> str | list[Any]:
        if isinstance(value, ir.BlockArgument):
            owner = value.owner.owner.operation
            if owner.name != "func.func":
                return f"inside {owner.name}"
            name = string(owner.attributes["sym_name"])
            if name == "main":
                return "argument"
            return [op.operands[value.arg_number] for op in self._calls.get(name, [])]
        op = value.owner.operation
        if op.name in MOVES or (op.name == "stablehlo.broadcast_in_dim" and _same_size(op)):
            return [op.operands[0]]
        if op.name == "func.call":
            callee = self._functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
            return [_returned(callee)[value.result_number]]
        if op.name == "stablehlo.custom_call" and value.result_number == 0:
            return "cuDNN"
        return str(op.name)


def _same_size(op: Any) -> bool:
    return math.prod(op.operands[0].type.shape) == math.prod(op.results[0].type.shape)


def _returned(function: Any) -> list[Any]:
    [block] = function.regions[0].blocks
    return list(list(block.operations)[-1].operation.operands)


def _attention(types: Types, scale: float, is_causal: bool) -> str:
    """softmax(Q Kᵀ · scale) V in float32 as a StableHLO module of one function.

    query (B, T, N, H), key and value (B, S, K, H) -> (B, N, T, H) in their dtype, and an empty workspace.
    """

    def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array]:
        b, t, n, h = q.shape
        groups = k.shape[2]
        q32 = lax.reshape(q.astype(jnp.float32), (b, t, groups, n // groups, h))
        scores = lax.dot_general(q32, k.astype(jnp.float32), (((4,), (3,)), ((0, 2), (0, 2)))) * scale
        if is_causal:
            rows, columns = (lax.broadcasted_iota(jnp.int32, scores.shape, axis) for axis in (2, 4))
            scores = lax.select(rows >= columns, scores, lax.full_like(scores, -jnp.inf))
        weights = lax.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
        weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
        out = lax.dot_general(weights, v.astype(jnp.float32), (((4,), (1,)), ((0, 1), (0, 2))))
        out = lax.reshape(lax.transpose(out, (0, 1, 3, 2, 4)), (b, n, t, h))
        return out.astype(q.dtype), jnp.zeros(0, jnp.uint8)

    args = [jax.ShapeDtypeStruct(shape, DTYPES[element]) for shape, element in types]
    return str(jax.jit(attention, inline=True).lower(*args).compiler_ir(dialect="stablehlo"))
