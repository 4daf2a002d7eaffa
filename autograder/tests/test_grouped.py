"""What exercise 4 says of wrong values: the check of copies sends to float32 first."""

from __future__ import annotations

import numpy as np

from autograder import catalog
from autograder.exercises.grouped import FLOAT32, FUNCTION, LEAN, judge, plan
from autograder.plan import Evidence, Facts, Problem
from autograder.source import parse


def looked_at() -> Evidence:
    """A submission of which all is right."""
    evidence = Evidence(parse("grouped_query", b"0"), plan(np.random.default_rng(0)))
    evidence.judged |= {
        (step.key, name) for step in evidence.plan.steps for name in ("", *getattr(step, "rounds", ()))
    }
    evidence.facts[LEAN.key] = Facts((), 1)
    return evidence


def test_wrong_values_without_a_diagnosis_are_no_matter_of_copies() -> None:
    evidence = looked_at()
    assert judge(evidence)["no_copy"] is None
    for case in (FLOAT32[0], LEAN):
        evidence.problems[case.key, "normal"] = Problem(f"{FUNCTION}: relative error 24")
    verdicts = judge(evidence)
    assert verdicts["float32"] == Problem(f"{FUNCTION}: relative error 24")  # its hint is of all steps
    assert verdicts["no_copy"] and verdicts["no_copy"].next_step == "Get float32 right first."
    exercise = catalog.find("grouped_query")
    assert exercise and exercise.checks[0].hint.startswith("Compare scale, softmax axis and the head map")


def test_a_diagnosis_keeps_its_step_and_a_refusal_the_checks_hint() -> None:
    evidence = looked_at()
    evidence.problems[LEAN.key, "normal"] = known = Problem("off", "scaled twice", "Scale once.")
    assert judge(evidence)["no_copy"] == known
    evidence.problems[LEAN.key, ""] = refused = Problem("a call of cuDNN")
    assert judge(evidence)["no_copy"] == refused


def test_copies_keep_the_checks_own_hint() -> None:
    evidence = looked_at()
    evidence.facts[LEAN.key] = Facts((), 10**9)
    problem = judge(evidence)["no_copy"]
    assert problem and problem.diagnosis.startswith("K and V are copied") and not problem.next_step
