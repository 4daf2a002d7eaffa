"""vmap over batch rows, key/value heads and the query heads of a group; K and V are not mapped in the last."""

import jax
import jax.numpy as jnp


def _one_head(query, key, value):
    scores = jnp.einsum("th,sh->ts", query, key, preferred_element_type=jnp.float32) / query.shape[-1] ** 0.5
    return jnp.matmul(jax.nn.softmax(scores), value, preferred_element_type=jnp.float32)


_group = jax.vmap(_one_head, in_axes=(1, None, None), out_axes=1)
_heads = jax.vmap(_group, in_axes=(1, 1, 1), out_axes=1)
_batch = jax.vmap(_heads)


def grouped_query_attention(query, key, value):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    if n % k:
        raise ValueError(f"{n} query heads cannot share {k} key/value heads")
    output = _batch(query.reshape(b, t, k, n // k, h), key, value)
    return output.reshape(b, t, n, h).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return 2 * batch * seq_len * num_kv_heads * head_dim * jnp.dtype(dtype).itemsize
