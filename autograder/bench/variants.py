"""The attention functions that are compared, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from autograder.bench.shapes import Shape
from autograder.bench.workload import Built, Function, Workload


def naive(q: jax.Array, k: jax.Array, v: jax.Array, causal: bool) -> jax.Array:
    """Attention as it is written: scores and softmax in float32, products in the inputs' dtype.

    q (B, T, N, H), k and v (B, S, N, H) -> (B, T, N, H).
    """
    scores = jnp.einsum("btnh,bsnh->bnts", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    if causal:
        scores = jnp.where(jnp.tri(q.shape[1], k.shape[1], dtype=bool), scores, -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    return jnp.einsum("bnts,bsnh->btnh", weights, v)


def library(implementation: Literal["xla", "cudnn"]) -> Callable[..., jax.Array]:
    """JAX's own `dot_product_attention`, through XLA or cuDNN."""

    def attention(q: jax.Array, k: jax.Array, v: jax.Array, causal: bool) -> jax.Array:
        return jax.nn.dot_product_attention(q, k, v, is_causal=causal, implementation=implementation)

    return attention


def repeated(q: jax.Array, k: jax.Array, v: jax.Array, causal: bool) -> jax.Array:
    """Grouped-query attention by repeating keys and values N / K times, then `naive`."""
    groups = q.shape[2] // k.shape[2]
    return naive(q, jnp.repeat(k, groups, axis=2), jnp.repeat(v, groups, axis=2), causal)


def grouped(q: jax.Array, k: jax.Array, v: jax.Array, causal: bool) -> jax.Array:
    """Grouped-query attention without a copy of keys and values. Not causal: for decoding."""
    assert not causal
    b, t, n, h = q.shape
    q = q.reshape(b, t, k.shape[2], n // k.shape[2], h)
    scores = jnp.einsum("btkgh,bskh->bkgts", q, k, preferred_element_type=jnp.float32) * h**-0.5
    weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    return jnp.einsum("bkgts,bskh->btkgh", weights, v).reshape(b, t, n, h)


def engine(q: jax.Array, k: jax.Array, v: jax.Array, causal: bool) -> jax.Array:
    """TransformerEngine's `DotProductAttention`."""
    from transformer_engine.jax.flax import DotProductAttention

    module = DotProductAttention(
        head_dim=q.shape[-1],
        num_attention_heads=q.shape[2],
        num_gqa_groups=k.shape[2],
        attn_mask_type="causal" if causal else "no_mask",
        qkv_layout="bshd_bshd_bshd",
        transpose_batch_sequence=False,
    )
    return module.apply({}, q, k, v, deterministic=True)


VARIANTS: dict[str, Callable[..., jax.Array]] = {
    "naive": naive,
    "XLA": library("xla"),
    "cuDNN": library("cudnn"),
    "repeat": repeated,
    "grouped": grouped,
    "TE": engine,
}


def attention(
    sweep: str, variant: str, shape: Shape, dtype: str = "bfloat16", causal: bool = False, **more: Any
) -> Workload:
    """A workload of query, key and value alone."""

    def build() -> Built:
        function: Function = functools.partial(VARIANTS[variant], causal=causal)
        if variant == "TE":
            import transformer_engine.jax  # noqa: F401  here, where its absence is a row's note
        return Built(function)

    return Workload(
        sweep,
        variant,
        shape,
        dtype,
        causal,
        more.pop("build", build),
        specs=shape.specs(dtype),
        flops=shape.flops(causal),
        least_bytes=shape.least_bytes(dtype),
        **more,
    )
