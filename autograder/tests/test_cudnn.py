"""What exercise 2 says of a label, and that no list of capabilities knows those that it asks about."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.exercises.cudnn import ON_CUDNN, ON_TURING, Run, label, plan
from autograder.plan import Evidence, Facts
from autograder.source import parse


def labelled(run: Run, backend: str, reason: str | None) -> Evidence:
    """A submission whose program is what its label says."""
    evidence = Evidence(parse("cudnn_attention", b"0"), plan(np.random.default_rng(0)))
    key = run.case.key
    evidence.judged.add((key, ""))
    evidence.answers[key] = {"labels": {"backend": backend, "reason": reason}}
    evidence.facts[key] = Facts(("__cudnn$fmhaSoftmax",) if backend == "cudnn" else (), 1)
    return evidence


def test_a_false_fallback_is_shown_with_its_reason() -> None:
    problem = label(labelled(ON_CUDNN[0], "xla", "it is too" + " slow" * 100), ON_CUDNN[0])
    assert problem and "can serve this call there; the reason it gave: 'it is too slow" in problem.detail
    assert len(problem.detail) < 450 and problem.next_step.startswith("Ask for cuDNN")


@pytest.mark.parametrize("reason", ["MLIR translation rule for primitive 'x' not found", "no lowering rule"])
def test_who_compiles_to_find_out_is_told(reason: str) -> None:
    problem = label(labelled(ON_CUDNN[0], "xla", reason), ON_CUDNN[0])
    assert problem and problem.next_step.startswith("Compile or run nothing to find out")


def test_the_reason_names_the_capability_that_was_drawn() -> None:
    [_, run] = ON_TURING
    evidence = labelled(run, "xla", "too old")
    trace = next(trace for trace in evidence.plan.traces if trace.key == run.case.key)
    drawn = trace.step["device"]["compute_capability"]
    problem = label(evidence, run)
    assert problem and f"names the cause ({drawn})" in problem.detail
    assert label(labelled(run, "xla", f"{drawn} is too old"), run) is None


def test_capabilities_differ_from_run_to_run_and_within_one() -> None:
    asked = [
        {trace.step["device"]["compute_capability"] for trace in plan(rng).traces if trace.step.get("device")}
        for rng in map(np.random.default_rng, range(8))
    ]
    assert len(set.union(*asked)) > 12
    assert all({"7.5", "9.0"} < found and len(found & {"8.0", "8.6", "8.7", "8.9"}) == 4 for found in asked)
