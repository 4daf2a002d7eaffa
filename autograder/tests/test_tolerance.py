"""Right answers pass whatever their style and the inputs; wrong ones fail, however small they hide."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from autograder import oracle, tolerance
from autograder.arrays import DTYPES, Array
from autograder.exercises.attention import Case
from autograder.tests.formulations import RIGHT, f32, naive, per_head, scores32
from autograder.tolerance import Comparison, compare

SHAPES = [((2, 9, 4, 16), (2, 13, 2, 16)), ((1, 6, 2, 1), (1, 5, 2, 1)), ((1, 1, 1, 64), (1, 40, 1, 64))]
STDS = [1, 3, 10, 30, 100, 300]


def drawn(shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: str, std: float, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    root = math.sqrt(std)
    sizes = (root, root, 1.0)
    shape = (shapes[0], shapes[1], shapes[1])
    return [(rng.standard_normal(s) * a).astype(DTYPES[dtype]) for s, a in zip(shape, sizes, strict=True)]


def trial(shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: str, std: float, seed: int) -> list[float]:
    """Every style against every style as the reference: the shares of the limit."""
    query, key, value = drawn(shapes, dtype, std, seed)
    shares = []
    for is_causal in (False, True):
        seen = oracle.visible(shapes[0][1], shapes[1][1], is_causal)
        want = oracle.attention(query, key, value, is_causal=is_causal)
        spread = oracle.spread(query, key, value, is_causal=is_causal)
        top = oracle.max_score(query, key, is_causal=is_causal)
        outs = [attention(query, key, value, seen) for attention in RIGHT.values()]
        for out, reference in itertools.permutations(outs, 2):
            verdict = compare(out, want, reference, top, dtype=dtype, spread=spread)
            shares.append(verdict.error / verdict.limit)
    return shares


@pytest.mark.parametrize("std", STDS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_no_right_formulation_fails(dtype: str, std: float) -> None:
    shares = [x for shapes in SHAPES for seed in range(3) for x in trial(shapes, dtype, std, seed)]
    assert max(shares) < 0.9


def gradients32(query: Array, key: Array, value: Array, cotangent: Array, seen: Array) -> list[Array]:
    """The softmax's gradient by hand in float32, cast back at the end."""
    scores = np.where(seen, scores32(query, key), np.finfo(np.float32).min)
    weights = oracle.softmax(scores)
    d_out = f32(cotangent)
    d_weights = np.einsum("btnh,bsnh->bnts", d_out, per_head(value, query))
    d_scores = weights * (d_weights - np.sum(weights * d_weights, axis=-1, keepdims=True))
    d_scores = d_scores / f32(math.sqrt(query.shape[3]))
    batch, length, heads, size = key.shape
    d_query = np.einsum("bnts,bsnh->btnh", d_scores, per_head(key, query))
    d_key = np.einsum("bnts,btnh->bsnh", d_scores, f32(query))
    d_value = np.einsum("bnts,btnh->bsnh", weights, d_out)
    grouped = [x.reshape(batch, length, heads, -1, size).sum(axis=3) for x in (d_key, d_value)]
    return [x.astype(query.dtype) for x in (d_query, *grouped)]


@pytest.mark.parametrize("std", [1, 3, 10, 30])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_right_gradients_pass_and_a_missing_term_fails(dtype: str, std: float) -> None:
    for shapes, seed in itertools.product([*SHAPES, ((1, 3, 2, 4), (1, 1, 1, 4))], range(3)):
        query, key, value = drawn(shapes, dtype, std, seed)
        cotangent = np.random.default_rng(seed + 9).standard_normal(shapes[0]).astype(DTYPES[dtype])
        seen = oracle.visible(shapes[0][1], shapes[1][1], True)
        got = gradients32(query, key, value, cotangent, seen)
        wants = oracle.gradients(query, key, value, cotangent, is_causal=True)
        top = oracle.max_score(query, key, is_causal=True)
        for ours, want in zip(got, wants, strict=True):
            reference = want.astype(DTYPES[dtype])
            verdict = compare(ours, want, reference, top, dtype=dtype, cotangent=cotangent)
            assert verdict.ok, verdict
            if np.linalg.norm(want) > 0.2 * np.linalg.norm(cotangent.astype(float)):
                wrong = (ours.astype(np.float32) * 0.9).astype(DTYPES[dtype])
                assert not compare(wrong, want, reference, top, dtype=dtype, cotangent=cotangent).ok


def case(dtype: str = "float32") -> tuple[Array, Array, float, Array]:
    query, key, value = drawn(SHAPES[0], dtype, 1, 0)
    seen = oracle.visible(9, 13)
    spread = oracle.spread(query, key, value)
    want = oracle.attention(query, key, value)
    return want, naive(query, key, value, seen), oracle.max_score(query, key), spread


def judged(out: Array, dtype: str = "float32") -> Comparison:
    want, reference, top, spread = case(dtype)
    return compare(out, want, reference, top, dtype=dtype, spread=spread)


def test_the_limit_is_the_designs() -> None:
    assert tolerance.limit(1e-5, 10, "float32") == pytest.approx(2e-5 + 2e-6 + 1.2e-6)
    assert tolerance.limit(1e-5, 10, "float32", gradient=True) == pytest.approx(2e-5 + 4e-6 + 4.8e-6)
    assert (tolerance.limit(0, 0, "float16"), tolerance.limit(0, 0, "bfloat16")) == (4e-3, 8e-3)


def test_limits_that_tell_nothing_apart_are_unusable() -> None:
    assert tolerance.usable(1e-4, "float32") and not tolerance.usable(1.1e-4, "float32")
    assert tolerance.usable(2e-2, "bfloat16") and not tolerance.usable(2.1e-2, "float16")
    assert not tolerance.usable(math.nan, "float32")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_one_wrong_row_cannot_hide(dtype: str) -> None:
    out = case(dtype)[1]
    assert judged(out, dtype).ok
    wrong = out.copy()
    wrong[1, 4, 2] *= 1.05 if dtype != "float32" else 1.0001
    verdict = judged(wrong, dtype)
    assert not verdict.ok and verdict.index[:3] == (1, 4, 2)
    assert "Furthest off at [b, t, n, h] = [1, 4, 2" in verdict.reason


def test_the_largest_absolute_error_is_shown_with_both_sides() -> None:
    want, out, *_ = case()
    out = out.copy()
    out[0, 3, 1, 5] += 2
    verdict = judged(out)
    assert verdict.index == (0, 3, 1, 5)
    assert verdict.got == pytest.approx(out[0, 3, 1, 5])
    assert verdict.want == pytest.approx(want[0, 3, 1, 5])
    assert "times the reference's own" in verdict.reason and "limit" in verdict.reason


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_never_passes(poison: float) -> None:
    out = case()[1].copy()
    out[1, 2, 3, 4] = poison
    verdict = judged(out)
    assert not verdict.ok and verdict.error == math.inf and verdict.index == (1, 2, 3, 4)
    assert "1 of 1152 numbers are not finite, the first at [b, t, n, h] = [1, 2, 3, 4]" in verdict.reason
    assert not judged(np.full_like(out, poison)).ok


def test_a_score_that_is_not_finite_passes_nothing() -> None:
    want, out, _, spread = case()
    assert not compare(out, want, out, math.nan, dtype="float32", spread=spread).ok


def test_shape_and_dtype_come_first() -> None:
    out = case()[1]
    assert judged(out.swapaxes(1, 2)).reason == "expected shape (2, 9, 4, 16), got (2, 4, 9, 16)"
    assert judged(out[:1]).reason.startswith("expected shape")
    assert judged(out.astype(np.float16)).reason == "expected dtype float32, got float16"
    assert judged(out.astype(np.complex64)).reason == "expected dtype float32, got complex64"


def test_a_broken_reference_is_the_graders_fault() -> None:
    want, out, top, spread = case()
    for reference in (out[:1], np.full_like(out, np.nan)):
        with pytest.raises(ValueError, match="reference"):
            compare(out, want, reference, top, dtype="float32", spread=spread)


def test_a_row_in_which_the_values_cancel_is_judged_by_its_terms() -> None:
    """Two keys of equal weight and opposite values: the row is 1e-6, its rounding 1e-7, its terms 1."""
    want = np.array([[[[1e-6]], [[1.0]]]])
    spread = np.ones_like(want)
    off = (want + 1e-7).astype(np.float32)
    reference = want.astype(np.float32)
    assert compare(off, want, reference, 1.0, dtype="float32", spread=spread).ok
    assert not compare(off, want, reference, 1.0, dtype="float32", spread=np.abs(want)).ok
    assert not compare(off + f32(1e-4), want, reference, 1.0, dtype="float32", spread=spread).ok


def test_without_a_spread_a_row_counts_as_a_share_of_its_heads_rows() -> None:
    """A small head beside a large one is still judged by its own size."""
    want = np.ones((1, 4, 2, 3)) * np.array([1e-4, 1e4])[:, None]
    reference = want.astype(np.float32)
    wrong = reference.copy()
    wrong[0, 1, 0] *= f32(1.01)
    assert not compare(wrong, want, reference, 1.0, dtype="float32").ok
    tiny = want.copy()
    tiny[0, 2, 1] = 0
    off = tiny.astype(np.float32)
    off[0, 2, 1] = 1e-4
    assert compare(off, tiny, tiny.astype(np.float32), 1.0, dtype="float32").ok


def test_zero_is_judged_without_dividing_by_it() -> None:
    zero = np.zeros((1, 2, 1, 4))
    assert compare(f32(zero), zero, f32(zero), 0.0, dtype="float32").ok
    assert not compare(f32(zero + 1e-9), zero, f32(zero), 0.0, dtype="float32").ok
    cotangent = np.ones_like(zero)
    noise = f32(zero + 1e-8)
    assert compare(noise, zero, f32(zero), 1.0, dtype="float32", cotangent=cotangent).ok
    assert not compare(f32(zero + 0.1), zero, f32(zero), 1.0, dtype="float32", cotangent=cotangent).ok


@pytest.mark.parametrize(
    ("heads", "gradient", "axes"),
    [
        ((3, 3), False, ["b, t, n, h"]),
        ((3, 3), True, ["b, t, n, h", "b, s, n, h", "b, s, n, h"]),
        ((4, 2), True, ["b, t, n, h", "b, s, k, h", "b, s, k, h"]),
    ],
)
def test_an_index_comes_with_its_letters(heads: tuple[int, int], gradient: bool, axes: list[str]) -> None:
    case = Case("f", (2, 5, 4, *heads, 8), gradient=gradient)
    given = case.draw(np.random.default_rng(0), "normal")
    right = [np.asarray(x, np.float32) for x in case.expected(given)]
    for place, letters in enumerate(axes):
        outs = [2 * x if place == at else x for at, x in enumerate(right)]
        problem = case.judge("normal", given, outs, right)
        assert problem and f"Furthest off at [{letters}] = [" in problem.detail
