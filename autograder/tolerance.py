"""How far from the oracle an answer may be: twice the reference's own error, and a little.

An output is judged by row, a vector of the last axis, so that one wrong position cannot hide in a
large tensor. A gradient is judged as a whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from autograder.arrays import Array
from autograder.oracle import wide

FLOOR = {"float32": 2e-6, "float16": 4e-3, "bfloat16": 8e-3}
USABLE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 2e-2}
FACTOR = 2.0
PER_SCORE = 1.2e-7
OF_SPREAD = 0.25
OF_COTANGENT = 0.1


@dataclass(frozen=True)
class Comparison:
    """An answer beside the oracle.

    `error` and `reference_error` are relative, of the worst row; `index` is where the largest absolute
    error is, `got` and `want` are what stands there. `reason` says why it is not `ok`. An answer of the
    wrong shape or dtype, or one that is not finite, has an infinite error and is not compared further.
    """

    ok: bool
    error: float
    reference_error: float
    limit: float
    index: tuple[int, ...] = ()
    got: float = math.nan
    want: float = math.nan
    reason: str = ""


def compare(
    out: Array,
    oracle: Array,
    reference: Array,
    max_score: float,
    *,
    dtype: str,
    spread: Array | None = None,
    cotangent: Array | None = None,
    axes: str = "b, t, n, h",
) -> Comparison:
    """Judge `out` (wanted: `oracle`'s shape, `dtype`) against `oracle`, float64; `reference` sets the limit.

    `spread` is `oracle.spread(…)`, or of a gradient its part of `oracle.gradient_spreads(…)`: see `scale`.
    `cotangent` makes it the comparison of a gradient; `axes` are the letters in front of an index. ValueError
    where the reference itself is not finite or of another shape.
    """
    gradient = cotangent is not None
    size = scale(oracle, spread=spread, cotangent=cotangent)
    if reference.shape != oracle.shape or not np.all(np.isfinite(wide(reference))):
        raise ValueError(f"the reference, {reference.shape}, is no answer to compare {oracle.shape} with")
    reference_error = relative_error(reference, oracle, size)
    bound = limit(reference_error, max_score, dtype, gradient=gradient)
    unlike = _unlike(out, oracle.shape, dtype)
    if unlike:
        return Comparison(False, math.inf, reference_error, bound, reason=unlike)
    difference = np.abs(wide(out) - oracle)
    finite = np.isfinite(difference)
    index = _first(~finite) if not finite.all() else _first(difference == difference.max())
    at = f"[{axes}] = {list(index)}"
    got, want = float(out[index]), float(oracle[index])
    if not finite.all():
        count = int(np.sum(~finite))
        where = f"the first at {at}: got {got:g}, expected {want:.6g}"
        reason = f"{count} of {out.size} numbers are not finite, {where}"
        return Comparison(False, math.inf, reference_error, bound, index, got, want, reason)
    error = relative_error(out, oracle, size)
    ok = error <= bound
    reason = "" if ok else _too_far(error, reference_error, bound, at, got, want)
    return Comparison(ok, error, reference_error, bound, index, got, want, reason)


def limit(reference_error: float, max_score: float, dtype: str, *, gradient: bool = False) -> float:
    """The largest relative error that passes; with `reference_error=0` the least it can be."""
    floor, per_score = (2 * FLOOR[dtype], 4 * PER_SCORE) if gradient else (FLOOR[dtype], PER_SCORE)
    return FACTOR * reference_error + floor + per_score * max_score


def usable(limit: float, dtype: str) -> bool:
    """Whether a limit still tells right from wrong; where not, draw other inputs."""
    return limit <= USABLE[dtype]


def scale(oracle: Array, *, spread: Array | None = None, cotangent: Array | None = None) -> Array:
    """What an error is relative to: the norm of each row (…, 1), or of a gradient as a whole (no axes).

    Where terms cancel, the error of every right answer belongs to the size of the terms, not to that of
    their sum. So nothing counts as smaller than a quarter of its `spread`, the same sum without signs.
    A mean over other rows would do as well for rounding, but would let a small head hide behind a large
    one; it stands in, over axis -3 (the positions of one head), where no spread is given.
    A gradient can be exactly 0 (S = 1) and so counts as no smaller than a tenth of its cotangent either.
    """
    if cotangent is not None:
        terms = 0.0 if spread is None else OF_SPREAD * np.linalg.norm(spread)
        return np.asarray(max(np.linalg.norm(oracle), OF_COTANGENT * np.linalg.norm(wide(cotangent)), terms))
    rows = np.linalg.norm(oracle, axis=-1, keepdims=True)
    if spread is None:
        axis = max(-3, -oracle.ndim)
        least = np.sqrt(np.mean(np.square(rows), axis=axis, keepdims=True))
    else:
        least = np.linalg.norm(spread, axis=-1, keepdims=True)
    return np.asarray(np.maximum(rows, OF_SPREAD * least))


def relative_error(out: Array, oracle: Array, scale: Array) -> float:
    """The worst row's error over its scale (no axes in `scale`: the whole); NaN where either is NaN."""
    return float(np.max(errors(out, oracle, scale)))


def errors(out: Array, oracle: Array, scale: Array) -> Array:
    """Each row's error over its scale, oracle.shape[:-1]; of a whole, one number. 0 / 0 is no error."""
    difference = wide(out) - oracle
    if scale.ndim == 0:
        size = np.asarray(np.linalg.norm(difference))
    else:
        size, scale = np.linalg.norm(difference, axis=-1), scale[..., 0]
    return np.asarray(np.divide(size, scale, out=np.where(size == 0, 0.0, np.inf), where=scale > 0))


def _unlike(out: Array, shape: tuple[int, ...], dtype: str) -> str:
    if out.shape != shape:
        return f"expected shape {shape}, got {out.shape}"
    if out.dtype.name != dtype:
        return f"expected dtype {dtype}, got {out.dtype.name}"
    return ""


def _first(where: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(where)[0])


def _too_far(error: float, reference_error: float, bound: float, at: str, got: float, want: float) -> str:
    times = f", {error / reference_error:.3g} times the reference's own" if reference_error > 0 else ""
    return (
        f"relative error {error:.2g}{times}; the limit is {bound:.2g}. "
        f"Furthest off at {at}: got {got:.6g}, expected {want:.6g}"
    )
