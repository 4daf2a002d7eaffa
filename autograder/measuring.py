"""What waits for a GPU, on a GPU: the programs compiled for it, run, and timed beside references."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from autograder import device, gpu_lock
from autograder.plan import Arrays, Evidence, Facts, GpuPlan, Problem, Trace
from autograder.reference import Reference, job
from autograder.runner.canary import CANARY
from autograder.runner.client import GraderFault, Job, Loaded, RunFailed, Runner
from autograder.runner.refusal import SIZES
from autograder.trials import MAX_DRAWS
from autograder.wire import Header

RACE_SECONDS = 10.0
LOADING = 60.0  # seconds for all programs of a submission and their references together
ALONE = 30.0  # seconds to compile one program where all together failed
OURS = 60.0  # seconds for a call of a reference
FAR = 50
"""A learner's program that takes more than this many times the reference's time is not timed any further."""
AT_LEAST = 10.0  # seconds that a learner's program has, however short the reference's time


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
            bench.endless = ""  # a program that did not end at small sizes says nothing of the large ones
            for race in plan.races:
                if bench.has(race.learner):
                    beside = race.module, race.reference.key
                    evidence.races[race.learner, race.reference.key] = await bench.race(
                        race.learner, beside, race.limit
                    )
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
    """Jobs by (module, key), the learner's under module "", on one runner.

    A learner's program has seconds by its reference's time. After one that does not end within them, none
    of the learner's is run while `endless` has its key: each could hold the GPU as long.
    """

    def __init__(self, jobs: Mapping[tuple[str, str], Job]) -> None:
        self.runner = Runner(device.start_runner, CANARY, together=False, alone=ALONE)
        self.endless = ""
        self._jobs = dict(jobs)
        self._places: dict[tuple[str, str], int] = {}
        self._failed: dict[str, RunFailed] = {}
        self._takes: dict[tuple[str, str], float] = {}

    async def load(self, evidence: Evidence | None = None) -> None:
        answers = await self.runner.load(list(self._jobs.values()), LOADING)
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
        self._jobs = {key: job for key, job in self._jobs.items() if key in self._places}

    def has(self, key: str) -> bool:
        return ("", key) in self._places

    async def check(
        self, module: str, trace: Trace, name: str, evidence: Evidence, rng: np.random.Generator
    ) -> None:
        """Run learner and reference on the same fresh inputs, and judge."""
        if not self.has(trace.key) or trace.key in self._failed:
            return
        found = self._not_tried() or await self._run(module, trace, name, rng)
        if isinstance(found, RunFailed):
            self._failed[trace.key] = found
            detail = f"{trace.about}: {found.message}"
            evidence.problems[trace.key, ""] = Problem(detail, next_step=found.next_step)
            return
        evidence.judged.add((trace.key, name))
        if problem := trace.judge(name, *found):
            evidence.problems[trace.key, name] = trace.explain(problem, *found)
            evidence.failed[trace.key, name] = trace, found[0], found[1]

    async def _run(
        self, module: str, trace: Trace, name: str, rng: np.random.Generator
    ) -> tuple[Arrays, Arrays, Arrays] | RunFailed:
        """Inputs, the learner's outputs and the reference's."""
        takes = await self._reference(module, trace.key)
        for _ in range(MAX_DRAWS):
            inputs = trace.draw(rng, name)
            [own] = await self.runner.run([inputs], [self._places[module, trace.key]], OURS)
            if isinstance(own, RunFailed):
                raise GraderFault(f"the reference fails: {trace.about}: {own.message}")
            if trace.usable(inputs, own):
                [out] = await self.runner.run([inputs], [self._places["", trace.key]], _allowed(takes))
                if isinstance(out, RunFailed):
                    return self._explained(trace.key, out, takes)
                return inputs, out, own
        raise GraderFault(f"no usable inputs for {trace.about} in {MAX_DRAWS} draws")

    async def race(self, learner: str, beside: tuple[str, str], limit: float) -> Header:
        """The answer to a race, as `service.described` gives it, or "failed" with why and what to do."""
        found = self._failed.get(learner) or self._not_tried() or await self._race(learner, beside, limit)
        if isinstance(found, RunFailed):
            self._failed[learner] = found
            return {"answer": "failed", "message": found.message, "next_step": found.next_step}
        return found

    async def _race(self, learner: str, beside: tuple[str, str], limit: float) -> Header | RunFailed:
        """One call first: only a program that ends soon is timed."""
        takes = await self._reference(*beside)
        mine, own = self._places["", learner], self._places[beside]
        one = await self.runner.call(mine, secrets.randbits(31), _allowed(takes))
        if isinstance(one, RunFailed):
            return self._explained(learner, one, takes)
        if one > FAR * takes:
            slow = f"one call takes {one:.3g} ms, and the reference's {takes:.3g} ms"
            return RunFailed(f"{slow}; the limit is {limit:g} times as long", next_step="")
        within = 2 * RACE_SECONDS + _allowed(takes)  # it may take RACE_SECONDS by each of two clocks
        found = await self.runner.race(mine, own, limit, RACE_SECONDS, secrets.randbits(31), within)
        return self._explained(learner, found, takes) if isinstance(found, RunFailed) else found

    async def _reference(self, module: str, key: str) -> float:
        """Milliseconds that a reference takes for a call; what the runner lost is loaded again before."""
        if not self.runner.loaded:
            await self.load()
        if (module, key) not in self._takes:
            found = await self.runner.call(self._places[module, key], secrets.randbits(31), OURS)
            if isinstance(found, RunFailed):
                raise GraderFault(f"the reference fails: {key}: {found.message}")
            self._takes[module, key] = found
        return self._takes[module, key]

    def _not_tried(self) -> RunFailed | None:
        return RunFailed(f"not tried, since {self.endless} did not end", SIZES) if self.endless else None

    def _explained(self, key: str, failed: RunFailed, takes: float) -> RunFailed:
        if not failed.endless:
            return failed
        self.endless = key
        return replace(failed, message=f"{failed.message} at these sizes; the reference takes {takes:.3g} ms")


def _allowed(takes: float) -> float:
    """Seconds for a learner's program whose reference takes these milliseconds."""
    return AT_LEAST + FAR * takes / 1e3
