"""The judge's side of a runner: artifacts in, arrays out, and a submission's crash is only its own.

`Runner` keeps one child process (runner/__main__.py). When the child dies or hangs, the client starts
another, has it run a canary, and tries the artifacts one at a time: the culprit is refused, the
others are graded. Only the canary's own failure is the grader's fault. An artifact is to blame when it takes
too long by itself, or when a child dies of it that has run nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from autograder.arrays import Array, Spec, pack, unpack
from autograder.runner.job import Job
from autograder.runner.refusal import LOOPS, PLAIN, SIZES, SMALLER
from autograder.sandbox import ChildTimeout
from autograder.wire import MAX_HEADER, Header

ALONE = 40.0
"""Seconds for an artifact that is tried alone."""
MAX_DEATHS = 3
"""Children that the artifacts of one load, or of one run, may cost when they are tried one at a time."""
NOT_TRIED = (
    f"not tried: {MAX_DEATHS} programs before it ended the process that runs them, or took too long",
    LOOPS,
)
A = TypeVar("A")

__all__ = ["Canary", "Child", "GraderFault", "Job", "Loaded", "Refused", "RunFailed", "Runner"]


class GraderFault(Exception):
    """The runner fails on trusted input: no fault of the submission."""


class Child(Protocol):
    """What the client needs of `autograder.sandbox.Child`."""

    async def send(self, header: Header, blob: bytes = b"") -> None: ...
    async def receive(self, max_header: int, max_blob: int) -> tuple[Header, bytes]: ...
    async def kill(self) -> None: ...
    def deadline(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class Loaded:
    """A valid, compiled artifact: its custom calls, the number of elements of its largest value, and the
    temporary memory of the program it is in (of all together, where they are compiled together).
    `compiled_calls` are the custom calls that a GPU's program holds after XLA's passes, `float8_calls` those
    that take an f8 operand."""

    custom_calls: tuple[str, ...]
    largest: int
    temp_bytes: int
    compiled_calls: tuple[str, ...] = ()
    float8_calls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """An artifact that the runner does not run; `message` says why, `next_step` what to do instead."""

    code: str
    message: str
    next_step: str = PLAIN


@dataclass(frozen=True)
class RunFailed:
    """An artifact that was loaded, and then failed, died or hung; `endless`: it hung and had no other try."""

    message: str
    next_step: str = SMALLER
    endless: bool = False


@dataclass(frozen=True)
class Canary:
    """A known-good job and its inputs; a runner that cannot do this is itself at fault."""

    job: Job
    inputs: tuple[Array, ...]


class Runner:
    """Loads and runs artifacts in a child that may die.

    `start` starts a child; `canary` is what a sound child can do; `together` compiles all artifacts of a load
    in one program. `patience`: how many seconds each request may take; without it a child keeps the one
    deadline of its life, as whatever runs a submission should, and an artifact tried alone has `alone`
    seconds. A request with `seconds` of its own may take these instead. Raises GraderFault from every
    method, and nothing else for what a submission does.
    """

    def __init__(
        self,
        start: Callable[[], Awaitable[Child]],
        canary: Canary,
        *,
        together: bool = True,
        patience: float | None = None,
        alone: float = ALONE,
    ) -> None:
        self._start = start
        self._together = together
        self._canary = canary
        self._patience = patience
        self._alone = patience or alone
        self._fresh = False
        self._child: Child | None = None
        self._opening = asyncio.Lock()
        self._jobs: tuple[Job, ...] = ()
        self._batch_is_loaded = False

    async def open(self) -> None:
        """Start the child now, so that it imports JAX while other things happen."""
        async with self._opening:  # exercises that open a shared runner at once get one child
            if self._child is not None:
                return
            try:
                self._child = await self._start()
            except Exception as error:
                raise GraderFault(f"the runner did not start: {error}") from error

    async def close(self) -> None:
        async with self._opening:  # a child that is only just starting would outlive its runner
            child, self._child, self._batch_is_loaded = self._child, None, False
            if child is not None:
                await child.kill()

    @property
    def loaded(self) -> bool:
        """Whether the child has all that was loaded last."""
        return self._batch_is_loaded

    async def load(self, jobs: Sequence[Job], seconds: float | None = None) -> list[Loaded | Refused]:
        """Validate and compile; one answer a job. The jobs of an earlier load are forgotten."""
        self._jobs, self._batch_is_loaded = (), False
        try:
            answers = await self._load(jobs, seconds)
            self._batch_is_loaded = True
        except _Lost:
            await self._recover()
            answers = await self._load_apart(jobs)
        self._jobs = tuple(job for job, answer in zip(jobs, answers, strict=True) if type(answer) is Loaded)
        return answers

    async def run(
        self,
        inputs: Sequence[Sequence[Array]],
        only: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> list[list[Array] | RunFailed]:
        """Run the jobs that were loaded (not the refused ones), in order; `only` picks some by position.

        inputs: the arrays of each of these jobs, of exactly its types (ValueError). Returns their outputs.
        What does not end within `seconds`, where they are given, is not tried again.
        """
        jobs = [self._jobs[index] for index in (range(len(self._jobs)) if only is None else only)]
        for job, arrays in zip(jobs, inputs, strict=True):
            if tuple(map(Spec.of, arrays)) != job.ins:
                raise ValueError(
                    f"expected inputs {[*map(str, job.ins)]}, got {[*map(str, map(Spec.of, arrays))]}"
                )
        if self._batch_is_loaded and jobs:
            try:
                return await self._run(jobs, inputs, only, seconds)
            except _Lost as lost:
                await self._recover()
                if lost.slow and seconds is not None:
                    return [_endless(seconds) for _ in jobs]
        return await self._run_apart(jobs, inputs)

    async def device(self) -> Header:
        """What `runner.device.facts` says in the child; GraderFault without an answer."""
        try:
            return (await self._ask({"do": "device"}, b"", 0))[0]
        except _Lost as lost:
            raise GraderFault(f"the runner does not say what it runs on: {lost}") from lost

    async def engine(self) -> str:
        """What `runner.device.engine` says in the child, or what became of the child."""
        try:
            return str((await self._ask({"do": "engine"}, b"", 0))[0]["reason"])
        except _Lost as lost:
            await self.close()
            return f"importing TransformerEngine ended the process: {lost}"

    async def call(self, index: int, seed: int, seconds: float) -> float | RunFailed:
        """Milliseconds of one call of a loaded job, by position, on inputs that the child draws."""
        answer = await self._once({"do": "call", "job": index, "seed": seed}, "running it", seconds)
        if isinstance(answer, RunFailed):
            return answer
        match answer:
            case {"ok": True, "ms": float(ms)}:
                return ms
        return RunFailed(str(answer.get("message")))

    async def race(
        self, learner: int, reference: int, limit: float, budget: float, seed: int, seconds: float
    ) -> Header | RunFailed:
        """Time two loaded jobs, by position, side by side; see `service.described` for the answer.

        `budget` is for the timing itself.
        """
        header = {"do": "race", "learner": learner, "reference": reference}
        header |= {"limit": limit, "seconds": budget, "seed": seed}
        return await self._once(header, "timing it", seconds)

    async def _once(self, header: Header, doing: str, seconds: float) -> Header | RunFailed:
        """The answer to a request; a child that dies or hangs over it has lost all that was loaded."""
        try:
            return (await self._ask(header, b"", 0, seconds))[0]
        except _Lost as lost:
            await self._recover()
            return _endless(seconds) if lost.slow else RunFailed(*_ended(doing, lost))

    async def _load_apart(self, jobs: Sequence[Job]) -> list[Loaded | Refused]:
        async def load(index: int) -> Loaded | Refused:
            [answer] = await self._load([jobs[index]])
            return answer

        answers = await self._apart(load, len(jobs), "checking and compiling it")
        return [Refused("died", *answer) if isinstance(answer, tuple) else answer for answer in answers]

    async def _run_apart(
        self, jobs: Sequence[Job], inputs: Sequence[Sequence[Array]]
    ) -> list[list[Array] | RunFailed]:
        async def run(index: int) -> list[Array] | RunFailed:
            return await self._run_one(jobs[index], inputs[index])

        answers = await self._apart(run, len(jobs), "compiling and running it")
        return [RunFailed(*answer) if isinstance(answer, tuple) else answer for answer in answers]

    async def _apart(
        self, attempt: Callable[[int], Awaitable[A]], count: int, doing: str
    ) -> list[A | tuple[str, str]]:
        """What each attempt gives, or why it gave nothing and what to do."""
        answers: list[A | tuple[str, str]] = []
        deaths = 0
        while len(answers) < count:
            if deaths == MAX_DEATHS:
                answers.append(NOT_TRIED)
                continue
            fresh = self._fresh
            try:
                await self.open()
                if self._child is not None and self._patience is None:
                    self._child.deadline(self._alone)
                answers.append(await attempt(len(answers)))
            except _Lost as lost:
                deaths += 1
                if lost.slow:
                    answers.append((f"{doing} took more than {self._alone:g} s", LOOPS))
                elif fresh:  # else those before it may have used the child up: it is tried again
                    answers.append(_ended(doing, lost))
                await self._recover()
        return answers

    async def _run_one(self, job: Job, arrays: Sequence[Array]) -> list[Array] | RunFailed:
        [loaded] = await self._load([job])
        if isinstance(loaded, Refused):
            return RunFailed(loaded.message, loaded.next_step)
        [answer] = await self._run([job], [arrays])
        return answer

    async def _recover(self) -> None:
        """Start another child, which must do the canary: else the fault is ours."""
        await self.close()  # which forgets the batch
        try:
            answer = await self._run_one(self._canary.job, self._canary.inputs)
            if isinstance(answer, RunFailed):
                raise _Lost(answer.message)
            self._fresh = True
        except _Lost as lost:
            await self.close()
            raise GraderFault(f"the runner fails on a known-good program: {lost}") from lost

    async def _load(self, jobs: Sequence[Job], seconds: float | None = None) -> list[Loaded | Refused]:
        header = {"do": "load", "together": self._together, "jobs": [job.to_json() for job in jobs]}
        answer, _ = await self._ask(header, b"".join(job.blob for job in jobs), 0, seconds)
        return [_loaded(item) for item in _items(answer, len(jobs))]

    async def _run(
        self,
        jobs: Sequence[Job],
        inputs: Sequence[Sequence[Array]],
        only: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> list[list[Array] | RunFailed]:
        header: Header = {"do": "run"} if only is None else {"do": "run", "only": list(only)}
        most = sum(spec.nbytes for job in jobs for spec in job.outs)
        answer, blob = await self._ask(header, b"".join(map(pack, inputs)), most, seconds)
        items = _items(answer, len(jobs))
        done = [job for job, item in zip(jobs, items, strict=True) if item.get("ok") is True]
        try:
            arrays = iter(unpack(blob, [spec for job in done for spec in job.outs]))
        except ValueError as error:
            raise _Lost(str(error)) from error
        return [
            [next(arrays) for _ in job.outs]
            if item.get("ok") is True
            else RunFailed(str(item.get("message")))
            for job, item in zip(jobs, items, strict=True)
        ]

    async def _ask(
        self, header: Header, blob: bytes, most: int, seconds: float | None = None
    ) -> tuple[Header, bytes]:
        await self.open()
        assert self._child is not None
        self._fresh = False
        if (allowed := seconds or self._patience) is not None:
            self._child.deadline(allowed)
        try:
            await self._child.send(header, blob)
            return await self._child.receive(MAX_HEADER, most)
        except Exception as error:  # whatever goes wrong with a child, it is gone
            raise _Lost(str(error) or type(error).__name__, isinstance(error, ChildTimeout)) from error


class _Lost(Exception):
    """The child died, hung (then it was `slow`), or spoke nonsense."""

    def __init__(self, reason: str, slow: bool = False) -> None:
        super().__init__(reason)
        self.slow = slow


def _ended(doing: str, lost: _Lost) -> tuple[str, str]:
    return f"{doing} ended the process: {lost}", SMALLER if "memory" in str(lost) else PLAIN


def _endless(seconds: float) -> RunFailed:
    return RunFailed(f"it did not end within {seconds:.3g} s", SIZES, endless=True)


def _items(answer: Header, count: int) -> list[dict[str, Any]]:
    match answer.get("jobs"):
        case [*items] if len(items) == count and all(type(item) is dict for item in items):
            return items
    raise _Lost("the runner's answer does not fit the question")


def _loaded(item: dict[str, Any]) -> Loaded | Refused:
    match item:
        case {"ok": True, "custom_calls": [*names], "largest": int(largest), "temp_bytes": int(temp)}:
            after, float8 = (
                tuple(map(str, item.get(f"{kind}_calls", ()))) for kind in ("compiled", "float8")
            )
            return Loaded(tuple(map(str, names)), largest, temp, after, float8)
        case {"ok": False, "code": str(code), "message": str(message), "next_step": str(next_step)}:
            return Refused(code, message, next_step)
    raise _Lost("the runner's answer does not fit the question")
