"""The statistics of comparing two programs, on simulated times."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.arrays import Array
from autograder.runner import ratio
from autograder.runner.ratio import Interval, Verdict

QUIET, SHARED = 0.01, 0.08  # the noise of an H200's clock and of a CPU that others use


def times(
    rng: np.random.Generator, slowdown: float, noise: float, blocks: int, drift: float = 0.0
) -> tuple[Array, Array]:
    """Times as `timing` collects them: noise, a drift over the whole run, and one time in 20 doubled."""
    who = np.array([ratio.order(block) for block in range(blocks)]).ravel()
    found = np.exp(noise * rng.standard_normal(4 * blocks) + np.linspace(0, drift, 4 * blocks))
    found *= np.where(who == 1, slowdown, 1.0)
    found *= np.where(rng.random(4 * blocks) < 0.05, 2.0, 1.0)
    return ratio.by_program(found)


def answer(rng: np.random.Generator, slowdown: float, noise: float, limit: float = 1.1) -> Verdict:
    """What looking at 12, 24 and 48 blocks ends with."""
    mine = times(rng, slowdown, noise, 48, drift=0.3)
    for look in itertools.takewhile(lambda blocks: blocks <= 28, ratio.looks()):
        logs = ratio.log_ratios(mine[0][:look], mine[1][:look])
        verdict = ratio.interval(logs).verdict(limit)
        if verdict is not Verdict.UNDECIDED:
            return verdict
    return Verdict.UNDECIDED


@pytest.mark.parametrize("noise", [QUIET, SHARED])
def test_a_program_beside_itself_is_never_slower(noise: float) -> None:
    rng = np.random.default_rng(1)
    answers = [answer(rng, 1.0, noise) for _ in range(60)]
    assert Verdict.SLOWER not in answers
    assert answers.count(Verdict.FASTER) > 30


def test_even_at_its_own_limit_it_is_hardly_ever_slower() -> None:
    rng = np.random.default_rng(2)
    answers = [answer(rng, 1.0, SHARED, limit=1.0) for _ in range(60)]
    assert answers.count(Verdict.SLOWER) <= 2


@pytest.mark.parametrize("noise", [QUIET, SHARED])
def test_a_quarter_more_is_found(noise: float) -> None:
    rng = np.random.default_rng(3)
    answers = [answer(rng, 1.25, noise) for _ in range(100)]
    assert Verdict.FASTER not in answers
    assert answers.count(Verdict.SLOWER) >= 99 if noise == QUIET else answers.count(Verdict.SLOWER) >= 75


def test_noise_too_large_for_the_question_is_undecided() -> None:
    rng = np.random.default_rng(4)
    assert Verdict.SLOWER not in [answer(rng, 1.0, 0.5) for _ in range(20)]


def test_a_drift_cancels() -> None:
    reference, learner = times(np.random.default_rng(5), 1.2, 1e-9, 12, drift=2.0)
    logs = ratio.log_ratios(reference, learner)
    assert np.exp(np.median(logs)) == pytest.approx(1.2, rel=1e-3)


positive = st.floats(1e-3, 1e3)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(positive, positive, positive, positive), min_size=12, max_size=24), positive)
def test_an_interval_holds_its_ratio_and_no_unit(blocks: list[tuple[float, ...]], unit: float) -> None:
    reference, learner = ratio.by_program(np.array(blocks).ravel())
    found = ratio.interval(ratio.log_ratios(reference, learner))
    assert 0 < found.low <= found.ratio <= found.high
    other = ratio.interval(ratio.log_ratios(reference * unit, learner * unit))
    assert (other.low, other.ratio, other.high) == pytest.approx((found.low, found.ratio, found.high))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_a_time_that_is_none_is_refused(bad: float) -> None:
    ones = np.ones((12, 2))
    with pytest.raises(ValueError, match="positive"):
        ratio.log_ratios(ones, np.where(np.arange(24).reshape(12, 2) == 7, bad, ones))


def test_verdicts_by_interval() -> None:
    assert Interval(0.9, 1.0, 1.05).verdict(1.1) is Verdict.FASTER
    assert Interval(0.9, 1.1, 1.2).verdict(1.1) is Verdict.UNDECIDED
    assert Interval(1.15, 1.2, 1.25).verdict(1.1) is Verdict.SLOWER
    assert Interval(1.0, 1.1, 1.1).verdict(1.1) is Verdict.UNDECIDED


def test_blocks_alternate_and_come_apart() -> None:
    assert [ratio.order(block) for block in range(2)] == [(0, 1, 1, 0), (1, 0, 0, 1)]
    reference, learner = ratio.by_program([1, 2, 3, 4, 5, 6, 7, 8])
    assert reference.tolist() == [[1, 4], [6, 7]]
    assert learner.tolist() == [[2, 3], [5, 8]]
    assert list(itertools.islice(ratio.looks(), 3)) == [12, 24, 48]


BELOW, ACROSS, ABOVE, FAR_ABOVE = (
    Interval(low, (low + high) / 2, high) for low, high in ((0.9, 1.0), (1.0, 1.2), (1.2, 1.3), (1.5, 1.6))
)


@pytest.mark.parametrize(
    ("device", "confirmed", "host", "verdict"),
    [
        (BELOW, True, None, Verdict.FASTER),
        (ACROSS, True, None, Verdict.UNDECIDED),
        (ABOVE, True, None, Verdict.SLOWER),
        (ABOVE, True, BELOW, Verdict.SLOWER),
        # The clocks do not agree: only two that are both above the limit decide.
        (BELOW, False, BELOW, None),
        (BELOW, False, FAR_ABOVE, None),
        (ACROSS, False, FAR_ABOVE, None),
        (ABOVE, False, ABOVE, Verdict.SLOWER),
        (ABOVE, False, FAR_ABOVE, Verdict.SLOWER),
        (ABOVE, False, ACROSS, None),
        (ABOVE, False, BELOW, None),
        (ABOVE, False, None, None),
        # The GPU's clock has nothing for the learner: the host's needs a margin, and a reference that it saw.
        (None, True, FAR_ABOVE, Verdict.SLOWER),
        (None, True, ABOVE, None),
        (None, True, BELOW, None),
        (None, True, None, None),
        (None, False, FAR_ABOVE, None),
    ],
)
def test_the_verdict_of_two_clocks(
    device: Interval | None, confirmed: bool, host: Interval | None, verdict: Verdict | None
) -> None:
    assert ratio.decide(1.1, device, confirmed, host) is verdict
