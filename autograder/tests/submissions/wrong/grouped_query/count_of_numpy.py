"""The count is an integer of NumPy, no int of Python.

Fails: kv_cache_bytes
"""

import jax
import jax.numpy as jnp
import numpy as np


def grouped_query_attention(query, key, value):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    if n % k:
        raise ValueError(f"{n} query heads cannot share {k} key/value heads")
    grouped = query.reshape(b, t, k, n // k, h)
    scores = jnp.einsum("btkgh,bskh->bkgts", grouped, key, preferred_element_type=jnp.float32) / h**0.5
    weights = jax.nn.softmax(scores, axis=-1)
    output = jnp.einsum("bkgts,bskh->btkgh", weights, value, preferred_element_type=jnp.float32)
    return output.reshape(query.shape).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    sizes = [2, batch, seq_len, num_kv_heads, head_dim, jnp.dtype(dtype).itemsize]
    return np.prod(np.array(sizes, dtype=np.int64))
