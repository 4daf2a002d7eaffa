"""Python loops over batch rows and heads, stacked at the end."""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    rows = []
    for i in range(b):
        heads = []
        for j in range(n):
            q, k, v = (x[i, :, j].astype(jnp.float32) for x in (query, key, value))
            heads.append(jax.nn.softmax(q @ k.T / jnp.sqrt(h), axis=1) @ v)
        rows.append(jnp.stack(heads, axis=1))
    return jnp.stack(rows).astype(query.dtype)
