"""The real runner in the sandbox: honest artifacts give JAX's bits, hostile ones cost only themselves."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.arrays import Array, pack
from autograder.runner.canary import CANARY
from autograder.runner.client import GraderFault, Job, Loaded, Refused, RunFailed, Runner
from autograder.tests.runner import forged, honest
from autograder.tests.runner.children import real, with_runner
from autograder.tests.runner.forged import ENDLESS, HUNGRY, T, main

ROOT = Path(__file__).resolve().parents[3]
FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
SINE = main(f"%0 = stablehlo.sine %x : {T}\n return %0 : {T}")
Ran = list[Array] | RunFailed


def grade(
    jobs: Sequence[Job],
    seconds: float = 60.0,
    together: bool = True,
    resident_bytes: int = 3 * 2**30,
) -> tuple[list[Loaded | Refused], list[Ran]]:
    """Load these and run what was loaded."""

    async def work(runner: Runner) -> tuple[list[Loaded | Refused], list[Ran]]:
        loaded = await runner.load(jobs)
        good = [job for job, answer in zip(jobs, loaded, strict=True) if isinstance(answer, Loaded)]
        return loaded, await runner.run([honest.inputs(job.ins) for job in good])

    answers: tuple[list[Loaded | Refused], list[Ran]] = with_runner(
        work, Runner(real(seconds, resident_bytes), CANARY, together=together, alone=seconds)
    )
    return answers


def directly(cases: Sequence[honest.Case]) -> bytes:
    command = [sys.executable, "-m", "autograder.tests.runner.direct", *(case.name for case in cases)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": FLAGS}
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True).stdout


def same_bits(cases: Sequence[honest.Case]) -> None:
    loaded, ran = grade([honest.job(case) for case in cases], 280.0)
    assert [answer for answer in loaded if not isinstance(answer, Loaded)] == []
    outputs = [output for output in ran if isinstance(output, list)]
    assert b"".join(map(pack, outputs)) == directly(cases)


PLAIN = [case for case in honest.cases() if case.cudnn is None and case.name != "library float16"]


def test_some_honest_artifacts_give_the_bits_that_jax_gives() -> None:
    names = ("einsum", "online", "nested_jit gradient", "half bfloat16")
    same_bits([case for case in PLAIN if case.name in names])


@pytest.mark.slow
def test_all_honest_artifacts_give_the_bits_that_jax_gives() -> None:
    same_bits(PLAIN)


@pytest.mark.slow
def test_a_kind_of_arithmetic_that_the_cpu_lacks_still_runs() -> None:
    case = next(case for case in honest.cases() if case.name == "library float16")
    _, [ran] = grade([honest.job(case)])
    assert isinstance(ran, list)


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_an_endless_loop_costs_only_itself(together: bool) -> None:
    jobs = [forged.job(SINE), forged.job(ENDLESS), forged.job(SINE)]
    loaded, ran = grade(jobs, 12.0, together)
    assert [type(answer) for answer in loaded] == [Loaded] * 3
    assert [type(answer) for answer in ran] == [list, RunFailed, list]
    assert "compiling and running it took more than 12 s" in ran[1].message  # type: ignore[union-attr]


@pytest.mark.slow
def test_too_much_memory_costs_only_itself() -> None:
    jobs = [forged.job(SINE), forged.job(HUNGRY), forged.job(SINE)]
    loaded, ran = grade(jobs, resident_bytes=800 * 2**20)
    assert [type(answer) for answer in loaded] == [Loaded] * 3
    assert [type(answer) for answer in ran] == [list, RunFailed, list]
    assert "memory" in ran[1].message  # type: ignore[union-attr]


@pytest.mark.slow
def test_flipped_bytes_are_refused_or_run_and_cost_only_themselves() -> None:
    rng = random.Random(7)
    good = honest.job(next(honest.cases()))
    jobs = [good]
    for _ in range(30):
        data = bytearray(good.artifact)
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        jobs.append(Job(bytes(data), good.ins, good.outs))
    # A few at a time, so that several that crash do not hide the rest.
    for start in range(0, len(jobs), 10):
        loaded, _ = grade([good, *jobs[start : start + 10]], together=False)
        assert isinstance(loaded[0], Loaded)


@pytest.mark.slow
def test_noise_is_refused() -> None:
    rng = random.Random(3)
    jobs = [forged.job(b"ML\xefR\rStableHLO_v1.8.0\0" + rng.randbytes(rng.randrange(400))) for _ in range(40)]
    loaded, _ = grade([forged.job(SINE), *jobs])
    assert isinstance(loaded[0], Loaded)
    assert all(isinstance(answer, Refused) for answer in loaded[1:])


def test_a_runner_that_cannot_do_the_canary_is_the_graders_fault() -> None:
    """The real runner, and a canary that it refuses: then nothing that it says of a submission counts."""
    broken = replace(CANARY, job=replace(CANARY.job, artifact=CANARY.job.artifact[:-1]))

    async def work(runner: Runner) -> None:
        await runner.open()
        assert runner._child is not None
        await runner._child.kill()  # as if the first program had ended it
        await runner.load([forged.job(SINE)])

    with_runner(work, Runner(real(), CANARY))
    with pytest.raises(GraderFault, match="fails on a known-good program: this StableHLO artifact cannot be"):
        with_runner(work, Runner(real(), broken))
