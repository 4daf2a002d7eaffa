"""Each distribution is there for a shortcut: the shortcut fails in it, right answers pass in all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autograder import inputs, oracle, tolerance
from autograder.arrays import Array, Spec
from autograder.tests import formulations
from autograder.tests.formulations import combine32, f32, per_head, scores32

Shortcut = Callable[[Array, Array, Array], Array]
SIZES = [((2, 12, 4, 16), (2, 33, 2, 16)), ((1, 5, 2, 8), (1, 12, 2, 8))]
TINY = [((1, 1, 1, 1), (1, 1, 1, 1)), ((2, 1, 3, 5), (2, 7, 1, 5)), ((1, 7, 2, 1), (1, 3, 2, 1))]
SEEDS = range(5)


def draw(seed: int, sizes: tuple[tuple[int, ...], tuple[int, ...]], name: str, dtype: str) -> inputs.Draw:
    query, key = (Spec(shape, dtype) for shape in sizes)
    return inputs.draw(np.random.default_rng([seed, len(name)]), query, key, key, name)


def judge(out: Array, drawn: inputs.Draw) -> tolerance.Comparison | None:
    """None where the inputs are to be drawn again."""
    query, key, value = drawn
    everything = oracle.visible(query.shape[1], key.shape[1])
    reference = formulations.naive(*drawn, everything)
    comparison = tolerance.compare(
        out,
        oracle.attention(query, key, value),
        reference,
        oracle.max_score(query, key),
        dtype=query.dtype.name,
        spread=oracle.spread(query, key, value),
    )
    return comparison if tolerance.usable(comparison.limit, query.dtype.name) else None


def clipped(query: Array, key: Array, value: Array) -> Array:
    return combine32(oracle.softmax(np.clip(scores32(query, key), -30, 30)), value, query)


def no_maximum(query: Array, key: Array, value: Array) -> Array:
    with np.errstate(all="ignore"):
        raised = np.exp(scores32(query, key))
        return combine32(raised / raised.sum(axis=-1, keepdims=True), value, query)


def one_maximum(query: Array, key: Array, value: Array) -> Array:
    with np.errstate(all="ignore"):
        scores = scores32(query, key)
        raised = np.exp(scores - scores.max())
        return combine32(raised / raised.sum(axis=-1, keepdims=True), value, query)


def mean_where_flat(query: Array, key: Array, value: Array) -> Array:
    scores = scores32(query, key)
    flat = np.ptp(scores, axis=-1, keepdims=True) < 0.02
    return combine32(np.where(flat, f32(1 / key.shape[1]), oracle.softmax(scores)), value, query)


def local(query: Array, key: Array, value: Array) -> Array:
    seen = oracle.visible(query.shape[1], key.shape[1], window=(4, None))
    return formulations.naive(query, key, value, seen)


def best_key(query: Array, key: Array, value: Array) -> Array:
    scores = scores32(query, key)
    return combine32(f32(scores == scores.max(axis=-1, keepdims=True)), value, query)


def first_best_key(query: Array, key: Array, value: Array) -> Array:
    chosen = np.argmax(scores32(query, key), axis=-1)
    return combine32(f32(chosen[..., None] == np.arange(key.shape[1])), value, query)


def small_dropped(query: Array, key: Array, value: Array) -> Array:
    weights = oracle.softmax(scores32(query, key))
    return combine32(np.where(weights < 1e-3, f32(0), weights), value, query)


def smoothed(query: Array, key: Array, value: Array) -> Array:
    raised = np.exp(scores32(query, key) - scores32(query, key).max(axis=-1, keepdims=True)) + f32(1e-4)
    return combine32(raised / raised.sum(axis=-1, keepdims=True), value, query)


def one_scale_for_values(query: Array, key: Array, value: Array) -> Array:
    """Values in 8 bits with one scale for all heads and positions."""
    step = np.abs(value).max() / 127
    everything = oracle.visible(query.shape[1], key.shape[1])
    return formulations.naive(query, key, np.round(value / step) * step, everything)


CATCHES: list[tuple[Shortcut, str]] = [
    (clipped, "shifted"),
    (no_maximum, "shifted"),
    (one_maximum, "shifted"),
    (one_maximum, "mixed_heads"),
    (mean_where_flat, "flat"),
    (local, "needle"),
    (best_key, "near_ties"),
    (first_best_key, "constant"),
    (small_dropped, "outlier_v"),
    (smoothed, "dominant"),
    (one_scale_for_values, "mixed_heads"),
]


@pytest.mark.parametrize(("shortcut", "name"), CATCHES)
def test_a_shortcut_fails_in_the_distribution_that_is_for_it(shortcut: Shortcut, name: str) -> None:
    """In float32, in most draws: a check makes several."""
    verdicts = []
    for seed in range(20):
        drawn = draw(seed, SIZES[0], name, "float32")
        verdicts.append(judge(shortcut(*drawn), drawn))
    usable = [verdict for verdict in verdicts if verdict is not None]
    assert len(usable) == len(verdicts)
    assert sum(not verdict.ok for verdict in usable) >= 12


@pytest.mark.parametrize("shortcut", [clipped, no_maximum])
def test_large_scores_catch_what_normal_ones_pass(shortcut: Shortcut) -> None:
    drawn = draw(0, SIZES[0], "normal", "float32")
    passed = judge(shortcut(*drawn), drawn)
    assert passed is not None and passed.ok
    for seed in range(20):
        drawn = draw(seed, SIZES[0], "large", "float32")
        verdict = judge(shortcut(*drawn), drawn)
        assert verdict is not None and not verdict.ok


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", inputs.CHANGES)
def test_right_answers_pass_and_fit_the_spec(name: str, dtype: str) -> None:
    if (name, dtype) == ("far_outlier", "float16"):
        return  # its values are beyond float16
    for sizes in SIZES + TINY:
        for seed in SEEDS:
            drawn = draw(seed, sizes, name, dtype)
            assert [Spec.of(x) for x in drawn] == [Spec(s, dtype) for s in (sizes[0], sizes[1], sizes[1])]
            assert all(np.all(np.isfinite(x.astype(np.float64))) for x in drawn)
            everything = oracle.visible(sizes[0][1], sizes[1][1])
            for attention in formulations.RIGHT.values():
                verdict = judge(attention(*drawn, everything), drawn)
                assert verdict is None or verdict.ok, verdict


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_distributions_are_mostly_usable(dtype: str) -> None:
    """In half precision large and shifted are not: rounded scores err on them by more than a useful limit.

    Rivals are for half precision.
    """
    left_out = {
        "float32": ("rivals",),
        "bfloat16": ("large", "shifted"),
        "float16": ("large", "shifted", "far_outlier"),
    }
    for name in inputs.CHANGES.keys() - left_out[dtype]:
        usable = 0
        for seed in range(20):
            drawn = draw(seed, SIZES[0], name, dtype)
            everything = oracle.visible(drawn[0].shape[1], drawn[1].shape[1])
            usable += judge(formulations.naive(*drawn, everything), drawn) is not None
        assert usable == 20, (name, usable)


def test_half_precision_scores_err_beyond_use_in_large_and_shifted_inputs() -> None:
    """What the library's own rounding does where scores pass through bfloat16: the reason for the lists."""
    for name in ("large", "shifted"):
        query, key, value = drawn = draw(1, SIZES[0], name, "bfloat16")
        rounded = scores32(query, key).astype(query.dtype)
        out = combine32(oracle.softmax(f32(rounded)), value, query)
        verdict = judge(out, drawn)
        assert verdict is None or verdict.error > tolerance.USABLE["bfloat16"]


def test_the_same_generator_state_draws_the_same_inputs() -> None:
    one, two = (draw(3, SIZES[0], "mixed_heads", "float32") for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    other = draw(4, SIZES[0], "mixed_heads", "float32")
    assert not np.array_equal(one[0], other[0])


def test_an_unknown_distribution_is_an_error() -> None:
    with pytest.raises(KeyError):
        draw(0, SIZES[0], "uniform", "float32")


def test_grouped_heads_share_the_drawn_keys() -> None:
    query, key, _ = draw(0, SIZES[0], "needle", "float32")
    weights = oracle.softmax(oracle.scores(query, key))
    assert np.median(weights[..., 0]) > 0.3
    assert per_head(key, query).shape[2] == query.shape[2]
