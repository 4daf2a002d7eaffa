"""Hidden inputs: queries, keys and values from distributions that each catch a shortcut.

A shortcut is right on some inputs. Standard-normal ones alone pass scores clipped to ±30, no maximum
subtracted, one maximum for all rows, and the plain mean of V.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from autograder import oracle
from autograder.arrays import DTYPES, Array, Spec

Draw = tuple[Array, Array, Array]
Change = Callable[[np.random.Generator, Array, Array, Array], Draw]


def draw(rng: np.random.Generator, query: Spec, key: Spec, value: Spec, distribution: str) -> Draw:
    """Query, key, value of these specs ((B, T, N, H), twice (B, S, K, H)) from a named distribution.

    Drawn in float64, rounded to each spec's dtype. KeyError for a name that is not in `CHANGES`.
    """
    change = CHANGES[distribution]
    start = (rng.standard_normal(spec.shape) for spec in (query, key, value))
    made = change(rng, *start)
    q, k, v = (x.astype(DTYPES[spec.dtype]) for x, spec in zip(made, (query, key, value), strict=True))
    return q, k, v


def _normal(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    return q, k, v


def _large(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """The largest score of all is 300 to 400. Catches clipped scores and exp() without a maximum."""
    root = math.sqrt(rng.uniform(300, 400) / np.max(np.abs(oracle.scores(q, k))))
    return q * root, k * root, v


def _flat(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """Scores that hardly differ, row by row. Catches the plain mean of V where scores are small."""
    sizes = rng.permutation(np.geomspace(1e-3, 0.3, q.shape[1] * q.shape[2]))
    return q * sizes.reshape(q.shape[1], q.shape[2], 1), k, v


def _constant(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """All keys alike: rows of equal scores. Catches argmax in place of softmax."""
    return q, np.broadcast_to(k[:, :1], k.shape), v


def _near_ties(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """Keys in pairs that nearly agree, scores five times as wide. Catches taking the best key alone."""
    twins = np.repeat(k[:, ::2], 2, axis=1)[:, : k.shape[1]]
    return q * 5, twins + 0.01 * k, v


def _needle(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """The first key has about half of every row's weight. Catches dropping keys that are far away."""
    return *_lift(q, k, 0, math.log(k.shape[1]) + rng.uniform(0, 2)), v


def _dominant(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """One key, anywhere, has nearly all the weight. Catches spreading weight where there is none."""
    return *_lift(q, k, int(rng.integers(k.shape[1])), rng.uniform(12, 25)), v


def _shifted(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """All scores of a row far up or far down. Catches exp() without the row's own maximum."""
    q, k = _lift(q, k, slice(None), rng.uniform(105, 125))
    up = rng.integers(2, size=q.shape[:3]).astype(bool)
    up.flat[0] = True
    q[..., 0] *= np.where(up, 1.0, -1.0)
    return q, k, v


def _mixed_heads(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """Heads and positions on scales of their own. Catches one scale, or one maximum, for all."""
    heads = rng.permutation(np.geomspace(0.1, 30, q.shape[2]))[:, None]
    places = rng.permutation(np.geomspace(0.5, 2, q.shape[1]))[:, None, None]
    values = rng.permutation(np.geomspace(0.1, 10, v.shape[1]))[:, None, None]
    return q * heads * places, k, v * values


def _outlier_v(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """A value hundreds of times the others, its weight as much smaller. Catches dropping small weights."""
    factor, at = _log_uniform(rng, 100, 1000), int(rng.integers(k.shape[1]))
    q, k = _lift(q, k, at, 0.5 * math.log(k.shape[1]) - math.log(factor))
    v[:, at] *= factor
    return q, k, v


def _far_outlier(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """The first value is e⁶⁰ times the others, its score 60 lower. Catches small errors of large scores.

    A scale or a difference to the maximum that is rounded is such an error. Beyond float16.
    """
    q, k = _lift(q, k, 0, -60)
    v[:, 0] *= math.exp(60) * math.sqrt(k.shape[1])
    return q, k, v


def _offset_v(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """Values near 30, weights nearly equal. Catches a sum of many products in half precision."""
    return q * 0.1, k, v + 30


def _rivals(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """The first two keys share the weight, at equal scores of 400 to 600. Catches half precision.

    Whatever is rounded before the softmax, be it a query, a key or a score, gives one of the two more weight.
    Queries point along the sum of the two keys and are orthogonal to their difference.
    """
    first, second = 0, min(1, k.shape[1] - 1)
    k = 0.3 * k
    k[:, second] = np.copysign(k[:, second], k[:, first])  # so that their sum is never small
    for place in {first, second}:
        k[:, place] /= np.sqrt(np.mean(np.square(k[:, place]), axis=-1, keepdims=True))
    group = q.shape[2] // k.shape[2]
    one, other = (np.repeat(k[:, place], group, axis=1)[:, None] for place in (first, second))
    apart = (one - other) / np.maximum(np.linalg.norm(one - other, axis=-1, keepdims=True), 1e-9)
    q = q - np.sum(q * apart, axis=-1, keepdims=True) * apart
    reach = math.sqrt(q.shape[3]) * rng.uniform(400, 600, (*q.shape[:3], 1))
    return q + reach * (one + other) / np.sum((one + other) * one, axis=-1, keepdims=True), k, v


def _loud_future(rng: np.random.Generator, q: Array, k: Array, v: Array) -> Draw:
    """The last key scores 300 to 350 more than any other. Catches a mask that hides it by less."""
    return *_lift(q, k, -1, rng.uniform(300, 350)), v


CHANGES: dict[str, Change] = {
    "normal": _normal,
    "large": _large,
    "flat": _flat,
    "constant": _constant,
    "near_ties": _near_ties,
    "needle": _needle,
    "dominant": _dominant,
    "shifted": _shifted,
    "mixed_heads": _mixed_heads,
    "outlier_v": _outlier_v,
    "far_outlier": _far_outlier,
    "offset_v": _offset_v,
    "rivals": _rivals,
    "loud_future": _loud_future,
}


def _lift(q: Array, k: Array, at: int | slice, bonus: float) -> tuple[Array, Array]:
    """Copies of q and k in which every query scores `bonus` higher with the keys `at` than it would.

    Feature 0 carries the bonus, the same for every query, and nothing else.
    """
    q, k = q.copy(), k.copy()
    size = math.sqrt(abs(bonus) * math.sqrt(q.shape[3]))
    q[..., 0], k[..., 0] = size, 0.0
    k[:, at, :, 0] = math.copysign(size, bonus)
    return q, k


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))
