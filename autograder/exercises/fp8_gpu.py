"""Exercise 5 on a GPU: the real TransformerEngine, whose modules run in FP8, or do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autograder.arrays import DTYPES, Spec
from autograder.catalog import FP8_ERROR, GPU_FP8, LEAST
from autograder.device import Gpu
from autograder.exercises.fp8 import question
from autograder.exercises.programs import Program
from autograder.faults import explain
from autograder.plan import Arrays, Evidence, GpuPlan, Problem, Question, Trace, Verdicts
from autograder.wire import Header

KEY = Spec((2,), "uint32")
INPUT = Spec((128, 256), "bfloat16")
OUTPUT = Spec((128, 128), "bfloat16")
KERNEL = Spec((256, 128), "bfloat16")
HEADS = Spec((2, 128, 4, 64), "bfloat16")
GEMM = "te_gemm"
SCALES = (
    "grad_amax_history",
    "grad_scale",
    "kernel_amax_history",
    "kernel_scale",
    "x_amax_history",
    "x_scale",
)
VARIABLES = {
    "Float8CurrentScaling": ["params/kernel"],
    "DelayedScaling": [*(f"fp8_metas/{name}" for name in SCALES), "params/kernel"],
}
"""What a DenseGeneral's init makes inside autocast, by recipe."""


@dataclass(frozen=True)
class Real:
    """A real program, of which the right answer of `ran_fp8` is known."""

    name: str
    module: str
    ins: tuple[Spec, ...]
    ok: bool
    ran_fp8: bool


REALS = (
    Real("a DenseGeneral of TransformerEngine under autocast", "dense", (INPUT,), True, True),
    Real("a DenseGeneral of TransformerEngine without FP8", "dense", (INPUT,), False, False),
    Real("TransformerEngine's DotProductAttention under autocast", "attention", (HEADS,) * 3, True, False),
)


def gpu_plan(gpu: Gpu) -> GpuPlan:
    if gpu.number < LEAST[GPU_FP8]:
        return GpuPlan()
    return GpuPlan(
        traces=tuple(_run(recipe, gpu) for recipe in VARIABLES),
        texts=tuple(_text(real, gpu) for real in REALS),
        ask=_questions,
    )


def judge_gpu(evidence: Evidence, gpu: Gpu) -> Verdicts:
    asked = evidence.first(question.key for question in evidence.plan.questions)
    return {"real_fp8": asked or next(filter(None, (_ran(evidence, recipe) for recipe in VARIABLES)), None)}


def _ran(evidence: Evidence, recipe: str) -> Problem | None:
    """Variables, kernel and numbers of one recipe's program."""
    key = _key(recipe)
    if problem := evidence.first((key,), ()):
        return problem
    paths = evidence.answers[key]["labels"].get("paths")
    if paths != VARIABLES[recipe]:
        return Problem(
            f"{key}: expected the variables {VARIABLES[recipe]}, got {paths!r}",
            "init ran outside autocast, or under another recipe.",
        )
    facts = evidence.facts[key]
    if not any(name.startswith(GEMM) for name in facts.float8_calls):
        held = ", ".join(facts.compiled_calls) or "no custom call"
        return Problem(
            f"{key}: in the compiled program no product of TransformerEngine takes f8; it holds {held}",
            "apply ran outside autocast.",
        )
    return evidence.first((key,))


def _key(recipe: str) -> str:
    return f"run_with_fp8(a DenseGeneral of TransformerEngine, …, recipe={recipe}())"


def _step(kind: str, module: str, ins: tuple[Spec, ...], ok: bool, recipe: str, gpu: Gpu) -> Header:
    return {
        "kind": kind,
        "function": "run_with_fp8",
        "module": module,
        "args": [spec.to_json() for spec in (KEY, *ins)],
        "ok": ok,
        "recipe": recipe,
        "keep": ["params/kernel"] if kind == "engine_run" else [],
        "gpu": str(gpu),
    }


def _run(recipe: str, gpu: Gpu) -> Trace:
    """Beside the same module without FP8."""
    key = _key(recipe)

    def draw(rng: np.random.Generator, name: str) -> Arrays:
        words = rng.integers(0, 2**32, size=2, dtype=np.uint32)
        return words, rng.standard_normal(INPUT.shape).astype(np.float32).astype(DTYPES[INPUT.dtype])

    def judge(name: str, given: Arrays, outs: Arrays, reference: Arrays) -> Problem | None:
        if not np.array_equal(outs[1], reference[1]):
            return Problem(f"{key}: params/kernel is not what module.init makes of this key")
        output, plain = (arrays[0].astype(np.float64) for arrays in (outs, reference))
        if not np.isfinite(output).all():
            return Problem(f"{key}: the output is not finite")
        error, (least, most) = float(np.linalg.norm(output - plain) / np.linalg.norm(plain)), FP8_ERROR
        if least <= error <= most:
            return None
        return Problem(f"{key}: relative error {error:.3g} to bfloat16; FP8 gives {least:g} to {most:g}")

    return Trace(
        key=key,
        about=key,
        step=_step("engine_run", "dense", (INPUT,), True, recipe, gpu),
        ins=(KEY, INPUT),
        outs=(OUTPUT, KERNEL),
        rounds=("normal",),
        draw=draw,
        judge=judge,
        reference=_step("engine_run", "dense", (INPUT,), False, recipe, gpu),
        float8=True,
        engine=True,
    )


def _text(real: Real, gpu: Gpu) -> Trace:
    """For the reference alone: it is neither run nor judged."""
    return Trace(
        key=real.name,
        about=real.name,
        step=_step("engine_text", real.module, real.ins, real.ok, "DelayedScaling", gpu),
        ins=(),
        outs=(),
        rounds=(),
        draw=lambda rng, name: (),
        judge=lambda name, given, outs, reference: None,
        engine=True,
    )


def _questions(texts: Mapping[str, bytes]) -> tuple[Question, ...]:
    programs = (Program(real.name, texts[real.name].decode(), real.ran_fp8) for real in REALS)
    return (_support(), *map(question, programs))


def _support() -> Question:
    about = "fp8_support(jax.devices()[0]), the GPU of this machine"

    def judge(answer: Header) -> Problem | None:
        if problem := explain(answer, about):
            return problem
        ok, reason = answer["ok"], answer["reason"]
        if ok is True and reason is None:
            return None
        return Problem(f"{about}: expected ok=True with reason None, got ok={ok!r} with reason {reason!r}")

    return Question(about, about, {"kind": "engine_support", "function": "fp8_support"}, judge)
