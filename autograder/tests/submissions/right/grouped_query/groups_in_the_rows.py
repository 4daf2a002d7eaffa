"""The heads of a group become more query rows of one product."""

import jax
import jax.numpy as jnp


def grouped_query_attention(query, key, value):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    if n % k:
        raise ValueError(f"{n} query heads cannot share {k} key/value heads")
    g = n // k
    rows = query.reshape(b, t, k, g, h).transpose(0, 2, 3, 1, 4).reshape(b, k, g * t, h)
    scores = jnp.matmul(rows, key.transpose(0, 2, 3, 1), preferred_element_type=jnp.float32) * h**-0.5
    weights = jax.nn.softmax(scores, axis=-1)
    output = jnp.matmul(weights, value.transpose(0, 2, 1, 3).astype(jnp.float32))
    output = output.reshape(b, k, g, t, h).transpose(0, 3, 1, 2, 4)
    return output.reshape(b, t, n, h).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return 2 * batch * seq_len * num_kv_heads * head_dim * jnp.dtype(dtype).itemsize
