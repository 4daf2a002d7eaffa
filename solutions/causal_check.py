"""Exercise 3: causal attention, and a test that finds out whether any attention is causal.

A language model that sees the word it should predict trains beautifully and is worth nothing. A loose test
does not notice: with a mask one position too far most of the numbers are almost right. So test what "causal"
means: change the future, and see whether the past moves.

The file imports installed packages alone, no other file of yours.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

Attention = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


def causal_attention(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Attention in which query position t sees the key/value positions s ≤ t only.

    "Attention Is All You Need" (Vaswani et al., 2017, section 3.2.3, arXiv:1706.03762):

        output[b, t, n, :] = Σ_{s ≤ t} softmax over s ≤ t of (Σ_h query · key / √H) · value[b, s, n, :]

    With T ≠ S the mask is aligned top-left: row t sees columns 0 … min(t, S - 1), as in
    `jax.nn.dot_product_attention(…, is_causal=True)`. A library call is welcome here.

    Rules:
        * Scores and softmax are float32 for float16 and bfloat16 inputs too; only the result is cast back.
        * Large scores, of many hundreds, give finite and right results too, also where a hidden key has the
          largest: hide it before the softmax, and by enough.
        * Shapes that do not fit raise. They never broadcast into an answer, also not by sharing heads.
        * It is traced under `jax.jit`: shapes and dtypes are known there, values are not. So no NumPy on the
          arrays, and no Python `if`, `float()` or `int()` on values; a print shows a tracer.

    Args:
        query: (B, T, N, H), float32, bfloat16 or float16.
        key: (B, S, N, H), dtype of `query`.
        value: (B, S, N, H), dtype of `query`.

    Returns:
        (B, T, N, H), dtype of `query`.

    Raises:
        ValueError (TypeError counts too): the three are not 4-dimensional, or their B, S, N or H differ.
    """
    # 1. Check the shapes.
    # --- solution
    _check_shapes(query, key, value)
    # --- end

    # 2. Attend, masked, and cast back. The library compiles float16 on GPUs only: give it float32.
    # --- solution
    in_float32 = (array.astype(jnp.float32) for array in (query, key, value))
    return jax.nn.dot_product_attention(*in_float32, is_causal=True).astype(query.dtype)
    # --- end


def first_last_difference(
    query: jax.Array, key: jax.Array, value: jax.Array
) -> tuple[float | jax.Array, float | jax.Array]:
    """How far causal and full attention are apart, at the first and at the last query position.

        first = max over b, n, h of |causal[b, 0, n, h] - full[b, 0, n, h]|;  last the same at t = T - 1

    The formula is this course's own; full attention is that of `causal_attention` with s over all keys. With
    T = S the last position sees everything either way, and the first sees only itself when causal. If you
    find the two the other way round, the mask is transposed.

    Args:
        query, key, value: as in `causal_attention`, float32, concrete arrays.

    Returns:
        (first, last), two floats or scalar arrays.

    Raises:
        ValueError: as in `causal_attention`.
    """
    # 1. Compute both attentions, and subtract.
    # --- solution
    causal = causal_attention(query, key, value)
    full = jax.nn.dot_product_attention(query, key, value)
    difference = jnp.abs(causal - full)
    # --- end

    # 2. Take the largest of the first and of the last position.
    # --- solution
    return difference[:, 0].max(), difference[:, -1].max()
    # --- end


def is_causal(attention: Attention, query: jax.Array, key: jax.Array, value: jax.Array) -> bool:
    """Whether no output position of `attention` can see a later key or value.

    The definition is this course's own. Output t can see position s > t if some change of key[:, s] or
    value[:, s], no entry by more than 3, moves output[:, t] by more than 1e-3 of its largest entry. What you
    are asked about is clear by ten times: a leak moves it by more than 1e-2, and rounding by less than 1e-4,
    or by one step of bfloat16, 2^-7.

    A leak can hide: in late positions only, in one head or one batch row, in the keys only (a mask after the
    softmax whose weights are not normalised again) or in the values only. A gradient at one point can miss
    it, and comparing with a right answer only says that two functions differ.

    Rules:
        * `attention` is a black box. It takes concrete arrays of exactly the shapes and dtypes of `query`,
          `key` and `value`, also under `jax.jit` and `jax.vmap`, and has no derivative. One call takes about
          0.3 ms: some hundred calls are fine, many thousand are not.
        * T and S are at most 12, and may differ. Then the mask is aligned top-left: the future is s > t.

    Args:
        attention: a function of (query, key, value) that returns (B, T, N, H).
        query: (B, T, N, H), standard normal, float32 or bfloat16.
        key: (B, S, N, H), dtype of `query`.
        value: (B, S, N, H), dtype of `query`.

    Returns:
        True or False; a scalar array of bools counts too.
    """
    # 1. Call `attention` once, for the outputs to compare with, and choose how much may be rounding.
    # --- solution
    before = _call(attention, query, key, value)
    tolerance = max(1e-3, float(jnp.finfo(query.dtype).eps))  # one rounding step is not a leak
    # --- end

    # 2. For each pair of positions t < s: change key and value at s, in all batch rows and heads at
    # once, and see whether output t moves. Which change of a key is output t most likely to notice?
    # --- solution
    random = np.random.default_rng(0)
    queries, keys, values = (np.asarray(array, np.float32) for array in (query, key, value))
    for t in range(query.shape[1]):
        for s in range(t + 1, key.shape[1]):
            towards_query = 3 * np.sign(queries[:, t])  # moves the score of (t, s) as far as 3 can
            anywhere = random.choice([-3, 3], size=values[:, s].shape)
            for sign in (1, -1):
                new_keys, new_values = keys.copy(), values.copy()
                new_keys[:, s] += sign * towards_query
                new_values[:, s] += sign * anywhere
                changed = jnp.asarray(new_keys, key.dtype), jnp.asarray(new_values, value.dtype)
                after = _call(attention, query, *changed)
                if np.abs(after[:, t] - before[:, t]).max() > tolerance * np.abs(before[:, t]).max():
                    return False
    return True
    # --- end


# --- solution
def _check_shapes(query: jax.Array, key: jax.Array, value: jax.Array) -> None:
    """Raise ValueError unless query is (B, T, N, H) and key and value are (B, S, N, H)."""
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(f"expected 4 dimensions each, got {query.shape}, {key.shape} and {value.shape}")
    B, _, N, H = query.shape
    S = key.shape[1]
    for name, array in (("key", key), ("value", value)):
        if array.shape != (B, S, N, H):
            raise ValueError(f"expected {name} of shape (B, S, N, H) = {(B, S, N, H)}, got {array.shape}")


def _call(attention: Attention, query: jax.Array, key: jax.Array, value: jax.Array) -> np.ndarray:
    """The output in NumPy, float32: in eager JAX the comparisons would take longer than the call."""
    return np.asarray(attention(query, key, value), np.float32)


# --- end
