"""vmap over the query heads, each picking its head of K and V: vmap makes a gather of it, a copy.

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

    def one_head(q, index):
        scores = jnp.einsum("bth,bsh->bts", q, key[:, :, index], preferred_element_type=jnp.float32) / h**0.5
        return jnp.einsum("bts,bsh->bth", jax.nn.softmax(scores), value[:, :, index].astype(jnp.float32))

    index = jnp.arange(n) // (n // k)
    return jax.vmap(one_head, in_axes=(2, 0), out_axes=2)(query, index).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return 2 * batch * seq_len * num_kv_heads * head_dim * jnp.dtype(dtype).itemsize
