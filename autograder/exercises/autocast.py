"""`run_with_fp8`: whether init and apply were inside autocast, read from the numbers of the artifact.

The tracer's double of TransformerEngine adds `shift` to what init draws and multiplies by `gain` what apply
computes. Without FP8 the reference gives the numbers that the right answer follows from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autograder import lookup
from autograder.arrays import Array, Spec
from autograder.plan import Arrays, Evidence, Problem, Trace
from autograder.wire import Header

ROWS, FEATURES_IN, FEATURES = 3, 5, 4
FUNCTION = "run_with_fp8"
TOLERANCE = 1e-4
KEY = Spec((2,), "uint32")
INPUT = Spec((ROWS, FEATURES_IN), "float32")
OUTPUT = Spec((ROWS, FEATURES), "float32")
WEIGHT = Spec((FEATURES_IN, FEATURES), "float32")
ENGINE: Header = {"ok": True, "reason": ""}
PLACES = {
    (True, False): "init ran inside autocast, apply did not.",
    (False, True): "apply ran inside autocast, init did not.",
    (False, False): "Neither init nor apply ran inside autocast.",
    (True, True): "Both ran inside autocast though support.ok is False.",
}


@dataclass(frozen=True)
class Module:
    """One of the tracer's Flax modules: its inputs, its output, and its variables by path."""

    name: str
    inputs: int
    output: Spec
    variables: dict[str, Spec]


MODULES = (
    Module("projection", 1, OUTPUT, {"params/w": WEIGHT}),
    Module(
        "mixer",
        2,
        OUTPUT,
        {
            "metas/scale": Spec((), "float32"),
            "params/Projection_0/w": WEIGHT,
            "params/Projection_1/w": WEIGHT,
        },
    ),
    Module("stateless", 1, INPUT, {}),
)
ALWAYS_TRUE = "The condition is support itself: an object, which is always true."
ABSENT = "Import TransformerEngine only where support.ok is True: elsewhere it may be absent."
CASES = (
    (MODULES[0], True, ENGINE),
    (MODULES[1], True, ENGINE),
    (MODULES[2], True, ENGINE),
    (MODULES[0], False, None),
    (MODULES[1], False, ENGINE),
)


def traces(rng: np.random.Generator) -> tuple[Trace, ...]:
    """One a case, each with a shift and a gain of its own."""
    return tuple(
        _trace(module, ok, te, float(rng.uniform(1.5, 4)), float(rng.uniform(1.5, 4)))
        for module, ok, te in CASES
    )


def judge(evidence: Evidence) -> Problem | None:
    problem = next((problem for case in CASES if (problem := _judge(evidence, *case))), None)
    function = evidence.source.function(FUNCTION)
    line = lookup.truth_of(function, "support") if problem and function else None
    if problem is None or line is None:
        return problem
    step = f"Write support.ok in place of support at line {line}."
    return replace(problem, diagnosis=ALWAYS_TRUE, next_step=step)


def _judge(evidence: Evidence, module: Module, ok: bool, te: Header | None) -> Problem | None:
    key = _key(module, ok, te)
    if problem := evidence.first((key,)):
        absent = not te and "transformer_engine" in problem.detail
        return replace(problem, next_step=ABSENT) if absent else problem
    paths = evidence.answers[key]["labels"].get("paths")
    if paths == list(module.variables):
        return None
    return Problem(f"{key}: expected the variables {list(module.variables)}, got {paths!r}")


def _key(module: Module, ok: bool, te: Header | None) -> str:
    engine = "" if te else " and no TransformerEngine to import"
    return f"{FUNCTION}(a {module.name}, …) with support.ok={ok}{engine}"


def _trace(module: Module, ok: bool, te: Header | None, shift: float, gain: float) -> Trace:
    key = _key(module, ok, te)
    ins = (KEY, *([INPUT] * module.inputs))
    step = {
        "kind": "run_with_fp8",
        "function": FUNCTION,
        "module": module.name,
        "features": FEATURES,
        "args": [spec.to_json() for spec in ins],
        "ok": ok,
        "shift": shift,
        "gain": gain,
        "te": te,
    }

    def draw(rng: np.random.Generator, name: str) -> Arrays:
        words = rng.integers(0, 2**32, size=2, dtype=np.uint32)
        return (words, *(rng.standard_normal(INPUT.shape).astype(np.float32) for _ in range(module.inputs)))

    def judge(name: str, given: Arrays, outs: Arrays, reference: Arrays) -> Problem | None:
        def fits(inside: tuple[bool, bool]) -> bool:
            want = _expected(module, given[1:], reference[1:], inside, shift, gain)
            return all(_close(out, wanted) for out, wanted in zip(outs, want, strict=True))

        if fits((ok, ok)):
            return None
        found = next((text for inside, text in PLACES.items() if inside != (ok, ok) and fits(inside)), "")
        return Problem(f"{key}: the output or the variables are not those of init and apply there", found)

    return Trace(
        key=key,
        about=key,
        step=step,
        ins=ins,
        outs=(module.output, *module.variables.values()),
        rounds=("normal",),
        draw=draw,
        judge=judge,
        reference={**step, "ok": False, "shift": 0.0, "gain": 1.0, "te": None},
    )


def _expected(
    module: Module, inputs: Arrays, plain: Arrays, inside: tuple[bool, bool], shift: float, gain: float
) -> list[Array]:
    """Output and variables, from the variables that init gives without FP8."""
    init, apply = inside
    factor = gain if apply else 1.0
    added = shift if init else 0.0
    if module.name == "stateless":
        return [np.tanh(inputs[0].astype(np.float64)) * factor]
    weights = [leaf.astype(np.float64) + added for leaf in plain if leaf.ndim]
    products = [x.astype(np.float64) @ w * factor for x, w in zip(inputs, weights, strict=True)]
    if module.name == "projection":
        return [products[0], weights[0]]
    scale = np.asarray(shift if init else 1.0)
    return [products[0] + scale * products[1], scale, *weights]


def _close(out: Array, want: Array) -> bool:
    return bool(np.all(np.abs(out.astype(np.float64) - want) <= TOLERANCE * (1 + np.abs(want).max())))
