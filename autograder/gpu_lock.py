"""The GPU of this machine among its processes: any number trace at once, or one times alone.

A holder that dies lets go. On Windows, which has no such lock, one grader at a time is up to its user.
"""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

# Anybody may have put a link or a pipe there.
PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
PATIENCE = 7200.0  # seconds; a benchmark may take an hour
AGAIN = 0.05  # seconds between two tries: a thread that waits in the kernel could not be interrupted


class Unusable(Exception):
    """The lock cannot be had; the message says why, and what to do."""


def shared() -> AbstractAsyncContextManager[None]:
    """Hold it with others that only trace, where nobody times. Raises Unusable, as all three do."""
    return _held(exclusive=False)


def exclusive() -> AbstractAsyncContextManager[None]:
    """Hold it alone."""
    return _held(exclusive=True)


@contextmanager
def waited_for(say: Callable[[str], object]) -> Iterator[None]:
    """Hold it alone, in a program that does nothing else meanwhile and says that it waits."""
    with _opened() as file:
        if not _taken(file, exclusive=True):
            say("Another process of attention-lab uses the GPU; this one waits for it.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@asynccontextmanager
async def _held(*, exclusive: bool) -> AsyncIterator[None]:
    until = time.monotonic() + PATIENCE
    with _opened() as file:
        while not _taken(file, exclusive=exclusive):
            if time.monotonic() > until:
                held = f"another process has held the GPU's lock for {PATIENCE / 60:g} minutes"
                raise Unusable(f"{held}: end it")
            await asyncio.sleep(AGAIN)
        yield


@contextmanager
def _opened() -> Iterator[int]:
    """The file, whose lock ends with this descriptor: made by whoever comes first, read by every user."""
    if fcntl is None:
        yield -1
        return
    path = Path(tempfile.gettempdir()) / "attention-lab-gpu0.lock"
    with suppress(FileExistsError):
        made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDONLY, 0o644)
        os.fchmod(made, 0o644)  # whatever the umask
        os.close(made)
    try:
        file = os.open(path, os.O_RDONLY | PLAIN)
    except OSError as error:
        raise Unusable(
            f"{path}, the lock on the GPU, cannot be opened ({error.strerror}): remove it"
        ) from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Unusable(f"{path}, the lock on the GPU, is no file: remove it")
        yield file
    finally:
        os.close(file)


def _taken(file: int, *, exclusive: bool) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
