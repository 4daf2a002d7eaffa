"""Cases shared by the exercises on attention: a function traced for some shapes and judged by the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from autograder import diagnosis, inputs, oracle, tolerance
from autograder.arrays import DTYPES, Array, Spec
from autograder.gradient_diagnosis import explain_gradient
from autograder.plan import Arrays, Evidence, Problem, Trace, Verdicts
from autograder.results import Outcome
from autograder.wire import Header

NAMES = ("query", "key", "value", "cotangent")
GRADIENTS = ("dquery", "dkey", "dvalue")
COMMON = ("normal", "constant", "near_ties", "needle", "dominant")
EXTREME = ("large", "flat", "shifted", "mixed_heads", "outlier_v", "far_outlier")
HALF = {
    "bfloat16": ("normal", "rivals", "flat", "mixed_heads", "outlier_v", "far_outlier", "offset_v"),
    "float16": ("normal", "rivals", "flat", "mixed_heads", "outlier_v", "offset_v"),
}
GRADIENT = ("normal", "shifted")
HALF_GRADIENT = ("normal", "rivals")


@dataclass(frozen=True)
class Case:
    """`function` called with query (B, T, N, H), key and value (B, S, K, H) of one dtype."""

    function: str
    sizes: tuple[int, int, int, int, int, int]
    """B, T, S, N, K, H."""
    dtype: str = "float32"
    rounds: tuple[str, ...] = ("normal",)
    is_causal: bool = False
    gradient: bool = False
    step: Header = field(default_factory=dict)
    cudnn: bool = False

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        b, t, s, n, k, h = self.sizes
        query, key = Spec((b, t, n, h), self.dtype), Spec((b, s, k, h), self.dtype)
        return (query, key, key, query) if self.gradient else (query, key, key)

    @cached_property
    def key(self) -> str:
        return f"{self.about}{' with is_causal' * bool(self.step.get('kwargs'))}{on(self.step.get('device'))}"

    @property
    def about(self) -> str:
        given = ", ".join(f"{name} {spec}" for name, spec in zip(NAMES, self.specs[:2], strict=False))
        call = f"{self.function}({given})"
        return f"the gradient of {call}" if self.gradient else call

    def trace(self) -> Trace:
        return Trace(
            key=self.key,
            about=self.key,
            step={
                "kind": "trace",
                "function": self.function,
                "args": [spec.to_json() for spec in self.specs],
                "gradient": self.gradient,
                **self.step,
            },
            ins=self.specs,
            outs=self.specs[:3] if self.gradient else self.specs[:1],
            rounds=self.rounds,
            draw=self.draw,
            judge=self.judge,
            explain=self.explain,
            usable=self.usable,
            cudnn=self.is_causal if self.cudnn else None,
            expected=self.expected,
        )

    def expected(self, given: Arrays) -> Arrays:
        """The right outputs, in float64."""
        if self.gradient:
            return oracle.gradients(*given, is_causal=self.is_causal)
        return (oracle.attention(*given, is_causal=self.is_causal),)

    def draw(self, rng: np.random.Generator, name: str) -> Arrays:
        query, key, value = inputs.draw(rng, self.specs[0], self.specs[1], self.specs[2], name)
        if not self.gradient:
            return query, key, value
        cotangent = np.asarray(rng.standard_normal(query.shape)).astype(DTYPES[self.dtype])
        return query, key, value, cotangent

    def usable(self, given: Arrays, reference: Arrays) -> bool:
        return all(
            tolerance.usable(comparison.limit, self.dtype)
            for comparison in self._comparisons(given, reference, reference)
        )

    def judge(self, name: str, given: Arrays, outs: Arrays, reference: Arrays) -> Problem | None:
        comparisons = self._comparisons(given, outs, reference)
        place = next((place for place, each in enumerate(comparisons) if not each.ok), None)
        if place is None:
            return None
        which = f"{GRADIENTS[place]}: " if self.gradient else ""
        return Problem(f"{self.key}, {name.replace('_', ' ')} inputs: {which}{comparisons[place].reason}")

    def explain(self, problem: Problem, given: Arrays, outs: Arrays, reference: Arrays) -> Problem:
        """The problem of these outputs with what they look like, if they look like something known."""
        comparisons = self._comparisons(given, outs, reference)
        place = next(place for place, each in enumerate(comparisons) if not each.ok)
        found = self._diagnose(place, given, outs[place], comparisons[place].limit)
        if found is None:
            return problem
        return replace(problem, diagnosis=found.sentence, next_step=found.next_step, cause=found.name)

    def _comparisons(self, given: Arrays, outs: Arrays, reference: Arrays) -> list[tolerance.Comparison]:
        query, key, value = given[:3]
        causal, cotangent = self.is_causal, given[3] if self.gradient else None
        wanted: Arrays
        spreads: Arrays
        if cotangent is None:
            wanted = (oracle.attention(query, key, value, is_causal=causal),)
            spreads = (oracle.spread(query, key, value, is_causal=causal),)
        else:
            wanted = oracle.gradients(query, key, value, cotangent, is_causal=causal)
            spreads = oracle.gradient_spreads(query, key, value, cotangent, is_causal=causal)
        score = oracle.max_score(query, key, is_causal=causal)
        heads = "n" if self.sizes[3] == self.sizes[4] else "k"
        axes = ("b, t, n, h", f"b, s, {heads}, h", f"b, s, {heads}, h")
        return [
            tolerance.compare(
                out, want, ref, score, dtype=self.dtype, spread=spread, cotangent=cotangent, axes=at
            )
            for out, want, ref, spread, at in zip(outs, wanted, reference, spreads, axes, strict=False)
        ]

    def _diagnose(self, place: int, given: Arrays, out: Array, limit: float) -> diagnosis.Diagnosis | None:
        query, key, value = given[:3]
        if not self.gradient:
            return diagnosis.explain(out, query, key, value, is_causal=self.is_causal, limit=limit)
        return explain_gradient(
            out, place, (query, key, value), given[3], is_causal=self.is_causal, limit=limit
        )


def values(
    evidence: Evidence, float32: Sequence[Case], half: Sequence[Case], gradients: Sequence[Case]
) -> Verdicts:
    """The verdicts `float32`, `extreme_inputs`, `half_precision` and `gradient`.

    Wrong values have wrong gradients: where both fail on the same kind of inputs, only the values are told.
    """
    common = evidence.first((case.key for case in float32), COMMON)
    extreme = evidence.first((case.key for case in float32), EXTREME)
    in_half = evidence.first(case.key for case in half)
    of_float32 = [case.key for case in gradients if case.dtype == "float32"]
    of_half = [case.key for case in gradients if case.dtype != "float32"]
    found = (
        (evidence.first(of_float32, COMMON), common),
        (evidence.first(of_float32, EXTREME), common or extreme),
        (evidence.first(of_half), common or in_half),
    )
    gradient = next((of_values or problem for problem, of_values in found if problem), None)
    return {
        "float32": common,
        "extreme_inputs": extreme and _after(common, extreme),
        "half_precision": in_half and _after(common, in_half),
        "gradient": gradient,
    }


def _after(float32: Problem | None, problem: Problem) -> Problem:
    """The problem, or that of plain float32 inputs where it is likely to be the same mistake."""
    return problem if float32 is None or problem.next_step else float32


FLOAT32_FIRST = "Get float32 right first."


def on(device: Header | None) -> str:
    """Which device, in words; not by the name of a double, which is drawn."""
    return f" on a GPU of compute capability {device['compute_capability']}" if device else ""


def no_library(evidence: Evidence, case: Case) -> Problem | None:
    """Whether the syntax tree looks up a library's attention; a courtesy, not a lock.

    Nothing is no attention either: `case` must be right on its first inputs.
    """
    found = evidence.source.library_attention()
    if found is None:
        if evidence.first((case.key,), case.rounds[:1]) is None:
            return None
        return Problem(
            "it counts once the first float32 inputs come out right",
            next_step=FLOAT32_FIRST,
            outcome=Outcome.NOT_STARTED,
        )
    name, line = found
    return Problem(f"{evidence.source.name}.py uses {name} at line {line}; this exercise builds it by hand")
