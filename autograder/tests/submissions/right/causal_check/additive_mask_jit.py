"""An additive mask under vmap, and a compiled black box."""

import jax
import jax.numpy as jnp
import numpy as np


def causal_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    bias = jnp.where(jnp.tri(t, key.shape[1], dtype=bool), 0.0, -1e9)

    def one_head(q, k, v):
        return jax.nn.softmax(q @ k.T / jnp.sqrt(h) + bias) @ v

    heads = jax.vmap(jax.vmap(one_head, in_axes=1, out_axes=1))
    return heads(*(x.astype(jnp.float32) for x in (query, key, value))).astype(query.dtype)


def first_last_difference(query, key, value):
    gap = causal_attention(query, key, value) - jax.nn.dot_product_attention(query, key, value)
    first, *_, last = [*jnp.max(jnp.abs(gap), axis=(0, 2, 3))] * 2
    return float(first), float(last)


def is_causal(attention, query, key, value):
    rng = np.random.default_rng()
    call = lambda k, v: np.asarray(attention(query, k, v), np.float32)
    key32, value32 = np.asarray(key, np.float32), np.asarray(value, np.float32)
    attention = jax.jit(attention)
    before = call(key, value)
    limit = 1e-2 if query.dtype == jnp.bfloat16 else 1e-3
    for s in range(1, key.shape[1]):
        for _ in range(6):
            for new_key, new_value in _changes(rng, key32, value32, s):
                after = call(jnp.asarray(new_key, key.dtype), jnp.asarray(new_value, value.dtype))
                for t in range(min(s, query.shape[1])):
                    moved = np.abs(after[:, t] - before[:, t]).max()
                    if moved > limit * np.abs(before[:, t]).max():
                        return False
    return True


def _changes(rng, key, value, s):
    change = rng.choice([-3.0, 3.0], size=key[:, s].shape)
    for sign in (1, -1):
        new_key, new_value = key.copy(), value.copy()
        new_key[:, s] += sign * change
        new_value[:, s] += sign * rng.choice([-3.0, 3.0], size=change.shape)
        yield new_key, new_value
