"""Every size is checked but the number of key heads: one of them broadcasts to all query heads.

Fails: errors
"""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    if not query.ndim == key.ndim == 4 or key.shape != value.shape or key.shape[2] not in (1, query.shape[2]):
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    if (key.shape[0], key.shape[3]) != (query.shape[0], query.shape[3]):
        raise ValueError(f"query {query.shape} and key {key.shape} do not fit")
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32)
    weights = jax.nn.softmax(scores / query.shape[-1] ** 0.5, axis=-1)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)
