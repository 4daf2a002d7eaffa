"""The two products as lax.dot_general, with its batch and contracting dimensions."""

import jax.numpy as jnp
from jax import lax


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = lax.dot_general(
        query, key, (((3,), (3,)), ((0, 2), (0, 2))), preferred_element_type=jnp.float32
    )  # (B, N, T, S)
    scores = scores * lax.rsqrt(jnp.float32(h))
    exps = lax.exp(scores - lax.stop_gradient(scores.max(axis=3, keepdims=True)))
    weights = exps / exps.sum(axis=3, keepdims=True)
    output = lax.dot_general(
        weights, value.astype(jnp.float32), (((3,), (1,)), ((0, 1), (0, 2))), precision=lax.Precision.HIGHEST
    )  # (B, N, T, H)
    return output.transpose(0, 2, 1, 3).astype(query.dtype)
