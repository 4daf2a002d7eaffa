"""Exceptions of a learner's code, described for the judge."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from typing import Any

CAP = 2000
"""Characters of each text that is sent; the judge cuts what it shows."""
MAX_CAUSES = 10


class WrongValue(Exception):
    """A function returned something that is not what its contract says."""


class TooLarge(Exception):
    """A program is larger than any that is graded."""


def describe(error: BaseException, module: str, where: str) -> dict[str, Any]:
    """The error's types, message and the last line of the learner's file that it passed through."""
    message = _message(error)
    return {
        "types": [_clean(kind.__name__) for kind in type(error).__mro__ if kind is not object][:8],
        "message": _clean(message),
        "line": _line(error, message, f"{module}.py"),
        "where": where,
    }


def _line(error: BaseException, message: str, file: str) -> int | None:
    """Of its own traceback, else of what it came from: JAX keeps there where an operation was traced."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    for cause in _causes(error):
        passed = [
            frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == file
        ]
        if passed:
            return passed[-1]
    named = re.search(rf"\b{re.escape(file)}:(\d{{1,6}})", message)
    return int(named[1]) if named else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # a learner's own exception may fail to print
        return "(the exception has no readable message)"


def _clean(text: str) -> str:
    return text[:CAP].encode("utf-8", "replace").decode()
