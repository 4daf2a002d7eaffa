"""Inputs of each round, drawn until the reference can be held to them, and the reference's outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.plan import Arrays, Trace
from autograder.reference import Reference
from autograder.runner.client import GraderFault, RunFailed
from autograder.seeds import Seeds

MAX_DRAWS = 20


@dataclass(frozen=True)
class Trial:
    """Inputs of a round, and the reference's outputs; without a name they only keep the program fed."""

    name: str
    inputs: Arrays
    reference: Arrays


async def draw(
    reference: Reference, exercise: str, traces: Sequence[Trace], seeds: Seeds
) -> list[dict[str, Trial]]:
    """A trial a trace, by its key, for every round. Called when no tracer of this grading is alive."""
    if not traces:
        return []
    rng = seeds.inputs()
    async with reference.lock:
        await reference.load(exercise, traces)
        rounds = range(max(len(trace.rounds) for trace in traces))
        return [await _round(reference, traces, number, rng) for number in rounds]


async def _round(
    reference: Reference, traces: Sequence[Trace], number: int, rng: np.random.Generator
) -> dict[str, Trial]:
    made: dict[str, Trial] = {}
    missing = list(range(len(traces)))
    for _ in range(MAX_DRAWS):
        names = [_name(traces[index], number) for index in missing]
        inputs = [
            traces[index].draw(rng, name or traces[index].rounds[0])
            for index, name in zip(missing, names, strict=True)
        ]
        outs = await reference.runner.run(inputs, missing)
        for index, name, given, out in zip(tuple(missing), names, inputs, outs, strict=True):
            trace = traces[index]
            if isinstance(out, RunFailed):
                raise GraderFault(f"the reference fails: {trace.about}: {out.message}")
            if not name or trace.usable(given, out):
                made[trace.key] = Trial(name, given, out)
                missing.remove(index)
        if not missing:
            return made
    raise GraderFault(f"no usable inputs for {traces[missing[0]].about} in {MAX_DRAWS} draws")


def _name(trace: Trace, number: int) -> str:
    return trace.rounds[number] if number < len(trace.rounds) else ""
