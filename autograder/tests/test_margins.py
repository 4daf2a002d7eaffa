"""Each known formulation lies clearly on one side of its limit, in every draw of a check's inputs.

So the same file gets the same verdict in every run. The shares are error / limit, the worst of a check's
rounds; between the worst right formulation and the mildest wrong one lies more than a factor of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from autograder import oracle
from autograder.arrays import DTYPES, Array
from autograder.exercises import causal, grouped, naive
from autograder.exercises.attention import COMMON, EXTREME, Case
from autograder.tests.formulations import combine32, f32, per_head

DRAWS = 12
RIGHT_SIDE, WRONG_SIDE = 0.85, 1.8
Mask = Callable[[Array], Array]
Formulation = Callable[[Array, Array, Array, Mask], Array]


def products(query: Array, key: Array) -> Array:
    """(B, N, T, S) in float32: what `preferred_element_type=float32` gives for any dtype."""
    return np.asarray(np.einsum("btnh,bsnh->bnts", f32(query), per_head(key, query)))


def scores(query: Array, key: Array) -> Array:
    return np.asarray(products(query, key) / f32(math.sqrt(query.shape[3])))


def rounded(array: Array, like: Array) -> Array:
    """Rounded to the inputs' dtype, and wide again."""
    with np.errstate(over="ignore"):  # a mask's low number is beyond float16
        return f32(array.astype(like.dtype))


def weigh(weights: Array, query: Array, value: Array) -> Array:
    return combine32(f32(weights), value, query)


def exps(given: Array) -> Array:
    return np.asarray(np.exp(given - given.max(axis=-1, keepdims=True)))


def reference(q: Array, k: Array, v: Array, mask: Mask) -> Array:
    return weigh(oracle.softmax(mask(scores(q, k))), q, v)


def weights_cast(q: Array, k: Array, v: Array, mask: Mask) -> Array:
    return weigh(rounded(oracle.softmax(mask(scores(q, k))), q), q, v)


def sum_in_half(q: Array, k: Array, v: Array, mask: Mask) -> Array:
    """Exponentials, their sum and the quotient in half precision."""
    raised = rounded(exps(mask(scores(q, k))), q)
    return weigh(rounded(raised / rounded(raised.sum(axis=-1, keepdims=True), q), q), q, v)


def late_division_in_half(q: Array, k: Array, v: Array, mask: Mask) -> Array:
    raised = exps(mask(scores(q, k)))
    out = f32(weigh(rounded(raised, q), q, v))
    return (out / rounded(raised.sum(axis=-1), q).swapaxes(1, 2)[..., None]).astype(q.dtype)


def scaled_query(scale: Callable[[int], float], power: float = 1.0) -> Formulation:
    """The query is scaled in its dtype, with a scale in its dtype."""

    def attend(q: Array, k: Array, v: Array, mask: Mask) -> Array:
        factor = rounded(np.asarray(scale(q.shape[3])), q)
        return weigh(oracle.softmax(mask(products(rounded(f32(q) * factor**power, q), k))), q, v)

    return attend


def scaled_both(q: Array, k: Array, v: Array, mask: Mask) -> Array:
    factor = rounded(np.asarray(q.shape[3] ** -0.25), q)
    return weigh(
        oracle.softmax(mask(products(rounded(f32(q) * factor, q), rounded(f32(k) * factor, k)))), q, v
    )


def rounded_products(q: Array, k: Array, v: Array, mask: Mask) -> Array:
    return weigh(oracle.softmax(mask(rounded(products(q, k), q) / f32(math.sqrt(q.shape[3])))), q, v)


def rounded_scores(q: Array, k: Array, v: Array, mask: Mask) -> Array:
    return weigh(oracle.softmax(mask(rounded(scores(q, k), q))), q, v)


def rounded_root(q: Array, k: Array, v: Array, mask: Mask) -> Array:
    return weigh(oracle.softmax(mask(products(q, k) / rounded(np.asarray(math.sqrt(q.shape[3])), q))), q, v)


def rounded_difference(q: Array, k: Array, v: Array, mask: Mask) -> Array:
    given = mask(scores(q, k))
    raised = np.exp(rounded(given - given.max(axis=-1, keepdims=True), q))
    return weigh(raised / raised.sum(axis=-1, keepdims=True), q, v)


def changed(change: Mask) -> Formulation:
    return lambda q, k, v, mask: weigh(oracle.softmax(mask(change(scores(q, k)))), q, v)


def less(maximum: Mask) -> Formulation:
    def attend(q: Array, k: Array, v: Array, mask: Mask) -> Array:
        given = mask(scores(q, k))
        with np.errstate(all="ignore"):
            raised = np.exp(given - maximum(given))
            return weigh(raised / raised.sum(axis=-1, keepdims=True), q, v)

    return attend


def clip(bound: float) -> Mask:
    return lambda scores: np.clip(scores, -bound, bound)


RIGHT: dict[str, Formulation] = {
    "reference": reference,
    "weights cast": weights_cast,
    "sum in half precision": sum_in_half,
    "late division in half precision": late_division_in_half,
}
WRONG_IN_HALF: dict[str, Formulation] = {
    "query / √H": scaled_query(math.sqrt, -1.0),
    "query · H^-½": scaled_query(lambda size: size**-0.5),
    "query and key · H^-¼": scaled_both,
    "products rounded": rounded_products,
    "scores rounded": rounded_scores,
}
WRONG_IN_BFLOAT16: dict[str, Formulation] = {
    "√H rounded": rounded_root,
    "difference to the maximum rounded": rounded_difference,
}
"""In float16, which rounds eight times as finely, these pass."""
WRONG_FOR_EXTREMES: dict[str, Formulation] = {
    **{f"clipped at {bound}": changed(clip(bound)) for bound in (30, 50, 80, 100)},
    "cut off at 80": changed(lambda s: np.minimum(s, 80)),
    "capped at 50": changed(lambda s: f32(50 * np.tanh(s / 50))),
    "no maximum": less(np.zeros_like),
    "one maximum": less(lambda s: s.max(keepdims=True)),
    "a maximum a head": less(lambda s: s.max(axis=(-1, -2), keepdims=True)),
    "a maximum a batch row": less(lambda s: s.max(axis=(1, 2, 3), keepdims=True)),
    "the mean": less(lambda s: s.mean(axis=-1, keepdims=True)),
}
RIGHT_MASKS = (-np.inf, -1e9, -1e4, -1000.0)
WRONG_MASKS = (-100.0, -50.0, -30.0)


def put(seen: Array, low: float) -> Mask:
    return lambda scores: np.where(seen, scores, f32(low))


def add(seen: Array, low: float) -> Mask:
    return lambda scores: scores + np.where(seen, f32(0), f32(low))


def shares(case: Case, attend: Formulation, rounds: tuple[str, ...], mask: Mask | None = None) -> list[float]:
    """The worst share of the limit over `rounds`, in each of DRAWS draws."""
    rng = np.random.default_rng(0)
    seen = oracle.visible(case.sizes[1], case.sizes[2], case.is_causal)
    own = put(seen, -1e30)
    return [max(_shares(case, attend, rounds, mask or own, own, rng)) for _ in range(DRAWS)]


def _shares(
    case: Case, attend: Formulation, rounds: tuple[str, ...], mask: Mask, own: Mask, rng: np.random.Generator
) -> Iterator[float]:
    for name in rounds:
        given = case.draw(rng, name)
        query, key, value = given
        right = (reference(query, key, value, own),)
        assert case.usable(given, right)
        [found] = case._comparisons(given, (attend(query, key, value, mask),), right)
        yield found.error / found.limit


HALVES = [*naive.HALVES, *grouped.HALVES, *(case for case in causal.CASES if case.dtype != "float32")]
FIRST = [case for case in HALVES if case.sizes[-1] == 12]
"""The cases whose √H is no power of two."""


@pytest.mark.parametrize("case", HALVES, ids=lambda case: case.key)
@pytest.mark.parametrize("name", RIGHT)
def test_right_formulations_in_half_precision_are_clearly_right(name: str, case: Case) -> None:
    assert max(shares(case, RIGHT[name], case.rounds)) < RIGHT_SIDE


@pytest.mark.parametrize("case", FIRST, ids=lambda case: case.key)
@pytest.mark.parametrize("name", [*WRONG_IN_HALF, *WRONG_IN_BFLOAT16])
def test_half_precision_before_the_end_is_clearly_wrong(name: str, case: Case) -> None:
    found = shares(case, {**WRONG_IN_HALF, **WRONG_IN_BFLOAT16}[name], case.rounds)
    if name in WRONG_IN_BFLOAT16 and case.dtype == "float16":
        assert max(found) < RIGHT_SIDE
    else:
        assert min(found) > WRONG_SIDE


@pytest.mark.parametrize("case", [naive.FLOAT32[0], grouped.FLOAT32[0]], ids=lambda case: case.key)
@pytest.mark.parametrize("name", ["reference", *WRONG_FOR_EXTREMES])
def test_shortcuts_for_large_scores_are_clearly_wrong(name: str, case: Case) -> None:
    if name == "reference":
        assert max(shares(case, reference, (*COMMON, *EXTREME))) < RIGHT_SIDE
    else:
        assert min(shares(case, WRONG_FOR_EXTREMES[name], EXTREME)) > WRONG_SIDE


@pytest.mark.parametrize("case", causal.CASES[:3], ids=lambda case: case.key)
@pytest.mark.parametrize("low", [*RIGHT_MASKS, *WRONG_MASKS])
@pytest.mark.parametrize("added", [False, True])
def test_a_mask_that_is_too_weak_is_clearly_wrong(case: Case, low: float, added: bool) -> None:
    seen = oracle.visible(case.sizes[1], case.sizes[2], is_causal=True)
    found = shares(case, reference, case.rounds, (add if added else put)(seen, low))
    if low in RIGHT_MASKS:
        assert max(found) < RIGHT_SIDE
    else:
        assert min(found) > WRONG_SIDE


def test_float16_is_asked_about_no_value_beyond_its_range() -> None:
    largest = np.finfo(DTYPES["float16"]).max
    for case in HALVES:
        if case.dtype == "float16":
            for name in case.rounds:
                given = case.draw(np.random.default_rng(1), name)
                assert all(np.abs(f32(array)).max() < largest for array in given)
