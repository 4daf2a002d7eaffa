"""A Python loop over the query heads, each with a slice of K and V."""

import jax
import jax.numpy as jnp


def grouped_query_attention(query, key, value):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    if n % k:
        raise ValueError(f"{n} query heads cannot share {k} key/value heads")
    heads = []
    for i in range(n):
        head = i * k // n
        scores = jnp.einsum(
            "bth,bsh->bts", query[:, :, i], key[:, :, head], preferred_element_type=jnp.float32
        )
        weights = jax.nn.softmax(scores / h**0.5, axis=2)
        heads.append(
            jnp.einsum("bts,bsh->bth", weights, value[:, :, head], preferred_element_type=jnp.float32)
        )
    return jnp.stack(heads, axis=2).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return 2 * batch * seq_len * num_kv_heads * head_dim * jnp.dtype(dtype).itemsize
