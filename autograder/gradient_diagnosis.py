"""What a wrong gradient looks like. A guess for the learner, never part of a verdict; float64."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from autograder import oracle, tolerance
from autograder.arrays import Array
from autograder.diagnosis import CLEAR, ROUNDOFF, SLACK, Diagnosis
from autograder.mistakes import WIDER
from autograder.oracle import wide

NAMES = ("query", "key", "value")
_ZERO_STEP = "Look for stop_gradient, a cast to an integer, a round or an argmax on the way."
_FACTOR_STEP = "Look for a scale that the output has and its derivative lacks (custom_vjp, stop_gradient)."
_ORDER_STEP = "Return the cotangents of a backward rule in the order of the arguments: query, key, value."
_SUM_STEP = "The derivative of a softmax is d_scores = weights * (d - (weights * d).sum(-1, keepdims=True))."


def explain_gradient(
    out: Array,
    place: int,
    inputs: Sequence[Array],
    cotangent: Array,
    *,
    is_causal: bool = False,
    limit: float,
) -> Diagnosis | None:
    """Name what a wrong gradient looks like; None where it is right or like nothing known.

    `out` is the gradient with respect to `inputs[place]`, of query (B, T, N, H), key and value (B, S, K, H).
    """
    query, key, value = inputs
    wants = oracle.gradients(query, key, value, cotangent, is_causal=is_causal)
    want, name = wants[place], NAMES[place]
    if out.shape != want.shape or not np.all(np.isfinite(wide(out))):
        return None
    size = tolerance.scale(want, cotangent=cotangent)
    error = tolerance.relative_error(out, want, size)
    if error <= limit:
        return None
    if not np.any(out):
        sentence = (
            f"The gradient with respect to {name} is exactly zero: JAX sees no way from it to the output."
        )
        return Diagnosis("gradient is zero", sentence, _ZERO_STEP)
    uncentred = oracle.gradients(query, key, value, cotangent, is_causal=is_causal, centred=False)
    for known, numbers, sentence, step in _mistakes(place, wants, uncentred):
        if numbers.shape == out.shape and tolerance.relative_error(out, numbers, size) <= SLACK * limit:
            return Diagnosis(known, sentence, step)
    return _factor(out, want, name, size, query.shape[-1], limit) or _rounding(error, name, query.dtype.name)


def _mistakes(
    place: int, wants: Sequence[Array], uncentred: Sequence[Array]
) -> Iterator[tuple[str, Array, str, str]]:
    """A name, the numbers it gives, a sentence and the next step."""
    name = NAMES[place]
    for other, numbers in zip(NAMES, wants, strict=True):
        if other != name:
            sentence = f"The gradient with respect to {name} is the one with respect to {other}."
            yield "gradients exchanged", numbers, sentence, _ORDER_STEP
    if place < 2:
        sentence = f"The gradient with respect to {name} lacks a term: the sum over each row of the softmax."
        yield "softmax term missing", uncentred[place], sentence, _SUM_STEP


def _factor(
    out: Array, want: Array, name: str, size: Array, head_size: int, limit: float
) -> Diagnosis | None:
    factor = float(np.vdot(wide(out), want) / np.vdot(want, want)) if np.any(want) else math.nan
    if not abs(factor - 1) >= CLEAR:  # closer to 1 it is rounding
        return None
    if not tolerance.relative_error(out, factor * want, size * max(1, abs(factor))) <= SLACK * limit:
        return None
    root = math.sqrt(head_size)
    known = {root: "√H", 1 / root: "1/√H", float(head_size): "H", 1 / head_size: "1/H", -1.0: "-1"}
    words = next(
        (word for x, word in known.items() if math.isclose(x, factor, rel_tol=0.02)), f"{factor:.4g}"
    )
    sentence = f"The gradient with respect to {name} is right but for a factor of {words}."
    return Diagnosis("gradient off by a factor", sentence, _FACTOR_STEP)


def _rounding(error: float, name: str, dtype: str) -> Diagnosis | None:
    if dtype not in ROUNDOFF or error > 0.1:
        return None
    sentence = (
        f"The error of the gradient with respect to {name} is of the size that rounding to {dtype} gives."
    )
    return Diagnosis("gradient in half precision", sentence, WIDER)
