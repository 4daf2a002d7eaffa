"""What the judge takes for an answer: exact parts, bounded texts, and no call without end."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from autograder import interrogation
from autograder.arrays import Spec
from autograder.interrogation import _BlackBox, _check
from autograder.wire import WireError

SPEC = Spec((1,), "float32")
ERROR = {"types": ["ValueError"], "message": "shapes", "line": 3, "where": "call"}
LONG = "x" * (interrogation.MAX_WORDS + 1)


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ({"error": ERROR}, "call"),
        ({"value": [True, "a", None]}, "call"),
        ({"labels": {"backend": "xla"}, "outs": [[[2, 3], "float32"]]}, "trace"),
        ({"value": LONG[1:]}, "call"),
    ],
)
def test_answers_that_are_taken(header: dict[str, Any], kind: str) -> None:
    _check(header, kind, int(kind == "trace"))


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ({"labels": {}, "outs": [[]]}, "trace"),
        ({"labels": {}, "outs": [[["2"], "float32"]]}, "trace"),
        ({"labels": {}, "outs": [[[True], "float32"]]}, "trace"),
        ({"labels": {}, "outs": ["float32"]}, "trace"),
        ({"labels": {LONG: ""}, "outs": []}, "trace"),
        ({"labels": {"reason": [LONG]}, "outs": []}, "trace"),
        ({"error": {**ERROR, "message": " " * 65_000}}, "call"),
        ({"error": {**ERROR, "types": []}}, "call"),
        ({"value": LONG}, "call"),
        ({"value": 1, "more": 2}, "call"),
    ],
)
def test_answers_that_are_not(header: dict[str, Any], kind: str) -> None:
    with pytest.raises(WireError):
        _check(header, kind, int(kind == "trace"))


def test_calls_over_the_budget_are_refused_and_then_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrogation, "CALL_BUDGET", 1)
    monkeypatch.setattr(interrogation, "SPENT", 2)
    box = _BlackBox(lambda array: array, (SPEC,))
    blob = np.float32(1).tobytes()
    assert box.answer(blob) == ({}, blob)
    assert box.answer(blob)[0] == box.answer(blob)[0] != {}
    with pytest.raises(WireError, match="went on calling"):
        box.answer(blob)


def test_a_signalling_nan_is_answered_without_a_word() -> None:
    box = _BlackBox(lambda array: array.astype(np.float64).astype(np.float32), (SPEC,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        header, blob = box.answer(np.uint32(0x7F800001).tobytes())
    assert header == {} and np.isnan(np.frombuffer(blob, np.float32)).all()
