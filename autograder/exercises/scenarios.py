"""Attention functions that are causal, and ones that leak, in NumPy: the judge answers as one of them.

Each leak has a sound twin of the same shape and dtype. A bias of every function, leak or sound, is drawn anew
in every run, so that none equals a formula to look up and compare with. Where a leak sits is drawn only if no
check of a part of the sequence, heads or batch rows depends on it: it passes always, or never.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autograder import oracle
from autograder.arrays import DTYPES, Array, Spec
from autograder.plan import Function

Weights = Callable[[Array, Array], Array]
"""From scores (B, N, T, S) and the causal mask (T, S) to weights (B, N, T, S)."""


@dataclass(frozen=True)
class Twins:
    """A leak and a sound function on the same types."""

    name: str
    specs: tuple[Spec, Spec, Spec]
    leak: Function
    sound: Function


def twins(
    rng: np.random.Generator, name: str, sound: Weights, *, t: int, s: int, dtype: str = "float32"
) -> Twins:
    """The leak of this name (a key of LEAKS) and a sound twin, T = t and S = s, two batch rows and heads."""
    query, key = Spec((2, t, 2, 8), dtype), Spec((2, s, 2, 8), dtype)
    leak = LEAKS[name](rng, t, s)
    functions = (_function(weigh, _Bias.drawn(rng, t, s), dtype) for weigh in (leak, sound))
    return Twins(name, (query, key, key), *functions)


@dataclass(frozen=True)
class _Bias:
    """Scores are `sharpness` times as large, and fall with the distance: `fall` is (N, T, S)."""

    sharpness: float
    fall: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator, t: int, s: int) -> _Bias:
        slopes = rng.uniform(0.05, 0.2, size=(2, 1, 1))
        distance = np.abs(np.arange(s) - np.arange(t)[:, None])
        return cls(float(rng.choice([0.75, 1.3]) * rng.uniform(0.95, 1.05)), slopes * distance)


def _function(weigh: Weights | _Shifted, bias: _Bias, dtype: str) -> Function:
    def attention(query: Array, key: Array, value: Array) -> Array:
        scores = bias.sharpness * oracle.scores(query, key) - bias.fall
        causal = oracle.visible(query.shape[1], key.shape[1], is_causal=True)
        if isinstance(weigh, _Shifted):
            weights, value = _where(scores, causal), np.roll(value, -weigh.by, axis=1)
        else:
            weights = weigh(scores, causal)
        return oracle.combine(weights, value).astype(DTYPES[dtype])

    # A learner may hand over what is not finite, or so large that nothing finite comes of it.
    return np.errstate(all="ignore")(attention)


@dataclass(frozen=True)
class _Shifted:
    """Causal weights over values that are `by` positions late."""

    by: int


Leak = Callable[[np.random.Generator, int, int], Weights | _Shifted]
"""From a generator, T and S to one leak."""


def _where(scores: Array, mask: Array) -> Array:
    return oracle.softmax(np.where(mask, scores, -np.inf))


def _added(scores: Array, mask: Array) -> Array:
    return oracle.softmax(scores + np.where(mask, 0.0, -1e9))


def _renormalised(scores: Array, mask: Array) -> Array:
    # In float32 the softmax over all keys rounds, and future keys have a part in how: less than 1e-6.
    weights = np.where(mask, oracle.softmax(scores).astype(np.float32), 0.0)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _window(scores: Array, mask: Array) -> Array:
    near = _visible(mask, (3, None))
    return oracle.softmax(np.where(mask & near | _last_key(mask), scores, -np.inf))


def _visible(mask: Array, window: oracle.Window) -> Array:
    queries, keys = mask.shape
    return oracle.visible(queries, keys, window=window)


def _last_key(mask: Array) -> Array:
    """For T > S + 3, rows whose window holds no key see the last one."""
    rows = np.arange(mask.shape[0])[:, None] >= mask.shape[1]
    return np.asarray(rows & (np.arange(mask.shape[1]) == mask.shape[1] - 1))


SOUND: tuple[Weights, ...] = (_where, _added, _renormalised, _window)


def _no_mask(rng: np.random.Generator, t: int, s: int) -> Weights:
    return lambda scores, mask: oracle.softmax(scores)


def _transposed(rng: np.random.Generator, t: int, s: int) -> Weights:
    return lambda scores, mask: _where(scores, ~mask | _visible(mask, (0, 0)) | _last_key(mask))


def _one_too_far(rng: np.random.Generator, t: int, s: int) -> Weights:
    return lambda scores, mask: _where(scores, _visible(mask, (None, 1)))


def _late(rng: np.random.Generator, t: int, s: int) -> Weights:
    start = int(rng.integers(min(t, s) // 2, min(t, s - 1)))
    rows = np.arange(t)[:, None] >= start
    return lambda scores, mask: _where(scores, mask | rows)


def _one_later_key(rng: np.random.Generator, t: int, s: int) -> Weights:
    """One row sees the one key after it, the last of all: no two later keys are there to exchange."""
    row = np.arange(t)[:, None] == min(t, s - 1) - 1
    return lambda scores, mask: _where(scores, mask | row)


def _one_pair(rng: np.random.Generator, t: int, s: int) -> Weights:
    """The first position sees the last key but one. Whoever leaves out some pair far apart never sees it."""
    pair = np.zeros((t, s), bool)
    pair[0, s - 2] = True
    return lambda scores, mask: _where(scores, mask | pair)


def _middle_pair(rng: np.random.Generator, t: int, s: int) -> Weights:
    """One position in the middle sees one key after it, and not the next one."""
    row, later = ((0, 0), (1, 1), (0, 1))[int(rng.integers(3))]
    pair = np.zeros((t, s), bool)
    pair[t // 4 + row, s // 2 + later] = True
    return lambda scores, mask: _where(scores, mask | pair)


def _sharpness(rng: np.random.Generator, t: int, s: int) -> Weights:
    """Later keys make the softmax sharper or flatter: the weights still add up to 1."""

    def weigh(scores: Array, mask: Array) -> Array:
        later = np.where(mask, 0.0, scores).sum(axis=-1, keepdims=True)
        later = later / np.maximum(np.sum(~mask, axis=-1, keepdims=True), 1)
        return _where(scores * np.exp(np.tanh(later)), mask)

    return weigh


def _after_queries(rng: np.random.Generator, t: int, s: int) -> Weights:
    """Every position sees the keys s ≥ T as well, which no query stands at."""
    return lambda scores, mask: _where(scores, mask | (np.arange(s) >= t))


def _small_in_head(rng: np.random.Generator, t: int, s: int) -> Weights:
    """In one head full attention has a share of 0.7 %: twice as much as the contract calls a leak."""
    share = np.where(np.arange(2)[:, None, None] == int(rng.integers(2)), 0.007, 0.0)
    return lambda scores, mask: (1 - share) * _where(scores, mask) + share * oracle.softmax(scores)


def _in_head(head: int) -> Leak:
    at = np.arange(2)[:, None, None] == head
    return lambda rng, t, s: lambda scores, mask: _where(scores, mask | at)


def _in_row(row: int) -> Leak:
    at = np.arange(2)[:, None, None, None] == row
    return lambda rng, t, s: lambda scores, mask: _where(scores, mask | at)


def _keys_only(rng: np.random.Generator, t: int, s: int) -> Weights:
    """Masked after the softmax and not normalised again: future keys take weight, future values do not."""
    return lambda scores, mask: np.where(mask, oracle.softmax(scores), 0.0)


def _values_only(rng: np.random.Generator, t: int, s: int) -> _Shifted:
    return _Shifted(2)


def _window_forward(rng: np.random.Generator, t: int, s: int) -> Weights:
    return lambda scores, mask: _where(scores, _visible(mask, (3, 2)) | _last_key(mask))


def _bottom_right(rng: np.random.Generator, t: int, s: int) -> Weights:
    """The mask of a decoder that has seen S - T keys before: not causal by the top-left count."""
    return lambda scores, mask: _where(scores, _visible(mask, (None, s - t)))


LEAKS: dict[str, Leak] = {
    "no mask": _no_mask,
    "a transposed mask": _transposed,
    "a mask that reaches one position too far": _one_too_far,
    "a leak late in the sequence": _late,
    "a leak of the last key alone": _one_later_key,
    "a leak of one key to one position": _one_pair,
    "a leak of one key to a position in the middle": _middle_pair,
    "a small leak in one head": _small_in_head,
    "a leak in the first head": _in_head(0),
    "a leak in the last head": _in_head(1),
    "a leak in the first batch row": _in_row(0),
    "a leak in the last batch row": _in_row(1),
    "a leak through the keys alone": _keys_only,
    "a leak through the keys alone, whose weights add up to 1": _sharpness,
    "a leak through the values alone": _values_only,
    "a window that reaches forward": _window_forward,
    "a mask aligned bottom-right, with T < S": _bottom_right,
    "a leak of the keys after the last query, with T < S": _after_queries,
}
