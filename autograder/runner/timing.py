"""Is a learner's program fast enough beside the reference? Faster, slower, or undecided within the budget.

Both are compiled ahead of time and warmed; each call reads inputs of its own, drawn for this round and no
longer in the cache, so that neither repeated inputs nor a remembered answer gains anything; the two take
turns (ABBA, BAAB); outputs of timed calls are compared with the reference's. On a GPU the time is the GPU's
own, and the host's clock must confirm it; a round of which a record was lost is dropped. Where the host's
clock does not confirm the GPU's, or the GPU's clock has nothing for the learner, both programs are timed
again by the host's clock, call by call; `ratio.decide` has the rule. On a CPU the time is the host's.
"""

from __future__ import annotations

import functools
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograder.runner import ratio
from autograder.runner.clocks import (
    Arrays,
    DeviceClock,
    Inputs,
    Lost,
    Program,
    Untimed,
    Wall,
    WallClock,
    on_gpu,
    patiently,
    wall,
)
from autograder.runner.ratio import Interval, Verdict

BLOCKS_A_ROUND = 4


@dataclass(frozen=True)
class Question:
    """Does the learner take less than `limit` times the reference's time? Answered in `seconds` or not.

    The seconds count from the first round on; warming up is not in them.
    `tolerance` bounds ‖learner - reference‖ / ‖reference‖ of each row of the outputs of timed calls.
    """

    limit: float
    seconds: float = 10.0
    tolerance: float = 0.05


@dataclass(frozen=True)
class Clocks:
    """Milliseconds a call: by the device's clock (the host's on a CPU), and by the host's in a burst."""

    ms: float
    wall: Wall


@dataclass(frozen=True)
class Comparison:
    """An answer and what it rests on. `interval`: learner / reference; `error`: see `Question.tolerance`."""

    verdict: Verdict
    interval: Interval
    reference: Clocks
    learner: Clocks
    clock: str
    blocks: int
    seconds: float
    error: float


@dataclass(frozen=True)
class NotMeasured:
    """No answer; never a failure."""

    reason: str


@dataclass(frozen=True)
class WrongOutput:
    """The learner's outputs in timed calls were not the reference's, so that their time says nothing."""

    error: float
    tolerance: float


Found = Comparison | NotMeasured | WrongOutput
Clock = type[DeviceClock] | type[WallClock]


def compare(reference: Program, learner: Program, inputs: Inputs, question: Question, seed: int) -> Found:
    """Answer `question`. Both programs are compiled and take the arrays of `inputs`; same outputs expected.

    `seed` draws the inputs and should come from the OS's entropy. Raises what a program raises.
    """
    measure = functools.partial(_measure, (reference, learner), inputs, question, seed)
    try:
        return _on_gpu(measure, reference, inputs, question, seed) if on_gpu() else measure(WallClock)
    except Untimed as why:
        return _not_measured(why)


def disagreement(clocks: Clocks) -> str | None:
    """Why the host's clock does not confirm the device's; None where it does.

    The kernels cannot take longer than the wall's time; and where they last longer than the host needs to
    launch them, the wall must show them and little else.
    """
    device, wall_ms, launch = clocks.ms, clocks.wall.amortised_ms, clocks.wall.enqueue_ms
    if device > 1.2 * wall_ms:
        return (
            f"the GPU's clock says {device:.3f} ms a call, and the wall clock no more than {wall_ms:.3f} ms"
        )
    if wall_ms <= 1.25 * device + 0.02:
        return None
    if launch > 0.8 * device:
        return (
            f"the host needs {launch:.3f} ms to launch what the GPU runs in {device:.3f} ms, so that the "
            "wall clock cannot confirm the GPU's; a larger size is needed"
        )
    return (
        f"the kernels take {device:.3f} ms a call, but the wall clock says {wall_ms:.3f} ms: not all is seen"
    )


def _on_gpu(
    measure: Callable[[Clock], Found], reference: Program, inputs: Inputs, question: Question, seed: int
) -> Found:
    """By the GPU's clock, and by the host's where that may still show that the learner is slower."""
    device: Comparison | None = None
    try:
        found = measure(DeviceClock)
        if not isinstance(found, Comparison):
            return found
        device = found
        doubt = disagreement(device.reference) or disagreement(device.learner)
        confirmed = doubt is None
        again = not confirmed and device.verdict is Verdict.SLOWER
    except Lost as lost:
        doubt = str(lost)
        again = confirmed = disagreement(_clocks(reference, inputs, seed)) is None
    host = measure(WallClock) if again else None
    if isinstance(host, NotMeasured | WrongOutput):
        return host
    by_device, by_host = (each.interval if each else None for each in (device, host))
    verdict = ratio.decide(question.limit, by_device, confirmed, by_host)
    answer = device or host
    if verdict is None or answer is None:
        return _not_measured(doubt)
    return replace(answer, verdict=verdict)


def _clocks(program: Program, inputs: Inputs, seed: int) -> Clocks:
    """What both clocks say of one program. Raises Untimed."""
    clock = DeviceClock([program], inputs, seed)
    sets = inputs.sets(seed, 16)
    _, times = patiently(lambda: clock.round([0] * len(sets), sets))
    return Clocks(float(np.median(times)), wall(program, sets))


def _measure(
    programs: tuple[Program, Program], inputs: Inputs, question: Question, seed: int, make: Clock
) -> Found:
    """Time both by one clock, until its interval decides or the seconds have passed."""
    clock = make(programs, inputs, seed)
    begin = time.perf_counter()
    times: list[float] = []
    walls: tuple[list[Wall], list[Wall]] = ([], [])
    error = 0.0
    seeds = itertools.count(seed + 1)
    looks = ratio.looks()
    look = next(looks)
    while True:
        done = len(times) // 4
        if time.perf_counter() - begin > question.seconds:
            break
        who = [program for block in range(BLOCKS_A_ROUND) for program in ratio.order(done + block)]

        def fresh(who: Sequence[int] = who) -> tuple[Sequence[Arrays], list[Any], list[float]]:
            sets = inputs.sets(next(seeds), len(who))
            return sets, *clock.round(who, sets)

        sets, outputs, measured = patiently(fresh)
        times += measured
        error = float(np.max([error, *_errors(programs[0], who, sets, outputs)]))  # NaN stays NaN
        if not error <= question.tolerance:
            return WrongOutput(error, question.tolerance)
        del outputs
        if make is DeviceClock:
            for program, found in zip(programs, walls, strict=True):
                inputs.evict()
                found.append(wall(program, sets, bursts=1))
        if len(times) // 4 >= look:
            look = next(looks)
            if _interval(times).verdict(question.limit) is not Verdict.UNDECIDED:
                break
    blocks = len(times) // 4
    if blocks < ratio.FIRST_LOOK:
        return NotMeasured(f"{question.seconds:g} s were enough for {blocks} of {ratio.FIRST_LOOK} blocks.")
    interval = _interval(times)
    reference, learner = (
        Clocks(ms, _median(found) if found else Wall(ms, ms))
        for mine, found in zip(ratio.by_program(times), walls, strict=True)
        for ms in (float(np.median(mine)),)
    )
    seconds = time.perf_counter() - begin
    verdict = interval.verdict(question.limit)
    return Comparison(verdict, interval, reference, learner, clock.name, blocks, seconds, error)


def _not_measured(why: object) -> NotMeasured:
    """`why`, which is a sentence without its capital and its full stop."""
    text = str(why)
    return NotMeasured(f"{text[:1].upper()}{text[1:]}.")


def _interval(times: Sequence[float]) -> Interval:
    return ratio.interval(ratio.log_ratios(*ratio.by_program(times)))


def _median(found: Sequence[Wall]) -> Wall:
    return Wall(
        statistics.median(each.amortised_ms for each in found),
        statistics.median(each.enqueue_ms for each in found),
    )


def _errors(
    reference: Program, who: Sequence[int], sets: Sequence[Arrays], outputs: Sequence[Any]
) -> list[float]:
    """The worst row of each call of the learner in this round."""
    mine = [n for n, program in enumerate(who) if program == 1]
    return [float(_worst_row(outputs[n], reference(*sets[n]))) for n in mine]


@jax.jit
def _worst_row(learner: Any, reference: Any) -> jax.Array:
    """max over rows and outputs of ‖learner - reference‖ / ‖reference‖."""
    errors = []
    for mine, other in zip(jax.tree.leaves(learner), jax.tree.leaves(reference), strict=True):
        mine, other = mine.astype(jnp.float32), other.astype(jnp.float32)
        off = jnp.linalg.norm(jnp.atleast_1d(mine - other), axis=-1)
        size = jnp.linalg.norm(jnp.atleast_1d(other), axis=-1)
        errors.append(jnp.max(off / jnp.maximum(size, jnp.finfo(jnp.float32).tiny)))
    return jnp.max(jnp.stack(errors))
