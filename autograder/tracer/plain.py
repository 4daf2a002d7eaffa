"""Answers as plain JSON values."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from autograder.tracer.faults import WrongValue

TEXT_CAP = 2000


def plain(value: Any) -> Any:
    """bool, int, float, str, None, or a sequence of these; scalar arrays, but of ints, count as theirs."""
    if value is None or type(value) in (bool, int, float):
        return _number(value)
    if isinstance(value, str):
        return value[:TEXT_CAP].encode("utf-8", "replace").decode()
    if isinstance(value, jax.core.Tracer):
        raise WrongValue("the answer is a traced array; it must not depend on the arrays' values")
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        if value.ndim:
            raise WrongValue(f"the answer is an array of shape {value.shape}; a single value was expected")
        if value.dtype.kind in "iu":  # of 32 bits, perhaps, which overflow
            raise WrongValue(f"the answer is {value!r}, no int of Python")
        return _number(
            np.asarray(value).astype(np.float64 if value.dtype.kind == "V" else value.dtype).item()
        )
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value[:16]]
    raise WrongValue(f"the answer is a {type(value).__name__}; a plain Python value was expected")


def field(answer: Any, name: str) -> Any:
    """An attribute of a returned object; WrongValue where it has none."""
    try:
        return getattr(answer, name)
    except AttributeError:
        raise WrongValue(f"it returned {kind(answer)}, which has no attribute {name!r}") from None


def kind(answer: Any) -> str:
    """What an answer is, in a learner's words."""
    if answer is None:
        return "None"
    return "an array" if isinstance(answer, jax.Array) else f"a {type(answer).__name__}"


def _number(value: Any) -> Any:
    if type(value) is float and value - value != 0.0:
        raise WrongValue(f"the answer is {value}, which is not a finite number")
    if type(value) is int and abs(value) >= 10**30:
        raise WrongValue("the answer is an integer of more than 30 digits")
    return value
