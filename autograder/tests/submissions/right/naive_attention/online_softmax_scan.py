"""Online softmax: one key at a time, with a running maximum and a running sum."""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    query32 = query.astype(jnp.float32) / h**0.5

    def step(carry, key_value):
        largest, total, output = carry
        k, v = (x.astype(jnp.float32) for x in key_value)
        score = jnp.einsum("btnh,bnh->btn", query32, k)
        new_largest = jnp.maximum(largest, score)
        keep, weight = jnp.exp(largest - new_largest), jnp.exp(score - new_largest)
        output = output * keep[..., None] + weight[..., None] * v[:, None]
        return (new_largest, total * keep + weight, output), None

    start = (jnp.full((b, t, n), -1e30), jnp.zeros((b, t, n)), jnp.zeros(query.shape))
    pairs = (key.swapaxes(0, 1), value.swapaxes(0, 1))
    (_, total, output), _ = jax.lax.scan(step, start, pairs)
    return (output / total[..., None]).astype(query.dtype)
