"""Exercise 5: an FP8 gate, autocast around init and apply, scales, quantization, and program texts."""

from __future__ import annotations

import numpy as np

from autograder.exercises import autocast, gate, scaling
from autograder.exercises.programs import KINDS, Program, programs
from autograder.faults import explain
from autograder.plan import Evidence, Plan, Problem, Question, Verdicts
from autograder.wire import Header


def plan(rng: np.random.Generator) -> Plan:
    texts = tuple(question(program) for program in programs(rng))
    traces = (*autocast.traces(rng), *scaling.delayed_scale_traces(), *scaling.quantize_traces())
    return Plan(traces, (*gate.questions(rng), *texts))


def judge(evidence: Evidence) -> Verdicts:
    return {
        "capability": evidence.first(gate.CAPABILITY_KEYS) or gate.one_reason(evidence),
        "transformer_engine": evidence.first(gate.ENGINE_KEYS),
        "autocast": autocast.judge(evidence),
        "delayed_scale": evidence.first(trace.key for trace in scaling.delayed_scale_traces()),
        "quantize": evidence.first(trace.key for trace in scaling.quantize_traces()),
        "ran_fp8": evidence.first(f"ran_fp8: {name}" for name, _, _ in KINDS),
    }


def question(program: Program) -> Question:
    """`ran_fp8` asked about this program's text."""
    about = f"ran_fp8: {program.name}"

    def judge(answer: Header) -> Problem | None:
        if problem := explain(answer, about):
            return problem
        if answer["value"] is program.ran_fp8:
            return None
        return Problem(
            f"ran_fp8, asked about {program.name}: expected {program.ran_fp8}, got {answer['value']!r}"
        )

    return Question(about, about, {"kind": "call", "function": "ran_fp8", "values": [program.text]}, judge)
