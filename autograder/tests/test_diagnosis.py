"""Each mistake, made in float32 as a learner makes it, gets its name; right answers get none."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from autograder import inputs, oracle
from autograder.arrays import DTYPES, Array, Spec
from autograder.diagnosis import Diagnosis, explain, explain_scale, locate
from autograder.exercises.grouped import miscounted
from autograder.gradient_diagnosis import explain_gradient
from autograder.mistakes import MISTAKES
from autograder.tests.formulations import RIGHT, combine32, f32, hidden, naive, per_head, scores32

Wrong = Callable[[Array, Array, Array, bool], Array]
LIMIT = {"float32": 5e-6, "bfloat16": 1e-2}
SHAPES = ((3, 6, 4, 10), (3, 11, 2, 10))


def drawn(seed: int, dtype: str = "float32", shapes: tuple[tuple[int, ...], ...] = SHAPES) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s).astype(DTYPES[dtype]) for s in (shapes[0], shapes[1], shapes[1])]


def large(distribution: str, dtype: str = "float32", seed: int = 0) -> tuple[Array, Array, Array]:
    query, key = Spec((2, 7, 4, 12), dtype), Spec((2, 9, 2, 12), dtype)
    return inputs.draw(np.random.default_rng(seed), query, key, key, distribution)


def seen(query: Array, key: Array, causal: bool) -> Array:
    mask = np.tril(np.ones((query.shape[1], key.shape[1]), bool))
    return mask if causal else np.ones_like(mask)


def scaled(divisor: Callable[[Array, Array], float]) -> Wrong:
    def attend(q: Array, k: Array, v: Array, causal: bool) -> Array:
        products = np.einsum("btnh,bsnh->bnts", f32(q), per_head(k, q))
        scores = hidden(products / f32(divisor(q, k)), seen(q, k, causal))
        return combine32(oracle.softmax(scores), v, q)

    return attend


def softmax_over(axis: int) -> Wrong:
    return lambda q, k, v, c: combine32(oracle.softmax(hidden(scores32(q, k), seen(q, k, c)), axis), v, q)


def mask_of(make: Callable[[int, int], Array], low: float = -1e30) -> Wrong:
    """Another mask in place of the causal one; nothing to get wrong without a mask."""

    def attend(q: Array, k: Array, v: Array, causal: bool) -> Array:
        mask = make(q.shape[1], k.shape[1])
        with np.errstate(invalid="ignore"):
            weights = oracle.softmax(np.where(mask, scores32(q, k), f32(low)))
        return combine32(weights, v, q)

    return attend


def no_softmax(q: Array, k: Array, v: Array, causal: bool) -> Array:
    return combine32(scores32(q, k) * f32(seen(q, k, causal)), v, q)


def unnormalised(q: Array, k: Array, v: Array, causal: bool) -> Array:
    scores = hidden(scores32(q, k), seen(q, k, causal))
    return combine32(np.exp(scores - scores.max(axis=-1, keepdims=True)), v, q)


def best_key(q: Array, k: Array, v: Array, causal: bool) -> Array:
    scores = hidden(scores32(q, k), seen(q, k, causal))
    return combine32(f32(scores == scores.max(axis=-1, keepdims=True)), v, q)


def swapped_in(pick: Callable[[Array, Array, Array], tuple[Array, Array, Array]]) -> Wrong:
    return lambda q, k, v, c: naive(*pick(q, k, v), seen(q, k, c))


def mixed(array: Array) -> Array:
    b, s, n, h = array.shape
    return array.reshape(b, n, s, h).transpose(0, 2, 1, 3)


def all_mixed(q: Array, k: Array, v: Array, causal: bool) -> Array:
    out = naive(mixed(q), mixed(k), mixed(v), seen(q, k, causal))
    return out.transpose(0, 2, 1, 3).reshape(q.shape)


def right(q: Array, k: Array, v: Array, causal: bool) -> Array:
    return naive(q, k, v, seen(q, k, causal))


def after_softmax(q: Array, k: Array, v: Array, causal: bool) -> Array:
    return combine32(oracle.softmax(scores32(q, k)) * f32(seen(q, k, causal)), v, q)


def zero_scores(q: Array, k: Array, v: Array, causal: bool) -> Array:
    return combine32(oracle.softmax(scores32(q, k) * f32(seen(q, k, causal))), v, q)


def heads_of(pick: Callable[[int, int, int], int]) -> Wrong:
    def attend(q: Array, k: Array, v: Array, causal: bool) -> Array:
        heads, shared = q.shape[2], k.shape[2]
        used = [pick(n, heads, shared) for n in range(heads)]
        return naive(q, k[:, :, used], v[:, :, used], seen(q, k, causal))

    return attend


def heads_exchanged(q: Array, k: Array, v: Array, causal: bool) -> Array:
    """The groups of heads of the output come out as (G, K)."""
    b, t, n, h = q.shape
    out = right(q, k, v, causal).reshape(b, t, k.shape[2], n // k.shape[2], h)
    return out.transpose(0, 1, 3, 2, 4).reshape(q.shape)


def mean(q: Array, k: Array, v: Array, causal: bool) -> Array:
    weights = f32(seen(q, k, causal))
    weights = np.broadcast_to(weights / weights.sum(axis=-1, keepdims=True), scores32(q, k).shape)
    return combine32(weights, v, q)


def mean_of_all(q: Array, k: Array, v: Array, causal: bool) -> Array:
    averages = per_head(v, q).mean(axis=1, keepdims=True)
    return np.broadcast_to(averages, q.shape).astype(q.dtype)


def rounded_scores(q: Array, k: Array, v: Array, causal: bool) -> Array:
    scores = f32(scores32(q, k).astype(q.dtype))
    return combine32(oracle.softmax(hidden(scores, seen(q, k, causal))), v, q)


def rounded_softmax(q: Array, k: Array, v: Array, causal: bool) -> Array:
    """All in the inputs' dtype, as NumPy computes in it."""
    products = np.einsum("btnh,bsnh->bnts", f32(q), per_head(k, q)).astype(q.dtype)
    scores = np.where(
        seen(q, k, causal), products / np.asarray(math.sqrt(q.shape[3]), q.dtype), q.dtype.type(-1e4)
    )
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = raised / f32(raised).sum(axis=-1, keepdims=True).astype(q.dtype)
    return combine32(f32(weights), v, q)


def rounded_query(q: Array, k: Array, v: Array, causal: bool) -> Array:
    root = f32(np.asarray(math.sqrt(q.shape[3]), q.dtype))
    query = f32((f32(q) / root).astype(q.dtype)) * f32(math.sqrt(q.shape[3]))
    scores = hidden(scores32(query, k), seen(q, k, causal))
    return combine32(oracle.softmax(scores), v, q)


def changed(change: Callable[[Array], Array]) -> Wrong:
    """Scores that are changed before the softmax."""

    def attend(q: Array, k: Array, v: Array, causal: bool) -> Array:
        return combine32(oracle.softmax(hidden(change(scores32(q, k)), seen(q, k, causal))), v, q)

    return attend


def less(maximum: Callable[[Array], Array]) -> Wrong:
    """Exponentials of scores less a maximum."""

    def attend(q: Array, k: Array, v: Array, causal: bool) -> Array:
        scores = np.where(seen(q, k, causal), scores32(q, k), f32(-np.inf))
        with np.errstate(all="ignore"):
            raised = np.exp(scores - maximum(scores))
            return combine32(raised / raised.sum(axis=-1, keepdims=True), v, q)

    return attend


def at_least(distance: int) -> Callable[[int, int], Array]:
    return lambda t, s: np.triu(np.ones((t, s), bool), distance)


def at_most(distance: int) -> Callable[[int, int], Array]:
    return lambda t, s: np.tril(np.ones((t, s), bool), distance)


EITHER: dict[str, Wrong] = {
    "no scale": scaled(lambda q, k: 1),
    "scaled by H": scaled(lambda q, k: q.shape[3]),
    "scale inverted": scaled(lambda q, k: q.shape[3] ** -0.5),
    "scaled by √N": scaled(lambda q, k: math.sqrt(q.shape[2])),
    "scaled by √T": scaled(lambda q, k: math.sqrt(q.shape[1])),
    "scaled by √S": scaled(lambda q, k: math.sqrt(k.shape[1])),
    "scaled by √(N·H)": scaled(lambda q, k: math.sqrt(q.shape[2] * q.shape[3])),
    "softmax over queries": softmax_over(2),
    "softmax over heads": softmax_over(1),
    "softmax over the batch": softmax_over(0),
    "no softmax": no_softmax,
    "weights not normalised": unnormalised,
    "best key only": best_key,
    "keys and values exchanged": swapped_in(lambda q, k, v: (q, v, k)),
    "keys in place of values": swapped_in(lambda q, k, v: (q, k, k)),
    "values in place of keys": swapped_in(lambda q, k, v: (q, v, v)),
    "value heads mixed with positions": swapped_in(lambda q, k, v: (q, k, mixed(v))),
    "heads mixed with positions": all_mixed,
    "output heads mixed with positions": lambda q, k, v, c: (
        right(q, k, v, c).transpose(0, 2, 1, 3).reshape(q.shape)
    ),
    "output in layout BNTH": lambda q, k, v, c: right(q, k, v, c).transpose(0, 2, 1, 3),
    "head n uses n % K": heads_of(lambda n, heads, shared: n % shared),
    "output heads exchanged": heads_exchanged,
    "all heads share one": heads_of(lambda n, heads, shared: 0),
    "mean of the values": mean,
    "all zeros": lambda q, k, v, c: np.zeros_like(q),
}
CAUSAL: dict[str, Wrong] = {
    "mask missing": lambda q, k, v, c: right(q, k, v, False),
    "mask hides the diagonal": mask_of(at_most(-1)),
    "mask one too wide": mask_of(at_most(1)),
    "mask aligned bottom-right": mask_of(lambda t, s: at_most(s - t)(t, s)),
    "mask transposed": mask_of(at_least(0)),
    "mask the wrong way round": mask_of(at_least(1)),
    "mask after the softmax": after_softmax,
    "mask sets scores to zero": zero_scores,
    "mean of all values": mean_of_all,
}
FULL: dict[str, Wrong] = {"causal where it should be full": lambda q, k, v, c: right(q, k, v, True)}
HALF: dict[str, Wrong] = {
    "scores in half precision": rounded_scores,
    "softmax in half precision": rounded_softmax,
}
LARGE: dict[str, Wrong] = {
    "scores clipped": changed(lambda scores: np.clip(scores, -30, 30)),
    "scores capped": changed(lambda scores: f32(20 * np.tanh(scores / 20))),
}
ROUNDED: dict[str, Wrong] = {
    "scores in half precision": rounded_scores,
    "query in half precision": rounded_query,
}
CASES = [(name, wrong, causal) for causal in (False, True) for name, wrong in EITHER.items()]
CASES += [(name, wrong, True) for name, wrong in CAUSAL.items()]
CASES += [(name, wrong, False) for name, wrong in FULL.items()]


def name_of(diagnosis: Diagnosis | None) -> str | None:
    return None if diagnosis is None else diagnosis.name


def test_every_mistake_is_tested() -> None:
    assert {m.name for m in MISTAKES} == {*EITHER, *CAUSAL, *FULL, *LARGE, *ROUNDED}


def test_every_mistake_says_what_to_do() -> None:
    assert all(m.sentence.endswith(".") and len(m.next_step) > 20 for m in MISTAKES)


@pytest.mark.parametrize(("name", "wrong", "causal"), CASES)
@pytest.mark.parametrize("dtype", LIMIT)
def test_a_mistake_gets_its_name(name: str, wrong: Wrong, causal: bool, dtype: str) -> None:
    for seed in range(3):
        query, key, value = drawn(seed, dtype)
        out = wrong(query, key, value, causal)
        found = explain(out, query, key, value, is_causal=causal, limit=LIMIT[dtype])
        assert name_of(found) == name


@pytest.mark.parametrize("name", ["mask aligned bottom-right", "mask transposed"])
def test_longer_queries_than_keys_leave_rows_open(name: str) -> None:
    query, key, value = drawn(0, shapes=((2, 9, 2, 8), (2, 5, 2, 8)))
    for low in (-1e30, -np.inf):
        mask = at_least(0) if name == "mask transposed" else at_most(-4)
        out = mask_of(mask, low)(query, key, value, True)
        assert name_of(explain(out, query, key, value, is_causal=True, limit=5e-6)) == name


def test_a_mask_that_hides_the_diagonal_may_give_nan_in_the_first_row() -> None:
    query, key, value = drawn(0)
    out = mask_of(at_most(-1), -np.inf)(query, key, value, True)
    assert np.isnan(out[:, 0]).all()
    assert name_of(explain(out, query, key, value, is_causal=True, limit=5e-6)) == "mask hides the diagonal"


@pytest.mark.parametrize("low", [-1e9, -np.inf])
def test_a_mask_the_wrong_way_round_leaves_the_last_rows_open(low: float) -> None:
    for shapes in (((2, 9, 2, 8), (2, 9, 2, 8)), ((2, 9, 2, 8), (2, 5, 2, 8)), SHAPES):
        query, key, value = drawn(0, shapes=shapes)
        out = mask_of(at_least(1), low)(query, key, value, True)
        found = explain(out, query, key, value, is_causal=True, limit=5e-6)
        assert name_of(found) == "mask the wrong way round"


@pytest.mark.parametrize(("name", "wrong"), HALF.items())
def test_half_precision_is_named_in_half_precision(name: str, wrong: Wrong) -> None:
    """By its numbers where only the scores are rounded, by the size of the error where more is."""
    names = []
    for seed in range(10):
        query, key, value = drawn(seed, "bfloat16")
        query = (f32(query) * 12).astype(query.dtype)
        out = wrong(query, key, value, True)
        names.append(name_of(explain(out, query, key, value, is_causal=True, limit=1e-2)))
    assert names.count(name) >= 7
    assert set(names) <= {name, None, "scores in half precision", "query in half precision"}


def test_an_error_beyond_rounding_is_not_called_rounding() -> None:
    query, key, value = drawn(0, "bfloat16")
    out = right(query, key, value, False)
    out[:, :, 2] *= out.dtype.type(1.5)
    assert name_of(explain(out, query, key, value, limit=1e-2)) == "off in one head"


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", LIMIT)
def test_right_answers_get_no_diagnosis(dtype: str, causal: bool) -> None:
    for seed in range(3):
        query, key, value = drawn(seed, dtype)
        for attention in RIGHT.values():
            out = attention(query, key, value, seen(query, key, causal))
            assert explain(out, query, key, value, is_causal=causal, limit=LIMIT[dtype]) is None


def test_noise_gets_no_diagnosis() -> None:
    query, key, value = drawn(0)
    noise = drawn(1)[0]
    for causal in (False, True):
        assert explain(noise, query, key, value, is_causal=causal, limit=5e-6) is None


def test_a_mistake_that_changes_nothing_here_is_not_named() -> None:
    """One position, one key, one head: most mistakes are right here, and noise is like none."""
    query, key, value = drawn(0, shapes=((1, 1, 1, 4), (1, 1, 1, 4)))
    assert explain(value * f32(0.3), query, key, value, is_causal=True, limit=5e-6) is None
    assert explain(value, query, key, value, is_causal=True, limit=5e-6) is None


@pytest.mark.parametrize("shift", [150, -150])
def test_overflow_without_a_maximum_is_named(shift: float) -> None:
    query, key, value = drawn(0)
    query[0, :3, 1, 0], key[..., 0] = shift, math.sqrt(10)
    with np.errstate(all="ignore"):
        raised = np.where(seen(query, key, True), np.exp(scores32(query, key)), f32(0))
        out = combine32(raised / raised.sum(axis=-1, keepdims=True), value, query)
    found = explain(out, query, key, value, is_causal=True, limit=5e-6)
    assert name_of(found) == "no maximum subtracted"
    out[1, 4, 3] = np.nan
    assert name_of(explain(out, query, key, value, is_causal=True, limit=5e-6)) != "no maximum subtracted"


@pytest.mark.parametrize(("name", "wrong"), LARGE.items())
def test_what_changes_large_scores_is_named(name: str, wrong: Wrong) -> None:
    for causal in (False, True):
        query, key, value = large("large")
        found = explain(wrong(query, key, value, causal), query, key, value, is_causal=causal, limit=5e-6)
        assert name_of(found) == name and found is not None and "own maximum" in found.next_step


@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (1, 2, 3), (2, 3), (1, 3)])
def test_a_maximum_that_is_not_the_rows_own_is_named(axes: tuple[int, ...]) -> None:
    query, key, value = large("shifted")
    out = less(lambda scores: scores.max(axes, keepdims=True))(query, key, value, False)
    assert name_of(explain(out, query, key, value, limit=5e-6)) == "one maximum for many rows"


def test_a_query_that_is_scaled_in_half_precision_is_named() -> None:
    for seed in range(5):
        query, key, value = large("rivals", "bfloat16", seed)
        out = rounded_query(query, key, value, False)
        assert name_of(explain(out, query, key, value, limit=1e-2)) == "query in half precision"


@pytest.mark.parametrize("divisor", [8.0, 5.5, 2.5])
def test_another_divisor_of_the_scores_is_told(divisor: float) -> None:
    query, key, value = drawn(0)
    out = scaled(lambda q, k: divisor)(query, key, value, False)
    found = explain(out, query, key, value, limit=5e-6)
    assert found is not None
    assert found.sentence == f"The scores are divided by {divisor:g}; √H is 3.162 here."


def test_weights_that_do_not_add_up_to_one_are_told() -> None:
    query, key, value = drawn(0)
    raised = np.exp(scores32(query, key) - scores32(query, key).max(axis=-1, keepdims=True))
    out = combine32(raised / (raised.sum(axis=-1, keepdims=True) + f32(1e-2)), value, query)
    found = explain(out, query, key, value, limit=5e-6)
    assert name_of(found) == "weights do not add up to 1"
    assert found is not None and "less than 1" in found.sentence


def test_errors_in_the_rows_of_large_scores_are_told_by_the_scores() -> None:
    query, key, value = large("large")
    largest = np.abs(oracle.scores(query, key)).max(axis=-1).swapaxes(1, 2)
    out = right(query, key, value, False)
    out[largest > np.median(largest)] += f32(1)
    found = explain(out, query, key, value, limit=5e-6)
    assert name_of(found) == "off for large scores"


def test_nan_everywhere_under_a_mask_is_told_as_zero_times_infinity() -> None:
    query, key, value = drawn(0)
    out = right(query, key, value, True) * f32(np.nan)
    assert name_of(explain(out, query, key, value, is_causal=True, limit=5e-6)) == "zero times infinity"
    assert explain(out, query, key, value, limit=5e-6) is None


def test_another_shape_is_named_where_it_is_a_layout() -> None:
    query, key, value = drawn(0)
    out = right(query, key, value, True).swapaxes(1, 2)
    found = explain(out, query, key, value, is_causal=True, limit=5e-6)
    assert found is not None and found.name == "output in layout BNTH" and "otherwise right" in found.sentence
    off = explain(out * 2, query, key, value, is_causal=True, limit=5e-6)
    assert off is not None and "otherwise right" not in off.sentence
    assert explain(out[..., :3], query, key, value, is_causal=True, limit=5e-6) is None


WHERE: list[tuple[tuple[object, ...], str, str]] = [
    ((slice(None), slice(None), 1), "off in one head", "Head 1 is off, heads 0, 2 and 3 right."),
    ((slice(None), -1), "off in the last position", "Position 5 is off, positions 0 to 4 right."),
    ((slice(None), 0), "off in the first position", "Position 0 is off, positions 1 to 5 right."),
    ((2,), "off in the last batch row", "Batch row 2 is off, batch rows 0 and 1 right."),
    (
        (slice(None), slice(2, 5)),
        "off in some positions",
        "Positions 2 to 4 are off, positions 0, 1 and 5 right.",
    ),
    (
        (1, slice(None), slice(2, 4)),
        "off in one batch row and some heads",
        "Batch row 1 is off, batch rows 0 and 2 right; heads 2 and 3 are off, heads 0 and 1 right.",
    ),
]


@pytest.mark.parametrize(("where", "name", "sentence"), WHERE)
def test_an_error_in_one_place_is_located(where: tuple[object, ...], name: str, sentence: str) -> None:
    query, key, value = drawn(0)
    out = right(query, key, value, False)
    out[where] += f32(0.3)  # type: ignore[index]
    found = explain(out, query, key, value, limit=5e-6)
    assert found is not None and (found.name, found.sentence) == (name, sentence)


def test_an_error_that_is_scattered_in_its_place_says_so() -> None:
    places = np.ones((2, 4, 3), bool)
    places[0, 1, 2] = places[0, 2, 0] = False
    found = locate(places)
    assert found is not None and found.sentence.endswith("and there not everywhere.")
    assert not found.next_step
    assert locate(np.zeros((2, 4, 3), bool)) is None
    assert locate(np.ones((2, 4, 3), bool)) is None


def gradient_case() -> tuple[list[Array], Array, list[Array]]:
    query, key, value = drawn(0)
    cotangent = drawn(1)[0]
    found = oracle.gradients(query, key, value, cotangent, is_causal=True)
    return [query, key, value], cotangent, [f32(x) for x in found]


def of_gradient(out: Array, place: int) -> Diagnosis | None:
    given, cotangent, _ = gradient_case()
    return explain_gradient(out, place, given, cotangent, is_causal=True, limit=5e-6)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    ("factor", "name", "words"),
    [
        (0.0, "gradient is zero", "exactly zero"),
        (math.sqrt(10), "gradient off by a factor", "factor of √H"),
        (1 / math.sqrt(10), "gradient off by a factor", "factor of 1/√H"),
        (-1.0, "gradient off by a factor", "factor of -1"),
        (2.5, "gradient off by a factor", "factor of 2.5"),
        (1.0, None, ""),
    ],
)
def test_a_wrong_gradient_gets_its_name(place: int, factor: float, name: str | None, words: str) -> None:
    _, _, wants = gradient_case()
    which = ("query", "key", "value")[place]
    found = of_gradient(wants[place] * f32(factor), place)
    assert name_of(found) == name
    if found is not None:
        assert which in found.sentence and words in found.sentence


def test_gradients_of_a_wrong_backward_rule_get_their_name() -> None:
    (query, key, value), cotangent, wants = gradient_case()
    assert name_of(of_gradient(wants[2], 1)) == name_of(of_gradient(wants[1], 2)) == "gradients exchanged"
    uncentred = oracle.gradients(query, key, value, cotangent, is_causal=True, centred=False)
    assert [name_of(of_gradient(f32(uncentred[place]), place)) for place in range(3)] == [
        "softmax term missing",
        "softmax term missing",
        None,
    ]


def test_a_factor_close_to_one_is_rounding() -> None:
    given, cotangent, wants = gradient_case()
    query, key, value = (array.astype(DTYPES["bfloat16"]) for array in given)
    want = oracle.gradients(query, key, value, cotangent, is_causal=True)[0]
    out = (want * 1.001).astype(DTYPES["bfloat16"])
    found = explain_gradient(out, 0, (query, key, value), cotangent, is_causal=True, limit=1e-5)
    assert name_of(found) == "gradient in half precision"
    assert of_gradient(wants[0] * f32(1.001), 0) is None


def test_a_gradient_of_noise_gets_no_diagnosis() -> None:
    noise = drawn(5)[0]
    for out in (noise, noise[:1], noise * np.nan):
        assert of_gradient(out, 0) is None


HISTORY = np.array([3.0, 7.0, 2.0, 5.0], np.float32)


@pytest.mark.parametrize(
    ("got", "margin", "name"),
    [
        (448 / 7 / 4, 2, None),
        (7 / 448 * 4, 2, "scale is the reciprocal"),
        (448 / 7 * 4, 2, "margin of the wrong sign"),
        (448 / 7, 2, "margin ignored"),
        (448 / 7 / 3, 3, "margin not a power"),
        (448 / 2 / 4, 2, "smallest amax"),
        (448 / 5 / 4, 2, "last amax"),
        (448 / 3 / 4, 2, "first amax"),
        (448 / 4.25 / 4, 2, "mean amax"),
        (448 / 7 / 4 * 1.7, 2, "old scale multiplied"),
        (1.7, 2, "old scale kept"),
        (12.3, 2, None),
        (math.nan, 2, None),
    ],
)
def test_a_wrong_scale_gets_its_name(got: float, margin: int, name: str | None) -> None:
    assert name_of(explain_scale(float(np.float32(got)), HISTORY, 1.7, margin=margin)) == name


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, 1e-44])
def test_an_amax_that_gives_no_scale_keeps_the_old_one(bad: float) -> None:
    history = np.full(3, bad, np.float32)
    assert explain_scale(1.7, history, 1.7) is None
    assert name_of(explain_scale(math.inf, history, 1.7)) == "old scale not kept"
    assert name_of(explain_scale(math.nan, history, 1.7)) == "old scale not kept"


@pytest.mark.parametrize(
    ("came", "itemsize", "words"),
    [
        (800, 4, "K or V alone is counted, or two bytes an element"),
        (400, 4, "The dtype's bytes are not counted."),
        (800, 2, "K or V alone is counted, or the dtype's bytes are not counted."),
        (1600.0, 2, ""),
        (3200, 1, "Two bytes an element are counted"),
    ],
)
def test_a_wrong_cache_size_names_every_mistake_that_gives_it(came: float, itemsize: int, words: str) -> None:
    assert miscounted(came, 1600, itemsize).startswith(words)


def test_a_cache_size_of_no_known_mistake_gets_no_diagnosis() -> None:
    assert miscounted(1601, 1600, 2) == ""


def test_a_count_that_overflows_32_bits() -> None:
    right = 3 * 2**31 + 5
    for itemsize in (1, 2, 4):
        assert miscounted(-(2**31) + 5, right, itemsize).startswith("The product overflows 32 bits")
