"""Children for the tests of the runner: the real one in the sandbox, and doubles that misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from autograder import sandbox
from autograder.runner.client import Child, Runner
from autograder.sandbox import ChildTimeout, Limits, Role
from autograder.wire import Header


def real(seconds: float = 60.0, resident_bytes: int = 3 * 2**30) -> Callable[[], Awaitable[Child]]:
    """Starts the real runner."""
    return lambda: sandbox.start(Role.RUNNER, Limits(wall_seconds=seconds, resident_bytes=resident_bytes))


def with_runner(work: Callable[[Runner], Coroutine[Any, Any, Any]], runner: Runner) -> Any:
    """Do the work with a runner, and close it."""

    async def everything() -> Any:
        try:
            return await work(runner)
        finally:
            await runner.close()

    return asyncio.run(everything())


class Double:
    """A child that answers every load and run with successes, but dies of some artifacts.

    Artifacts that begin with b"load" kill it when loaded, b"run" make it hang when run or called, b"die" kill
    it when called, b"no" are refused.
    It dies of the load after `lives` of them, as a child does whose processor time is used up.
    """

    def __init__(self, log: list[str], ill: bool = False, lives: int = 99) -> None:
        self._log = log
        self._ill = ill
        self._lives = lives
        self._loaded: list[tuple[bytes, int]] = []
        self._answer: tuple[Header, bytes] = ({}, b"")

    async def send(self, header: Header, blob: bytes = b"") -> None:
        if self._ill:
            raise EOFError("it exited with status 1")
        if header["do"] == "load":
            self._load(header["jobs"], blob)
        elif header["do"] == "call":
            artifact, _ = self._loaded[header["job"]]
            self._log.append("call")
            self._answer = {"ok": True, "ms": 1.5}, b""
            if artifact.startswith(b"run"):
                raise ChildTimeout("it did not answer within 1 second")
            if artifact.startswith(b"die"):
                raise EOFError("it was killed by signal 11 (SIGSEGV)")
        else:
            only = range(len(self._loaded)) if header.get("only") is None else header["only"]
            chosen = [self._loaded[index] for index in only]
            self._log.append(f"run {len(chosen)}")
            if any(artifact.startswith(b"run") for artifact, _ in chosen):
                raise ChildTimeout("it did not answer within 1 second")
            self._answer = {"jobs": [{"ok": True}] * len(chosen)}, blob

    def _load(self, jobs: Sequence[Header], blob: bytes) -> None:
        artifacts = []
        for job in jobs:
            artifacts.append(blob[: job["size"]])
            blob = blob[job["size"] :]
        self._log.append(f"load {len(jobs)}")
        self._lives -= len(jobs)
        if self._lives < 0:
            raise EOFError("it was killed by signal 24 (SIGXCPU)")
        if any(artifact.startswith(b"load") for artifact in artifacts):
            raise EOFError("it was killed by signal 11 (SIGSEGV)")
        self._loaded = [(artifact, 0) for artifact in artifacts if not artifact.startswith(b"no")]
        good = {"ok": True, "custom_calls": [], "largest": 1, "temp_bytes": 0}
        bad = {"ok": False, "code": "sort", "message": "it sorts", "next_step": "Do not."}
        self._answer = {"jobs": [bad if artifact.startswith(b"no") else good for artifact in artifacts]}, b""

    async def receive(self, max_header: int, max_blob: int) -> tuple[Header, bytes]:
        assert len(self._answer[1]) <= max_blob
        return self._answer

    async def kill(self) -> None:
        self._log.append("kill")

    def deadline(self, seconds: float) -> None:
        self._log.append(f"{seconds:g} s")
