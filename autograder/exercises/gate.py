"""What `fp8_support` is asked: devices by platform and capability, TransformerEngine there, absent or not."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from autograder.faults import explain
from autograder.plan import Evidence, Problem, Question
from autograder.wire import Header

AGREES: Header = {"ok": True, "reason": ""}
ENGINE_NAMES = ("transformer_engine", "TransformerEngine", "Transformer Engine", "TE")
NAMES = (
    "NVIDIA L4",
    "NVIDIA H100 80GB HBM3",
    "NVIDIA GeForce RTX 5090",
    "NVIDIA A100-SXM4-40GB",
    "NVIDIA B300",
)


@dataclass(frozen=True)
class Ask:
    """A device, what TransformerEngine is (None: absent), the operation, and the right answer.

    `names`: one of these words must be in the reason of a refusal; "drawn" stands for TE's own reason.
    A capability of OLD or NEW is drawn.
    """

    about: Header
    ok: bool
    names: tuple[str, ...] = ()
    op: str | None = None
    te: Header | None = field(default_factory=lambda: AGREES)

    @property
    def key(self) -> str:
        shown = ", ".join(f"{name} {value!r}" for name, value in self.about.items())
        engine = "" if self.te == AGREES else ", TE absent" if self.te is None else ", TE refuses"
        op = f", op={self.op!r}" if self.op else ""
        return f"fp8_support(device with {shown}{op}){engine}"


OLD, NEW = "an old one", "a new one"


def _gpu(capability: str) -> Header:
    return {"platform": "gpu", "compute_capability": capability}


REFUSES: Header = {"ok": False, "reason": "drawn"}
BY_CAPABILITY = ("capability", "compute_capability")
CAPABILITY = (
    Ask(_gpu("8.9"), True),
    Ask(_gpu("9.0"), True, op="matmul"),
    Ask(_gpu("10.0"), True),
    Ask(_gpu("12.0"), True),
    Ask(_gpu(NEW), True),
    Ask(_gpu("9.0"), True, op="attention"),
    Ask(_gpu("10.3"), True, op="attention"),
    Ask(_gpu("8.9"), False, ("8.9", *BY_CAPABILITY), op="attention"),
    Ask(_gpu("8.6"), False, ("8.6", *BY_CAPABILITY)),
    Ask(_gpu("7.5"), False, ("7.5", *BY_CAPABILITY), op="attention"),
    Ask(_gpu(OLD), False, BY_CAPABILITY),
    Ask(_gpu("gfx942"), False, ("gfx942", *BY_CAPABILITY)),
    Ask({"platform": "gpu"}, False, BY_CAPABILITY),
    Ask({"platform": "cpu"}, False, ("cpu", "CPU", "platform")),
    Ask({"platform": "tpu"}, False, ("tpu", "TPU", "platform"), op="attention"),
)
ENGINE = (
    Ask(_gpu("9.0"), False, ENGINE_NAMES, te=None),
    Ask(_gpu("9.0"), False, ("drawn",), te=REFUSES),
    Ask(_gpu("10.0"), False, ("drawn",), op="attention", te=REFUSES),
    Ask({"platform": "cpu"}, False, ("cpu", "CPU", "platform"), te=None),
    Ask(_gpu("8.0"), False, ("8.0", *BY_CAPABILITY), te=None),
    Ask(_gpu("8.0"), False, ("8.0", *BY_CAPABILITY), te=REFUSES),
)
OTHER_OP = "fp8_support asked about another op"
CAPABILITY_KEYS = (*(ask.key for ask in CAPABILITY), OTHER_OP)
ENGINE_KEYS = (CAPABILITY[0].key, *(ask.key for ask in ENGINE))


def questions(rng: np.random.Generator) -> tuple[Question, ...]:
    """All of them, each device under a name that says nothing, TE's reason drawn."""
    return (*(_question(ask, rng) for ask in (*CAPABILITY, *ENGINE)), _other_op(rng))


def one_reason(evidence: Evidence) -> Problem | None:
    """The same sentence for a platform and for a capability names neither."""
    said: dict[str, Ask] = {}
    for ask in CAPABILITY:
        reason = evidence.answers[ask.key]["reason"]
        if reason is None:
            continue
        other = said.setdefault(reason, ask)
        if other.about["platform"] != ask.about["platform"]:
            return Problem(f"{ask.key}: the same reason as for {other.key}: {reason!r}")
    return None


def _other_op(rng: np.random.Generator) -> Question:
    op = str(rng.choice(["convolution", "softmax", "Matmul", "dot"]))
    about = f"fp8_support(device with compute_capability '9.0', op={op!r})"

    def judge(answer: Header) -> Problem | None:
        if "ValueError" in answer.get("error", {"types": ()})["types"]:
            return None
        came = f"ok={answer['ok']!r}" if "ok" in answer else answer["error"]["types"][0]
        return Problem(f"{about}: expected ValueError, got {came}", next_step="Check `op` first (TODO 1).")

    step = {
        "kind": "support",
        "function": "fp8_support",
        "about": {**_gpu("9.0"), "device_kind": NAMES[0]},
        "kwargs": {"op": op},
        "te": AGREES,
    }
    return Question(OTHER_OP, about, step, judge)


def _question(ask: Ask, rng: np.random.Generator) -> Question:
    reason = f"delayed scaling is off, code {int(rng.integers(10_000, 99_999))}"
    names = tuple(reason if name == "drawn" else name for name in ask.names)
    about: Header = {**ask.about, "device_kind": NAMES[int(rng.integers(len(NAMES)))]}
    shown, minor = ask.key, int(rng.integers(10))
    drawn = {OLD: f"{rng.integers(3, 8)}.{minor}", NEW: f"{rng.integers(13, 50)}.{minor}"}
    if capability := drawn.get(str(ask.about.get("compute_capability"))):
        about["compute_capability"] = capability
        names = (*names, capability)
        shown = shown.replace(ask.about["compute_capability"], capability)

    def judge(answer: Header) -> Problem | None:
        if problem := explain(answer, shown):
            return problem
        ok, why = answer["ok"], answer["reason"]
        if ok is not ask.ok:
            return Problem(f"{shown}: expected ok={ask.ok}, got ok={ok!r} with reason {why!r}")
        if ok:
            return None if why is None else Problem(f"{shown}: expected reason None, got {why!r}")
        if type(why) is not str or not any(name in why for name in names):
            wanted = " or ".join(names)
            return Problem(f"{shown}: expected a reason that names the first refusal ({wanted}), got {why!r}")
        return None

    step = {
        "kind": "support",
        "function": "fp8_support",
        "about": about,
        "kwargs": {"op": ask.op} if ask.op else {},
        "te": {**ask.te, "reason": reason} if ask.te == REFUSES else ask.te,
    }
    return Question(ask.key, shown, step, judge)
