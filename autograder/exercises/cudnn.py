"""Exercise 2: cuDNN where it can serve, XLA and a true reason where it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np

from autograder.exercises import turned_away
from autograder.exercises.attention import HALF, Case, on
from autograder.exercises.gate import NAMES
from autograder.exercises.shapes import FITS, GROUPS, HEADS, MISFITS, Call, Shapes
from autograder.faults import untraced
from autograder.plan import Evidence, Plan, Problem, Trace, Verdicts
from autograder.text import cut
from autograder.wire import Header

FUNCTION = "attention_with_fallback"
OUTPUT: Header = {"output": "output", "labels": ["backend", "reason"]}
CUDNN_CALL = "__cudnn$fmha"


def _gpu(capability: str) -> Header:
    return {"device_kind": "", "compute_capability": capability, "cudnn": 91900}


OLD, TURING, AMPERE, HOPPER, BLACKWELL, NEW = map(_gpu, ("6.1", "7.5", "8.0", "9.0", "10.0", "13.0"))
ALIKE = {
    "6.1": [f"{major}.{minor}" for major in range(5, 8) for minor in range(5)],
    "8.0": ["8.0", "8.6", "8.7", "8.9"],
    "10.0": ["10.0", "10.3", "12.0", "12.1"],
    "13.0": [f"{major}.{minor}" for major in range(13, 50) for minor in range(10)],
}
"""Capabilities that are served alike; in each run some of them stand for the first."""
CUDNN_VERSIONS = (91100, 92600)
"""From 9.11 on JAX asks nothing of the version: it is the first that serves 10.3."""
ITS_OWN = "its own compute capability"
"""Stands in `Run.names` for the one that was drawn."""


ELSEWHERE = "not from its cuDNN call"
"""As the runner says it of an output."""
SPELLING = "Write the label exactly as the docstring has it."
REPORT = "Ask for the implementation by name, 'cudnn' or 'xla', and return the name that you asked for."
NO_REASON = "Return reason=None where cuDNN ran."
NAME_IT = "Put the value that decided (platform, dtype, head size or capability) into the reason."
MAX_REASON = 200
Alike = Mapping[str, Iterator[str]]


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
    _run(AMPERE, "bfloat16", 64, "cudnn", rounds=HALF["bfloat16"]),
    _run(AMPERE, "float16", 128, "cudnn", is_causal=True),
    _run(HOPPER, "bfloat16", 64, "cudnn", is_causal=True, lengths=(16, 32), rounds=("normal", "mixed_heads")),
    _run(HOPPER, "bfloat16", 40, "cudnn", heads=(4, 2)),
    _run(HOPPER, "bfloat16", 256, "cudnn"),
)
# Labels alone: the numbers of the same two paths are judged above. The last differ from one another by one
# thing each: that shows which of them turned a call away.
LABELLED = (
    _run(BLACKWELL, "bfloat16", 64, "cudnn", rounds=()),
    _run(NEW, "bfloat16", 256, "cudnn", rounds=()),
    _run(AMPERE, "float32", 64, "xla", names=("float32", "fp32", "dtype", "precision"), rounds=()),
    _run(AMPERE, "bfloat16", 60, "xla", is_causal=True, names=("60", "head", "multiple of 8"), rounds=()),
    _run(AMPERE, "bfloat16", 256, "xla", names=("256", "128", "head"), rounds=()),
    _run(HOPPER, "float32", 64, "xla", is_causal=True, names=("float32", "fp32", "dtype", "precision")),
    _run(HOPPER, "bfloat16", 100, "xla", names=("100", "head", "multiple of 8"), rounds=()),
    _run(AMPERE, "float16", 64, "cudnn", rounds=()),
    _run(AMPERE, "bfloat16", 128, "cudnn", rounds=()),
    _run(AMPERE, "bfloat16", 64, "cudnn", is_causal=True, rounds=()),
    _run(HOPPER, "bfloat16", 64, "cudnn", heads=(4, 2), rounds=()),
    _run(HOPPER, "bfloat16", 40, "cudnn", rounds=()),
)
ON_TURING = (
    _run(TURING, "bfloat16", 64, "xla", names=(ITS_OWN,), rounds=()),
    _run(OLD, "float16", 128, "xla", is_causal=True, names=(ITS_OWN,), rounds=()),
)
DTYPES = Call("where the key has another dtype", ("BTNH", "BSNH", "BSNH"), key="float32")
SHAPES = tuple(
    Shapes(
        FUNCTION,
        (*MISFITS, HEADS, DTYPES, *FITS, *GROUPS),
        "bfloat16",
        {**OUTPUT, "device": device},
        on(device),
    )
    for device in (None, HOPPER)
)


def plan(rng: np.random.Generator) -> Plan:
    """Each device with a drawn name, version and capability: whoever decides by a list of them is wrong."""
    alike = {first: cycle(rng.permutation(others).tolist()) for first, others in ALIKE.items()}
    runs = (*ON_CPU, *ON_CUDNN, *LABELLED, *ON_TURING)
    questions = (question for shapes in SHAPES for question in shapes.questions(rng))
    return Plan(
        tuple(_drawn_trace(run.case, rng, alike) for run in runs),
        tuple(replace(question, step=_drawn(question.step, rng, alike)) for question in questions),
    )


def _drawn_trace(case: Case, rng: np.random.Generator, alike: Alike) -> Trace:
    """Under the key of `case`, and told by the device that was drawn; the reference's is of `case` itself."""
    drawn = replace(case, step=_drawn(case.step, rng, alike)).trace()
    return replace(drawn, key=case.key, reference=case.trace().step)


def _drawn(step: Header, rng: np.random.Generator, alike: Alike) -> Header:
    device = step["device"]
    if device is None:
        return step
    capability = device["compute_capability"]
    drawn: Header = {
        "device_kind": NAMES[int(rng.integers(len(NAMES)))],
        "compute_capability": next(alike[capability]) if capability in alike else capability,
        "cudnn": int(rng.integers(*CUDNN_VERSIONS)),
    }
    return {**step, "device": drawn}


def judge(evidence: Evidence) -> Verdicts:
    verdicts = _verdicts(evidence)
    line = evidence.source.jit_line(FUNCTION)
    if line is None:
        return verdicts
    decorated = Problem(
        f"{evidence.source.name}.py puts jax.jit on {FUNCTION} at line {line}, and so it fails",
        "Under jax.jit only arrays are returned: no backend and no reason.",
        "Remove the decorator: `grade` compiles the function itself.",
    )
    return {check: problem and decorated for check, problem in verdicts.items()}


def _verdicts(evidence: Evidence) -> Verdicts:
    labelled = [*ON_CPU, *ON_CUDNN, *LABELLED]
    started = (ON_CPU[0].case.key, ON_CUDNN[0].case.key)
    return {
        "xla_values": evidence.first(run.case.key for run in ON_CPU),
        "errors": next(filter(None, (_started(evidence, key) for key in started)), None)
        or next(filter(None, (shapes.verdict(evidence) for shapes in SHAPES)), None),
        "labels": _labels(evidence, labelled) or _one_reason(evidence),
        "turing": _labels(evidence, ON_TURING),
        "cudnn_values": _labels(evidence, ON_CUDNN) or evidence.first(run.case.key for run in ON_CUDNN),
    }


def _started(evidence: Evidence, key: str) -> Problem | None:
    """The problem before its numbers; with its label, where the output does not come from its cuDNN call."""
    problem = evidence.first((key,), ())
    labels = evidence.answers.get(key, {}).get("labels", {})
    if problem is None or ELSEWHERE not in problem.detail or labels.get("backend") != "xla":
        return problem
    said = f"{problem.detail} Its own label: backend='xla', reason={_cut(labels.get('reason'))}"
    return replace(problem, detail=said, next_step=turned_away.DECIDE)


def _one_reason(evidence: Evidence) -> Problem | None:
    """The same sentence for a dtype and for a head size names neither."""
    said: dict[str, Run] = {}
    for run in LABELLED:
        reason = evidence.answers[run.case.key]["labels"]["reason"]
        other = said.setdefault(reason, run)
        if ("head" in other.names) is not ("head" in run.names):
            about, other_about = (_trace(evidence, one).about for one in (run, other))
            return Problem(
                f"{about}: the same reason as for {other_about}: {_cut(reason)}", next_step=NAME_IT
            )
    return None


def _trace(evidence: Evidence, run: Run) -> Trace:
    return next(trace for trace in evidence.plan.traces if trace.key == run.case.key)


def _cut(reason: object) -> str:
    """Quoted, its beginning alone where it is long, and without JAX's word on a file of the grader's."""
    return cut(repr(untraced(reason) if type(reason) is str else reason), MAX_REASON)


def _labels(evidence: Evidence, runs: tuple[Run, ...] | list[Run]) -> Problem | None:
    for run in runs:
        if problem := label(evidence, run):
            labels = evidence.answers.get(_trace(evidence, run).key, {}).get("labels", {})
            if labels.get("backend") == "xla" and run.case.step.get("device"):
                return turned_away.by_code(problem, evidence.source.tree, labels.get("reason"))
            return problem
    return None


def label(evidence: Evidence, run: Run) -> Problem | None:
    """Backend and reason against the program that was traced, in both directions, then against the device."""
    trace = _trace(evidence, run)
    key, about = trace.key, trace.about
    if problem := _started(evidence, key):
        return problem
    labels = evidence.answers[key]["labels"]
    backend, reason = labels.get("backend"), labels.get("reason")
    called = any(name.startswith(CUDNN_CALL) for name in evidence.facts[key].custom_calls)
    if backend not in ("cudnn", "xla"):
        return Problem(f"{about}: expected backend 'cudnn' or 'xla', got {_cut(backend)}", next_step=SPELLING)
    if called is not (backend == "cudnn"):
        held = f"a call of {CUDNN_CALL}…" if called else "no cuDNN call"
        return Problem(
            f"{about}: backend={backend!r}, but the program holds {held}",
            "The label is not what runs.",
            REPORT,
        )
    if backend != run.backend:
        cannot = "cannot serve this call there" if run.backend == "xla" else "can serve this call there"
        said = "" if reason is None else f"; the reason it gave: {_cut(reason)}"
        return Problem(
            f"{about}: expected backend={run.backend!r}, got {backend!r}: cuDNN {cannot}{said}",
            next_step=_let_in(evidence, run, reason) if run.backend == "cudnn" else "",
        )
    if backend == "cudnn":
        if reason is None:
            return None
        return Problem(f"{about}: cuDNN ran, so reason must be None; got {_cut(reason)}", next_step=NO_REASON)
    if type(reason) is not str or not reason.strip():
        return Problem(
            f"{about}: expected a reason for the fallback, a sentence; got {_cut(reason)}", next_step=NAME_IT
        )
    own = str((trace.step["device"] or {}).get("compute_capability"))
    names = [own if name == ITS_OWN else name for name in run.names]
    if names and not any(name in reason for name in names):
        wanted = " or ".join(names)
        return Problem(
            f"{about}: expected a reason that names the cause ({wanted}); got {_cut(reason)}",
            next_step=NAME_IT,
        )
    return None


def _let_in(evidence: Evidence, run: Run, reason: object) -> str:
    """The next step for a call that cuDNN serves and that was turned away."""
    labels = {key: answer.get("labels", {}) for key, answer in evidence.answers.items()}
    served = [
        (other.case, _trace(evidence, other).step["device"])
        for other in (*ON_CUDNN, *LABELLED)
        if labels.get(other.case.key, {}).get("backend") == other.backend == "cudnn"
    ]
    call = (run.case, _trace(evidence, run).step["device"])
    return turned_away.next_step(call, str(reason), served)
