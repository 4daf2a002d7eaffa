"""Which of two programs is faster, from their times alone: pure statistics, no clock and no JAX."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from autograder.arrays import Array

FIRST_LOOK = 12  # the fewest blocks whose median has an interval of this confidence
CONFIDENCE = 0.998
RESAMPLES = 3000
HOST_ALONE = 1.25
"""The host's clock counts launches and gaps too: where it alone decides, it must see the limit times this."""


class Verdict(StrEnum):
    """How a ratio of times stands to its limit. UNDECIDED is never a failure."""

    FASTER = "faster"
    SLOWER = "slower"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Interval:
    """A ratio of times, learner / reference, and between which bounds it lies."""

    low: float
    ratio: float
    high: float

    def verdict(self, limit: float) -> Verdict:
        """FASTER where all of the interval is below `limit`, SLOWER where all of it is above."""
        if self.high < limit:
            return Verdict.FASTER
        return Verdict.SLOWER if self.low > limit else Verdict.UNDECIDED

    @property
    def width(self) -> float:
        return self.high - self.low


def decide(limit: float, device: Interval | None, confirmed: bool, host: Interval | None) -> Verdict | None:
    """The verdict on a GPU, where two clocks may differ; None where they give none.

    `device` is the ratio by the GPU's clock, None where that clock has nothing for the learner's program;
    `host` the ratio by the host's clock, None where it was not measured. `confirmed` says that the host's
    clock agrees with the GPU's: on both programs, or on the reference alone where there is no `device`.

    - The clocks agree: the GPU's clock decides.
    - The clocks do not agree by how much: SLOWER where both see a ratio above `limit`.
    - The GPU's clock has nothing for the learner: SLOWER where the host's clock sees a ratio above
      HOST_ALONE * `limit`, and only where `confirmed`.

    So FASTER needs both clocks, and a program that the host alone delays is never SLOWER by that.
    """
    if device is None:
        return _slower(host, HOST_ALONE * limit) if confirmed else None
    if confirmed:
        return device.verdict(limit)
    return _slower(host, limit) if device.verdict(limit) is Verdict.SLOWER else None


def _slower(found: Interval | None, limit: float) -> Verdict | None:
    return Verdict.SLOWER if found is not None and found.verdict(limit) is Verdict.SLOWER else None


def log_ratios(reference: Array, learner: Array) -> Array:
    """log(learner / reference) of each block, in which a drift of the machine cancels.

    Both (blocks, 2): the two times of each program in a block that ran them as ABBA or BAAB, in any unit.
    Returns (blocks,). ValueError where a time is not a positive finite number.
    """
    times = np.stack([reference, learner]).astype(np.float64)
    if not (np.isfinite(times) & (times > 0)).all():
        raise ValueError("a time is not a positive number")
    return np.asarray(np.log(times[1]).mean(axis=1) - np.log(times[0]).mean(axis=1))


def interval(logs: Array, confidence: float = CONFIDENCE, seed: int = 0) -> Interval:
    """The median ratio and its bootstrap interval, from the (blocks,) log ratios of `log_ratios`.

    The median, since a machine that others use now and then doubles a time. The same blocks and seed give
    the same interval.
    """
    drawn = np.random.default_rng(seed).integers(0, len(logs), (RESAMPLES, len(logs)))
    medians = np.median(logs[drawn], axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(math.exp(low), math.exp(np.median(logs)), math.exp(high))


def looks() -> Iterator[int]:
    """After how many blocks to look: 12, 24, 48… Few looks, since each is a chance to be wrong."""
    blocks = FIRST_LOOK
    while True:
        yield blocks
        blocks *= 2


def order(block: int) -> tuple[int, int, int, int]:
    """Who runs when in a block: 0 the reference, 1 the learner; ABBA and BAAB in turn."""
    return (0, 1, 1, 0) if block % 2 == 0 else (1, 0, 0, 1)


def by_program(times: Any) -> tuple[Array, Array]:
    """The (blocks, 2) times of the reference and of the learner, from times in the order of `order`."""
    blocks = np.asarray(times, np.float64).reshape(-1, 4)
    who = np.array([order(block) for block in range(len(blocks))]).reshape(-1, 4)
    return blocks[who == 0].reshape(-1, 2), blocks[who == 1].reshape(-1, 2)
