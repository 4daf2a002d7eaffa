"""The maximum is taken over the heads too: heads with smaller scores vanish.

Fails: extreme_inputs
"""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / h**0.5
    exps = jnp.exp(scores - scores.max(axis=(1, -1), keepdims=True))
    weights = exps / (exps.sum(axis=-1, keepdims=True) + 1e-30)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)
