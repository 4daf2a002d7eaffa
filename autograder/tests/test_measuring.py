"""What waits for a GPU, on a CPU in its place: an endless program costs seconds and its own check."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from autograder import device, measuring, workspace
from autograder.exercises.gpu import raced, weightiest
from autograder.plan import Arrays, Evidence, GpuPlan, Plan, Problem, Race, Trace
from autograder.results import Outcome
from autograder.source import read
from autograder.tests.runner import forged
from autograder.tests.runner.children import real
from autograder.tests.runner.forged import ENDLESS, VECTOR
from autograder.tests.runner.test_process import SINE

NEXT = "Look for a loop whose condition depends on the sizes."
SINES, ENDS_NOT = forged.artifact(SINE), forged.artifact(ENDLESS)


class Sines:
    """A reference whose every program is a sine."""

    async def artifacts(self, name: str, traces: Sequence[Trace]) -> Mapping[str, bytes]:
        return {trace.key: SINES for trace in traces}


def trace(key: str, *rounds: str) -> Trace:
    def draw(rng: np.random.Generator, name: str) -> Arrays:
        return (rng.standard_normal(4).astype(np.float32),)

    def judge(name: str, given: Arrays, outs: Arrays, reference: Arrays) -> Problem | None:
        return None if np.array_equal(outs[0], reference[0]) else Problem("not its sine")

    return Trace(key, key, {"function": "f"}, (VECTOR,), (VECTOR,), rounds, draw, judge)


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runners without a GPU, and little time for them; lists when one starts."""
    started: list[str] = []

    async def start() -> Any:
        started.append("start")
        return await real()()

    monkeypatch.setattr(device, "start_runner", start)
    monkeypatch.setattr(measuring, "AT_LEAST", 1.0)
    monkeypatch.setattr(measuring, "RACE_SECONDS", 3.0)
    monkeypatch.setattr(measuring, "FAR", 500)  # on a CPU that others use, a call may take long now and then
    return started


def measured(plan: GpuPlan, artifacts: Mapping[str, bytes]) -> Evidence:
    evidence = Evidence(read(workspace.solutions(), "naive_attention"), Plan(plan.traces))
    evidence.judged |= {(trace.key, "") for trace in plan.traces}
    reference: Any = Sines()
    rng = np.random.default_rng(1)
    asyncio.run(measuring.measure("naive_attention", plan, artifacts, evidence, reference, rng))
    return evidence


def speed(evidence: Evidence, key: str) -> Problem | None:
    return raced(evidence, key, key, 1e9, "the reference's")


@pytest.mark.slow
def test_an_endless_program_costs_one_try_and_its_own_check(on_a_cpu: list[str]) -> None:
    small, other = trace("small", "normal"), trace("other", "normal")
    long, longer = trace("long"), trace("longer")
    races = tuple(Race(each.key, "naive_attention", each, 1e9) for each in (long, longer))
    found = measured(
        GpuPlan((small, other, long, longer), races),
        {"small": ENDS_NOT, "other": SINES, "long": SINES, "longer": ENDS_NOT},
    )
    assert found.problems.keys() == {("small", ""), ("other", "")}
    first = found.problems["small", ""]
    assert first.detail.startswith("small: it did not end within ") and first.next_step == NEXT
    assert " s at these sizes; the reference takes " in first.detail
    assert found.problems["other", ""].detail == "other: not tried, since small did not end"
    assert set(found.facts) == {"small", "other", "long", "longer"}
    # The large sizes have a try of their own.
    assert found.races["long", "long"]["answer"] != "failed"
    problem = speed(found, "longer")
    assert problem is not None and problem.next_step == NEXT
    assert problem.detail.startswith("longer: it did not end within ")
    assert on_a_cpu == ["start"] * 3  # the first, and one after each that did not end


@pytest.mark.slow
def test_an_endless_program_is_raced_once(on_a_cpu: list[str]) -> None:
    long, longer = trace("long"), trace("longer")
    races = tuple(
        Race(learner.key, "naive_attention", beside, 1e9)
        for learner, beside in ((long, long), (long, longer), (longer, longer))
    )
    found = measured(GpuPlan((long, longer), races), {"long": ENDS_NOT, "longer": SINES})
    assert found.races["long", "longer"] == found.races["long", "long"]
    assert found.races["longer", "longer"]["message"] == "not tried, since long did not end"
    assert all(race["answer"] == "failed" for race in found.races.values())
    assert on_a_cpu == ["start"] * 2


def test_a_program_that_takes_far_longer_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "FAR", 0)
    long = trace("long")
    plan = GpuPlan((long,), (Race("long", "naive_attention", long, 1.5),))
    problem = speed(measured(plan, {"long": SINES}), "long")
    assert problem is not None and problem.next_step == ""
    assert problem.detail.startswith("long: one call takes ")
    assert problem.detail.endswith(" ms; the limit is 1.5 times as long")


def test_right_values_pass_and_wrong_ones_do_not() -> None:
    small = trace("small", "normal", "large")
    found = measured(GpuPlan((small,)), {"small": SINES})
    assert found.problems == {} and {("small", "normal"), ("small", "large")} <= found.judged
    same = forged.artifact(forged.main(f"return %x : {forged.T}"))
    found = measured(GpuPlan((small,)), {"small": same})
    assert found.problems["small", "normal"] == Problem("not its sine")


TIMES = {"ratio": 3.0, "low": 2.9, "high": 3.1, "learner_ms": 3.6, "reference_ms": 1.2}


@pytest.mark.parametrize(("clock", "said"), [("CUPTI", "device time"), ("wall", "time by the host's clock")])
def test_a_slower_program_is_told_by_which_clock(clock: str, said: str) -> None:
    found = Evidence(read(workspace.solutions(), "naive_attention"), Plan((trace("long"),)))
    found.judged.add(("long", ""))
    found.races["long", "long"] = {"answer": "slower", "clock": clock, **TIMES}
    problem = raced(found, "long", "long", 1.5, "the reference's")
    assert problem is not None and problem.outcome is Outcome.FAILED
    assert problem.detail == (
        f"long: 3.6 ms of {said}, 3 times the reference's (1.2 ms; between 2.9 and 3.1 times); "
        "the limit is 1.5 times"
    )


def test_a_failure_at_one_length_outweighs_what_could_not_be_measured_at_another() -> None:
    failed, unmeasured = Problem("slower"), Problem("not measured", outcome=Outcome.NOT_GRADED)
    assert weightiest((unmeasured, failed)) is weightiest((failed, None, unmeasured)) is failed
    assert weightiest((None, unmeasured)) is unmeasured
    assert weightiest((None, None)) is None
