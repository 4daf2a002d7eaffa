"""Cases shared by the exercises on attention: a function traced for some shapes and judged by the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from autograder import diagnosis, inputs, oracle, tolerance
from autograder.arrays import DTYPES, Array, Spec
from autograder.plan import Arrays, Evidence, Problem, Question, Trace
from autograder.wire import Header

NAMES = ("query", "key", "value", "cotangent")
GRADIENTS = ("dquery", "dkey", "dvalue")
COMMON = ("normal", "constant", "near_ties", "needle", "dominant")
EXTREME = ("large", "flat", "shifted", "mixed_heads", "outlier_v")
HALF = ("normal", "flat", "near_ties", "mixed_heads", "outlier_v")


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
        return f"{self.about}{' with is_causal' * bool(self.step.get('kwargs'))}{_on(self.step)}"

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
            usable=self.usable,
            cudnn=self.is_causal if self.cudnn else None,
        )

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
        for place, (out, comparison) in enumerate(
            zip(outs, self._comparisons(given, outs, reference), strict=True)
        ):
            if not comparison.ok:
                which = f"{GRADIENTS[place]}: " if self.gradient else ""
                detail = f"{self.key}, {name.replace('_', ' ')} inputs: {which}{comparison.reason}"
                found = self._diagnose(place, given, out, comparison.limit)
                return Problem(detail, found.sentence, found.next_step) if found else Problem(detail)
        return None

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
        return [
            tolerance.compare(out, want, ref, score, dtype=self.dtype, spread=spread, cotangent=cotangent)
            for out, want, ref, spread in zip(outs, wanted, reference, spreads, strict=True)
        ]

    def _diagnose(self, place: int, given: Arrays, out: Array, limit: float) -> diagnosis.Diagnosis | None:
        query, key, value = given[:3]
        if not self.gradient:
            return diagnosis.explain(out, query, key, value, is_causal=self.is_causal, limit=limit)
        want = oracle.gradients(query, key, value, given[3], is_causal=self.is_causal)[place]
        return diagnosis.explain_gradient(
            out, want, NAMES[place], cotangent=given[3], head_size=self.sizes[-1], limit=limit
        )


def misfit(
    function: str,
    what: str,
    shapes: Sequence[Sequence[int]],
    step: Header | None = None,
    dtype: str = "float32",
) -> Question:
    """A call whose shapes do not fit, which must raise ValueError or TypeError."""
    specs = [Spec(tuple(shape), dtype) for shape in shapes]
    call = ", ".join(f"{name} {list(spec.shape)}" for name, spec in zip(NAMES, specs, strict=False))
    about = f"{function}({call}){_on(step or {})}, {what}"
    return Question(
        key=about,
        about=about,
        step={
            "kind": "raises",
            "function": function,
            "args": [spec.to_json() for spec in specs],
            **(step or {}),
        },
        judge=lambda answer: _raised(answer, about),
    )


def _on(step: Header) -> str:
    device = step.get("device")
    return f" on {device['device_kind']}" if device else ""


MISFITS: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("where key and value differ in length", ((2, 5, 4, 8), (2, 6, 4, 8), (2, 7, 4, 8))),
    ("where a value of length 1 would broadcast", ((2, 5, 4, 8), (2, 6, 4, 8), (2, 1, 4, 8))),
    ("where the batch sizes differ", ((2, 5, 4, 8), (1, 6, 4, 8), (1, 6, 4, 8))),
    ("where the head sizes differ", ((2, 5, 4, 8), (2, 6, 4, 16), (2, 6, 4, 16))),
    ("where the head size of key and value is 1", ((2, 5, 4, 8), (2, 6, 4, 1), (2, 6, 4, 1))),
    ("where the query has three axes", ((5, 4, 8), (2, 6, 4, 8), (2, 6, 4, 8))),
    ("where key and value have three axes", ((2, 5, 4, 8), (6, 4, 8), (6, 4, 8))),
)
HEAD_MISFITS: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("where 8 query heads meet 3 key heads", ((2, 5, 8, 8), (2, 6, 3, 8), (2, 6, 3, 8))),
    ("where key and value have different heads", ((2, 5, 4, 8), (2, 6, 4, 8), (2, 6, 2, 8))),
)


def misfits(function: str, *more: tuple[str, tuple[tuple[int, ...], ...]]) -> tuple[Question, ...]:
    return tuple(misfit(function, what, shapes) for what, shapes in (*MISFITS, *HEAD_MISFITS, *more))


def _raised(answer: Header, about: str) -> Problem | None:
    error = answer.get("error")
    if error is None:
        return Problem(
            f"{about}: expected ValueError, but it returned an array of shape {answer['returned'][0]}",
            "sizes that do not fit broadcast into an answer",
        )
    if {"ValueError", "TypeError"}.intersection(error["types"]):
        return None
    return Problem(f"{about}: expected ValueError, got {error['types'][0]}: {error['message']}")


def no_library(evidence: Evidence) -> Problem | None:
    """Whether the syntax tree looks up a library's attention; a courtesy, not a lock."""
    found = evidence.source.library_attention()
    if found is None:
        return None
    name, line = found
    return Problem(f"{evidence.source.name}.py uses {name} at line {line}; this exercise builds it by hand")
