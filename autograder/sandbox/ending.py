"""How a child ended, in words."""

from __future__ import annotations

import signal

HINTS = {"SIGKILL": ": out of memory, perhaps", "SIGXCPU": ": its processor time was used up"}


class ChildEnded(Exception):
    """The child answers no more; `reason` says why, as a sentence without its full stop."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ChildDied(ChildEnded):
    """It exited, was killed, or closed its pipe."""


class ChildTimeout(ChildEnded):
    """It was stopped at its deadline."""


def in_words(status: int | None, contained: bool) -> str:
    """A clause for asyncio's exit status: negative for a signal, None while the process runs.

    A `contained` one has bubblewrap in between, which reports a signal as 128 + its number.
    """
    if status is None:
        return "it closed its pipe but went on running"
    number = status - 128 if contained and status > 128 else -status
    if number <= 0:
        return f"it exited with status {status}"
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"it exited with status {status}"
    return f"it was killed by signal {number} ({name}){HINTS.get(name, '')}"
