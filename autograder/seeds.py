"""Where a grading's randomness comes from: the operating system, at the time it is needed."""

from __future__ import annotations

import secrets

import numpy as np


class Seeds:
    """Two seeds of 64 bits: one for the questions asked of a tracer, one for the inputs, drawn after its end.

    `str` of it replays a grading: `Seeds("3f…a1-07…9c")`.
    """

    def __init__(self, replay: str | None = None) -> None:
        self._words = [int(word, 16) for word in replay.split("-")] if replay else []

    def __str__(self) -> str:
        return "-".join(f"{word:016x}" for word in self._words)

    def scenarios(self) -> np.random.Generator:
        return np.random.default_rng(self._word(0))

    def inputs(self) -> np.random.Generator:
        return np.random.default_rng(self._word(1))

    def _word(self, place: int) -> int:
        while len(self._words) <= place:
            self._words.append(secrets.randbits(64))
        return self._words[place]
