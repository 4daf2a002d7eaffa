"""The runner's requests as plain functions of a header and a blob: device, engine, load, run, call, race."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.arrays import DTYPES, Array, Spec, pack, unpack
from autograder.runner import allowed, device
from autograder.runner.clocks import Inputs, percall
from autograder.runner.job import Job
from autograder.runner.programs import Entry, Program, compile_program
from autograder.runner.refusal import Refusal, shown
from autograder.runner.timing import Comparison, NotMeasured, Question, WrongOutput, compare
from autograder.runner.validate import validate
from autograder.wire import Header

CALLS = 3
"""The first of them also loads what the program needs."""


class Service:
    """Holds what was loaded last."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._programs: list[Program] = []

    def answer(self, header: Header, blob: bytes) -> tuple[Header, bytes]:
        match header:
            case {"do": "load", "together": bool(together), "jobs": [*items]}:
                jobs, offset = [], 0
                for item in items:
                    jobs.append(Job.from_json(item, blob[offset : offset + item["size"]]))
                    offset += item["size"]
                return {"jobs": self.load(jobs, together)}, b""
            case {"do": "run"}:
                return self.run(blob, header.get("only"))
            case {"do": "call", "job": int(job), "seed": int(seed)}:
                return self.call(job, seed), b""
            case {"do": "race", "learner": int(learner), "reference": int(reference)}:
                question = Question(float(header["limit"]), float(header["seconds"]))
                return self.race(learner, reference, question, int(header["seed"])), b""
            case {"do": "device"}:
                return device.facts(), b""
            case {"do": "engine"}:
                return {"reason": device.engine()}, b""
        raise ValueError("not a request")

    def load(self, jobs: Sequence[Job], together: bool) -> list[Header]:
        """Validate and compile; the answers say for each job what is in it, or why it is refused."""
        if any(job.like for job in jobs):
            device.engine()
        answers: list[Entry | Refusal] = []
        for job in jobs:
            try:
                answers.append(Entry(job, validate(job)))
            except Refusal as refusal:
                answers.append(refusal)
            except Exception as error:
                answers.append(Refusal("invalid", f"this artifact cannot be checked: {shown(repr(error))}."))
        entries = [answer for answer in answers if isinstance(answer, Entry)]
        compiled = _compile([entry for entry in entries if not entry.job.facts_only], together)
        self._entries = [entry for entry in entries if not isinstance(compiled.get(id(entry)), Refusal)]
        self._programs = list({id(p): p for p in compiled.values() if isinstance(p, Program)}.values())
        return [_described(answer, compiled) for answer in answers]

    def run(self, blob: bytes, only: list[int] | None) -> tuple[Header, bytes]:
        """Run the loaded jobs, or some of them by position; the answers' order is theirs."""
        wanted = self._entries if only is None else [self._entries[index] for index in only]
        arrays = iter(unpack(blob, [spec for entry in wanted for spec in entry.job.ins]))
        inputs = {id(entry): [next(arrays) for _ in entry.job.ins] for entry in wanted}
        outputs: dict[int, list[Array] | str] = {}
        for program in list(self._programs):
            if any(id(entry) in inputs for entry in program.entries):
                outputs |= self._run_program(program, inputs)
        answers: list[Header] = []
        done: list[Array] = []
        for entry in wanted:
            output = outputs[id(entry)]
            if isinstance(output, str):
                answers.append({"ok": False, "message": output})
            else:
                answers.append({"ok": True})
                done += output
        return {"jobs": answers}, pack(done)

    def call(self, index: int, seed: int) -> Header:
        """How long a call of a loaded job takes by the host's clock, on normal inputs drawn here."""
        program, entry = self._callable(index), self._entries[index]
        try:
            times = percall(program, Inputs(entry.job.ins).sets(seed, CALLS))
        except Exception as error:  # XLA's own types; out of memory, mostly
            return {"ok": False, "message": f"running the program failed: {shown(str(error))}"}
        return {"ok": True, "ms": min(times[1:])}

    def race(self, learner: int, reference: int, question: Question, seed: int) -> Header:
        """Time two loaded jobs, by position, side by side; each must be a program of its own."""
        inputs = Inputs(self._entries[learner].job.ins)
        try:
            found = compare(self._callable(reference), self._callable(learner), inputs, question, seed)
        except Exception as error:  # XLA's own types; out of memory, mostly
            return {"answer": "failed", "message": f"running the program failed: {shown(str(error))}"}
        return described(found)

    def _callable(self, index: int) -> Callable[..., Any]:
        """A loaded job, by position, as a function of arrays on the device."""
        wanted = self._entries[index]
        [program] = [each for each in self._programs if any(entry is wanted for entry in each.entries)]
        return lambda *arrays: program.compiled([list(arrays)])

    def _run_program(self, program: Program, inputs: dict[int, list[Array]]) -> dict[int, list[Array] | str]:
        """Outputs or a message by entry, zeros going in where nothing is asked; one that fails is split."""
        entries = program.entries
        try:
            outputs = program.run([inputs.get(id(entry)) or _zeros(entry.job.ins) for entry in entries])
            return {id(entry): output for entry, output in zip(entries, outputs, strict=True)}
        except Exception as error:  # XLA's own types; out of memory, mostly
            if len(entries) == 1:
                return {id(entries[0]): f"running the program failed: {shown(str(error))}"}
        self._programs.remove(program)
        apart: dict[int, list[Array] | str] = {}
        for entry in entries:
            try:
                single = compile_program([entry])
            except Refusal as refusal:
                apart[id(entry)] = refusal.message
            else:
                self._programs.append(single)
                apart |= self._run_program(single, inputs)
        return apart


def _compile(entries: list[Entry], together: bool) -> dict[int, Program | Refusal]:
    """The program of each entry, by id; one at a time where all together do not compile."""
    if together and entries:
        try:
            return dict.fromkeys(map(id, entries), compile_program(entries))
        except Refusal as refusal:
            if len(entries) == 1:
                return {id(entries[0]): refusal}
    result: dict[int, Program | Refusal] = {}
    for entry in entries:
        try:
            result[id(entry)] = compile_program([entry])
        except Refusal as refusal:
            result[id(entry)] = refusal
    return result


def _zeros(specs: Sequence[Spec]) -> list[Array]:
    return [np.zeros(spec.shape, DTYPES[spec.dtype]) for spec in specs]


def _described(answer: Entry | Refusal, compiled: dict[int, Program | Refusal]) -> Header:
    outcome = answer if isinstance(answer, Refusal) else compiled.get(id(answer))
    if isinstance(answer, Refusal) or isinstance(outcome, Refusal):
        refusal = answer if isinstance(answer, Refusal) else outcome
        assert isinstance(refusal, Refusal)
        return {
            "ok": False,
            "code": refusal.code,
            "message": refusal.message,
            "next_step": refusal.next_step,
        }
    return {
        "ok": True,
        "custom_calls": list(answer.valid.custom_calls),
        "largest": answer.valid.largest,
        "temp_bytes": outcome.temp_bytes if outcome else 0,
        "compiled_calls": list(outcome.custom_calls) if outcome and allowed.ON_GPU else [],
        "float8_calls": list(outcome.float8_calls) if outcome and allowed.ON_GPU else [],
    }


def described(found: Comparison | NotMeasured | WrongOutput) -> Header:
    """The answer to a race; `answer` is a verdict, "not measured", "wrong output" or "failed"."""
    if isinstance(found, NotMeasured):
        return {"answer": "not measured", "message": found.reason}
    if isinstance(found, WrongOutput):
        message = f"relative error {found.error:.3g} in a timed call, at most {found.tolerance:g} expected"
        return {"answer": "wrong output", "message": message}
    return {
        "answer": str(found.verdict),
        "ratio": found.interval.ratio,
        "low": found.interval.low,
        "high": found.interval.high,
        "learner_ms": found.learner.ms,
        "reference_ms": found.reference.ms,
        "clock": found.clock,
        "seconds": found.seconds,
    }
