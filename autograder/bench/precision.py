"""FP8 beside bfloat16: TransformerEngine's `MultiHeadAttention` by recipe, and JAX's FP8 attention call."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from autograder.arrays import Spec
from autograder.bench.shapes import Shape
from autograder.bench.variants import attention, library
from autograder.bench.workload import Built, Workload

RECIPES = ("no autocast", "DelayedScaling, first call", "DelayedScaling", "Float8CurrentScaling")
HEAD = 128
WEIGHT_SCALE = 256.0  # softmax weights are at most 1, and e4m3 ends at 448
OUT_SCALE = 32.0  # outputs are within some 5, and mostly small


def module_workload(recipe: str, batch: int, length: int, hidden: int) -> Workload:
    """`MultiHeadAttention` of TE, causal, heads of 128, no layer norm, under autocast with a recipe.

    The operations are those of its four projections, 8·B·T·hidden², and of attention.
    """
    heads = hidden // HEAD
    shape = Shape.square(batch, length, heads, HEAD)
    weights = 4 * hidden * hidden * 2
    return Workload(
        "fp8",
        f"MultiHeadAttention, {recipe}",
        shape,
        "bfloat16",
        True,
        lambda: _module(recipe, heads, (batch, length, hidden)),
        specs=[Spec((batch, length, hidden), "bfloat16")],
        flops=8.0 * batch * length * hidden**2 + shape.flops(True),
        least_bytes=weights + 2 * batch * length * hidden * 2,
        note=f"hidden {hidden}",
    )


@dataclass(frozen=True)
class Plain:
    """The module without autocast, `apply(variables, x)`; an example of x."""

    module: Any
    apply: Callable[[Any, jax.Array], jax.Array]
    variables: Any
    example: jax.Array

    def initial(self, x: jax.Array) -> Any:
        """Fresh variables, under autocast or not."""
        return self.module.init(jax.random.key(1), x, x, deterministic=True)


@functools.lru_cache(maxsize=1)
def _plain_module(heads: int, shape: tuple[int, int, int]) -> Plain:
    """Kept for the recipes that follow: it is what each of them is compared with."""
    from flax.core import meta
    from transformer_engine.jax.flax import MultiHeadAttention

    module = MultiHeadAttention(
        head_dim=HEAD,
        num_attention_heads=heads,
        attn_mask_type="causal",
        input_layernorm=False,
        dtype=jnp.bfloat16,
        transpose_batch_sequence=False,
    )

    def apply(variables: Any, x: jax.Array) -> jax.Array:
        out = module.apply(variables, x, x, deterministic=True)
        return out[0] if isinstance(out, tuple) else out

    example = jax.random.normal(jax.random.key(0), shape, jnp.bfloat16)
    plain = Plain(module, jax.jit(apply), None, example)
    return dataclasses.replace(plain, variables=meta.unbox(jax.jit(lambda x: plain.initial(x))(example)))


def _module(recipe: str, heads: int, shape: tuple[int, int, int]) -> Built:
    import transformer_engine.jax as te
    from flax.core import meta

    plain = _plain_module(heads, shape)
    if recipe == RECIPES[0]:
        return Built(plain.apply, (plain.variables,))

    def inside() -> AbstractContextManager[Any]:
        return te.autocast(enabled=True, recipe=_recipe(recipe))

    def scaled(variables: Any, x: jax.Array) -> jax.Array:
        with inside():
            out = plain.module.apply(variables, x, x, deterministic=True)
        return out[0] if isinstance(out, tuple) else out

    def scales(x: jax.Array) -> dict[str, Any]:
        with inside():
            return {name: each for name, each in plain.initial(x).items() if name != "params"}

    variables = {**plain.variables, **meta.unbox(jax.jit(scales)(plain.example))}
    if recipe == "DelayedScaling":
        variables = _filled(scaled, variables, plain.example)
    return Built(scaled, (variables,), answer=functools.partial(plain.apply, plain.variables))


def _recipe(name: str) -> Any:
    from transformer_engine.common import recipe

    return recipe.Float8CurrentScaling() if name == "Float8CurrentScaling" else recipe.DelayedScaling()


def _filled(scaled: Any, variables: dict[str, Any], example: jax.Array) -> dict[str, Any]:
    """The variables after two steps: the scales' "gradients" are their next values."""
    metas = "fp8_metas"

    @jax.jit
    def step(variables: dict[str, Any], x: jax.Array) -> Any:
        def loss(part: Any) -> jax.Array:
            return jnp.mean(scaled({**variables, **part}, x).astype(jnp.float32))

        return jax.grad(loss)({metas: variables[metas]})

    for _ in range(2):
        variables = {**variables, **step(variables, example)}
    return variables


def calls(batch: int, length: int, heads: int) -> Sequence[Workload]:
    """JAX's own attention call of cuDNN, causal, heads of 128: in bfloat16, in FP8, and FP8 from bfloat16."""
    shape = Shape.square(batch, length, heads, HEAD)
    return [
        attention("fp8", "attention", shape, causal=True, build=_plain),
        attention("fp8", "attention, FP8 inputs", shape, "float8_e4m3fn", causal=True, build=_float8),
        attention("fp8", "attention, cast to FP8", shape, causal=True, build=_cast),
    ]


def _plain() -> Built:
    return Built(lambda q, k, v: library("cudnn")(q, k, v, causal=True))


def _float8() -> Built:
    """float8_e4m3fn in and out, the latter times OUT_SCALE."""
    from jax._src.cudnn import fused_attention_stablehlo

    binding: Any = fused_attention_stablehlo  # JAX keeps it private

    def function(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        known = {"scale_s": WEIGHT_SCALE, "descale_s": 1 / WEIGHT_SCALE, "scale_o": OUT_SCALE}
        scales = {name: jnp.full((1, 1, 1, 1), known.get(name, 1.0)) for name in binding.fp8_params_keys}
        out, _, _ = binding.dot_product_attention(
            *(q, k, v),
            fp8_params=scales,
            scale=q.shape[-1] ** -0.5,
            mask_type=binding.MaskType.CAUSAL,
            use_fp8=True,
        )
        return out

    return Built(function)


def _cast() -> Built:
    float8 = _float8().function

    def function(*inputs: jax.Array) -> jax.Array:
        out = float8(*(x.astype(jnp.float8_e4m3fn) for x in inputs))
        return (out.astype(jnp.float32) / OUT_SCALE).astype(inputs[0].dtype)

    return Built(function, answer=jax.jit(_plain().function))
