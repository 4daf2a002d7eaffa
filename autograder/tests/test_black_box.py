"""Black boxes on arrays that no contract foresees, and what a learner is told who changed by too much."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from autograder import inputs
from autograder.arrays import Array, Spec, pack
from autograder.exercises.causal import _question
from autograder.exercises.scenarios import LEAKS, SOUND, twins
from autograder.interrogation import _BlackBox
from autograder.plan import Function
from autograder.tracer.blackbox import BlackBox

SPEC = Spec((2, 4, 2, 8), "float32")


def drawn() -> tuple[Array, Array, Array]:
    query, key, value = inputs.draw(np.random.default_rng(0), SPEC, SPEC, SPEC, "normal")
    return query, key, value


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e30, 0.0])
@pytest.mark.parametrize("name", LEAKS)
def test_a_box_answers_anything_without_a_warning(name: str, odd: float) -> None:
    query, key, value = drawn()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sound in SOUND:
            pair = twins(np.random.default_rng(1), name, sound, t=4, s=4)
            for function in (pair.leak, pair.sound):
                assert function(query, np.full_like(key, odd), value).shape == query.shape


def test_what_a_box_cannot_answer_is_refused_and_not_our_fault() -> None:
    def broken(*arrays: Array) -> Array:
        raise ZeroDivisionError("nothing to divide by")

    box = _BlackBox(broken, (SPEC, SPEC, SPEC))
    header, out = box.answer(pack(drawn()))
    assert not out and "ZeroDivisionError: nothing to divide by" in header["refused"]
    with pytest.raises(RuntimeError, match="no answer for these arrays: ZeroDivisionError"):
        BlackBox(lambda header, blob: box.answer(blob), 0, (SPEC, SPEC, SPEC))(*drawn())


@pytest.mark.parametrize(
    ("place", "to", "said"),
    [
        (3, 1e6, "a sound function is called a leak."),
        (3, np.nan, "a leak, after a change to nan or infinity"),
        (3, -np.inf, "a leak, after a change to nan or infinity"),
        (None, 0.0, "never changes a key or a value"),
    ],
)
def test_a_false_alarm_is_explained_by_the_change(place: int | None, to: float, said: str) -> None:
    query, key, value = drawn()
    box = twins(np.random.default_rng(1), "no mask", SOUND[2], t=4, s=4).sound
    question = _question("key", "about", True, (query, key, value), box)
    assert question.black_box is not None
    changed = value.copy()
    if place is not None:
        changed[:, place] = to
    question.black_box(query, key, changed)
    problem = question.judge({"value": False})
    assert problem and said in problem.diagnosis.lower()
    assert ("by 3 at most" in problem.next_step) is ("infinity" in said)


@pytest.mark.parametrize(
    ("box", "to", "said"),
    [
        (lambda q, k, v: q + (np.abs(v).max() > 100), 1e6, "after changes by more than 3"),
        (lambda q, k, v: q + np.float32(1e-6) * v.sum(), 2.0, "moved by rounding alone"),
        (lambda q, k, v: q * (np.nan if np.abs(v).max() > 100 else 1), 1e6, "after changes by more than 3"),
    ],
)
def test_a_false_alarm_is_explained_by_what_moved(box: Function, to: float, said: str) -> None:
    query, key, value = drawn()
    question = _question("key", "about", True, (query, key, value), box)
    assert question.black_box is not None
    changed = value.copy()
    changed[:, 3] = to
    question.black_box(query, key, changed)
    problem = question.judge({"value": False})
    assert problem and said in problem.diagnosis


def test_a_leak_that_is_not_seen_without_any_change_is_told_so() -> None:
    query, key, value = drawn()
    question = _question("key", "about", False, (query, key, value), lambda q, k, v: q)
    assert question.black_box is not None
    question.black_box(query, key, value)
    problem = question.judge({"value": True})
    assert problem and "never changes a key or a value" in problem.diagnosis
