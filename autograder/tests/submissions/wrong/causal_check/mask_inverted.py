"""The mask the wrong way round: what a position may see is hidden.

Fails: values
"""

import jax
import jax.numpy as jnp
import numpy as np


def causal_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / h**0.5
    mask = jnp.arange(key.shape[1])[None, :] <= jnp.arange(t)[:, None]
    weights = jax.nn.softmax(jnp.where(mask, -jnp.inf, scores), axis=-1)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)


def first_last_difference(query, key, value):
    causal = jax.nn.dot_product_attention(query, key, value, is_causal=True).astype(jnp.float32)
    full = jax.nn.dot_product_attention(query, key, value).astype(jnp.float32)
    difference = jnp.abs(causal - full)
    return difference[:, 0].max(), difference[:, -1].max()


def is_causal(attention, query, key, value):
    rng = np.random.default_rng()
    call = lambda k, v: np.asarray(attention(query, k, v), np.float32)
    key32, value32 = np.asarray(key, np.float32), np.asarray(value, np.float32)
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
