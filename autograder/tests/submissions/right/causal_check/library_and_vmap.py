"""The library call; all changes in one batch, through vmap."""

import jax
import jax.numpy as jnp
import numpy as np


def causal_attention(query, key, value):
    if key.shape[-2:] != query.shape[-2:]:
        raise ValueError(f"heads of {query.shape} and {key.shape}")  # the library would share them
    dtype = query.dtype
    if dtype == jnp.float16:  # the library compiles it on GPUs only
        query, key, value = (x.astype(jnp.float32) for x in (query, key, value))
    return jax.nn.dot_product_attention(query, key, value, is_causal=True).astype(dtype)


def first_last_difference(query, key, value):
    causal = causal_attention(query, key, value).astype(jnp.float32)
    full = jax.nn.dot_product_attention(query, key, value).astype(jnp.float32)
    difference = jnp.abs(causal - full)
    return difference[:, 0].max(), difference[:, -1].max()


def is_causal(attention, query, key, value):
    T, S = query.shape[1], key.shape[1]
    pairs = [(t, s) for t in range(T) for s in range(t + 1, S)]
    if not pairs:
        return True
    signs = jnp.sign(query.astype(jnp.float32))

    def change(t, s, sign):
        here = (jnp.arange(S) == s)[None, :, None, None]
        new_key = key + (3 * sign * here * signs[:, t][:, None]).astype(key.dtype)
        new_value = value + (3 * sign * here * jnp.sign(value)).astype(value.dtype)
        return new_key, new_value

    t, s, sign = (
        jnp.array(x) for x in zip(*[(*pair, sign) for pair in pairs for sign in (1, -1)], strict=True)
    )
    keys, values = jax.vmap(change)(t, s, sign)
    after = jax.vmap(attention, in_axes=(None, 0, 0))(query, keys, values)
    before = attention(query, key, value)
    after, before = (np.asarray(x, np.float32) for x in (after, before))
    limit = 0.01 if key.dtype == jnp.bfloat16 else 1e-3
    for row, position in zip(after, t, strict=True):
        if np.abs(row - before)[:, position].max() > limit * np.abs(before[:, position]).max():
            return False
    return True
