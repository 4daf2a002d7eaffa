"""Right attention in several styles, as learners write it: float32 inside, the query's dtype outside."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from autograder import oracle
from autograder.arrays import Array

Attention = Callable[[Array, Array, Array, Array], Array]


def scores32(query: Array, key: Array) -> Array:
    """(B, N, T, S) in float32, scaled."""
    products = np.einsum("btnh,bsnh->bnts", f32(query), per_head(key, query))
    return np.asarray(products / f32(math.sqrt(query.shape[3])))


def f32(array: Array | float) -> Array:
    return np.asarray(array).astype(np.float32)


def per_head(array: Array, query: Array) -> Array:
    return np.repeat(f32(array), query.shape[2] // array.shape[2], axis=2)


def combine32(weights: Array, value: Array, query: Array) -> Array:
    assert weights.dtype == np.float32
    return f32(np.einsum("bnts,bsnh->btnh", weights, per_head(value, query))).astype(query.dtype)


def hidden(scores: Array, seen: Array) -> Array:
    return np.where(seen, scores, np.finfo(np.float32).min)


def naive(query: Array, key: Array, value: Array, seen: Array) -> Array:
    return combine32(oracle.softmax(hidden(scores32(query, key), seen)), value, query)


def scaled_query(query: Array, key: Array, value: Array, seen: Array) -> Array:
    """The scale on the query, matrix products by head."""
    q = f32(query).transpose(0, 2, 1, 3) * f32(query.shape[3] ** -0.5)
    k, v = (per_head(x, query).transpose(0, 2, 1, 3) for x in (key, value))
    out = oracle.softmax(hidden(q @ k.swapaxes(-1, -2), seen)) @ v
    return out.transpose(0, 2, 1, 3).astype(query.dtype)


def late_division(query: Array, key: Array, value: Array, seen: Array) -> Array:
    scores = hidden(scores32(query, key), seen)
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    out = np.einsum("bnts,bsnh->btnh", raised, per_head(value, query))
    return f32(out / raised.sum(axis=-1).swapaxes(1, 2)[..., None]).astype(query.dtype)


def log_sum_exp(query: Array, key: Array, value: Array, seen: Array) -> Array:
    scores = hidden(scores32(query, key), seen)
    top = scores.max(axis=-1, keepdims=True)
    total = top + np.log(np.sum(np.exp(scores - top), axis=-1, keepdims=True))
    return combine32(np.exp(scores - total), value, query)


def online(query: Array, key: Array, value: Array, seen: Array) -> Array:
    """Three keys at a time, with a running maximum and sum."""
    scores = hidden(scores32(query, key), seen)
    v = per_head(value, query).transpose(0, 2, 1, 3)
    top = np.full((*scores.shape[:3], 1), np.finfo(np.float32).min, np.float32)
    total, out = np.zeros_like(top), f32(0)
    for start in range(0, key.shape[1], 3):
        block = scores[..., start : start + 3]
        new = np.maximum(top, block.max(axis=-1, keepdims=True))
        keep, raised = np.exp(top - new), np.exp(block - new)
        total = total * keep + raised.sum(axis=-1, keepdims=True)
        out, top = out * keep + raised @ v[:, :, start : start + 3], new
    return (out / total).transpose(0, 2, 1, 3).astype(query.dtype)


def base_two(query: Array, key: Array, value: Array, seen: Array) -> Array:
    """exp2 of scores that carry log2(e), as kernels do."""
    scores = hidden(scores32(query, key) * f32(math.log2(math.e)), seen)
    raised = np.exp2(scores - scores.max(axis=-1, keepdims=True))
    return combine32(raised / raised.sum(axis=-1, keepdims=True), value, query)


RIGHT: dict[str, Attention] = {
    f.__name__: f for f in (naive, scaled_query, late_division, log_sum_exp, online, base_two)
}
