"""The black boxes of exercise 3: every leak is clear by ten times, and so is every sound function."""

from __future__ import annotations

import numpy as np
import pytest

from autograder import inputs
from autograder.arrays import Array
from autograder.exercises.causal import GROUPS
from autograder.exercises.scenarios import LEAKS, SOUND, Twins, twins
from autograder.plan import Function

MEMBERS = sorted({member for members in GROUPS.values() for member in members})
SEEDS = range(12)


def largest_effect(function: Function, query: Array, key: Array, value: Array) -> float:
    """The most that a change of a later key or value moves an output, relative to its largest entry.

    Changes of each entry by 3, towards and away from the query that might notice, or anywhere.
    """
    before = function(query, key, value).astype(np.float64)
    rng, found = np.random.default_rng(0), 0.0
    for t in range(query.shape[1]):
        for s in range(t + 1, key.shape[1]):
            for sign in (3, -3):
                keys, values = key.astype(np.float64), value.astype(np.float64)
                keys[:, s] += sign * np.sign(query[:, t].astype(np.float64))
                values[:, s] += sign * rng.choice([-1, 1], size=values[:, s].shape)
                after = function(query, keys.astype(key.dtype), values.astype(value.dtype))
                moved = np.abs(after[:, t].astype(np.float64) - before[:, t]).max()
                found = max(found, moved / np.abs(before[:, t]).max())
    return found


def pairs(member: tuple[str, int, int, str]) -> list[tuple[Twins, tuple[Array, Array, Array]]]:
    name, t, s, dtype = member
    made = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        pair = twins(rng, name, SOUND[seed % len(SOUND)], t=t, s=s, dtype=dtype)
        made.append((pair, inputs.draw(rng, *pair.specs, "normal")))
    return made


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_leaks_are_clear(member: tuple[str, int, int, str]) -> None:
    assert min(largest_effect(pair.leak, *arrays) for pair, arrays in pairs(member)) > 1e-2


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_sound_twins_are_clear(member: tuple[str, int, int, str]) -> None:
    assert max(largest_effect(pair.sound, *arrays) for pair, arrays in pairs(member)) < 1e-4


def test_every_leak_is_asked_about() -> None:
    assert {name for name, *_ in MEMBERS} == set(LEAKS)


@pytest.mark.parametrize("t, s", [(8, 8), (5, 9), (9, 5)])
def test_sound_functions_are_finite_and_differ_from_nothing_causal(t: int, s: int) -> None:
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((2, 2, t, s))
    mask = np.tril(np.ones((t, s), bool))
    for weigh in SOUND:
        weights = weigh(scores, mask)
        assert np.allclose(weights.sum(axis=-1), 1)
        assert not weights[..., ~mask].any()
