"""Exceptions of a learner's code, described for the judge."""

from __future__ import annotations

import traceback
from typing import Any

CAP = 600


class WrongValue(Exception):
    """A function returned something that is not what its contract says."""


class TooLarge(Exception):
    """A program is larger than any that is graded."""


def describe(error: BaseException, module: str, where: str) -> dict[str, Any]:
    """The error's types, message and the last line of the learner's file that it passed through."""
    line = None
    if isinstance(error, SyntaxError) and error.filename == f"{module}.py":
        line = error.lineno
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == f"{module}.py":
            line = frame.lineno
    return {
        "types": [_clean(kind.__name__) for kind in type(error).__mro__ if kind is not object][:8],
        "message": _clean(_message(error)),
        "line": line,
        "where": where,
    }


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # a learner's own exception may fail to print
        return "(the exception has no readable message)"


def _clean(text: str) -> str:
    return text[:CAP].encode("utf-8", "replace").decode()
