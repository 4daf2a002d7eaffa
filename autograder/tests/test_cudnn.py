"""What exercise 2 says of a label, and that no list of capabilities knows those that it asks about."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

from autograder.exercises.cudnn import LABELLED, ON_CPU, ON_CUDNN, ON_TURING, Run, judge, label, plan
from autograder.plan import Evidence, Facts, Problem
from autograder.runner.refusal import Refusal
from autograder.runner.validate import validate
from autograder.source import parse
from autograder.tests.runner import honest
from autograder.tests.runner.honest import KEY, QUERY, Case, library, types


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


def test_each_wrong_label_and_reason_has_a_step_of_its_own() -> None:
    for run, backend, reason, step in (
        (ON_CUDNN[0], "cuDNN", None, "Write the label exactly as the docstring has it."),
        (ON_CUDNN[0], "cudnn", "ok", "Return reason=None where cuDNN ran."),
        (ON_TURING[0], "xla", "cuDNN not available", "Put the value that decided"),
        (ON_TURING[0], "xla", None, "Put the value that decided"),
    ):
        problem = label(labelled(run, backend, reason), run)
        assert problem and problem.next_step.startswith(step)


def test_a_label_that_is_not_what_runs_is_about_the_implementation() -> None:
    evidence = labelled(ON_CUDNN[0], "xla", "why not")
    evidence.facts[ON_CUDNN[0].case.key] = Facts(("__cudnn$fmhaSoftmax",), 1)
    problem = label(evidence, ON_CUDNN[0])
    assert problem and problem.next_step.startswith("Ask for the implementation by name")


@pytest.mark.parametrize(
    ("place", "reason", "step"),
    [
        (
            0,
            "compute capability {own} is below 8.0",
            "8.0 is enough, and this GPU has {own}: let it through.",
        ),
        (0, "platform gpu of {own} is too old", "8.0 is enough, and this GPU has {own}: let it through."),
        (0, "CUDA of capability 8.0 is needed", "8.0 is enough, and this GPU has {own}: let it through."),
        (1, "H = 256 needs 9.0, not {own}", "9.0 is enough, and this GPU has {own}: let it through."),
        (0, "{name} is too old", "Names are drawn at random here: decide by capability."),
        (0, "platform 'gpu' is not 'cuda'", "Compare the platform with 'gpu'"),
        (0, "needs CUDA, got gpu", "Compare the platform with 'gpu'"),
        (0, "not today", "Ask for cuDNN wherever the docstring says that it serves:"),
    ],
)
def test_who_turns_away_a_device_is_told_by_the_reason(place: int, reason: str, step: str) -> None:
    run = [run for run in LABELLED if run.backend == "cudnn"][place]
    trace = next(t for t in labelled(run, "xla", None).plan.traces if t.key == run.case.key)
    words = {"own": trace.step["device"]["compute_capability"], "name": trace.step["device"]["device_kind"]}
    problem = label(labelled(run, "xla", reason.format(**words)), run)
    assert problem and problem.next_step.startswith(step.format(**words))


def test_a_call_that_was_tried_and_given_up_is_shown_with_its_label() -> None:
    """As the runner refuses it: the call is still in the program, the output comes from elsewhere."""

    def given_up(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
        jax.jit(functools.partial(library, implementation="cudnn"))(query, key, value)
        return library(query, key, value)  # type: ignore[no-any-return, no-untyped-call]

    with pytest.raises(Refusal) as refused:
        validate(honest.job(Case("given up", given_up, types(QUERY, KEY, "bfloat16"), cudnn=False)))
    run, waits = ON_CUDNN[0], "The 'block_until_ready' method is not available on traced array"
    traced = "\nThe error occurred while tracing the function program at /a/steps.py:116 for jit."
    evidence = labelled(run, "xla", f"{waits}{traced}")
    on_cpu = labelled(ON_CPU[0], "xla", "the platform is cpu")
    evidence.judged |= on_cpu.judged
    evidence.answers |= on_cpu.answers
    evidence.facts |= on_cpu.facts
    evidence.problems[run.case.key, ""] = Problem(refused.value.message, next_step=refused.value.next_step)
    for problem in (label(evidence, run), judge(evidence)["errors"]):
        assert problem and "not from its cuDNN call. Its own label: backend='xla', reason=" in problem.detail
        assert problem.detail.endswith(f'{waits}"') and problem.next_step.startswith(
            "Compile or run nothing to find out"
        )


@pytest.mark.parametrize(
    "reason",
    [
        "MLIR translation rule for primitive 'x' not found",
        "no lowering rule",
        "The 'block_until_ready' method is not available on traced array",
    ],
)
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
