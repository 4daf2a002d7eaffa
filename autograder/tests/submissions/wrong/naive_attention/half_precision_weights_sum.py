"""The exponentials are rounded to the inputs' dtype before they are summed up, one by one.

Fails: half_precision
"""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / h**0.5
    exps = jnp.exp(scores - scores.max(axis=-1, keepdims=True)).astype(query.dtype)
    total, _ = jax.lax.scan(lambda c, x: (c + x, None), exps[..., 0] * 0, jnp.moveaxis(exps, -1, 0))
    weights = (exps / total[..., None]).astype(jnp.float32)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)
