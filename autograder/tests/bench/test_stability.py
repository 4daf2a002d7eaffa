"""The benchmark of checks that change their mind, on graders that do and do not."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.bench import stability
from autograder.bench.many import Many, Unlike
from autograder.catalog import Exercise
from autograder.grading import Graded
from autograder.plan import Arrays, Evidence, Plan, Problem, Question, Trace, Verdicts
from autograder.results import CheckResult, ExerciseResult, Outcome
from autograder.source import parse
from autograder.submission import Settings


async def apart(*given: object) -> None:
    raise Unlike


class Fickle:
    """Passes everything, but the first check of a file that holds "chance" only every third time."""

    def __init__(self, settings: Settings) -> None:
        self._runs = itertools.count()

    async def __aenter__(self) -> Fickle:
        return self

    async def __aexit__(self, *failure: object) -> None:
        pass

    async def grade(self, exercise: Exercise, folder: Path) -> Graded:
        chance = "chance" in (folder / f"{exercise.name}.py").read_text()
        fails = chance and next(self._runs) % 3 > 0
        checks = tuple(
            CheckResult(check.id, Outcome.FAILED if fails and number == 0 else Outcome.PASSED, check.points)
            for number, check in enumerate(exercise.checks)
        )
        return Graded(ExerciseResult(exercise.name, checks), "", "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module, two submissions under other names, and a file that is none."""
    fickle: Any = Fickle
    monkeypatch.setattr(stability, "Grader", fickle)
    monkeypatch.setattr(stability, "together", apart)
    inside = tmp_path / "wrong" / "grouped_query"
    inside.mkdir(parents=True)
    (tmp_path / "naive_attention.py").write_text("pass")
    (tmp_path / "helper.py").write_text("pass")
    (inside / "chance.py").write_text("# chance")
    (inside / "sound.py").write_text("pass")
    return tmp_path


def test_a_check_that_changes_its_mind_has_a_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = list(stability.submissions([folder]))
    assert [(exercise.name, file.stem) for exercise, file in found] == [
        ("naive_attention", "naive_attention"),
        ("grouped_query", "chance"),
        ("grouped_query", "sound"),
    ]
    assert asyncio.run(stability.measure(found, 6)) == 1
    row, summary = capsys.readouterr().out.splitlines()
    assert row.endswith("chance.py  float32: 4 failed, 2 passed")
    checks = sum(len(exercise.checks) for exercise, _ in found)
    assert summary == f"3 files, {checks} checks, 6 runs: 1 checks changed their mind"


def test_the_exit_status_says_whether_any_did(folder: Path) -> None:
    for part, status in (("1/3", 0), ("2/3", 1), ("3/3", 0)):
        with pytest.raises(SystemExit) as ended:
            stability.main([folder], runs=6, part=part)
        assert ended.value.code == status


@pytest.mark.parametrize("part", ["0/3", "4/3", "1", "a/b"])
def test_a_part_that_there_is_not_is_refused(part: str) -> None:
    with pytest.raises(ValueError):
        stability.shard([], part)


def test_by_itself_it_takes_the_solutions_and_the_submissions_of_the_tests() -> None:
    found = list(stability.submissions([stability.CORPUS]))
    assert len(found) == len(list(stability.CORPUS.glob("*/*/*.py")))


class Drawing:
    """A judge of one trace with two rounds and one question, whose number is drawn; `step` too, if asked."""

    def __init__(self, drawn_step: bool = False) -> None:
        self._drawn_step = drawn_step
        self.numbers: list[int] = []

    def plan(self, rng: np.random.Generator) -> Plan:
        number = int(rng.integers(10**6))
        self.numbers.append(number)
        step = {"function": "f", "number": number if self._drawn_step else 0}
        trace = Trace("t", "t", step, (), (), ("near", "far"), self.draw, lambda *given: None)
        return Plan((trace,), (Question("q", str(number), {"function": "f"}, lambda answer: None),))

    def draw(self, rng: np.random.Generator, name: str) -> Arrays:
        return (np.array(name),)

    def judge(self, evidence: Evidence) -> Verdicts:
        [question] = evidence.plan.questions
        problem = evidence.first(("t", "q"))
        return {"own": problem, "asked": Problem(f"{question.about} {evidence.answers['q']['value']}")}


def test_runs_in_one_tracer_have_questions_rounds_and_verdicts_of_their_own() -> None:
    own = Drawing()
    many = Many(own, 3)
    plan = many.plan(np.random.default_rng(0))
    assert len(set(own.numbers)) == 3
    [trace] = plan.traces
    assert trace.rounds == ("0@near", "0@far", "1@near", "1@far", "2@near", "2@far")
    assert str(trace.draw(np.random.default_rng(0), "1@far")[0]) == "far"
    assert [question.key for question in plan.questions] == ["0@q", "1@q", "2@q"]
    evidence = Evidence(parse("m", b"pass"), plan)
    evidence.answers |= {f"{run}@q": {"value": run} for run in range(3)}
    evidence.judged |= {
        ("t", ""),
        *(("t", name) for name in trace.rounds),
        *((f"{run}@q", "") for run in range(3)),
    }
    evidence.problems["t", "1@far"] = evidence.problems["2@q", ""] = Problem("wrong")
    many.judge(evidence)
    own_problems = [verdicts["own"] for verdicts in many.verdicts]
    assert [problem and problem.detail for problem in own_problems] == [None, "wrong", "wrong"]
    asked = [verdicts["asked"] for verdicts in many.verdicts]
    assert [problem and problem.detail for problem in asked] == [
        f"{n} {run}" for run, n in enumerate(own.numbers)
    ]


def test_runs_that_trace_different_functions_share_nothing() -> None:
    with pytest.raises(Unlike):
        Many(Drawing(drawn_step=True), 2).plan(np.random.default_rng(0))
