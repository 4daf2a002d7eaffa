"""K and V are copied by a product with a one-hot matrix.

Fails: no_copy
"""

import jax
import jax.numpy as jnp


def grouped_query_attention(query, key, value):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    if n % k:
        raise ValueError(f"{n} query heads cannot share {k} key/value heads")
    pick = jax.nn.one_hot(jnp.arange(n) // (n // k), k, dtype=key.dtype)
    key, value = (jnp.einsum("bskh,nk->bsnh", x, pick) for x in (key, value))
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / h**0.5
    weights = jax.nn.softmax(scores, axis=-1)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return 2 * batch * seq_len * num_kv_heads * head_dim * jnp.dtype(dtype).itemsize
