"""Exercise 2: cuDNN where it can serve, XLA and a true reason where it cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autograder.exercises.attention import HALF, Case, on
from autograder.exercises.gate import NAMES
from autograder.exercises.shapes import FITS, GROUPS, HEADS, MISFITS, Shapes
from autograder.plan import Evidence, Plan, Problem, Verdicts
from autograder.wire import Header

FUNCTION = "attention_with_fallback"
OUTPUT: Header = {"output": "output", "labels": ["backend", "reason"]}
CUDNN_CALL = "__cudnn$fmha"

TURING = {"device_kind": "Tesla T4", "compute_capability": "7.5", "cudnn": 91900}
AMPERE = {"device_kind": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "cudnn": 91900}
HOPPER = {"device_kind": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "cudnn": 91900}
BLACKWELL = {"device_kind": "NVIDIA B200", "compute_capability": "10.0", "cudnn": 91900}


@dataclass(frozen=True)
class Run:
    """A case on a device, and the backend that can serve it there; `names` is what a reason must name."""

    case: Case
    backend: str
    names: tuple[str, ...] = ()


def _run(
    device: Header | None,
    dtype: str,
    h: int,
    backend: str,
    *,
    is_causal: bool = False,
    heads: tuple[int, int] = (2, 2),
    lengths: tuple[int, int] = (16, 16),
    names: tuple[str, ...] = (),
    rounds: tuple[str, ...] = ("normal",),
    gradient: bool = False,
) -> Run:
    case = Case(
        FUNCTION,
        (2, *lengths, *heads, h),
        dtype,
        rounds,
        is_causal=is_causal,
        gradient=gradient,
        step={**OUTPUT, "kwargs": {"is_causal": is_causal} if is_causal else {}, "device": device},
        cudnn=backend == "cudnn",
    )
    return Run(case, backend, names)


ON_CPU = (
    _run(None, "float32", 32, "xla", rounds=("normal", "mixed_heads", "large"), lengths=(9, 7)),
    _run(None, "float32", 16, "xla", is_causal=True, rounds=("normal", "mixed_heads"), lengths=(7, 9)),
    _run(None, "bfloat16", 32, "xla", heads=(4, 2), rounds=("normal", "mixed_heads")),
    _run(None, "float32", 16, "xla", is_causal=True, gradient=True),
)
ON_CUDNN = (
    _run(AMPERE, "bfloat16", 64, "cudnn", rounds=HALF),
    _run(AMPERE, "float16", 128, "cudnn", is_causal=True),
    _run(HOPPER, "bfloat16", 64, "cudnn", is_causal=True, lengths=(16, 32), rounds=("normal", "mixed_heads")),
    _run(HOPPER, "bfloat16", 40, "cudnn", heads=(4, 2)),
    _run(HOPPER, "bfloat16", 256, "cudnn"),
)
# Labels alone: the numbers of the same two paths are judged above.
LABELLED = (
    _run(BLACKWELL, "bfloat16", 64, "cudnn", rounds=()),
    _run(AMPERE, "float32", 64, "xla", names=("float32", "fp32", "dtype", "precision"), rounds=()),
    _run(AMPERE, "bfloat16", 60, "xla", is_causal=True, names=("60", "head", "multiple of 8"), rounds=()),
    _run(AMPERE, "bfloat16", 256, "xla", names=("256", "128", "head"), rounds=()),
    _run(HOPPER, "float32", 64, "xla", is_causal=True, names=("float32", "fp32", "dtype", "precision")),
    _run(HOPPER, "bfloat16", 100, "xla", names=("100", "head", "multiple of 8"), rounds=()),
)
ON_TURING = (
    _run(TURING, "bfloat16", 64, "xla", names=("7.5",), rounds=()),
    _run(TURING, "float16", 128, "xla", is_causal=True, names=("7.5",), rounds=()),
)
SHAPES = tuple(
    Shapes(FUNCTION, (*MISFITS, HEADS, *FITS, *GROUPS), "bfloat16", {**OUTPUT, "device": device}, on(device))
    for device in (None, HOPPER)
)


def plan(rng: np.random.Generator) -> Plan:
    """Each device under a drawn name: whoever decides by the name is wrong on some."""
    traces = (run.case.trace() for run in (*ON_CPU, *ON_CUDNN, *LABELLED, *ON_TURING))
    questions = (question for shapes in SHAPES for question in shapes.questions(rng))
    return Plan(
        tuple(replace(trace, step=_named(trace.step, rng), reference=trace.step) for trace in traces),
        tuple(replace(question, step=_named(question.step, rng)) for question in questions),
    )


def _named(step: Header, rng: np.random.Generator) -> Header:
    name = NAMES[int(rng.integers(len(NAMES)))]
    return {**step, "device": step["device"] and {**step["device"], "device_kind": name}}


def judge(evidence: Evidence) -> Verdicts:
    labelled = [*ON_CPU, *ON_CUDNN, *LABELLED]
    started = (ON_CPU[0].case.key, ON_CUDNN[0].case.key)
    return {
        "xla_values": evidence.first(run.case.key for run in ON_CPU),
        "errors": evidence.first((*started, *(key for shapes in SHAPES for key in shapes.keys)), ()),
        "labels": _labels(evidence, labelled) or _one_reason(evidence),
        "turing": _labels(evidence, ON_TURING),
        "cudnn_values": _labels(evidence, ON_CUDNN) or evidence.first(run.case.key for run in ON_CUDNN),
    }


def _one_reason(evidence: Evidence) -> Problem | None:
    """The same sentence for a dtype and for a head size names neither."""
    said: dict[str, Run] = {}
    for run in LABELLED:
        reason = evidence.answers[run.case.key]["labels"]["reason"]
        other = said.setdefault(reason, run)
        if ("head" in other.names) is not ("head" in run.names):
            return Problem(f"{run.case.key}: the same reason as for {other.case.key}: {reason!r}")
    return None


def _labels(evidence: Evidence, runs: tuple[Run, ...] | list[Run]) -> Problem | None:
    return next((problem for run in runs if (problem := label(evidence, run))), None)


def label(evidence: Evidence, run: Run) -> Problem | None:
    """Backend and reason against the program that was traced, in both directions, then against the device."""
    key, about = run.case.key, run.case.key
    if problem := evidence.first((key,), ()):
        return problem
    labels = evidence.answers[key]["labels"]
    backend, reason = labels.get("backend"), labels.get("reason")
    called = any(name.startswith(CUDNN_CALL) for name in evidence.facts[key].custom_calls)
    if backend not in ("cudnn", "xla"):
        return Problem(f"{about}: expected backend 'cudnn' or 'xla', got {backend!r}")
    if called is not (backend == "cudnn"):
        held = f"a call of {CUDNN_CALL}…" if called else "no cuDNN call"
        return Problem(
            f"{about}: backend={backend!r}, but the program holds {held}", "The label is not what runs."
        )
    if backend != run.backend:
        cannot = "cannot serve this call there" if run.backend == "xla" else "can serve this call there"
        step = "Ask for cuDNN wherever the docstring says that it serves." if run.backend == "cudnn" else ""
        return Problem(
            f"{about}: expected backend={run.backend!r}, got {backend!r}: cuDNN {cannot}", next_step=step
        )
    if backend == "cudnn":
        if reason is None:
            return None
        return Problem(f"{about}: cuDNN ran, so reason must be None; got {reason!r}")
    if type(reason) is not str or not reason.strip():
        return Problem(f"{about}: expected a reason for the fallback, a sentence; got {reason!r}")
    if run.names and not any(name in reason for name in run.names):
        wanted = " or ".join(run.names)
        return Problem(f"{about}: expected a reason that names the cause ({wanted}); got {reason!r}")
    return None
