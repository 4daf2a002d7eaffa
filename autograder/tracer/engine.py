"""Steps beside a GPU: modules and recipes of the real TransformerEngine, which asks the GPU as it traces."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from autograder.arrays import Array, Spec
from autograder.tracer import fp8, steps
from autograder.tracer.faults import WrongValue
from autograder.tracer.plain import field, plain
from autograder.tracer.steps import Answer, Program, Step
from autograder.wire import Header

CALLS = ("te_gemm_v2_ffi", "te_dbias_quantize_ffi", "te_fused_attn_forward_ffi", "AllocateBuffer")


def engine_support(module: types.ModuleType, step: Step, arrays: list[Array]) -> Answer:
    """Ask the FP8 gate about this GPU."""
    answer = steps.function(module, "fp8_support")(jax.devices()[0])
    return {"ok": plain(field(answer, "ok")), "reason": plain(field(answer, "reason"))}, b""


def engine_run(module: types.ModuleType, step: Step, arrays: list[Array]) -> Answer:
    """Export `run_with_fp8` over a module, to its output and those of the variables that are in `keep`."""
    labels: Header = {}
    program = _program(module, step, labels)
    return steps.exported(program, [Spec.from_json(spec) for spec in step["args"]], labels, CALLS)


def engine_text(module: types.ModuleType, step: Step, arrays: list[Array]) -> Answer:
    """The text of that program."""
    structs = [steps.struct(Spec.from_json(spec)) for spec in step["args"]]
    return {}, jax.jit(_program(module, step, {})).lower(*structs).as_text().encode()


KINDS = {
    **steps.KINDS,
    "engine_support": engine_support,
    "engine_run": engine_run,
    "engine_text": engine_text,
}


def _program(module: types.ModuleType, step: Step, labels: Header) -> Program:
    learner = steps.function(module, "run_with_fp8")
    ours, recipe = MODULES[step["module"]](), _recipe(step["recipe"])
    whole = fp8.running(module, learner, step["ok"], ours, recipe, labels)

    def run(key: jax.Array, *inputs: jax.Array) -> Any:
        output, *leaves = whole(key, *inputs)
        variables = dict(zip(labels["paths"], leaves, strict=True))
        if missing := [path for path in step["keep"] if path not in variables]:
            raise WrongValue(f"among the variables, {sorted(variables)}, is no {missing[0]}")
        return (output, *(variables[path] for path in step["keep"]))

    return run


def _dense() -> nn.Module:
    """x @ kernel, the kernel uniform in -1…1."""
    from transformer_engine.jax.flax import DenseGeneral

    def initial(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
        return jax.random.uniform(key, shape, dtype, -1.0, 1.0)

    return DenseGeneral(features=128, kernel_init=initial, use_bias=False, dtype=jnp.bfloat16)


def _attention() -> nn.Module:
    from transformer_engine.jax.flax import DotProductAttention

    return DotProductAttention(
        head_dim=64,
        num_attention_heads=4,
        num_gqa_groups=4,
        attn_mask_type="causal",
        qkv_layout="bshd_bshd_bshd",
        transpose_batch_sequence=False,
    )


def _recipe(name: str) -> Any:
    from transformer_engine.common import recipe

    return getattr(recipe, name)()


MODULES: dict[str, Callable[[], nn.Module]] = {"dense": _dense, "attention": _attention}
