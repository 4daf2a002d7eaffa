"""What the judge's side makes of children that die, hang, or speak nonsense."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from autograder.arrays import Array, Spec
from autograder.runner.client import (
    MAX_DEATHS,
    Canary,
    Child,
    GraderFault,
    Job,
    Loaded,
    Refused,
    RunFailed,
    Runner,
)
from autograder.runner.refusal import LOOPS
from autograder.tests.runner.children import Double, with_runner

SPEC = Spec((2,), "float32")


def job(artifact: bytes) -> Job:
    return Job(artifact, (SPEC,), (SPEC,))


GOOD = Canary(job(b"canary"), (np.zeros(2, np.float32),))


def inputs(*numbers: float) -> list[list[Array]]:
    return [[np.full(2, number, np.float32)] for number in numbers]


def go(artifacts: list[bytes], *, ill_from: int = 99, canary: Canary = GOOD) -> tuple[list[str], object]:
    """Load these, and run what was loaded on 0, 1, 2…: what the child was asked, and both answers."""
    log: list[str] = []

    async def start() -> Child:
        log.append("start")
        return Double(log, ill=log.count("start") > ill_from)

    async def work(runner: Runner) -> tuple[list[Loaded | Refused], list[list[Array] | RunFailed]]:
        loaded = await runner.load([job(artifact) for artifact in artifacts])
        count = sum(type(answer) is Loaded for answer in loaded)
        return loaded, await runner.run(inputs(*range(count)))

    return log, with_runner(work, Runner(start, canary))


def kinds(answers: object) -> list[list[str]]:
    assert isinstance(answers, tuple)
    return [[type(answer).__name__ for answer in part] for part in answers]


def test_a_batch_is_one_load_and_one_run() -> None:
    log, answers = go([b"a", b"no", b"b"])
    assert kinds(answers) == [["Loaded", "Refused", "Loaded"], ["list", "list"]]
    assert log == ["start", "load 3", "run 2", "kill"]
    assert answers[1][1][0].tolist() == [1.0, 1.0]  # type: ignore[index]


def test_opened_by_many_at_once_it_starts_one_child() -> None:
    log: list[str] = []

    async def start() -> Child:
        log.append("start")
        await asyncio.sleep(0)
        return Double(log)

    async def work(runner: Runner) -> None:
        await asyncio.gather(*(runner.open() for _ in range(3)))

    with_runner(work, Runner(start, GOOD))
    assert log == ["start", "kill"]


def test_closed_while_it_opens_it_leaves_no_child() -> None:
    log: list[str] = []

    async def start() -> Child:
        log.append("start")
        await asyncio.sleep(0.01)
        return Double(log)

    async def work(runner: Runner) -> None:
        opening = asyncio.create_task(runner.open())
        await asyncio.sleep(0)
        await runner.close()
        assert log == ["start", "kill"]
        await opening

    with_runner(work, Runner(start, GOOD))


def test_nothing_to_do() -> None:
    _, answers = go([])
    assert answers == ([], [])


def test_an_artifact_that_kills_the_loading_is_refused_alone() -> None:
    log, answers = go([b"a", b"load", b"b"])
    assert kinds(answers) == [["Loaded", "Refused", "Loaded"], ["list", "list"]]
    assert "SIGSEGV" in answers[0][1].message  # type: ignore[index]
    assert log.count("start") == 4  # of the batch, after it, and again for the one that came second there


def test_an_artifact_that_kills_the_run_fails_alone() -> None:
    _, answers = go([b"a", b"run", b"b"])
    assert kinds(answers) == [["Loaded"] * 3, ["list", "RunFailed", "list"]]
    assert answers[1][2][0].tolist() == [2.0, 2.0]  # type: ignore[index]


def test_one_that_takes_too_long_alone_is_told_how_long_and_what_to_do() -> None:
    _, answers = go([b"run"])
    [failed] = answers[1]  # type: ignore[index]
    assert failed == RunFailed(
        "compiling and running it took more than 40 s",
        LOOPS,
    )


def test_whoever_finds_a_child_used_up_is_tried_again() -> None:
    """None of these does anything wrong, and no child has the processor time for more than three loads."""
    log: list[str] = []

    async def start() -> Child:
        log.append("start")
        return Double(log, lives=3)

    async def work(runner: Runner) -> tuple[list[Loaded | Refused], list[list[Array] | RunFailed]]:
        loaded = await runner.load([job(b"a"), job(b"b"), job(b"c"), job(b"d")])
        return loaded, await runner.run(inputs(0, 1, 2, 3))

    answers = with_runner(work, Runner(start, GOOD, alone=7))
    assert kinds(answers) == [["Loaded"] * 4, ["list"] * 4]
    assert log.count("7 s") == 4 + 4 + log.count("start") - 2  # a deadline for each attempt


def test_after_several_deaths_the_rest_is_not_tried() -> None:
    for artifact in (b"load", b"run"):
        log, answers = go([artifact] * 10)
        assert all(isinstance(answer, Refused | RunFailed) for answer in answers[artifact == b"run"])  # type: ignore[index]
        assert log.count("start") <= 2 + MAX_DEATHS


def test_only_some_are_run() -> None:
    async def start() -> Child:
        return Double([])

    async def work(runner: Runner) -> list[list[Array] | RunFailed]:
        await runner.load([job(b"a"), job(b"b"), job(b"c")])
        return await runner.run(inputs(5, 6), [2, 0])

    answers = with_runner(work, Runner(start, GOOD))
    assert [answer[0][0] for answer in answers] == [5.0, 6.0]


def test_patience_counts_for_each_request() -> None:
    log: list[str] = []

    async def start() -> Child:
        return Double(log)

    async def work(runner: Runner) -> list[list[Array] | RunFailed]:
        await runner.load([job(b"a")])
        return await runner.run(inputs(5))

    with_runner(work, Runner(start, GOOD, patience=7))
    assert log.count("7 s") == 2


ENDLESS = RunFailed(
    "it did not end within 5 s", "Look for a loop whose condition depends on the sizes.", endless=True
)


def test_what_has_seconds_of_its_own_and_hangs_is_not_tried_again() -> None:
    log: list[str] = []

    async def start() -> Child:
        return Double(log)

    async def work(runner: Runner) -> list[list[Array] | RunFailed]:
        await runner.load([job(b"a"), job(b"run")], 9)
        assert runner.loaded
        answers = await runner.run(inputs(5), [1], 5)
        assert not runner.loaded
        return answers

    assert with_runner(work, Runner(start, GOOD)) == [ENDLESS]
    assert log == ["9 s", "load 2", "5 s", "run 1", "kill", "load 1", "run 1", "kill"]  # the canary's


def test_a_call_that_hangs_or_dies_is_the_programs_fault_where_the_canary_runs() -> None:
    async def start() -> Child:
        return Double([])

    async def call(runner: Runner, artifact: bytes) -> float | RunFailed:
        await runner.load([job(artifact)])
        return await runner.call(0, 7, 5)

    assert with_runner(lambda runner: call(runner, b"a"), Runner(start, GOOD)) == 1.5
    assert with_runner(lambda runner: call(runner, b"run"), Runner(start, GOOD)) == ENDLESS
    died = with_runner(lambda runner: call(runner, b"die"), Runner(start, GOOD))
    assert died.message == "running it ended the process: it was killed by signal 11 (SIGSEGV)"


def test_wrong_inputs_are_the_judges_mistake() -> None:
    async def start() -> Child:
        return Double([])

    async def work(runner: Runner) -> None:
        await runner.load([job(b"a")])
        await runner.run([[np.zeros(3, np.float32)]])

    with pytest.raises(ValueError, match="expected inputs"):
        with_runner(work, Runner(start, GOOD))


def test_a_runner_that_fails_on_nothing_is_the_graders_fault() -> None:
    with pytest.raises(GraderFault, match="exited with status 1"):
        go([b"a", b"load"], ill_from=1)


def test_a_canary_that_fails_is_the_graders_fault() -> None:
    _, answers = go([b"load"])
    assert kinds(answers) == [["Refused"], []]
    for artifact in (b"load", b"run", b"no"):
        with pytest.raises(GraderFault, match="fails on a known-good program"):
            go([b"load"], canary=Canary(job(artifact), GOOD.inputs))


def test_a_child_that_does_not_start_is_the_graders_fault() -> None:
    async def start() -> Child:
        raise OSError("no such file")

    with pytest.raises(GraderFault, match="no such file"):
        with_runner(lambda runner: runner.load([job(b"a")]), Runner(start, GOOD))


def test_answers_that_do_not_fit_end_the_child() -> None:
    class Liar(Double):
        async def receive(self, max_header: int, max_blob: int) -> tuple[dict[str, object], bytes]:
            header, blob = await super().receive(max_header, max_blob)
            return ({"jobs": [{"ok": "yes"}]} if self._loaded == [(b"a", 0)] else header), blob

    async def start() -> Child:
        return Liar([])

    async def work(runner: Runner) -> list[Loaded | Refused]:
        return await runner.load([job(b"a")])

    [answer] = with_runner(work, Runner(start, GOOD))
    assert isinstance(answer, Refused) and answer.code == "died"
