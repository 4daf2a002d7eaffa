"""The questions and inputs of many runs, asked of one submission in one tracer and one runner.

Most of a run goes into starting processes and compiling; what differs from run to run takes little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from autograder.plan import Arrays, Evidence, Judge, Plan, Problem, Trace, Verdicts


class Unlike(Exception):
    """The runs trace different functions: nothing is to be shared."""


@dataclass
class Many:
    """A judge of `count` runs at once. `verdicts` has those of each run, once `judge` was called."""

    own: Judge
    count: int
    verdicts: list[Verdicts] = field(default_factory=list)
    _plans: list[Plan] = field(default_factory=list)

    def plan(self, rng: np.random.Generator) -> Plan:
        """All runs' questions, and each trace with all runs' rounds. Raises Unlike."""
        self._plans = [self.own.plan(generator) for generator in rng.spawn(self.count)]
        first = self._plans[0]
        for plan in self._plans:
            if [(trace.key, trace.step) for trace in plan.traces] != [(t.key, t.step) for t in first.traces]:
                raise Unlike
        questions = [
            replace(question, key=_name(run, question.key))
            for run, plan in enumerate(self._plans)
            for question in plan.questions
        ]
        return Plan(tuple(self._repeated(trace) for trace in first.traces), tuple(questions))

    def _repeated(self, trace: Trace) -> Trace:
        def draw(rng: np.random.Generator, name: str) -> Arrays:
            return trace.draw(rng, _split(name)[1])

        def judge(name: str, inputs: Arrays, outs: Arrays, reference: Arrays) -> Problem | None:
            return trace.judge(_split(name)[1], inputs, outs, reference)

        rounds = tuple(_name(run, name) for run in range(self.count) for name in trace.rounds)
        return replace(trace, rounds=rounds, draw=draw, judge=judge)

    def judge(self, evidence: Evidence) -> Verdicts:
        """The first run's verdicts; all are in `verdicts`."""
        self.verdicts = [self.own.judge(self._of(run, evidence)) for run in range(self.count)]
        return self.verdicts[0]

    def _of(self, run: int, evidence: Evidence) -> Evidence:
        """What concerns one run."""
        answers = {name: answer for key, answer in evidence.answers.items() for name in _of(run, key)}
        problems = {
            place: problem for at, problem in evidence.problems.items() for place in _places(run, *at)
        }
        judged = {place for at in evidence.judged for place in _places(run, *at)}
        return Evidence(evidence.source, self._plans[run], answers, evidence.facts, problems, judged)


def _name(run: int, name: str) -> str:
    return f"{run}@{name}"


def _split(name: str) -> tuple[str, str]:
    run, _, rest = name.partition("@")
    return (run, rest) if run.isdigit() else ("", name)


def _of(run: int, name: str) -> Iterator[str]:
    """The name without its run, if it is of this one or of none."""
    of, rest = _split(name)
    if of in ("", str(run)):
        yield rest


def _places(run: int, key: str, name: str) -> Iterator[tuple[str, str]]:
    for own_key in _of(run, key):
        for own_name in _of(run, name):
            yield own_key, own_name
