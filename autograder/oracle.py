"""Attention and its gradients in float64 NumPy: what every answer is held against.

Query is (B, T, N, H), key and value are (B, S, K, H) with N a multiple of K; query head n uses
key/value head n // (N / K). Inputs may be of any real dtype, ml_dtypes' included, and are widened first.
"""

from __future__ import annotations

import math

import numpy as np

from autograder.arrays import Array

Window = tuple[int | None, int | None]

MASKED = np.finfo(np.float64).min
"""The score of a hidden key: finite, so that a row that sees nothing gives the mean of V, as in JAX."""


def attention(
    query: Array, key: Array, value: Array, *, is_causal: bool = False, window: Window | None = None
) -> Array:
    """softmax(QKᵀ/√H) V, (B, T, N, H) in float64.

    `is_causal` aligns top-left: position t sees keys s ≤ t. `window=(before, after)` leaves t the keys
    t - before … t + after (None: no bound on that side). Raises ValueError where shapes do not fit.
    """
    return combine(_weights(query, key, value, is_causal, window), value)


def gradients(
    query: Array,
    key: Array,
    value: Array,
    cotangent: Array,
    *,
    is_causal: bool = False,
    centred: bool = True,
) -> tuple[Array, Array, Array]:
    """The vector-Jacobian product of `attention`: dq, dk, dv in float64, shaped as the inputs.

    `cotangent` is (B, T, N, H). Without `centred` it lacks the sum of the softmax's Jacobian, a mistake.
    """
    weights = _weights(query, key, value, is_causal, None)
    gains = _gains(cotangent, value)
    # The softmax's Jacobian: what moves all scores of a row alike moves nothing.
    d_scores = weights * (gains - centred * np.sum(weights * gains, axis=-1, keepdims=True))
    return _pull(weights, d_scores, query, key, cotangent)


def spread(
    query: Array, key: Array, value: Array, *, is_causal: bool = False, window: Window | None = None
) -> Array:
    """How large the terms of `attention` are where V cancels: the same sum over |V|."""
    return attention(query, key, np.abs(value), is_causal=is_causal, window=window)


def gradient_spreads(
    query: Array, key: Array, value: Array, cotangent: Array, *, is_causal: bool = False
) -> tuple[Array, Array, Array]:
    """How large the terms of `gradients` are where they cancel: the same sums without signs."""
    weights = _weights(query, key, value, is_causal, None)
    gains = _gains(cotangent, value)
    d_scores = weights * (np.abs(gains) + np.abs(np.sum(weights * gains, axis=-1, keepdims=True)))
    return _pull(weights, d_scores, np.abs(query), np.abs(key), np.abs(cotangent))


def max_score(query: Array, key: Array, *, is_causal: bool = False, window: Window | None = None) -> float:
    """The largest |score| that a query position sees: rounding errors of the softmax grow with it."""
    seen = visible(query.shape[1], key.shape[1], is_causal, window)
    return float(np.max(np.abs(scores(query, key)), where=seen, initial=0.0))


def scores(query: Array, key: Array) -> Array:
    """QKᵀ/√H, (B, N, T, S) in float64, nothing masked."""
    products = np.einsum("btnh,bsnh->bnts", wide(query), _per_head(key, query.shape[2]))
    return np.asarray(products / math.sqrt(query.shape[-1]))


def visible(queries: int, keys: int, is_causal: bool = False, window: Window | None = None) -> Array:
    """(T, S) booleans: whether position t sees key s."""
    before, after = window or (None, None)
    distance = np.arange(keys) - np.arange(queries)[:, None]
    seen = np.ones((queries, keys), bool)
    if is_causal:
        seen &= distance <= 0
    if before is not None:
        seen &= distance >= -before
    if after is not None:
        seen &= distance <= after
    return seen


def softmax(values: Array, axis: int = -1) -> Array:
    """The softmax over `axis`, its largest value subtracted first."""
    raised = np.exp(values - np.max(values, axis=axis, keepdims=True))
    return np.asarray(raised / np.sum(raised, axis=axis, keepdims=True))


def combine(weights: Array, value: Array) -> Array:
    """Weights (B, N, T, S) times value (B, S, K, H): (B, T, N, H)."""
    return np.asarray(np.einsum("bnts,bsnh->btnh", weights, _per_head(value, weights.shape[1])))


def wide(array: Array) -> Array:
    return np.asarray(array).astype(np.float64)


def _weights(query: Array, key: Array, value: Array, is_causal: bool, window: Window | None) -> Array:
    _check(query, key, value)
    seen = visible(query.shape[1], key.shape[1], is_causal, window)
    return softmax(np.where(seen, scores(query, key), MASKED))


def _gains(cotangent: Array, value: Array) -> Array:
    """(B, N, T, S): what one more of each weight would gain."""
    return np.asarray(np.einsum("btnh,bsnh->bnts", wide(cotangent), _per_head(value, cotangent.shape[2])))


def _pull(
    weights: Array, d_scores: Array, query: Array, key: Array, cotangent: Array
) -> tuple[Array, Array, Array]:
    d_scores = d_scores / math.sqrt(query.shape[-1])
    d_key = np.einsum("bnts,btnh->bsnh", d_scores, wide(query))
    d_value = np.einsum("bnts,btnh->bsnh", weights, wide(cotangent))
    return combine(d_scores, key), _per_group(d_key, key.shape[2]), _per_group(d_value, key.shape[2])


def _per_head(array: Array, heads: int) -> Array:
    """(B, S, K, H) to (B, S, N, H): each key/value head beside the query heads that use it."""
    return np.repeat(wide(array), heads // array.shape[2], axis=2)


def _per_group(array: Array, heads: int) -> Array:
    """(B, S, N, H) to (B, S, K, H): the inverse of `_per_head` for gradients, a sum over each group."""
    batch, length, _, size = array.shape
    return np.asarray(array.reshape(batch, length, heads, -1, size).sum(axis=3))


def _check(query: Array, key: Array, value: Array) -> None:
    if not query.ndim == key.ndim == 4 or key.shape != value.shape:
        shapes = f"{query.shape}, {key.shape}, {value.shape}"
        raise ValueError(f"expected (B, T, N, H) and twice (B, S, K, H), got {shapes}")
    if query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3]:
        raise ValueError(f"B and H of query {query.shape} and key {key.shape} differ")
    if query.shape[2] % key.shape[2]:
        raise ValueError(f"{query.shape[2]} query heads are no multiple of {key.shape[2]} key heads")
