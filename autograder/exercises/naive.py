"""Exercise 1: attention from basic operations."""

from __future__ import annotations

import numpy as np

from autograder.catalog import SPEED
from autograder.device import Gpu
from autograder.exercises.attention import (
    COMMON,
    EXTREME,
    GRADIENT,
    HALF,
    HALF_GRADIENT,
    Case,
    no_library,
    values,
)
from autograder.exercises.gpu import raced, sizes, weightiest
from autograder.exercises.shapes import ALONE, Shapes
from autograder.plan import Evidence, GpuPlan, Plan, Race, Verdicts

FUNCTION = "naive_attention"
FLOAT32 = tuple(
    Case(FUNCTION, sizes, rounds=(*COMMON, *EXTREME))
    for sizes in ((2, 7, 5, 3, 3, 16), (1, 4, 33, 2, 2, 64), (1, 1, 1, 1, 1, 8))
)
HALVES = (
    Case(FUNCTION, (2, 7, 9, 3, 3, 12), "bfloat16", HALF["bfloat16"]),
    Case(FUNCTION, (1, 8, 160, 2, 2, 64), "bfloat16", HALF["bfloat16"]),
    Case(FUNCTION, (2, 9, 5, 4, 4, 12), "float16", HALF["float16"]),
)
GRADIENTS = (
    Case(FUNCTION, (2, 6, 5, 2, 2, 16), rounds=GRADIENT, gradient=True),
    Case(FUNCTION, (1, 8, 8, 4, 4, 12), "bfloat16", HALF_GRADIENT, gradient=True),
)
SHAPES = Shapes(FUNCTION, ALONE)


def plan(rng: np.random.Generator) -> Plan:
    traces = tuple(case.trace() for case in (*FLOAT32, *HALVES, *GRADIENTS))
    return Plan(traces, tuple(SHAPES.questions(rng)))


def gpu_plan(gpu: Gpu) -> GpuPlan:
    traces = {limit.length: _timed(limit.length, gpu).trace() for limit in SPEED[FUNCTION]}
    races = tuple(
        Race(traces[limit.length].key, FUNCTION, traces[limit.length], limit.ratio)
        for limit in SPEED[FUNCTION]
    )
    return GpuPlan(tuple(traces.values()), races)


def judge_gpu(evidence: Evidence, gpu: Gpu) -> Verdicts:
    problems = [
        raced(evidence, key, key, limit.ratio, "the reference's")
        for limit in SPEED[FUNCTION]
        for key in (_timed(limit.length, gpu).key,)
    ]
    return {"speed": weightiest(problems)}


def _timed(length: int, gpu: Gpu) -> Case:
    return Case(FUNCTION, sizes(length), "bfloat16", (), step={"device": gpu.double})


def judge(evidence: Evidence) -> Verdicts:
    return {
        **values(evidence, FLOAT32, HALVES, GRADIENTS),
        "errors": SHAPES.verdict(evidence, FLOAT32[0].key),
        "no_library": no_library(evidence, FLOAT32[0]),
    }
