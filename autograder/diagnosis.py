"""What probably went wrong: an answer that equals a known mistake, or where it is off.

A guess for the learner, never part of a verdict. Small inputs, float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from autograder import oracle, tolerance
from autograder.arrays import Array
from autograder.mistakes import MISTAKES, OWN_MAXIMUM, SCALE, WIDER, Case, Mistake
from autograder.oracle import wide

SLACK = 4.0
"""A mistake computed in low precision may be this many limits away from the same mistake in float64."""

NEARER = 2.0
"""How many times nearer to the mistake than to the right answer an answer has to be."""

FARTHER = 20.0
"""The same for a factor that is fitted: two numbers alone would fit often."""

CLEAR = 0.05
"""How far from 1 a factor is no rounding."""

LOOK_THERE = "Look at what is special there: the end of a loop or mask, an index, a shape that broadcasts."
ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


@dataclass(frozen=True)
class Diagnosis:
    """The name of a known mistake, a sentence on what seems to have happened, and what to do next.

    Without a next step the hint of the check applies.
    """

    name: str
    sentence: str
    next_step: str


def explain(
    out: Array, query: Array, key: Array, value: Array, *, is_causal: bool = False, limit: float
) -> Diagnosis | None:
    """Name what `out`, an answer for these inputs, looks like; None where it is right or like nothing known.

    `limit` is the comparison's relative limit.
    """
    want = oracle.attention(query, key, value, is_causal=is_causal)
    if out.shape != want.shape:
        return _of_another_shape(out, want, limit)
    case = Case(wide(query), wide(key), wide(value), is_causal, query.dtype.name)
    size = tolerance.scale(want, spread=oracle.spread(query, key, value, is_causal=is_causal))
    got = wide(out)
    errors = tolerance.errors(got, want, size)
    if np.all(errors <= limit):
        return None
    return (
        _overflow(got, case)
        or _not_a_number(got, case)
        or _known(got, case, size, limit)
        or _factor(got, case, size, limit)
        or _row_factors(got, case, size, limit)
        or _rounding(errors, case)
        or _large_scores(errors <= limit, case)
        or locate(errors <= limit)
    )


def explain_scale(
    got: float, amax_history: Array, scale: float, *, fp8_max: float = 448.0, margin: float = 0
) -> Diagnosis | None:
    """Name what a wrong `delayed_scale` looks like; None where it is right or like nothing known.

    `scale` is the old scale. TransformerEngine multiplies by the scale: it is fp8_max / amax / 2^margin.
    """
    history = wide(amax_history).ravel()
    room = 2.0**margin
    with np.errstate(all="ignore"):
        amax = np.max(history)
        right = fp8_max / amax / room
        keeps = not (amax > 0 and np.isfinite(amax) and np.isfinite(np.float32(right)))
        right = scale if keeps else right
        if math.isclose(got, right, rel_tol=1e-5):
            return None
        if keeps:
            return Diagnosis(
                "old scale not kept",
                f"The largest amax is {amax:g}, which gives no scale; the old one, {scale:g}, should stay.",
                "Keep the old scale where amax ≤ 0, where it is not finite, or where the result is infinite.",
            )
        finite = history[np.isfinite(history)]
        known: list[tuple[str, float, str, str]] = [
            ("old scale kept", scale, "The old scale came back.", "Return the new one where amax is usable."),
            (
                "scale is the reciprocal",
                1 / right,
                "The scale is amax / fp8_max, by which one divides.",
                "Return fp8_max / amax: this scale is multiplied with.",
            ),
            (
                "margin of the wrong sign",
                fp8_max / amax * room,
                "The margin makes the scale larger.",
                "Divide by 2 ** margin: a margin leaves room below fp8_max.",
            ),
            ("margin ignored", fp8_max / amax, "The margin has no effect.", "Divide by 2 ** margin."),
            (
                "margin not a power",
                fp8_max / amax / margin if margin else math.nan,
                "The scale is divided by the margin itself.",
                "Divide by 2 ** margin.",
            ),
        ]
        for word, amount in (
            ("last", history[-1]),
            ("first", history[0]),
            ("smallest", finite.min()),
            ("mean", finite.mean()),
        ):
            sentence = f"The scale comes from the {word} of the amax history."
            known.append(
                (f"{word} amax", fp8_max / amount / room, sentence, "Use the largest of the history.")
            )
        known.append(
            (
                "old scale multiplied",
                right * scale,
                "The new scale is multiplied with the old one.",
                "The new scale replaces the old one.",
            )
        )
    for name, value, sentence, step in known:
        if math.isclose(got, value, rel_tol=1e-5):
            return Diagnosis(name, sentence, step)
    return None


def locate(right: Array) -> Diagnosis | None:
    """Say where an answer is off, from (B, T, N) booleans; None where it is off along all axes."""
    off, names, parts, box = ~right, [], [], 1
    for axis, one in enumerate(("batch row", "position", "head")):
        wrong = np.asarray(off.any(axis=tuple(other for other in range(3) if other != axis)))
        bad, good = np.flatnonzero(wrong), np.flatnonzero(~wrong)
        box *= len(bad)
        if len(bad) and len(good):
            names.append(_place(bad, len(wrong), one))
            verb = "is" if len(bad) == 1 else "are"
            parts.append(f"{_listed(bad, one)} {verb} off, {_listed(good, one)} right")
    if not parts:
        return None
    exact = off.sum() == box
    sentence = "; ".join(parts) + ("." if exact else ", and there not everywhere.")
    # A place that is only roughly right is a weaker hint than the check's own.
    step = LOOK_THERE if exact else ""
    return Diagnosis(f"off in {' and '.join(names)}", sentence[0].upper() + sentence[1:], step)


def _known(got: Array, case: Case, size: Array, limit: float) -> Diagnosis | None:
    with np.errstate(all="ignore"):
        found = [(_distance(got, mistake, case, size, limit), mistake) for mistake in MISTAKES]
    near = [(distance, mistake) for distance, mistake in found if distance is not None]
    if not near:
        return None
    best = min(distance for distance, _ in near)
    mistake = next(m for distance, m in near if distance <= 2 * best)
    return Diagnosis(mistake.name, mistake.sentence, mistake.next_step)


def _distance(got: Array, mistake: Mistake, case: Case, size: Array, limit: float) -> float | None:
    """How far `got` is from this mistake; None where that is too far, or the oracle nearly as near."""
    made = mistake.compute(case)
    if made is None or made.shape != got.shape:
        return None
    decided = np.isfinite(made).all(axis=-1)
    if not decided.any() or not np.isfinite(got[decided]).all():
        return None
    scale = np.maximum(size, np.linalg.norm(made, axis=-1, keepdims=True))[decided]
    near = tolerance.relative_error(got[decided], made[decided], scale)
    right = case.output(case.scores)
    off = tolerance.relative_error(got[decided], right[decided], size[decided])
    return near if near <= SLACK * limit and NEARER * near <= off else None


def _factor(got: Array, case: Case, size: Array, limit: float) -> Diagnosis | None:
    """The right answer for scores that are some factor too large or too small."""
    if not np.isfinite(got).all():
        return None

    def distance(factor: float) -> float:
        return tolerance.relative_error(got, case.output(case.scores * factor), size)

    factors = np.geomspace(1 / 64, 64, 97)
    middle = int(np.argmin([distance(factor) for factor in factors]))
    low, high = factors[max(middle - 1, 0)], factors[min(middle + 1, len(factors) - 1)]
    for _ in range(60):
        third = (high - low) / 3
        if distance(low + third) < distance(high - third):
            high -= third
        else:
            low += third
    factor = (low + high) / 2
    near, off = distance(factor), distance(1.0)
    if not (near <= SLACK * limit and FARTHER * near <= off) or abs(factor - 1) < CLEAR:
        return None
    root = math.sqrt(case.size)
    sentence = f"The scores are divided by {root / factor:.3g}; √H is {root:.4g} here."
    return Diagnosis("scaled by another number", sentence, SCALE)


def _row_factors(got: Array, case: Case, size: Array, limit: float) -> Diagnosis | None:
    """Nearly all rows off, each by a factor of its own: weights that do not add up to 1."""
    want = case.output(case.scores)
    off = tolerance.errors(got, want, size) > limit
    if case.dtype != "float32" or case.size < 4 or off.size < 4 or off.mean() < 0.8:
        return None
    factors = np.sum(got * want, axis=-1, keepdims=True) / np.sum(want * want, axis=-1, keepdims=True)
    if not np.all(factors > 0) or tolerance.relative_error(got, factors * want, size) > SLACK * limit:
        return None
    amount = "less" if np.all(factors <= 1) else "more" if np.all(factors >= 1) else "more or less"
    return Diagnosis(
        "weights do not add up to 1",
        f"Each row is right but for a factor: its weights add up to {amount} than 1.",
        "Divide by the sum over the keys alone: add nothing to it, and drop no weights.",
    )


MAXIMA: tuple[tuple[int, ...] | None, ...] = (None, (0, 1, 2, 3), (1, 2, 3), (2, 3), (1, 3))
"""Over which axes of the scores (B, N, T, S) a maximum is taken and subtracted; None: none is subtracted."""


def _overflow(got: Array, case: Case) -> Diagnosis | None:
    """Not finite in exactly the rows whose float32 exponentials overflow, or all vanish."""
    broken = ~np.isfinite(got).all(axis=-1)
    if not broken.any():
        return None
    scores = np.where(case.seen, case.scores, -np.inf)
    for axes in MAXIMA:
        maximum = 0.0 if axes is None else scores.max(axes, keepdims=True)
        with np.errstate(all="ignore"):
            raised = np.exp((scores - maximum).astype(np.float32)).sum(axis=-1).swapaxes(1, 2)
        lost = ~np.isfinite(raised) | (raised == 0)
        kept = np.isfinite(raised) & (raised > 1e-37)  # between the two lie subnormal numbers
        if not lost.any() or (lost & ~broken).any() or (kept & broken).any():
            continue
        if axes is None:
            sentence = "NaN or infinity in exactly the rows whose scores are too large for exp() in float32."
            return Diagnosis("no maximum subtracted", sentence, OWN_MAXIMUM)
        sentence = (
            "One maximum is subtracted for many rows: NaN in exactly the rows whose scores lie far below it."
        )
        return Diagnosis("one maximum for many rows", sentence, OWN_MAXIMUM)
    return None


def _not_a_number(got: Array, case: Case) -> Diagnosis | None:
    """NaN in all rows of a masked answer, although no score is large."""
    if not case.is_causal or not np.isnan(got).all(axis=-1).all() or case.largest > 60:
        return None
    return Diagnosis(
        "zero times infinity",
        "NaN everywhere, although no score is large: 0 · ∞ is NaN, as in a mask of 0 and 1 times -jnp.inf.",
        "Hide scores with jnp.where(mask, scores, -jnp.inf) in place of a product.",
    )


def _rounding(errors: Array, case: Case) -> Diagnosis | None:
    """Half precision, and no row further off than scores, exponentials and weights rounded to it explain."""
    unit = ROUNDOFF.get(case.dtype, 0.0)
    largest = np.max(np.abs(case.scores), axis=-1, where=case.seen, initial=0.0).swapaxes(1, 2)
    if not np.all(errors <= np.minimum(2.0, 4 * unit * (1 + largest))):
        return None
    sentence = f"The error is of the size that rounding to {case.dtype} before the end gives."
    return Diagnosis("softmax in half precision", sentence, WIDER)


def _large_scores(right: Array, case: Case) -> Diagnosis | None:
    """Off in exactly the rows with the largest scores; `right` are (B, T, N) booleans."""
    largest = np.max(np.abs(case.scores), axis=-1, where=case.seen, initial=0.0).swapaxes(1, 2)
    if right.sum() < 2 or (~right).sum() < 2 or largest[~right].min() <= max(largest[right].max(), 10):
        return None
    sentence = f"Off in exactly the rows that hold a score beyond ±{largest[~right].min():.3g}."
    return Diagnosis("off for large scores", sentence, OWN_MAXIMUM)


def _of_another_shape(out: Array, want: Array, limit: float) -> Diagnosis | None:
    turned = want.swapaxes(1, 2)
    if out.shape != turned.shape:
        return None
    sentence = "The output is in layout (B, N, T, H)"
    if tolerance.relative_error(wide(out), turned, tolerance.scale(turned)) <= SLACK * limit:
        sentence += ", and otherwise right"
    step = "Return (B, T, N, H): jnp.transpose(out, (0, 2, 1, 3))."
    return Diagnosis("output in layout BNTH", f"{sentence}.", step)


def _place(bad: Array, count: int, one: str) -> str:
    if len(bad) > 1:
        return f"some {one}s"
    return {0: f"the first {one}", count - 1: f"the last {one}"}.get(int(bad[0]), f"one {one}")


def _listed(numbers: Array, one: str) -> str:
    """Such as "head 1", "heads 0, 2 and 3", "positions 4 to 9"."""
    found = [int(number) for number in numbers]
    if len(found) == 1:
        return f"{one} {found[0]}"
    if len(found) > 2 and found[-1] - found[0] == len(found) - 1:
        return f"{one}s {found[0]} to {found[-1]}"
    if len(found) > 8:
        return f"{len(found)} {one}s"
    return f"{one}s {', '.join(map(str, found[:-1]))} and {found[-1]}"
