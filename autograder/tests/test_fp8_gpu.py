"""Verdicts on real FP8, from numbers and facts such as a GPU would give; no GPU is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from autograder import device, workspace
from autograder.arrays import Array
from autograder.catalog import find
from autograder.device import Gpu
from autograder.exercises import fp8_gpu
from autograder.exercises.fp8_gpu import VARIABLES, gpu_plan, judge_gpu
from autograder.grading import Grader
from autograder.plan import Arrays, Evidence, Facts, Plan, Problem
from autograder.results import CheckResult, Outcome
from autograder.source import Source, read

HOPPER = Gpu("NVIDIA H200", "9.0", 91900)
BEFORE = Gpu("NVIDIA A100", "8.0", 91900)
TEXTS = {real.name: b"module" for real in fp8_gpu.REALS}


def rounded(x: Array) -> Array:
    return x.astype(ml_dtypes.float8_e4m3fn).astype(np.float64)


def outputs(change: Callable[[Array], Array]) -> tuple[Arrays, Arrays, Arrays]:
    """Inputs, outputs with both operands changed, and the right ones."""
    rng = np.random.default_rng(3)
    given = gpu_plan(HOPPER).traces[0].draw(rng, "normal")
    kernel = rng.uniform(-1, 1, fp8_gpu.KERNEL.shape).astype(ml_dtypes.bfloat16)
    x, w = given[1].astype(np.float64), kernel.astype(np.float64)
    products = [(a @ b).astype(ml_dtypes.bfloat16) for a, b in ((change(x), change(w)), (x, w))]
    return given, [products[0], kernel], [products[1], kernel]


def judged(given: Arrays, outs: Arrays, reference: Arrays) -> Problem | None:
    return gpu_plan(HOPPER).traces[0].judge("normal", given, outs, reference)


def test_fp8_passes_and_bfloat16_or_worse_fails() -> None:
    assert judged(*outputs(rounded)) is None
    for change in (lambda x: x, lambda x: x * 1.001, lambda x: np.sign(x) * 0.5, lambda x: x + np.nan):
        assert judged(*outputs(change)) is not None


def test_the_kernel_is_the_one_that_init_makes() -> None:
    given, outs, reference = outputs(rounded)
    assert judged(given, [outs[0], outs[1] * 2], reference) is not None


def evidence(source: Source) -> Evidence:
    """All as it should be."""
    plan = gpu_plan(HOPPER)
    found = Evidence(source, Plan(plan.traces, plan.ask(TEXTS)))
    for step in found.plan.steps:
        found.judged |= {(step.key, ""), (step.key, "normal")}
    for trace, paths in zip(plan.traces, VARIABLES.values(), strict=True):
        found.answers[trace.key] = {"labels": {"paths": paths}}
        found.facts[trace.key] = Facts((), 1, ("AllocateBuffer", "te_gemm_v2_ffi"), 0, ("te_gemm_v2_ffi",))
    return found


@pytest.fixture
def whole() -> Evidence:
    return evidence(read(workspace.solutions(), "fp8_autocast"))


def test_the_right_evidence_passes(whole: Evidence) -> None:
    assert judge_gpu(whole, HOPPER) == {"real_fp8": None}


@pytest.mark.parametrize("recipe", VARIABLES)
def test_every_part_of_the_evidence_counts(recipe: str, whole: Evidence) -> None:
    key = next(trace.key for trace in whole.plan.traces if recipe in trace.key)
    facts, answer = whole.facts[key], whole.answers[key]
    whole.facts[key] = replace(facts, float8_calls=("te_dbias_quantize_ffi",))
    assert "no product of TransformerEngine takes f8" in str(judge_gpu(whole, HOPPER)["real_fp8"])
    whole.facts[key] = facts
    whole.answers[key] = {"labels": {"paths": ["params/other"]}}
    assert "expected the variables" in str(judge_gpu(whole, HOPPER)["real_fp8"])
    whole.answers[key] = answer
    whole.problems[key, "normal"] = Problem("far off")
    assert judge_gpu(whole, HOPPER) == {"real_fp8": Problem("far off")}


def test_real_programs_and_this_gpu_are_asked_about(whole: Evidence) -> None:
    support, *texts = whole.plan.questions
    assert support.judge({"ok": True, "reason": None}) is None
    assert support.judge({"ok": False, "reason": "platform"}) is not None
    for question, real in zip(texts, fp8_gpu.REALS, strict=True):
        assert question.judge({"value": real.ran_fp8}) is None
        assert question.judge({"value": not real.ran_fp8}) is not None


def test_an_older_gpu_is_asked_nothing() -> None:
    assert gpu_plan(BEFORE).traces == () and gpu_plan(BEFORE).texts == ()


@pytest.mark.slow
def test_without_the_engine_it_waits_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async def found() -> Gpu:
        return HOPPER

    async def engine() -> str:
        return "TransformerEngine cannot be imported: OSError: libcudnn_graph.so.9"

    monkeypatch.setattr(device, "find", found)
    monkeypatch.setattr(device, "engine", engine)

    async def run(folder: Path) -> dict[str, CheckResult]:
        exercise = find("fp8_autocast")
        assert exercise is not None
        async with Grader() as grader:
            result = (await grader.grade(exercise, folder)).result
        return {check.id: check for check in result.checks}

    checks = asyncio.run(run(workspace.solutions()))
    assert checks["real_fp8"].outcome is Outcome.NOT_GRADED
    assert "libcudnn_graph" in checks["real_fp8"].detail
    assert checks["autocast"].outcome is Outcome.PASSED
