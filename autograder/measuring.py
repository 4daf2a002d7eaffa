"""What waits for a GPU, on a GPU: the programs compiled for it, run, and timed beside references."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from autograder import device, gpu_lock
from autograder.plan import Evidence, Facts, GpuPlan, Problem, Trace
from autograder.reference import Reference, job
from autograder.runner.canary import CANARY
from autograder.runner.client import GraderFault, Job, Loaded, RunFailed, Runner
from autograder.trials import MAX_DRAWS

RACE_SECONDS = 10.0
ALONE = 120.0  # seconds to compile and run one program where several together failed


async def measure(
    exercise: str,
    plan: GpuPlan,
    artifacts: Mapping[str, bytes],
    evidence: Evidence,
    reference: Reference,
    rng: np.random.Generator,
) -> None:
    """Fill the evidence's `facts`, `races` and problems for the traces that have an artifact."""
    traces = [trace for trace in plan.traces if (trace.key, "") not in evidence.problems]
    if not traces:
        return
    theirs = await reference.artifacts(exercise, traces)
    like = await _like(exercise, traces, theirs, reference)
    jobs = {("", trace.key): job(trace, artifacts[trace.key], like=like[trace.key]) for trace in traces}
    jobs |= {(exercise, trace.key): job(trace, theirs[trace.key], like=like[trace.key]) for trace in traces}
    for race in plan.races:
        if (race.module, race.reference.key) not in jobs:
            made = await reference.artifacts(race.module, (race.reference,))
            jobs[race.module, race.reference.key] = job(race.reference, made[race.reference.key])
    async with gpu_lock.exclusive():
        bench = _Bench(jobs)
        try:
            await bench.load(evidence)
            for trace in traces:
                for name in trace.rounds:
                    await bench.check(exercise, trace, name, evidence, rng)
            for race in plan.races:
                if bench.has(race.learner):
                    found = await bench.race(race.learner, (race.module, race.reference.key), race.limit)
                    evidence.races[race.learner, race.reference.key] = found
        finally:
            await bench.runner.close()


async def _like(
    exercise: str, traces: Sequence[Trace], theirs: Mapping[str, bytes], reference: Reference
) -> dict[str, tuple[bytes, ...]]:
    """By key, for what TransformerEngine makes: what the reference makes of it, with FP8 and without."""
    own = [replace(trace, reference=None) for trace in traces if trace.engine]
    with_fp8 = await reference.artifacts(exercise, own) if own else {}
    return {trace.key: (with_fp8[trace.key], theirs[trace.key]) if trace.engine else () for trace in traces}


class _Bench:
    """Jobs by (module, key), the learner's under module "", on one runner."""

    def __init__(self, jobs: Mapping[tuple[str, str], Job]) -> None:
        self.runner = Runner(device.start_runner, CANARY, together=False, alone=ALONE)
        self._jobs = dict(jobs)
        self._places: dict[tuple[str, str], int] = {}

    async def load(self, evidence: Evidence | None = None) -> None:
        answers = await self.runner.load(list(self._jobs.values()))
        loaded = 0
        self._places = {}
        for (module, key), answer in zip(self._jobs, answers, strict=True):
            if isinstance(answer, Loaded):
                self._places[module, key] = loaded
                loaded += 1
            elif module:
                raise GraderFault(f"the reference is refused: {key}: {answer.message}")
            if evidence is None or module:
                continue
            if isinstance(answer, Loaded):
                evidence.facts[key] = Facts(
                    answer.custom_calls,
                    answer.largest,
                    answer.compiled_calls,
                    answer.temp_bytes,
                    answer.float8_calls,
                )
            else:
                evidence.problems[key, ""] = Problem(f"{key}: {answer.message}", next_step=answer.next_step)

    def has(self, key: str) -> bool:
        return ("", key) in self._places

    async def check(
        self, module: str, trace: Trace, name: str, evidence: Evidence, rng: np.random.Generator
    ) -> None:
        """Run learner and reference on the same fresh inputs, and judge."""
        if not self.has(trace.key):
            return
        places = [self._places["", trace.key], self._places[module, trace.key]]
        for _ in range(MAX_DRAWS):
            inputs = trace.draw(rng, name)
            out, own = await self.runner.run([inputs, inputs], places)
            if isinstance(own, RunFailed):
                raise GraderFault(f"the reference fails: {trace.about}: {own.message}")
            if isinstance(out, RunFailed):
                evidence.problems[trace.key, ""] = Problem(
                    f"{trace.about}: {out.message}", next_step=out.next_step
                )
                del self._places["", trace.key]
                return
            if trace.usable(inputs, own):
                evidence.look(trace, name, inputs, out, own)
                return
        raise GraderFault(f"no usable inputs for {trace.about} in {MAX_DRAWS} draws")

    async def race(self, learner: str, beside: tuple[str, str], limit: float) -> dict[str, object]:
        places = self._places["", learner], self._places[beside]
        found = await self.runner.race(*places, limit, RACE_SECONDS, secrets.randbits(31))
        if found["answer"] == "failed":
            await self.load()  # the runner may be gone with it
        return found
