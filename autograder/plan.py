"""What to do with one submission: functions to trace and run, questions to ask, and what came of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from autograder.arrays import Array, Spec
from autograder.results import Outcome
from autograder.source import Source
from autograder.wire import Header

Arrays = Sequence[Array]
Function = Callable[..., Array]


@dataclass(frozen=True)
class Problem:
    """Why a check did not pass; see `results.CheckResult` for the fields."""

    detail: str
    diagnosis: str = ""
    next_step: str = ""
    outcome: Outcome = Outcome.FAILED
    cause: str = ""


@dataclass(frozen=True)
class Trace:
    """A function traced for the types `ins`, then run on fresh inputs in each of `rounds`.

    `about` names the call in messages. `step` goes to the tracer, and, unless `reference` says another,
    so it does for the reference. `draw(rng, round)` makes the inputs; `usable` tells from the
    reference's outputs whether they can be judged on; `judge(round, inputs, outputs, reference outputs)`
    decides. `explain(problem, inputs, outputs, reference outputs)` adds what they look like: it takes longer,
    and is asked about the first round that fails. Without rounds it is looked at, and not run. `cudnn` is
    None where the artifact may hold no cuDNN call, else whether that call is causal; `expected(inputs)` are
    the right outputs, to be shown; `engine` is true where the real TransformerEngine makes it, beside a GPU.
    """

    key: str
    about: str
    step: Header
    ins: tuple[Spec, ...]
    outs: tuple[Spec, ...]
    rounds: tuple[str, ...]
    draw: Callable[[np.random.Generator, str], Arrays]
    judge: Callable[[str, Arrays, Arrays, Arrays], Problem | None]
    explain: Callable[[Problem, Arrays, Arrays, Arrays], Problem] = lambda problem, *given: problem
    usable: Callable[[Arrays, Arrays], bool] = lambda inputs, reference: True
    reference: Header | None = None
    cudnn: bool | None = None
    float8: bool = False
    engine: bool = False
    expected: Callable[[Arrays], Arrays] | None = None

    @property
    def function(self) -> str:
        return str(self.step["function"])

    @property
    def float32_only(self) -> bool:
        return {spec.dtype for spec in (*self.ins, *self.outs)} == {"float32"}


@dataclass(frozen=True)
class Question:
    """A step whose answer is a plain value, or an error; `judge` decides from its header.

    `black_box` answers for the attention function that the step hands over.
    """

    key: str
    about: str
    step: Header
    judge: Callable[[Header], Problem | None]
    arrays: tuple[Array, ...] = ()
    black_box: Function | None = None

    @property
    def function(self) -> str:
        return str(self.step["function"])


@dataclass(frozen=True)
class Plan:
    traces: tuple[Trace, ...]
    questions: tuple[Question, ...] = ()

    @property
    def steps(self) -> tuple[Trace | Question, ...]:
        return (*self.traces, *self.questions)


@dataclass(frozen=True)
class Race:
    """A learner's trace, by key, timed beside a reference's; their ratio is to stay below `limit`.

    `module` is the solution that the reference's trace is of.
    """

    learner: str
    module: str
    reference: Trace
    limit: float


@dataclass(frozen=True)
class GpuPlan:
    """What an exercise asks of a GPU: traces made for it, and races between some of them and references.

    `texts` are programs whose text the reference gives; `ask` makes questions of them, by key.
    """

    traces: tuple[Trace, ...] = ()
    races: tuple[Race, ...] = ()
    texts: tuple[Trace, ...] = ()
    ask: Callable[[Mapping[str, bytes]], tuple[Question, ...]] = lambda texts: ()

    @property
    def engine(self) -> bool:
        """Whether the learner's code has to run beside the GPU."""
        return any(trace.engine for trace in self.traces)


@dataclass(frozen=True)
class Facts:
    """What the runner found in a valid artifact; on a GPU also in the program that XLA made of it.

    `float8_calls` are those of the `compiled_calls` that take an f8 operand.
    """

    custom_calls: tuple[str, ...]
    largest: int
    compiled_calls: tuple[str, ...] = ()
    temp_bytes: int = 0
    float8_calls: tuple[str, ...] = ()


@dataclass(frozen=True)
class FailedRound:
    """What a check failed by: the inputs of a round, and what came of them."""

    exercise: str
    check: str
    trace: Trace
    name: str
    inputs: Arrays
    outs: Arrays


@dataclass
class Evidence:
    """All that is known of a submission; what concerns a round is under (key, round), else (key, "").

    `judged` holds what was looked at: no problem without a look is no pass. `failed` holds the trace, the
    inputs and the outputs of each round with a problem.
    """

    source: Source
    plan: Plan
    answers: dict[str, Header] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    problems: dict[tuple[str, str], Problem] = field(default_factory=dict)
    judged: set[tuple[str, str]] = field(default_factory=set)
    races: dict[tuple[str, str], Header] = field(default_factory=dict)
    failed: dict[tuple[str, str], tuple[Trace, Arrays, Arrays]] = field(default_factory=dict)

    def failed_rounds(self, exercise: str, verdicts: Verdicts) -> Iterator[FailedRound]:
        """The round that each check failed by, where it was one whose right outputs can be shown."""
        for check, problem in verdicts.items():
            for (key, name), (trace, inputs, outs) in self.failed.items():
                if problem and trace.expected and problem.detail == self.problems[key, name].detail:
                    yield FailedRound(exercise, check, trace, name, inputs, outs)
                    break

    def first(self, keys: Iterable[str], rounds: Iterable[str] | None = None) -> Problem | None:
        """The first problem of these traces and questions: their own, then of (these of) their rounds."""
        wanted = None if rounds is None else set(rounds)
        steps = {step.key: step for step in self.plan.steps}
        for key in keys:
            step = steps.get(key)
            names = step.rounds if isinstance(step, Trace) else ()
            for name in ("", *(name for name in names if wanted is None or name in wanted)):
                if problem := self.problems.get((key, name)):
                    return problem
                if (key, name) not in self.judged:
                    return Problem(f"{key} {name} was never looked at", outcome=Outcome.GRADER_ERROR)
        return None


Verdicts = Mapping[str, Problem | None]
"""By check id: why it did not pass, or None."""


class Judge(Protocol):
    """What the module of an exercise gives: what to trace and to ask, and verdicts on what came of it."""

    def plan(self, rng: np.random.Generator) -> Plan: ...

    def judge(self, evidence: Evidence) -> Verdicts: ...


def only(plan: Plan, functions: set[str]) -> Plan:
    """The part of a plan that concerns these functions."""
    return Plan(
        tuple(trace for trace in plan.traces if trace.function in functions),
        tuple(question for question in plan.questions if question.function in functions),
    )
