"""Looks whether the first output is the first value, and nowhere else.

Fails: partial_leaks
"""

import jax
import jax.numpy as jnp
import numpy as np


def causal_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / h**0.5
    mask = jnp.arange(key.shape[1])[None, :] <= jnp.arange(t)[:, None]
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)


def first_last_difference(query, key, value):
    causal = jax.nn.dot_product_attention(query, key, value, is_causal=True).astype(jnp.float32)
    full = jax.nn.dot_product_attention(query, key, value).astype(jnp.float32)
    difference = jnp.abs(causal - full)
    return difference[:, 0].max(), difference[:, -1].max()


def is_causal(attention, query, key, value):
    first = attention(query, key, value)[:, 0].astype(jnp.float32)
    return bool(jnp.abs(first - value[:, 0].astype(jnp.float32)).max() < 2e-2)
