"""The kinds of step: each takes the module, the step and its arrays, and gives an answer and an artifact."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from autograder.arrays import DTYPES, Array, Spec
from autograder.tracer import doubles
from autograder.tracer.blackbox import BlackBox
from autograder.tracer.faults import TooLarge, WrongValue
from autograder.tracer.plain import field, kind, plain
from autograder.wire import MAX_ARTIFACT, Header

Answer = tuple[Header, bytes]
Step = dict[str, Any]
Program = Callable[..., Any]
# All of JAX's: the runner says of each that is not plain attention what to leave out.
CUDNN_CALLS = tuple(
    f"__cudnn$fmha{scaled}Softmax{dropout}{way}{float8}"
    for scaled in ("", "ScaleBias")
    for dropout in ("", "Dropout")
    for way in ("", "Backward")
    for float8 in ("", "F8")
)


def trace(module: types.ModuleType, step: Step, arrays: list[Array]) -> Answer:
    """Export a function for the shapes in `args`; with `gradient`, its vector-Jacobian product."""
    labels: Header = {}
    program = _program(function(module, step["function"]), step, labels)
    specs = [Spec.from_json(spec) for spec in step["args"]]
    if step.get("gradient"):
        program = _pullback(program)
    return exported(program, specs, labels)


def shape(module: types.ModuleType, step: Step, arrays: list[Array]) -> Answer:
    """Trace a function for its output's type alone; shapes that do not fit should raise."""
    program = _program(function(module, step["function"]), step, {})
    structs = [struct(Spec.from_json(spec)) for spec in step["args"]]
    out = jax.eval_shape(program, *structs)
    return {"returned": _spec(out)}, b""


def call(module: types.ModuleType, step: Step, arrays: list[Array]) -> Answer:
    """Call a function with plain values, or with concrete arrays where the step carries some."""
    given = [jnp.asarray(array) for array in arrays]
    values = [_argument(value) for value in step.get("values", [])]
    result = function(module, step["function"])(*given, *values)
    return {"value": plain(result)}, b""


def ask_with_black_box(
    module: types.ModuleType, step: Step, black_box: BlackBox, arrays: Sequence[Array]
) -> Header:
    """Call a function with an attention function that the judge answers for, and arrays to begin from."""
    given = [jnp.asarray(array) for array in arrays]
    return {"value": plain(function(module, step["function"])(black_box, *given))}


def support(module: types.ModuleType, step: Step, arrays: list[Array]) -> Answer:
    """Ask the FP8 gate about a device, with or without an operation."""
    answer = function(module, "fp8_support")(types.SimpleNamespace(**step["about"]), **step["kwargs"])
    return {"ok": plain(field(answer, "ok")), "reason": plain(field(answer, "reason"))}, b""


def run_with_fp8(module: types.ModuleType, step: Step, arrays: list[Array]) -> Answer:
    """Export `run_with_fp8` over one of our Flax modules, from its key and inputs to output and variables."""
    paths: Header = {}
    program = _modules().program(module, function(module, "run_with_fp8"), step, paths)
    return exported(program, [Spec.from_json(spec) for spec in step["args"]], paths)


@cache
def _modules() -> types.ModuleType:
    return import_module("autograder.tracer.fp8")


def prepare(steps: Sequence[Step]) -> None:
    """Import what these steps need: once a learner's module is loaded, nothing of ours can be imported."""
    if any(step["kind"] == "run_with_fp8" for step in steps):
        _modules()


KINDS: dict[str, Callable[[types.ModuleType, Step, list[Array]], Answer]] = {
    "trace": trace,
    "shape": shape,
    "call": call,
    "support": support,
    "run_with_fp8": run_with_fp8,
}


def function(module: types.ModuleType, name: str) -> Callable[..., Any]:
    """The learner's function, or a WrongValue that says what stands in its place."""
    found = getattr(module, name, None)
    if found is None:
        raise WrongValue(f"{module.__name__}.py defines no {name}")
    if not callable(found):
        raise WrongValue(f"{name} is a {type(found).__name__}, not a function")
    return found


def _program(learner: Callable[..., Any], step: Step, labels: Header) -> Program:
    """A fresh closure that keeps the Python part of the answer in `labels` and returns the array."""

    def program(*arrays: jax.Array) -> Any:
        result = learner(*arrays, **step.get("kwargs", {}))
        if "output" in step:
            for name in step["labels"]:
                labels[name] = plain(field(result, name))
            result = field(result, step["output"])
        return _array(result)

    return program


def _pullback(program: Program) -> Program:
    def pullback(*arrays: jax.Array) -> Any:
        *primals, cotangent = arrays
        out, pull = jax.vjp(program, *primals)
        if (out.shape, out.dtype) != (cotangent.shape, cotangent.dtype):
            wanted, came = (f"{array.dtype}{list(array.shape)}" for array in (cotangent, out))
            raise WrongValue(f"the output should be {wanted} and is {came}")
        return pull(cotangent)

    return pullback


def _array(result: Any) -> jax.Array:
    if isinstance(result, jax.Array):
        return result
    if isinstance(result, np.ndarray):
        raise WrongValue("it returned a NumPy array, fixed while tracing; return a JAX array")
    raise WrongValue(f"it returned {kind(result)} where an array was expected")


def exported(
    program: Program, specs: Sequence[Spec], labels: Header, calls: Sequence[str] = CUDNN_CALLS
) -> Answer:
    """The answer that a program is; `calls` are the custom calls that it may hold, as far as JAX goes."""
    made = export.export(
        jax.jit(program, keep_unused=True),
        platforms=[doubles.platform()],
        disabled_checks=[export.DisabledSafetyCheck.custom_call(name) for name in calls],
    )(*map(struct, specs))
    outs = [_spec(aval) for aval in made.out_avals]
    artifact = made.mlir_module_serialized
    if len(artifact) > MAX_ARTIFACT:
        raise TooLarge(
            f"its program has {len(artifact):,} bytes, and the largest that is graded {MAX_ARTIFACT:,}: "
            "a precomputed array or an unrolled loop, perhaps"
        )
    return {"labels": labels, "outs": outs}, artifact


def struct(spec: Spec) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(spec.shape, DTYPES[spec.dtype])


def _spec(aval: Any) -> list[Any]:
    return [list(aval.shape), str(aval.dtype)]


def _argument(value: Any) -> Any:
    """JSON stands for itself; `{"dtype": name, "as": spelling}` for a dtype, in one of SPELLINGS."""
    return SPELLINGS[value["as"]](value["dtype"]) if isinstance(value, dict) else value


SPELLINGS: dict[str, Callable[[str], Any]] = {
    "scalar": lambda name: getattr(jnp, name),
    "name": str,
    "dtype": lambda name: jnp.dtype(DTYPES[name]),
}
