"""The weights are scaled instead of the scores.

Fails: float32
"""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32)
    weights = jax.nn.softmax(scores, axis=-1) / h**0.5
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)
