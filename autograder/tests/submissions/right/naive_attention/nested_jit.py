"""Small functions, each compiled on its own, called from a compiled one."""

import jax
import jax.numpy as jnp


@jax.jit
def scaled_scores(query, key):
    return (
        jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / query.shape[-1] ** 0.5
    )


@jax.jit
def attend(query, key, value):
    weights = jax.jit(jax.nn.softmax)(scaled_scores(query, key))
    return jnp.einsum("bnts,bsnh->btnh", weights, value.astype("float32")).astype(query.dtype)


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    return attend(query, key, value)
