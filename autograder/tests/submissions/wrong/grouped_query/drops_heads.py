"""Query heads that cannot be shared out evenly are left at zero instead of an error.

Fails: errors
"""

import jax
import jax.numpy as jnp


def grouped_query_attention(query, key, value):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    grouped = query[:, :, : n - n % k].reshape(b, t, k, n // k, h)
    scores = jnp.einsum("btkgh,bskh->bkgts", grouped, key, preferred_element_type=jnp.float32) / h**0.5
    weights = jax.nn.softmax(scores, axis=-1)
    output = jnp.einsum("bkgts,bskh->btkgh", weights, value, preferred_element_type=jnp.float32)
    output = output.reshape(b, t, n - n % k, h)
    return jnp.pad(output, ((0, 0), (0, 0), (0, n % k), (0, 0))).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return 2 * batch * seq_len * num_kv_heads * head_dim * jnp.dtype(dtype).itemsize
