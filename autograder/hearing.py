"""A tracer's answers as evidence: what is missing, malformed or an error becomes a problem."""

from __future__ import annotations

from autograder.advice import RETURNS
from autograder.faults import ended, explain, located
from autograder.interrogation import Interrogation
from autograder.plan import Evidence, Problem, Question, Trace
from autograder.wire import Header


def hear(found: Interrogation, evidence: Evidence) -> None:
    """Fill the evidence's `answers`, `problems` and `judged`."""
    abouts = {step.key: step.about for step in evidence.plan.steps}
    traced = {step.key for step in evidence.plan.steps if isinstance(step, Trace)}
    for step in evidence.plan.steps:
        answer = found.answers.get(step.key)
        if answer is not None:
            answer = located(answer, evidence.source)
        if answer is None:
            culprit, reason = found.ended or (step.key, "it sent no answer")
            # The same words for all that was not reached, so that a report says them once.
            detail = f"{abouts[culprit]}: the process ended: {reason}"
            source = evidence.source if culprit in traced else None
            problem: Problem | None = Problem(detail, next_step=ended(reason, source))
        else:
            problem = _heard(step, answer)
        if answer is not None:
            evidence.answers[step.key] = answer
        evidence.judged.add((step.key, ""))
        if problem is not None:
            evidence.problems[step.key, ""] = problem


def _heard(step: Trace | Question, answer: Header) -> Problem | None:
    try:
        if isinstance(step, Question):
            return step.judge(answer)
        return explain(answer, step.about) or _outs(step, answer)
    except Exception:  # an answer of another form than any judge expects
        return Problem(f"{step.about}: an answer of the wrong form", next_step=RETURNS)


def _outs(trace: Trace, answer: Header) -> Problem | None:
    if answer["outs"] == [spec.to_json() for spec in trace.outs]:
        return None
    came = ", ".join(f"{dtype[:20]}{shape[:10]}" for shape, dtype in answer["outs"][:6]) or "nothing"
    detail = f"{trace.about}: expected {', '.join(map(str, trace.outs))}, got {came}"
    if [list(spec.shape) for spec in trace.outs] == [out[0] for out in answer["outs"]]:
        return Problem(detail, next_step="The shape is right, the dtype is not: cast at the very end.")
    return Problem(detail, next_step="Follow the shapes of the arrays, line by line, to the one you return.")
