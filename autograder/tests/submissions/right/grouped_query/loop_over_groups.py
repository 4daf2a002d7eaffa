"""A Python loop over the key/value heads."""

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
    outputs = []
    for i in range(k):
        mine = query[:, :, i * g : (i + 1) * g]
        scores = jnp.einsum("btgh,bsh->bgts", mine, key[:, :, i], preferred_element_type=jnp.float32)
        weights = jax.nn.softmax(scores / h**0.5)
        outputs.append(jnp.einsum("bgts,bsh->btgh", weights, value[:, :, i].astype(jnp.float32)))
    return jnp.concatenate(outputs, axis=2).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return 2 * batch * seq_len * num_kv_heads * head_dim * jnp.dtype(dtype).itemsize
