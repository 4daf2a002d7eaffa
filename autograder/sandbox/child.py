"""A child process as the judge holds it: frames in and out, one deadline, and an end that leaves nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from autograder import wire
from autograder.sandbox import processes
from autograder.sandbox.ending import ChildDied, ChildTimeout, in_words
from autograder.sandbox.output import Output

GRACE = 0.5  # seconds in which a dead child's last frame, or a closed pipe's exit status, may still come
WATCH = 0.1  # seconds between two looks at its memory
FEW = 4  # processes that a child is without starting any: bubblewrap's, and one that ends just now
BUFFER = 2**20

Result = TypeVar("Result")


@dataclass(frozen=True)
class Launch:
    """How to start a child: its command and environment, and what it owns that goes with it."""

    command: Sequence[str]
    environment: dict[str, str]
    contained: bool  # whether its processes have a namespace of their own, which dies with the first
    folder: Path | None = None
    uid: int | None = None  # a fresh user that runs nothing else, when the child is to become one
    inherited: tuple[int, ...] = ()  # descriptors that it is started with


class Child:
    """Started by `sandbox.start`; whoever holds it awaits `kill()` in the end.

    `send` and `receive` raise ChildTimeout, ChildDied, and `receive` WireError for what is not a frame.
    """

    def __init__(self, launch: Launch, wall_seconds: float, resident_bytes: int | None) -> None:
        self._launch = launch
        self._resident_bytes = resident_bytes
        self._output = Output()
        self._stopped: list[int] | None = None
        self._verdict: str | None = None
        self.deadline(wall_seconds)

    @classmethod
    async def start(cls, launch: Launch, wall_seconds: float, resident_bytes: int | None) -> Child:
        """Start the process from this thread: one that is to die with its parent dies with its thread."""
        child = cls(launch, wall_seconds, resident_bytes)
        loop = asyncio.get_running_loop()
        child._transport, child._protocol = await loop.subprocess_exec(
            lambda: _Protocol(loop),
            *launch.command,
            env=launch.environment,
            cwd=launch.folder,
            **_platform(launch),
        )
        child._pid = child._transport.get_pid()
        child._protocol.exited.add_done_callback(lambda _: child._stop())
        child._tasks = [asyncio.create_task(child._drain()), asyncio.create_task(child._watch())]
        return child

    _transport: asyncio.SubprocessTransport
    _protocol: _Protocol
    _pid: int
    _tasks: list[asyncio.Task[None]]

    @property
    def output(self) -> str:
        """What it printed so far: its first 4 kB and last 12 kB, without control and ANSI codes."""
        return str(self._output)

    def deadline(self, seconds: float) -> None:
        """Give the child this long from now, for all that follows."""
        self._seconds = seconds
        self._end = asyncio.get_running_loop().time() + seconds

    async def send(self, header: wire.Header, blob: bytes = b"") -> None:
        """Send one frame, and wait until the pipe has taken most of it."""
        assert self._protocol.stdin is not None
        await self._within(self._write(self._protocol.stdin, wire.encode(header, blob)))

    async def receive(
        self, max_header: int = wire.MAX_HEADER, max_blob: int = wire.MAX_BLOB
    ) -> tuple[wire.Header, bytes]:
        """The next frame's header and blob."""
        assert self._protocol.stdout is not None
        return await self._within(wire.receive(self._protocol.stdout, max_header, max_blob))

    async def kill(self) -> None:
        """End it and all that it started; returns when they are dead. Again, or after its end, is fine."""
        self._stop()
        await asyncio.wait({self._protocol.exited})
        await processes.gone(self._stopped or [])
        if self._launch.uid is not None:
            for _ in range(100):  # a fresh user's processes are ours to end, wherever they hid
                if not (left := [int(entry.name) for entry in processes.of_user(self._launch.uid)]):
                    break
                processes.kill(left)
                await processes.gone(left, 0.05)
        await asyncio.wait(self._tasks[:1], timeout=GRACE)  # the last words
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        self._transport.close()
        if self._launch.folder is not None:
            shutil.rmtree(self._launch.folder, ignore_errors=True)

    async def _within(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The work's result; raises as soon as the deadline passes or the child is dead."""
        task, exited = asyncio.ensure_future(work), self._protocol.exited
        left = max(0.0, self._end - asyncio.get_running_loop().time())
        late = not left  # then nothing counts any more, or one that never pauses would have no end
        try:
            either: set[asyncio.Future[Any]] = {task, exited}
            await asyncio.wait(either, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if exited.done():  # a grandchild may hold the pipe open for ever
                await asyncio.wait({task}, timeout=GRACE)
            if task.done():
                result = task.result()
                if not late:
                    return result
        except (EOFError, ConnectionError):
            await asyncio.wait({exited}, timeout=GRACE)
        finally:
            task.cancel()
        if not exited.done() and (late or not task.done()):
            self._verdict = self._verdict or f"it did not answer within {self._seconds:g} seconds"
            await self.kill()
            raise ChildTimeout(self._verdict)
        self._verdict = self._verdict or in_words(self._transport.get_returncode(), self._launch.contained)
        await self.kill()
        raise ChildDied(self._verdict)

    def _stop(self) -> None:
        """SIGKILL for all that can be found now, once."""
        if self._stopped is not None:
            return
        if sys.platform == "win32":
            self._stopped = []
            with suppress(ProcessLookupError):
                self._transport.kill()
            return
        running = self._transport.get_returncode() is None
        if running:
            with suppress(OSError):
                os.kill(self._pid, signal.SIGSTOP)  # so that the list below stays true
        self._stopped = processes.family(self._pid)[1:] if running else []
        if not self._launch.contained:
            with suppress(OSError):
                os.killpg(self._pid, signal.SIGKILL)
        if running:
            processes.kill([self._pid])
        processes.kill(self._stopped)

    async def _write(self, pipe: asyncio.StreamWriter, frame: bytes) -> None:
        pipe.write(frame)
        await pipe.drain()

    async def _drain(self) -> None:
        assert self._protocol.stderr is not None
        while data := await self._protocol.stderr.read(BUFFER):
            self._output.feed(data)

    async def _watch(self) -> None:
        while self._resident_bytes is not None and self._stopped is None:
            family = processes.family(self._pid)
            if processes.resident_bytes(family) > self._resident_bytes:
                together = f" in {len(family)} processes" if len(family) > FEW else ""
                most = f"{self._resident_bytes / 2**30:.2g} GiB"
                self._verdict = f"it ran out of memory: more than {most}{together}"
                self._stop()
            await asyncio.sleep(WATCH)


class _Protocol(SubprocessStreamProtocol):
    """asyncio's own, with a future for the exit itself: its `wait` may wait for the pipes too."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=BUFFER, loop=loop)
        self.exited: asyncio.Future[None] = loop.create_future()

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)
        super().process_exited()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        super().pipe_connection_lost(fd, exc)
        if fd == 0 and exc is not None and self.stdin is not None:
            # Python 3.11.2 prints the broken pipe of a child that was killed unless somebody has asked for it
            closed = asyncio.ensure_future(self.stdin.wait_closed())
            closed.add_done_callback(lambda task: task.cancelled() or task.exception())


def _platform(launch: Launch) -> dict[str, Any]:
    if sys.platform == "win32":
        import subprocess

        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    options: dict[str, Any] = {"start_new_session": True, "pass_fds": launch.inherited}
    if launch.uid is not None:
        options |= {"user": launch.uid, "group": launch.uid, "extra_groups": []}
    return options
