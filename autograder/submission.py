"""One submission of one exercise: traced, run beside the reference, judged; on a GPU also measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from autograder import beside, gpu_lock, sandbox, stubs, workspace
from autograder.catalog import GPU_FP8, LEAST, Check, Exercise
from autograder.device import Gpu
from autograder.faults import drawn, unrolled
from autograder.gate import Gate
from autograder.hearing import hear
from autograder.interrogation import Interrogation, interrogate
from autograder.measuring import measure
from autograder.plan import (
    Evidence,
    Facts,
    FailedRound,
    GpuPlan,
    Judge,
    Plan,
    Problem,
    Trace,
    Verdicts,
    only,
)
from autograder.reference import Reference, job
from autograder.results import STILL_THE_STUB, CheckResult, ExerciseResult, Outcome
from autograder.runner.canary import CANARY
from autograder.runner.client import Refused, RunFailed, Runner
from autograder.runner.refusal import LOOPS
from autograder.sandbox import Limits, Role
from autograder.sandbox.output import clean
from autograder.seeds import Seeds
from autograder.source import Source, Unreadable, parse, read, same_code
from autograder.text import cut
from autograder.trials import draw

JUDGES = {
    "naive_attention": "naive",
    "cudnn_attention": "cudnn",
    "causal_check": "causal",
    "grouped_query": "grouped",
    "fp8_autocast": "fp8",
}
GPU_JUDGES = {
    "naive_attention": "naive",
    "cudnn_attention": "cudnn_gpu",
    "grouped_query": "grouped",
    "fp8_autocast": "fp8_gpu",
}
TRACER = Limits(wall_seconds=120.0)  # twice its processor time: others may be graded beside it
RUNNER = Limits(wall_seconds=40.0)
FAULT = "the grader failed"
MAX_DETAIL = 2000
A = TypeVar("A")
B = TypeVar("B")
Progress = Callable[[Exercise, str, ExerciseResult | None], None]


@dataclass(frozen=True)
class Settings:
    """What a grading may use; `seeds` by exercise make it a replay.

    After `running` seconds no further round of inputs is tried; some few are enough. `failed` is told of
    what to show.
    """

    tracer: Limits = TRACER
    runner: Limits = RUNNER
    running: float = 60.0
    seeds: Mapping[str, str] | None = None
    failed: Callable[[FailedRound], None] = lambda failed: None


class Submission:
    """One module, its way through tracer, runner and judge; `run` once. `seeds` repeat it."""

    def __init__(
        self,
        exercise: Exercise,
        folder: Path,
        settings: Settings,
        reference: Reference,
        gpu: Gpu | None,
        gate: Gate,
        progress: Progress,
    ) -> None:
        self.exercise = exercise
        self.sha256 = ""
        self.seeds = Seeds((settings.seeds or {}).get(exercise.name))
        self._folder = folder
        self._settings = settings
        self._reference = reference
        self._gpu = gpu
        self._gate = gate
        self._progress = progress
        self._output = ""

    async def run(self) -> ExerciseResult:
        try:
            return await self._grade()
        except Unreadable as why:
            return self._all(Problem(str(why), next_step=why.next_step))
        except Exception as error:  # the grader's own fault: never a learner's failure
            detail = f"{FAULT}: {type(error).__name__}: {error}"
            return self._all(Problem(detail, outcome=Outcome.GRADER_ERROR))

    async def _grade(self) -> ExerciseResult:
        source = read(self._folder, self.exercise.name)
        self.sha256 = source.sha256
        if not source.tree.body:
            step = workspace.recovery(self._folder, self.exercise.name)
            raise Unreadable(f"{source.name}.py is empty but for comments", step)
        untouched = untouched_functions(self.exercise, source)
        functions = set(self.exercise.functions) - untouched
        verdicts: Verdicts = {}
        if functions:
            judge: Any = import_module(f"autograder.exercises.{JUDGES[self.exercise.name]}")
            verdicts = await self.judge(judge, source, functions)
        checks = (self._check(check, verdicts, untouched) for check in self.exercise.checks)
        return ExerciseResult(self.exercise.name, tuple(checks), self._output)

    async def judge(self, judge: Judge, source: Source, functions: set[str]) -> Verdicts:
        """The verdicts of an exercise's module on these functions."""
        plan = only(judge.plan(self.seeds.scenarios()), functions)
        on_gpu = GPU_JUDGES.get(self.exercise.name) if self._gpu else None
        gpu_judge = import_module(f"autograder.exercises.{on_gpu}") if on_gpu else None
        gpu_plan: GpuPlan = gpu_judge.gpu_plan(self._gpu) if gpu_judge else GpuPlan()
        gpu_plan = replace(gpu_plan, traces=only(Plan(gpu_plan.traces), functions).traces)
        everything = Plan((*plan.traces, *(() if gpu_plan.engine else gpu_plan.traces)), plan.questions)
        evidence = Evidence(source, everything)
        runner = Runner(
            lambda: sandbox.start(Role.RUNNER, self._settings.runner),
            CANARY,
            alone=self._settings.runner.wall_seconds,
        )
        try:
            self._say("tracing")
            if plan.traces:
                await _both(runner.open(), self._reference.runner.open())
            async with self._gate.tracing(), gpu_lock.shared() if self._gpu else nullcontext():
                tracer = await sandbox.start(Role.TRACER, self._settings.tracer)
                found = await interrogate(tracer, source, everything.steps)
            self._output = found.output
            hear(found, evidence)
            traced = [trace for trace in plan.traces if (trace.key, "") not in evidence.problems]
            if traced:
                await self._measure(runner, traced, found, evidence)
        finally:
            await runner.close()
        verdicts: Verdicts = judge.judge(evidence)
        if gpu_judge and gpu_plan.traces:
            measured = await self._on_gpu(gpu_judge, gpu_plan, found, evidence, functions)
            verdicts = {**verdicts, **measured}
        for failed in evidence.failed_rounds(self.exercise.name, verdicts):
            self._settings.failed(failed)
        return verdicts

    async def _on_gpu(
        self,
        judge: ModuleType,
        plan: GpuPlan,
        found: Interrogation,
        evidence: Evidence,
        functions: set[str],
    ) -> Verdicts:
        """The verdicts that take a GPU; a fault of ours there costs these checks alone."""
        try:
            if plan.engine:
                found, evidence = await beside.ask(
                    plan, evidence.source, functions, self._reference, self._gate
                )
            self._say("measuring")
            async with self._gate.timing():
                await measure(
                    self.exercise.name, plan, found.artifacts, evidence, self._reference, self.seeds.inputs()
                )
            verdicts: Verdicts = judge.judge_gpu(evidence, self._gpu)
            return verdicts
        except beside.NoEngine as missing:
            why = Problem(f"{GPU_FP8}; {missing}", outcome=Outcome.NOT_GRADED)
        except Exception as error:
            why = Problem(f"{FAULT}: {type(error).__name__}: {error}", outcome=Outcome.GRADER_ERROR)
        return {check.id: why for check in self.exercise.checks if check.needs}

    async def _measure(
        self, runner: Runner, traced: Sequence[Trace], found: Interrogation, evidence: Evidence
    ) -> None:
        """Compile the artifacts, draw inputs that the reference can be held to, run both, compare."""
        self._say("running")
        jobs = [job(trace, found.artifacts[trace.key], facts_only=not trace.rounds) for trace in traced]
        run = [trace for trace in traced if trace.rounds]
        answers, rounds = await _both(
            runner.load(jobs), draw(self._reference, self.exercise.name, run, self.seeds)
        )
        loaded: list[Trace] = []
        for trace, answer in zip(traced, answers, strict=True):
            if isinstance(answer, Refused):
                evidence.problems[trace.key, ""] = _refused(trace, answer, evidence.source)
            else:
                evidence.facts[trace.key] = Facts(answer.custom_calls, answer.largest)
                loaded.append(trace)
        alive = [index for index, trace in enumerate(loaded) if trace.rounds]
        until = time.monotonic() + self._settings.running
        for round_ in rounds:
            if time.monotonic() > until:
                seconds = f"{self._settings.running:g} seconds together"
                late = f"its programs ran for more than {seconds}: not run to the end"
                for trace in (loaded[index] for index in alive):
                    evidence.problems[trace.key, ""] = Problem(
                        f"{trace.about}: {late}", next_step=unrolled(evidence.source)
                    )
                break
            trials = [round_[loaded[index].key] for index in alive]
            outs = await runner.run([trial.inputs for trial in trials], alive)
            for index, trial, out in zip(tuple(alive), trials, outs, strict=True):
                trace = loaded[index]
                if isinstance(out, RunFailed):
                    evidence.problems[trace.key, ""] = _refused(trace, out, evidence.source)
                    alive.remove(index)
                elif trial.name:
                    evidence.judged.add((trace.key, trial.name))
                    if problem := trace.judge(trial.name, trial.inputs, out, trial.reference):
                        if trace.key not in {key for key, _ in evidence.failed}:
                            problem = trace.explain(problem, trial.inputs, out, trial.reference)
                        told = drawn(problem, evidence.source, trace.function)
                        evidence.problems[trace.key, trial.name] = told
                        evidence.failed[trace.key, trial.name] = trace, trial.inputs, out

    def _check(self, check: Check, verdicts: Verdicts, untouched: set[str]) -> CheckResult:
        function = check.function or self.exercise.functions[0]
        if function in untouched:
            problem: Problem | None = Problem(
                f"{function} {STILL_THE_STUB}", next_step="Fill it in.", outcome=Outcome.NOT_STARTED
            )
        elif check.needs and not self._serves(check, verdicts):
            problem = Problem(check.needs, outcome=Outcome.NOT_GRADED)
        else:
            problem = verdicts[check.id]
        if problem is None:
            confirmed = check.real in verdicts and verdicts[check.real] is None
            simulated = check.simulated and not confirmed
            return CheckResult(check.id, Outcome.PASSED, check.points, simulated=simulated)
        hint = check.hint if problem.outcome is Outcome.FAILED else ""
        return CheckResult(
            check.id,
            problem.outcome,
            check.points,
            _line(problem.detail),
            _line(problem.diagnosis),
            _line(problem.next_step or hint),
            check.simulated,
            _line(problem.cause),
        )

    def _serves(self, check: Check, verdicts: Verdicts) -> bool:
        """Whether a check that waits for a GPU was graded on this machine's."""
        return self._gpu is not None and self._gpu.number >= LEAST[check.needs] and check.id in verdicts

    def _all(self, problem: Problem) -> ExerciseResult:
        verdicts = dict.fromkeys((check.id for check in self.exercise.checks), problem)
        checks = (self._check(check, verdicts, set()) for check in self.exercise.checks)
        return ExerciseResult(self.exercise.name, tuple(checks), self._output)

    def _say(self, stage: str) -> None:
        self._progress(self.exercise, stage, None)


async def _both(one: Awaitable[A], other: Awaitable[B]) -> tuple[A, B]:
    """Side by side; a failure is raised when both have ended, so that nothing goes on behind it."""
    first, second = await asyncio.gather(one, other, return_exceptions=True)
    if isinstance(first, BaseException):
        raise first
    if isinstance(second, BaseException):
        raise second
    return first, second


def _refused(trace: Trace, answer: Refused | RunFailed, source: Source) -> Problem:
    step = unrolled(source) if answer.next_step == LOOPS else answer.next_step
    cause = f"refused: {answer.next_step}" if isinstance(answer, Refused) and answer.next_step else ""
    return Problem(f"{trace.about}: {answer.message}", next_step=step, cause=cause)


def _line(text: str) -> str:
    """One line, of bounded length: what a learner's code says must not look like lines of the report."""
    return cut(" ".join(clean(text).split()), MAX_DETAIL)


def untouched_functions(exercise: Exercise, source: Source) -> set[str]:
    """The functions whose syntax tree is still the stub's."""
    solution = (workspace.solutions() / f"{exercise.name}.py").read_text(encoding="utf-8")
    stub = parse(exercise.name, stubs.stub(solution).encode())
    return {name for name in exercise.functions if same_code(source.function(name), stub.function(name))}
