"""Compiled helpers inside; bytes counted with NumPy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np


@functools.partial(jax.jit, static_argnames="groups")
def _attend(query, key, value, *, groups):
    b, t, n, h = query.shape
    grouped = query.reshape(b, t, n // groups, groups, h)
    scores = jnp.einsum("btkgh,bskh->bkgts", grouped, key, preferred_element_type=jnp.float32) / h**0.5
    weights = jax.jit(jax.nn.softmax)(scores)
    return jnp.einsum("bkgts,bskh->btkgh", weights, value.astype(jnp.float32)).reshape(query.shape)


def grouped_query_attention(query, key, value):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    if n % k:
        raise ValueError(f"{n} query heads cannot share {k} key/value heads")
    return _attend(query, key, value, groups=n // k).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    one = np.prod([batch, seq_len, num_kv_heads, head_dim], dtype=np.int64)
    return int(one) * np.dtype(dtype).itemsize * 2
