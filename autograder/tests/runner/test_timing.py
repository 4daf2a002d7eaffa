"""Comparing compiled programs: on any machine with made-up clocks, and on a GPU for real."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from autograder.arrays import DTYPES, Spec
from autograder.bench import timing_evidence
from autograder.bench.timing_evidence import slowed
from autograder.bench.variants import library, naive
from autograder.runner import clocks, timing
from autograder.runner.clocks import Inputs, Lost, Untimed, Wall
from autograder.runner.ratio import Verdict
from autograder.runner.timing import Clocks, Comparison, NotMeasured, Question, WrongOutput, compare
from autograder.tests.gpu import gpu

__all__ = ["gpu"]

SMALL = [Spec((8,), "float32")]
QUESTION = Question(1.1, 60.0)


class MadeUp:
    """A clock by which the reference takes 1 ms and the learner `slowdown`, with noise."""

    name = "made up"
    slowdown = 1.0
    lost: frozenset[int] = frozenset()  # which rounds

    def __init__(self, programs: Sequence[Any], inputs: Inputs, seed: int) -> None:
        self._programs = programs
        self._rng = np.random.default_rng(0)
        self.rounds = itertools.count()

    def round(self, who: Sequence[int], sets: Any) -> tuple[list[Any], list[float]]:
        if next(self.rounds) in self.lost:
            raise Lost("a record is missing")
        outputs = [self._programs[program](*arrays) for program, arrays in zip(who, sets, strict=True)]
        noise = np.exp(0.02 * self._rng.standard_normal(len(who)))
        return outputs, [self.slowdown**program * each for program, each in zip(who, noise, strict=True)]


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> type[MadeUp]:
    monkeypatch.setattr(timing, "on_gpu", lambda: False)
    monkeypatch.setattr(timing, "WallClock", MadeUp)
    monkeypatch.setattr(MadeUp, "slowdown", 1.0)
    monkeypatch.setattr(MadeUp, "lost", frozenset())
    return MadeUp


def double(x: jax.Array) -> jax.Array:
    return 2 * x


def test_faster_and_slower(made_up: type[MadeUp]) -> None:
    same = compare(double, double, Inputs(SMALL), QUESTION, seed=1)
    assert isinstance(same, Comparison)
    assert (same.verdict, same.blocks, same.clock, same.error) == (Verdict.FASTER, 12, "made up", 0)
    made_up.slowdown = 1.25
    slower = compare(double, double, Inputs(SMALL), QUESTION, seed=1)
    assert isinstance(slower, Comparison) and slower.verdict is Verdict.SLOWER
    assert slower.interval.low < 1.25 < slower.interval.high
    assert slower.learner.ms == pytest.approx(1.25, rel=0.05)


def test_a_round_that_lost_a_record_is_dropped(made_up: type[MadeUp]) -> None:
    made_up.lost = frozenset({0, 2, 3, 4, 5})
    found = compare(double, double, Inputs(SMALL), QUESTION, seed=1)
    assert isinstance(found, Comparison) and (found.verdict, found.blocks) == (Verdict.FASTER, 12)


def test_records_lost_again_and_again_are_no_answer(made_up: type[MadeUp]) -> None:
    made_up.lost = frozenset(range(1, 1 + clocks.TRIES))
    found = compare(double, double, Inputs(SMALL), QUESTION, seed=1)
    assert found == NotMeasured("A record is missing.")


class ByHost(MadeUp):
    """The host's clock beside MadeUp, which is the GPU's."""

    name = "wall"


@pytest.fixture
def two_clocks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Compare a program with itself where each clock sees a slowdown of its own.

    `wall_ms` is what the host's clock says of the learner in bursts. Where `lost`, the GPU's clock loses all
    rounds but those of the reference alone; where `reference_lost`, it loses those too.
    """

    def run(
        device: float, host: float, wall_ms: float, lost: bool = False, reference_lost: bool = False
    ) -> object:
        class ByDevice(MadeUp):
            slowdown = device

            def round(self, who: Sequence[int], sets: Any) -> tuple[list[Any], list[float]]:
                if lost and (1 in who or reference_lost):
                    raise Lost("the kernels differ from call to call")
                return super().round(who, sets)

        def wall(program: Any, sets: Any, bursts: int = 3) -> Wall:
            return Wall(wall_ms if program is learner else 1.0, 0.01)

        def learner(x: jax.Array) -> jax.Array:
            return 2 * x

        monkeypatch.setattr(timing, "on_gpu", lambda: True)
        monkeypatch.setattr(timing, "DeviceClock", ByDevice)
        monkeypatch.setattr(timing, "WallClock", ByHost)
        monkeypatch.setattr(timing, "wall", wall)
        monkeypatch.setattr(ByHost, "slowdown", host)
        return compare(double, learner, Inputs(SMALL), QUESTION, seed=1)

    return run


def test_a_program_with_gaps_is_slower_where_both_clocks_say_so(two_clocks: Callable[..., object]) -> None:
    found = two_clocks(2.0, 3.0, wall_ms=3.0)
    assert isinstance(found, Comparison) and found.verdict is Verdict.SLOWER
    assert found.clock == "made up" and found.interval.ratio == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize(("device", "host"), [(1.0, 3.0), (2.0, 1.0)])
def test_where_one_clock_alone_says_slower_there_is_no_answer(
    device: float, host: float, two_clocks: Callable[..., object]
) -> None:
    found = two_clocks(device, host, wall_ms=3.0)
    assert isinstance(found, NotMeasured) and "not all is seen" in found.reason


def test_a_program_that_the_gpus_clock_loses_is_judged_by_the_hosts(
    two_clocks: Callable[..., object],
) -> None:
    found = two_clocks(1.0, 3.0, wall_ms=3.0, lost=True)
    assert isinstance(found, Comparison) and (found.verdict, found.clock) == (Verdict.SLOWER, "wall")
    lost = NotMeasured("The kernels differ from call to call.")
    assert two_clocks(1.0, 1.0, wall_ms=1.0, lost=True) == lost
    assert two_clocks(1.0, 3.0, wall_ms=3.0, lost=True, reference_lost=True) == lost


def test_only_lost_records_are_worth_another_try() -> None:
    tries = 0

    def attempt() -> None:
        nonlocal tries
        tries += 1
        raise Untimed("no CUPTI")

    with pytest.raises(Untimed):
        clocks.patiently(attempt)
    assert tries == 1


def test_what_a_program_runs_is_known_once_two_calls_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [("a", 1.0), ("b", 2.0)]
    recorded = iter([whole, whole[:1], whole, whole[::-1]])  # a record is lost; then only their order differs
    monkeypatch.setattr(clocks, "kernels", lambda calls, before: (calls(), next(recorded)))
    assert clocks.DeviceClock([double], Inputs(SMALL)).kernels == [whole[::-1]]


def test_a_program_on_several_streams_is_timed_call_by_call(monkeypatch: pytest.MonkeyPatch) -> None:
    call, mixed = [("a", 1.0), ("b", 2.0)], [("a", 1.0), ("a", 1.0), ("b", 2.0), ("b", 2.0)]
    recorded = iter([call, call, mixed, call, call])
    monkeypatch.setattr(clocks, "kernels", lambda calls, before: (calls(), next(recorded)))
    clock = clocks.DeviceClock([double], Inputs(SMALL))
    outputs, times = clock.round([0, 0], Inputs(SMALL).sets(1, 2))
    assert len(outputs) == 2 and times == [3.0, 3.0]


@pytest.mark.parametrize(("fixed", "by_row"), [(0.06, 1.2), (0.0, 1.0), (0.1, 0.6), (0.02, 2.0)])
def test_the_slowed_program_is_calibrated(
    fixed: float, by_row: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing_evidence, "slowed", lambda function, rows: rows)
    monkeypatch.setattr(timing_evidence, "compiled", lambda rows, specs: rows)
    monkeypatch.setattr(timing_evidence, "_ratio", lambda own, rows, inputs: 1 + fixed + by_row * rows / 4096)
    rows: Any = timing_evidence.quarter_slower(double, specs(LONG), double, Inputs(SMALL))
    assert 1.22 < 1 + fixed + by_row * rows / 4096 < 1.28


def test_the_slowed_program_has_the_same_answer() -> None:
    q, k, v = jax.random.normal(jax.random.key(0), (3, 1, 8, 2, 4))
    out = slowed(plain, 2)(q, k, v)
    assert jnp.array_equal(out, plain(q, k, v))


def test_trials_take_turns() -> None:
    inputs = Inputs(SMALL)
    pairs = [timing_evidence.Pair(what, "", len, len, inputs, n) for what, n in (("a", 10), ("b", 2))]
    assert "".join(pair.what for pair in timing_evidence.in_turn(pairs)) == "aaaaabaaaaab"


def test_no_time_is_no_answer(made_up: type[MadeUp]) -> None:
    found = compare(double, double, Inputs(SMALL), dataclasses.replace(QUESTION, seconds=0.0), seed=1)
    assert found == NotMeasured("0 s were enough for 0 of 12 blocks.")


@pytest.mark.parametrize(
    "cheat",
    [
        lambda x: jnp.zeros(8),
        lambda x: 2 * jnp.ones(8),
        lambda x: 2 * x * jnp.nan,
        lambda x: jnp.where(x[0] > -0.5, 2 * x, 0),  # right most of the time
    ],
)
def test_an_answer_that_does_not_come_from_the_inputs_has_no_time(
    made_up: type[MadeUp], cheat: Callable[..., jax.Array]
) -> None:
    assert isinstance(compare(double, cheat, Inputs(SMALL), QUESTION, seed=1), WrongOutput)


def test_inputs_are_fresh_in_each_call_and_by_seed() -> None:
    inputs = Inputs(SMALL)
    first, second = inputs.sets(1, 16), inputs.sets(2, 16)
    assert len({float(x[0]) for [x] in [*first, *second]}) == 32
    assert [x.tolist() for [x] in inputs.sets(1, 2)] == [x.tolist() for [x] in first[:2]]


def test_large_inputs_are_used_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "MAX_SETS_BYTES", 3 * SMALL[0].nbytes)
    found = Inputs(SMALL).sets(1, 8)
    assert len({id(arrays) for arrays in found}) == 3


@pytest.mark.parametrize(
    ("ms", "wall", "said"),
    [
        (0.305, Wall(0.318, 0.06), None),
        (1.802, Wall(1.721, 0.06), None),
        (0.077, Wall(0.093, 0.06), None),
        (1.0, Wall(0.5, 0.06), "no more than"),
        (0.3, Wall(0.9, 0.06), "not all is seen"),
        (0.004, Wall(0.066, 0.06), "a larger size"),
    ],
)
def test_clocks_must_agree(ms: float, wall: Wall, said: str | None) -> None:
    found = timing.disagreement(Clocks(ms, wall))
    assert found is None if said is None else found is not None and said in found


def test_kernels_are_told_apart_by_name() -> None:
    records = [("a", 1.0), ("b", 2.0), ("c", 4.0), ("b", 1.0), ("a", 2.0)]
    two, one = Counter(["a", "b"]), Counter(["c"])
    assert clocks.split(records, [two, one, two]) == [3.0, 4.0, 3.0]
    for expected in ([two, one, one], [one, two, two], [two, one], [two, one, two, one]):
        with pytest.raises(Untimed):
            clocks.split(records, expected)


def test_without_a_gpu_the_device_clock_says_so() -> None:
    if clocks.on_gpu():
        pytest.skip("there is a GPU")
    with pytest.raises(Untimed, match="CUPTI"):
        clocks.kernels(lambda: None, lambda: None)


# On a GPU.

SHAPE, LONG = (8, 1024, 8, 64), (8, 4096, 8, 64)


def specs(shape: tuple[int, ...]) -> list[Spec]:
    return [Spec(shape, "bfloat16")] * 3


def compiled(function: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    return timing_evidence.compiled(function, specs(shape))


def exported(function: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    avals = [jnp.zeros(spec.shape, DTYPES[spec.dtype]) for spec in specs(shape)]
    checks = [export.DisabledSafetyCheck.custom_call("__cudnn$fmhaSoftmax")]
    blob = export.export(jax.jit(function), disabled_checks=checks)(*avals).serialize()
    return timing_evidence.compiled(export.deserialize(blob).call, specs(shape))


fused = functools.partial(library("cudnn"), causal=False)
plain = functools.partial(naive, causal=False)


@pytest.mark.gpu
@pytest.mark.parametrize(("function", "shape"), [(plain, SHAPE), (fused, LONG)])
def test_on_a_gpu_a_program_beside_itself(
    gpu: None, function: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    programs = compiled(function, shape), exported(function, shape)
    found = compare(*programs, Inputs(specs(shape)), Question(1.1, 20), seed=1)
    assert isinstance(found, Comparison), found
    assert found.verdict is Verdict.FASTER and found.clock == "CUPTI", found
    assert found.interval.width < 0.1


@pytest.mark.gpu
@pytest.mark.parametrize(("function", "shape"), [(plain, SHAPE), (fused, LONG)])
def test_on_a_gpu_more_work_is_slower(
    gpu: None, function: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    programs = compiled(function, shape), compiled(slowed(function, shape[1] // 4), shape)
    found = compare(*programs, Inputs(specs(shape)), Question(1.1, 20), seed=1)
    assert isinstance(found, Comparison) and found.verdict is Verdict.SLOWER, found


@pytest.mark.gpu
def test_on_a_gpu_a_constant_has_no_time(gpu: None) -> None:
    constant = compiled(lambda q, k, v: jnp.zeros_like(q), SHAPE)
    found = compare(compiled(plain, SHAPE), constant, Inputs(specs(SHAPE)), Question(1.1, 20), seed=1)
    assert isinstance(found, WrongOutput)


@pytest.mark.gpu
def test_on_a_gpu_kernels_that_depend_on_the_inputs_are_not_measured_or_timed_in_full(gpu: None) -> None:
    def moody(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        rounds = jnp.where(q[0, 0, 0, 0] > 0, 3, 1)
        out: jax.Array = jax.lax.fori_loop(
            0, rounds, lambda _, out: plain(q, k, v) + 0 * out, jnp.zeros_like(q)
        )
        return out

    programs = compiled(plain, SHAPE), compiled(moody, SHAPE)
    found = compare(*programs, Inputs(specs(SHAPE)), Question(1.1, 20), seed=1)
    assert not (isinstance(found, Comparison) and found.verdict is Verdict.FASTER), found


@pytest.mark.gpu
def test_on_a_gpu_where_the_host_dominates_nothing_is_measured(gpu: None) -> None:
    small = (1, 64, 8, 64)
    programs = compiled(fused, small), compiled(fused, small)
    found = compare(*programs, Inputs(specs(small)), Question(1.1, 20), seed=1)
    assert isinstance(found, NotMeasured), found


@pytest.mark.gpu
def test_on_a_gpu_the_clocks_agree_and_the_kernels_are_known(gpu: None) -> None:
    inputs = Inputs(specs(LONG))
    clock = clocks.DeviceClock([compiled(fused, LONG), compiled(plain, LONG)], inputs)
    assert len(clock.kernels[0]) == 1 < len(clock.kernels[1])
    _, times = clock.round([0] * 8, inputs.sets(1, 8))
    wall = clocks.wall(compiled(fused, LONG), inputs.sets(2, 16))
    assert timing.disagreement(Clocks(float(np.median(times)), wall)) is None
    assert clocks.l2_bytes() > 2**20
