"""Online softmax over the keys, for all groups at once."""

import jax
import jax.numpy as jnp


def grouped_query_attention(query, key, value):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    if n % k:
        raise ValueError(f"{n} query heads cannot share {k} key/value heads")
    grouped = query.reshape(b, t, k, n // k, h).astype(jnp.float32) / h**0.5

    def step(carry, key_value):
        largest, total, output = carry
        now, then = (x.astype(jnp.float32) for x in key_value)
        score = jnp.einsum("btkgh,bkh->btkg", grouped, now)
        new = jnp.maximum(largest, score)
        keep, weight = jnp.exp(largest - new), jnp.exp(score - new)
        output = output * keep[..., None] + jnp.einsum("btkg,bkh->btkgh", weight, then)
        return (new, total * keep + weight, output), None

    start = jnp.full(grouped.shape[:-1], -1e30), jnp.zeros(grouped.shape[:-1]), jnp.zeros_like(grouped)
    (_, total, output), _ = jax.lax.scan(step, start, (key.swapaxes(0, 1), value.swapaxes(0, 1)))
    return (output / total[..., None]).reshape(query.shape).astype(query.dtype)


def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return 2 * batch * seq_len * num_kv_heads * head_dim * jnp.dtype(dtype).itemsize
