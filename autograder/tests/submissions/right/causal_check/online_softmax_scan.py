"""Online softmax by scan; lax.map over the changes."""

import jax
import jax.numpy as jnp
import numpy as np


def causal_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    q = query.astype(jnp.float32) * h**-0.5

    def step(carry, x):
        top, total, out = carry
        s, k, v = x
        seen = (jnp.arange(t) >= s)[None, :, None]
        score = jnp.where(seen, jnp.einsum("btnh,bnh->btn", q, k.astype(jnp.float32)), -1e30)
        new = jnp.maximum(top, score)
        old, weight = jnp.exp(top - new), jnp.where(seen, jnp.exp(score - new), 0)
        return (new, total * old + weight, out * old[..., None] + weight[..., None] * v[:, None]), None

    start = (jnp.full((b, t, n), -1e30), jnp.zeros((b, t, n)), jnp.zeros(query.shape))
    xs = (jnp.arange(key.shape[1]), key.swapaxes(0, 1), value.astype(jnp.float32).swapaxes(0, 1))
    (_, total, out), _ = jax.lax.scan(step, start, xs)
    return (out / total[..., None]).astype(query.dtype)


def first_last_difference(query, key, value):
    causal = causal_attention(query, key, value).astype(jnp.float32)
    full = jax.nn.dot_product_attention(query, key, value).astype(jnp.float32)
    difference = jnp.abs(causal - full)
    return difference[:, 0].max(), difference[:, -1].max()


def is_causal(attention, query, key, value):
    T, S = query.shape[1], key.shape[1]
    if S == 1:
        return True
    base = attention(query, key, value)
    size = jnp.abs(base).max(axis=(0, 2, 3), keepdims=True).astype(jnp.float32)
    signs = np.random.default_rng().choice([-3, 3], (4, 2, *key.shape)).astype(key.dtype)
    changes = jnp.concatenate([signs, -signs])

    def moved(case):
        s, which = case
        here = (jnp.arange(S) == s)[:, None, None]
        k_change, v_change = changes[which] * here
        after = attention(query, key + k_change, value + v_change)
        earlier = (jnp.arange(T) < s)[None, :, None, None]
        return jnp.max(jnp.abs(after - base).astype(jnp.float32) / size * earlier)

    cases = jnp.repeat(jnp.arange(1, S), len(changes)), jnp.tile(jnp.arange(len(changes)), S - 1)
    worst = jax.lax.map(moved, cases).max()
    return bool(worst <= (0.01 if key.dtype == jnp.bfloat16 else 1e-3))
