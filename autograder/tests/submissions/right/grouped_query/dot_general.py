"""The two products as lax.dot_general."""

import jax
import jax.numpy as jnp
from jax import lax


def grouped_query_attention(query, key, value):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    if n % k:
        raise ValueError(f"{n} query heads cannot share {k} key/value heads")
    grouped = query.reshape(b, t, k, n // k, h)
    scores = lax.dot_general(
        grouped, key, (((4,), (3,)), ((0, 2), (0, 2))), preferred_element_type=jnp.float32
    )  # (B, K, T, G, S)
    weights = jax.nn.softmax(scores / jnp.sqrt(h).astype(jnp.float32), axis=-1)
    output = lax.dot_general(
        weights, value, (((4,), (1,)), ((0, 1), (0, 2))), preferred_element_type=jnp.float32
    )  # (B, K, T, G, H)
    return output.swapaxes(1, 2).reshape(b, t, n, h).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return 2 * batch * seq_len * num_kv_heads * head_dim * jnp.dtype(dtype).itemsize
