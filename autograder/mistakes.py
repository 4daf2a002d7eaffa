"""Attention as it is often got wrong, in float64: a name, what happened, what to do, and the numbers.

A mistake that cannot be made with these inputs (a mask where nothing is masked, head sharing with one
head) gives None. Rows of NaN stand where a mistake leaves open what comes out: such a row fits anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from autograder import oracle
from autograder.arrays import DTYPES, Array


@dataclass(frozen=True)
class Case:
    """The inputs of one call, (B, T, N, H) and twice (B, S, K, H) in float64; `dtype` they came in."""

    query: Array
    key: Array
    value: Array
    is_causal: bool
    dtype: str

    @cached_property
    def scores(self) -> Array:
        return oracle.scores(self.query, self.key)

    @cached_property
    def seen(self) -> Array:
        return oracle.visible(self.queries, self.keys, self.is_causal)

    @property
    def queries(self) -> int:
        return int(self.query.shape[1])

    @property
    def keys(self) -> int:
        return int(self.key.shape[1])

    @property
    def heads(self) -> int:
        return int(self.query.shape[2])

    @property
    def size(self) -> int:
        return int(self.query.shape[3])

    def weights(self, scores: Array, axis: int = -1) -> Array:
        return oracle.softmax(np.where(self.seen, scores, oracle.MASKED), axis)

    @property
    def largest(self) -> float:
        """The largest |score| that a query sees."""
        return float(np.max(np.abs(self.scores), where=self.seen, initial=0.0))

    def output(self, scores: Array) -> Array:
        return oracle.combine(self.weights(scores), self.value)

    def masked(self, seen: Array) -> Array:
        """The output under another mask; NaN for rows that see nothing."""
        out = oracle.combine(oracle.softmax(np.where(seen, self.scores, oracle.MASKED)), self.value)
        out[:, ~seen.any(axis=-1)] = np.nan
        return out

    def with_inputs(self, query: Array, key: Array, value: Array) -> Array:
        return oracle.attention(query, key, value, is_causal=self.is_causal)


Compute = Callable[[Case], Array | None]
DType = np.dtype[Any]


@dataclass(frozen=True)
class Mistake:
    name: str
    sentence: str
    next_step: str
    compute: Compute


def _times(factor: Callable[[Case], float]) -> Compute:
    return lambda case: case.output(case.scores * factor(case))


def _over(axis: int) -> Compute:
    return lambda case: oracle.combine(case.weights(case.scores, axis), case.value)


def _causal(compute: Callable[[Case], Array]) -> Compute:
    return lambda case: compute(case) if case.is_causal else None


def _offset(by: Callable[[Case], int]) -> Compute:
    """Keys up to s = t + by(case) seen."""
    return _causal(lambda case: case.masked(oracle.visible(case.queries, case.keys, window=(None, by(case)))))


def _bottom_right(case: Case) -> Array | None:
    offset = case.keys - case.queries
    distance = np.arange(case.keys) - np.arange(case.queries)[:, None]
    return case.masked(distance <= offset) if case.is_causal and offset else None


def _full_unless_asked(case: Case) -> Array | None:
    return None if case.is_causal else case.masked(oracle.visible(case.queries, case.keys, True))


def _unnormalised(case: Case) -> Array:
    scores = np.where(case.seen, case.scores, oracle.MASKED)
    return oracle.combine(np.exp(scores - scores.max(axis=-1, keepdims=True)), case.value)


def _best_key(case: Case) -> Array:
    scores = np.where(case.seen, case.scores, oracle.MASKED)
    chosen = np.argmax(scores, axis=-1)[..., None] == np.arange(case.keys)
    return oracle.combine(chosen.astype(np.float64), case.value)


def _untransposed(array: Array) -> Array:
    """(B, S, K, H) read as (B, K, S, H) by a reshape where a transpose is due."""
    batch, length, heads, size = array.shape
    return array.reshape(batch, heads, length, size).swapaxes(1, 2)


def _right(case: Case) -> Array:
    return case.output(case.scores)


def _heads_exchanged(case: Case) -> Array | None:
    """(B, T, K, G, H) folded into heads as (G, K)."""
    batch, queries, heads, size = case.query.shape
    shared = case.key.shape[2]
    if shared in (1, heads):
        return None
    grouped = _right(case).reshape(batch, queries, shared, heads // shared, size)
    return grouped.swapaxes(2, 3).reshape(case.query.shape)


def _heads(pick: Callable[[Case], Array]) -> Compute:
    """Query head n uses key/value head pick(case)[n]."""

    def compute(case: Case) -> Array:
        used = pick(case)
        return case.with_inputs(case.query, case.key[:, :, used], case.value[:, :, used])

    return compute


def _rounded_scores(case: Case) -> Array | None:
    if case.dtype == "float32":
        return None
    return case.output(case.scores.astype(DTYPES[case.dtype]).astype(np.float64))


def _clipped(bound: float) -> Compute:
    return lambda case: case.output(np.clip(case.scores, -bound, bound)) if case.largest > bound else None


def _cut_off(bound: float) -> Compute:
    return lambda case: case.output(np.minimum(case.scores, bound)) if case.largest > bound else None


def _capped(bound: float) -> Compute:
    return lambda case: case.output(bound * np.tanh(case.scores / bound))


def _rounded_query(scale: Callable[[Array, DType], Array]) -> Compute:
    """Scores of a query that was multiplied in its own dtype."""

    def compute(case: Case) -> Array | None:
        if case.dtype == "float32":
            return None
        dtype = DTYPES[case.dtype]
        query = scale(case.query, dtype).astype(dtype).astype(np.float64)
        return case.output(oracle.scores(query, case.key) * math.sqrt(case.size))

    return compute


def _rounded(number: float, dtype: DType) -> float:
    return float(np.asarray(number).astype(dtype))


SCALE = "Divide the scores by √H, once; H is the size of the last axis of the query."
_AXIS = "Take the softmax over the keys: the axis of length S, the last one of the (B, N, T, S) scores."
_ALIGN = "Position t sees the keys s ≤ t, its own included, counted from the first key whatever T and S."
_BEFORE = "Give hidden scores a very low value before the softmax: jnp.where(mask, scores, low)."
_HEADS = "Query head n uses key/value head n // G with G = N // K: neighbours share a head."
BOUNDS = (5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 64, 70, 75, 80, 85, 88, 90, 100, 120, 128, 150, 200, 250)
"""Where scores are clipped in practice. Which bound it was cannot always be told from the numbers."""
CAPS = (5, 10, 15, 20, 30, 40, 50, 100)
OWN_MAXIMUM = "Subtract each row's own maximum before exp(), as jax.nn.softmax does, and clip nothing."
_AFTER = (
    "Leave the query as it is, and divide the float32 scores: "
    "jnp.einsum(…, preferred_element_type=jnp.float32) / math.sqrt(H)."
)
WIDER = "Compute scores and softmax in float32 (preferred_element_type) and cast back at the end."

# Of mistakes that give the same numbers on some inputs the first one here is named.
MISTAKES: tuple[Mistake, ...] = (
    Mistake("no scale", "The scores are not divided by √H.", SCALE, _times(lambda c: math.sqrt(c.size))),
    Mistake(
        "scaled by H",
        "The scores are divided by H: by H in place of √H, or by √H twice.",
        SCALE,
        _times(lambda c: 1 / math.sqrt(c.size)),
    ),
    Mistake("scale inverted", "The scores are multiplied by √H.", SCALE, _times(lambda c: float(c.size))),
    Mistake(
        "scaled by √N",
        "The scores are divided by the root of the number of heads.",
        SCALE,
        _times(lambda c: math.sqrt(c.size / c.heads)),
    ),
    Mistake(
        "scaled by √T",
        "The scores are divided by the root of the query length.",
        SCALE,
        _times(lambda c: math.sqrt(c.size / c.queries)),
    ),
    Mistake(
        "scaled by √S",
        "The scores are divided by the root of the key length.",
        SCALE,
        _times(lambda c: math.sqrt(c.size / c.keys)),
    ),
    Mistake(
        "scaled by √(N·H)",
        "The scores are divided by the root of N·H, the width of all heads together.",
        SCALE,
        _times(lambda c: 1 / math.sqrt(c.heads)),
    ),
    Mistake("softmax over queries", "The softmax runs over the query positions.", _AXIS, _over(-2)),
    Mistake("softmax over heads", "The softmax runs over the heads.", _AXIS, _over(1)),
    Mistake("softmax over the batch", "The softmax runs over the batch.", _AXIS, _over(0)),
    Mistake(
        "no softmax",
        "The scores weigh the values as they are, without a softmax.",
        "Turn scores into weights: jax.nn.softmax(scores, axis=-1).",
        lambda c: oracle.combine(np.where(c.seen, c.scores, 0), c.value),
    ),
    Mistake(
        "weights not normalised",
        "The exponentials are not divided by their sum.",
        "Divide by the sum over the keys, so that each row of weights adds up to 1.",
        _unnormalised,
    ),
    Mistake(
        "best key only",
        "Each row is the value of its highest score: an argmax where a softmax is due.",
        "Weigh all values by the softmax of the scores.",
        _best_key,
    ),
    Mistake(
        "keys and values exchanged",
        "Scores are taken with the values, and the keys are averaged.",
        "Scores are query with key; the weights then sum the values.",
        lambda c: c.with_inputs(c.query, c.value, c.key),
    ),
    Mistake(
        "keys in place of values",
        "The weights sum the keys.",
        "Apply the weights to the values.",
        lambda c: c.with_inputs(c.query, c.key, c.key),
    ),
    Mistake(
        "values in place of keys",
        "The scores are taken with the values.",
        "Take the scores of query with key.",
        lambda c: c.with_inputs(c.query, c.value, c.value),
    ),
    Mistake(
        "value heads mixed with positions",
        "The values' axes S and K are exchanged by a reshape.",
        "Move an axis with jnp.transpose or name it in einsum; a reshape keeps the order of the numbers.",
        lambda c: c.with_inputs(c.query, c.key, _untransposed(c.value)),
    ),
    Mistake(
        "heads mixed with positions",
        "The inputs' axes of position and head are exchanged by a reshape.",
        "Move an axis with jnp.transpose or name it in einsum; a reshape keeps the order of the numbers.",
        lambda c: (
            c.with_inputs(*map(_untransposed, (c.query, c.key, c.value)))
            .swapaxes(1, 2)
            .reshape(c.query.shape)
        ),
    ),
    Mistake(
        "output heads mixed with positions",
        "The output is right in layout (B, N, T, H) and was brought to (B, T, N, H) by a reshape.",
        "Exchange the axes with jnp.transpose(out, (0, 2, 1, 3)).",
        lambda c: _right(c).swapaxes(1, 2).reshape(c.query.shape),
    ),
    Mistake(
        "output in layout BNTH",
        "The output is right, with the axes of position and head exchanged.",
        "Return (B, T, N, H): jnp.transpose(out, (0, 2, 1, 3)).",
        lambda c: _right(c).swapaxes(1, 2),
    ),
    Mistake(
        "mask missing",
        "Every position sees all keys, those after it too.",
        _ALIGN,
        _causal(lambda c: c.masked(np.ones_like(c.seen))),
    ),
    Mistake(
        "mask hides the diagonal",
        "Position t sees the keys s < t and not its own.",
        _ALIGN,
        _offset(lambda c: -1),
    ),
    Mistake(
        "mask one too wide",
        "Position t sees one key too many, s = t + 1.",
        _ALIGN,
        _offset(lambda c: 1),
    ),
    Mistake(
        "mask aligned bottom-right",
        "The mask is aligned so that the last query sees the last key.",
        _ALIGN,
        _bottom_right,
    ),
    Mistake(
        "mask transposed",
        "Position t sees the keys s ≥ t: the mask has its axes, or tril and triu, exchanged.",
        _ALIGN,
        _causal(lambda c: c.masked(oracle.visible(c.queries, c.keys, window=(0, None)))),
    ),
    Mistake(
        "mask the wrong way round",
        "Position t sees the keys s > t, and hides s ≤ t: the mask is the wrong way round.",
        "jnp.where(mask, scores, low) keeps the scores where the mask is True: make it True for s ≤ t.",
        _causal(lambda c: c.masked(~c.seen)),
    ),
    Mistake(
        "mask after the softmax",
        "Hidden weights are set to 0 after the softmax: the rows do not add up to 1.",
        _BEFORE,
        _causal(lambda c: oracle.combine(oracle.softmax(c.scores) * c.seen, c.value)),
    ),
    Mistake(
        "mask sets scores to zero",
        "Hidden scores are 0, which still is a weight: exp(0) = 1.",
        _BEFORE,
        _causal(lambda c: oracle.combine(oracle.softmax(c.scores * c.seen), c.value)),
    ),
    Mistake(
        "causal where it should be full",
        "A causal mask is applied that was not asked for.",
        "Let every position see all keys here.",
        _full_unless_asked,
    ),
    Mistake(
        "head n uses n % K",
        "Query head n uses key/value head n % K.",
        _HEADS,
        _heads(lambda c: np.arange(c.heads) % c.key.shape[2]),
    ),
    Mistake(
        "all heads share one",
        "All query heads use key/value head 0.",
        _HEADS,
        _heads(lambda c: np.zeros(c.heads, int)),
    ),
    Mistake(
        "output heads exchanged",
        "The heads of the output are in the order (G, K) and should be in the order (K, G).",
        "Bring the output to (B, T, K, G, H) before its last reshape: head n is group n // G, member n % G.",
        _heads_exchanged,
    ),
    Mistake(
        "mean of the values",
        "Each row is the plain mean of the values it sees: the scores have no effect.",
        "Check that query and key reach the scores, and the scores the weights.",
        lambda c: c.output(np.zeros_like(c.scores)),
    ),
    Mistake(
        "mean of all values",
        "Each row is the plain mean of all values: neither scores nor mask have an effect.",
        "Check that query and key reach the scores, and scores and mask the weights.",
        _causal(
            lambda c: np.broadcast_to(oracle.combine(np.ones_like(c.scores) / c.keys, c.value), c.query.shape)
        ),
    ),
    Mistake(
        "all zeros",
        "The output is zero everywhere.",
        "Return the weighted sum of the values.",
        lambda c: np.zeros_like(c.query),
    ),
    *(
        Mistake(
            "scores clipped",
            "Large scores are clipped, so that they all count the same.",
            OWN_MAXIMUM,
            make(bound),
        )
        for bound in BOUNDS
        for make in (_clipped, _cut_off)
    ),
    *(
        Mistake("scores capped", "The scores go through tanh, which caps them.", OWN_MAXIMUM, _capped(bound))
        for bound in CAPS
    ),
    *(
        Mistake(
            "query in half precision",
            "The query is scaled in half precision, which rounds it.",
            _AFTER,
            compute,
        )
        for compute in (
            _rounded_query(lambda query, dtype: query / _rounded(math.sqrt(query.shape[-1]), dtype)),
            _rounded_query(lambda query, dtype: query * _rounded(query.shape[-1] ** -0.5, dtype)),
            _rounded_query(lambda query, dtype: query / math.sqrt(query.shape[-1])),
        )
    ),
    Mistake(
        "scores in half precision", "The scores are rounded to the inputs' dtype.", WIDER, _rounded_scores
    ),
)
