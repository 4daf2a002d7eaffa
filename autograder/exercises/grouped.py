"""Exercise 4: grouped-query attention without copies of K and V, and the bytes of a KV cache."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.catalog import SPEED
from autograder.device import Gpu
from autograder.exercises.attention import (
    COMMON,
    EXTREME,
    FLOAT32_FIRST,
    GRADIENT,
    HALF,
    Case,
    no_library,
    values,
)
from autograder.exercises.gpu import raced
from autograder.exercises.shapes import FITS, GROUPS, HEADS, MISFITS, Shapes
from autograder.faults import explain
from autograder.plan import Evidence, GpuPlan, Plan, Problem, Question, Race, Verdicts
from autograder.wire import Header

FUNCTION = "grouped_query_attention"
ROUNDS = (*COMMON, *EXTREME)
FLOAT32 = (
    Case(FUNCTION, (2, 7, 5, 6, 2, 16), rounds=ROUNDS),
    Case(FUNCTION, (1, 5, 9, 4, 4, 8), rounds=ROUNDS),
    Case(FUNCTION, (2, 3, 8, 3, 1, 8), rounds=ROUNDS),
    Case(FUNCTION, (1, 1, 1, 2, 1, 8)),
)
HALVES = (
    Case(FUNCTION, (2, 7, 9, 6, 2, 12), "bfloat16", HALF["bfloat16"]),
    Case(FUNCTION, (2, 9, 5, 8, 4, 12), "float16", HALF["float16"]),
)
GRADIENTS = (Case(FUNCTION, (2, 5, 6, 4, 2, 8), rounds=GRADIENT, gradient=True),)
# N·T ≤ K·S and N·T ≤ K·H, so that neither scores nor outputs have more elements a batch row than K and V.
LEAN = Case(FUNCTION, (2, 4, 40, 16, 2, 64))
DECODE_BATCH = 16  # sequences at once: enough that the kernels, not their launches, are timed
SHAPES = Shapes(FUNCTION, (*MISFITS, replace(HEADS, names="ML"), *FITS, *GROUPS))
CACHES = {"float32": 4, "bfloat16": 2, "float16": 2, "float8_e4m3fn": 1}
"""Bytes by dtype."""
SPELLINGS = {"scalar": "jnp.{}", "name": "'{}'", "dtype": "jnp.dtype('{}')"}
"""How a dtype is given, and how a message shows it."""
FLOAT = "It is a float."
INTEGER = "Write // in place of /, and no float among the factors: so it stays an int of Python."
CACHE_KEYS = tuple(f"kv_cache_bytes: {dtype}, {spelling}" for dtype in CACHES for spelling in SPELLINGS)


def plan(rng: np.random.Generator) -> Plan:
    cases = (*FLOAT32, *HALVES, *GRADIENTS, LEAN)
    caches = (_cache(rng, dtype, spelling) for dtype in CACHES for spelling in SPELLINGS)
    return Plan(tuple(case.trace() for case in cases), (*SHAPES.questions(rng), *caches))


def gpu_plan(gpu: Gpu) -> GpuPlan:
    [limit] = SPEED[FUNCTION]
    trace = _decode(gpu).trace()
    return GpuPlan((trace,), (Race(trace.key, "grouped_query", trace, limit.ratio),))


def judge_gpu(evidence: Evidence, gpu: Gpu) -> Verdicts:
    [limit] = SPEED[FUNCTION]
    key = _decode(gpu).key
    return {"speed": raced(evidence, key, key, limit.ratio, "the reference's")}


def _decode(gpu: Gpu) -> Case:
    """One new token against a cache of `length` positions."""
    [limit] = SPEED[FUNCTION]
    sizes = (DECODE_BATCH, 1, limit.length, 32, 4, 128)
    return Case(FUNCTION, sizes, "bfloat16", (), step={"device": gpu.double})


def judge(evidence: Evidence) -> Verdicts:
    return {
        **_values(evidence),
        "no_copy": _lean(evidence) or _copies(evidence),
        "errors": SHAPES.verdict(evidence, FLOAT32[0].key),
        "no_library": no_library(evidence, FLOAT32[0]),
        "kv_cache_bytes": evidence.first(CACHE_KEYS),
    }


def _values(evidence: Evidence) -> Verdicts:
    """Here extreme inputs are part of float32."""
    found = dict(values(evidence, (*FLOAT32, LEAN), HALVES, GRADIENTS))
    extreme = found.pop("extreme_inputs")
    return {**found, "float32": found["float32"] or extreme}


def _lean(evidence: Evidence) -> Problem | None:
    """What keeps LEAN from being looked at; wrong values say nothing of copies."""
    if problem := evidence.first((LEAN.key,), ()):
        return problem
    wrong = evidence.first((LEAN.key,))
    return wrong and replace(wrong, next_step=wrong.next_step or FLOAT32_FIRST)


def _copies(evidence: Evidence) -> Problem | None:
    """At LEAN's sizes no value of an honest program is larger than K or V."""
    b, _, s, n, k, h = LEAN.sizes
    largest, allowed = evidence.facts[LEAN.key].largest, b * s * k * h
    if largest <= allowed:
        return None
    return Problem(
        f"{LEAN.about}: the largest array in the program has {largest} elements; "
        f"key and value have {allowed}, so the limit is {allowed} "
        f"({largest / allowed:.3g} times as many; N / K is {n // k})",
        "K and V are copied out to more heads.",
    )


def _cache(rng: np.random.Generator, dtype: str, spelling: str) -> Question:
    itemsize = CACHES[dtype]
    # So many that the bytes do not fit into 32 bits.
    drawn = ((8, 17), (2**17, 200_000), (8, 13), (128, 257))
    batch, seq_len, heads, head_dim = (int(rng.integers(*within)) for within in drawn)
    right = 2 * batch * seq_len * heads * head_dim * itemsize
    about = f"kv_cache_bytes({batch}, {seq_len}, {heads}, {head_dim}, {SPELLINGS[spelling].format(dtype)})"

    def judge(answer: Header) -> Problem | None:
        if problem := explain(answer, about):
            return problem
        came = answer["value"]
        if type(came) is int and came == right:
            return None
        detail = f"{about}: expected the int {right}, got {came!r}"
        if type(came) is float:
            known = miscounted(came, right, itemsize)
            return Problem(detail, " ".join(filter(None, (FLOAT, known))), INTEGER)
        return Problem(detail, miscounted(came, right, itemsize) if type(came) is int else "")

    step = {
        "kind": "call",
        "function": "kv_cache_bytes",
        "values": [batch, seq_len, heads, head_dim, {"dtype": dtype, "as": spelling}],
    }
    return Question(f"kv_cache_bytes: {dtype}, {spelling}", about, step, judge)


def miscounted(came: float, right: int, itemsize: int) -> str:
    """The mistakes that give `came` for a dtype of `itemsize` bytes: one number may come of several."""
    known = (
        (right // 2, "K or V alone is counted"),
        (right * 2 // itemsize, "two bytes an element are counted, whatever the dtype"),
        (right // itemsize, "the dtype's bytes are not counted"),
        (
            (right + 2**31) % 2**32 - 2**31,
            "the product overflows 32 bits, as JAX's does; Python's ints do not",
        ),
    )
    found = ", or ".join(mistake for count, mistake in known if count == came != right)
    return f"{found[0].upper()}{found[1:]}." if found else ""
