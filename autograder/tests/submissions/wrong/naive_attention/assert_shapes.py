"""Shapes are checked with assert: an AssertionError, and nothing under python -O.

Fails: errors
"""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    assert key.shape == (b, key.shape[1], n, h) and value.shape == key.shape
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / h**0.5
    weights = jax.nn.softmax(scores, axis=-1)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)
