"""No matrix product at all: broadcast, multiply, sum."""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    q, k, v = (x.astype(jnp.float32) for x in (query, key, value))
    scores = (q[:, :, None] * k[:, None]).sum(-1) / jnp.sqrt(jnp.float32(h))  # (B, T, S, N)
    weights = jax.nn.softmax(scores, axis=2)
    return (weights[..., None] * v[:, None]).sum(2).astype(query.dtype)
