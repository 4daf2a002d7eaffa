"""The oracle against jax.numpy in float64: two independent ways to the same numbers."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from autograder import oracle
from autograder.arrays import DTYPES, Array

SHAPES = [
    ((2, 5, 4, 8), (2, 5, 4, 8)),
    ((2, 5, 6, 8), (2, 9, 2, 8)),
    ((1, 9, 3, 7), (1, 4, 1, 7)),
    ((1, 1, 1, 1), (1, 1, 1, 1)),
    ((3, 1, 4, 5), (3, 6, 4, 5)),
]
WINDOWS: list[oracle.Window] = [(2, 0), (None, 1), (0, None), (3, 3)]


def drawn(shapes: tuple[tuple[int, ...], tuple[int, ...]], seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shapes[0]), rng.standard_normal(shapes[1]), rng.standard_normal(shapes[1])


def by_jax(query: Any, key: Any, value: Any, is_causal: bool, window: oracle.Window | None) -> Any:
    """One query head and batch row at a time, positions by a where-mask: another style than the oracle's."""
    group = query.shape[2] // key.shape[2]
    before, after = window or (None, None)
    t, s = jnp.arange(query.shape[1])[:, None], jnp.arange(key.shape[1])[None, :]
    seen = (s <= t) if is_causal else jnp.ones((query.shape[1], key.shape[1]), bool)
    seen &= s >= t - (before if before is not None else 1000)
    seen &= s <= t + (after if after is not None else 1000)

    def head(n: int, row: int) -> Any:
        k, v = key[row, :, n // group], value[row, :, n // group]
        logits = query[row, :, n] @ k.T / jnp.sqrt(query.shape[3])
        return jax.nn.softmax(jnp.where(seen, logits, -1e30), axis=-1) @ v

    heads = [[head(n, row) for n in range(query.shape[2])] for row in range(query.shape[0])]
    return jnp.stack([jnp.stack(row, axis=1) for row in heads])


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(
    ("shapes", "window"), [(s, None) for s in SHAPES] + [(SHAPES[1], w) for w in WINDOWS], ids=str
)
def test_attention_is_what_jax_computes(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], window: oracle.Window | None, is_causal: bool
) -> None:
    query, key, value = drawn(shapes)
    got = oracle.attention(query, key, value, is_causal=is_causal, window=window)
    with jax.enable_x64(True):
        want = np.asarray(by_jax(jnp.asarray(query), jnp.asarray(key), jnp.asarray(value), is_causal, window))
    assert got.dtype == want.dtype == np.float64
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_gradients_are_what_jax_computes(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], is_causal: bool
) -> None:
    query, key, value = drawn(shapes)
    cotangent = drawn(shapes, seed=1)[0]
    got = oracle.gradients(query, key, value, cotangent, is_causal=is_causal)
    with jax.enable_x64(True):
        function = functools.partial(by_jax, is_causal=is_causal, window=None)
        _, pull = jax.vjp(function, *map(jnp.asarray, (query, key, value)))
        want = [np.asarray(x) for x in pull(jnp.asarray(cotangent))]
    for ours, theirs in zip(got, want, strict=True):
        assert ours.dtype == theirs.dtype == np.float64
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


def test_attention_agrees_with_the_library_call_on_grouped_causal_input() -> None:
    query, key, value = (x.astype(np.float32) for x in drawn(((2, 6, 8, 16), (2, 10, 2, 16))))
    library = jax.nn.dot_product_attention(*map(jnp.asarray, (query, key, value)), is_causal=True)
    got = oracle.attention(query, key, value, is_causal=True)
    np.testing.assert_allclose(got, np.asarray(library), rtol=1e-4, atol=1e-5)


def test_gradients_are_finite_differences() -> None:
    query, key, value = drawn(((1, 3, 4, 5), (1, 4, 2, 5)), seed=2)
    rng = np.random.default_rng(3)
    cotangent = drawn(((1, 3, 4, 5), (1, 4, 2, 5)), seed=4)[0]
    found = oracle.gradients(query, key, value, cotangent, is_causal=True)
    for position, gradient in enumerate(found):
        direction = rng.standard_normal(gradient.shape)
        ends = []
        for step in (-1e-5, 1e-5):
            moved = [query, key, value]
            moved[position] = moved[position] + step * direction
            ends.append(np.sum(cotangent * oracle.attention(*moved, is_causal=True)))
        assert (ends[1] - ends[0]) / 2e-5 == pytest.approx(np.sum(gradient * direction), rel=1e-7)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_inputs_of_any_dtype_are_widened_first(dtype: str) -> None:
    query, key, value = (x.astype(DTYPES[dtype]) for x in drawn(SHAPES[1]))
    q, k, v = (x.astype(np.float64) for x in (query, key, value))
    assert np.array_equal(oracle.attention(query, key, value), oracle.attention(q, k, v))
    got, want = oracle.gradients(query, key, value, query), oracle.gradients(q, k, v, q)
    assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))


def test_large_scores_stay_finite() -> None:
    query, key, value = drawn(SHAPES[1])
    assert np.all(np.isfinite(oracle.attention(query * 1e4, key * 1e4, value, is_causal=True)))
    assert all(np.all(np.isfinite(g)) for g in oracle.gradients(query * 1e4, key * 1e4, value, query))


def test_a_row_that_sees_nothing_gives_the_mean_of_the_values() -> None:
    query, key, value = drawn(((1, 6, 1, 4), (1, 2, 1, 4)))
    out = oracle.attention(query, key, value, is_causal=True, window=(1, 0))
    np.testing.assert_allclose(out[0, 5, 0], value[0, :, 0].mean(axis=0))


def test_spreads_bound_what_they_are_the_spread_of() -> None:
    query, key, value = drawn(SHAPES[1])
    cotangent = drawn(SHAPES[1], seed=1)[0]
    out = oracle.attention(query, key, value, is_causal=True)
    assert np.all(np.abs(out) <= oracle.spread(query, key, value, is_causal=True) + 1e-12)
    found = oracle.gradients(query, key, value, cotangent, is_causal=True)
    bounds = oracle.gradient_spreads(query, key, value, cotangent, is_causal=True)
    assert all(np.all(np.abs(g) <= b + 1e-12) for g, b in zip(found, bounds, strict=True))


def test_max_score_counts_what_is_seen() -> None:
    query, key, _ = (np.ones(shape) for shape in [(1, 2, 1, 4), (1, 3, 1, 4), ()])
    key[0, 2] = -8
    assert oracle.max_score(query, key) == pytest.approx(16)
    assert oracle.max_score(query, key, is_causal=True) == pytest.approx(2)
    assert oracle.max_score(query, key, window=(0, 1)) == pytest.approx(16)


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [
        ((2, 3, 8, 4), (2, 3, 3, 4), (2, 3, 3, 4)),
        ((2, 3, 4, 4), (1, 3, 4, 4), (1, 3, 4, 4)),
        ((2, 3, 4, 4), (2, 3, 4, 5), (2, 3, 4, 5)),
        ((2, 3, 4, 4), (2, 3, 4, 4), (2, 4, 4, 4)),
        ((3, 4, 4), (3, 4, 4), (3, 4, 4)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=r"heads|differ|expected"):
        oracle.attention(np.ones(query), np.ones(key), np.ones(value))
