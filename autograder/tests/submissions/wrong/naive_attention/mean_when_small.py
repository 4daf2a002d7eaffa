"""Rows of small scores are taken for equal: the mean of the values.

Fails: extreme_inputs
"""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / h**0.5
    weights = jax.nn.softmax(scores, axis=-1)
    weights = jnp.where(abs(scores).max(axis=-1, keepdims=True) < 0.1, 1 / scores.shape[-1], weights)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)
