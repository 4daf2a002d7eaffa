"""Learner code beside a GPU, with the real TransformerEngine: a tracer and questions of its own."""

from __future__ import annotations

from autograder import device, gpu_lock
from autograder.gate import Gate
from autograder.hearing import hear
from autograder.interrogation import Interrogation, interrogate
from autograder.plan import Evidence, GpuPlan, Plan, only
from autograder.reference import Reference
from autograder.source import Source


class NoEngine(Exception):
    """TransformerEngine computes no FP8 here; the message says why."""


async def ask(
    plan: GpuPlan, source: Source, functions: set[str], reference: Reference, gate: Gate
) -> tuple[Interrogation, Evidence]:
    """What these functions answer and trace to where they see the GPU; raises NoEngine."""
    if reason := await device.engine():
        raise NoEngine(reason)
    async with gate.tracing(), gpu_lock.exclusive():
        texts = await reference.artifacts(source.name, plan.texts)
        everything = only(Plan(plan.traces, plan.ask(texts)), functions)
        evidence = Evidence(source, everything)
        found = await interrogate(await device.start_tracer(), source, everything.steps)
    hear(found, evidence)
    return found, evidence
