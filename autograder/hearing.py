"""A tracer's answers as evidence: what is missing, malformed or an error becomes a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from autograder.advice import RETURNS
from autograder.faults import ended, explain, fitting, located, refuses
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
        if problem := explain(answer, step.about):
            return replace(problem, next_step=fitting(answer["error"])) if refuses(answer) else problem
        return _outs(step, answer)
    except Exception:  # an answer of another form than any judge expects
        return Problem(f"{step.about}: an answer of the wrong form", next_step=RETURNS)


def _outs(trace: Trace, answer: Header) -> Problem | None:
    if answer["outs"] == [spec.to_json() for spec in trace.outs]:
        return None
    came = ", ".join(f"{dtype[:20]}{shape[:10]}" for shape, dtype in answer["outs"][:6]) or "nothing"
    detail = f"{trace.about}: expected {', '.join(map(str, trace.outs))}, got {came}"
    wanted, shapes = [list(spec.shape) for spec in trace.outs], [shape for shape, _ in answer["outs"]]
    cause = f"{trace.function}: {'dtype' if wanted == shapes else 'shape'} of the output"
    if wanted == shapes:
        step = "The shape is right, the dtype is not: cast at the very end."
        return Problem(detail, next_step=step, cause=cause)
    if len(shapes) == 1 and (order := _order(wanted[0], shapes[0])):
        letters = "BTNH"
        layout = ", ".join(letters[order.index(axis)] for axis in range(4))
        step = f"Exchange the axes at the end: jnp.transpose(out, {order})."
        return Problem(detail, f"The output is in layout ({layout}).", step, cause=cause)
    step = "Follow the shapes of the arrays, line by line, to the one you return."
    return Problem(detail, next_step=step, cause=cause)


def _order(wanted: Sequence[int], came: Sequence[int]) -> tuple[int, ...] | None:
    """The axes that bring (B, T, N, H) of these sizes back from another order; the likeliest order first."""
    if len(wanted) != 4 or len(came) != 4:
        return None
    orders = ((0, 2, 1, 3), *permutations(range(4)))
    return next((order for order in orders if [came[axis] for axis in order] == list(wanted)), None)
