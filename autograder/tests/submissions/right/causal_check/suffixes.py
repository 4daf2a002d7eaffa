"""Changes the whole future of each position at once, many times over; returns a NumPy bool."""

import jax
import jax.numpy as jnp
import numpy as np


def causal_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / h**0.5
    mask = jnp.arange(key.shape[1])[None, :] <= jnp.arange(t)[:, None]
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)


def first_last_difference(query, key, value):
    causal = causal_attention(query, key, value).astype(jnp.float32)
    full = jax.nn.dot_product_attention(query, key, value).astype(jnp.float32)
    difference = jnp.abs(causal - full)
    return difference[:, 0].max(), difference[:, -1].max()


def is_causal(attention, query, key, value):
    rng = np.random.default_rng(1)
    limit = max(1e-3, 1.3 * float(jnp.finfo(query.dtype).eps))
    before = np.asarray(attention(query, key, value)).astype(np.float32)
    leaks = []
    for t in range(min(query.shape[1], key.shape[1] - 1)):
        for _ in range(8):
            for part in ("key", "value", "both"):
                k, v = np.array(key, np.float32), np.array(value, np.float32)
                if part != "value":
                    k[:, t + 1 :] += rng.choice([-3, 3], k[:, t + 1 :].shape)
                if part != "key":
                    v[:, t + 1 :] += rng.choice([-3, 3], v[:, t + 1 :].shape)
                after = attention(query, jnp.array(k, key.dtype), jnp.array(v, value.dtype)).astype(
                    jnp.float32
                )
                change = np.abs(np.asarray(after) - before)[:, : t + 1].max(axis=(0, 2, 3))
                leaks.append(change / np.abs(before[:, : t + 1]).max(axis=(0, 2, 3)) > limit)
    return ~np.any(np.concatenate(leaks)) if leaks else True
