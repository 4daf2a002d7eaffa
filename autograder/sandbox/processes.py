"""Processes as /proc shows them; every function answers "none" where there is no /proc."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def family(pid: int) -> list[int]:
    """The process and all that descend from it, parents first."""
    found = [pid]
    for member in found:
        with suppress(OSError):  # it ended meanwhile
            for task in (PROC / str(member) / "task").iterdir():
                found += [int(word) for word in (task / "children").read_text().split()]
    return found


def of_user(uid: int) -> Iterator[Path]:
    """The /proc folders of one user's processes, zombies left out."""
    with suppress(OSError):
        for entry in PROC.iterdir():
            with suppress(OSError, ValueError):
                if entry.name.isdigit() and _uid(entry) == uid and _runs(int(entry.name)):
                    yield entry


def threads_of_user(uid: int) -> int:
    """How many threads a user runs now."""
    count = 0
    for entry in of_user(uid):
        with suppress(OSError):
            count += sum(1 for _ in (entry / "task").iterdir())
    return count


def resident_bytes(pids: Iterable[int]) -> int:
    """Memory in use by these processes together; pages that they share count in each."""
    if sys.platform == "win32":
        return 0
    pages = 0
    for pid in pids:
        with suppress(OSError):
            pages += int((PROC / str(pid) / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def kill(pids: Iterable[int]) -> None:
    """End each at once."""
    if sys.platform != "win32":
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


async def gone(pids: Iterable[int], seconds: float = 5.0) -> bool:
    """Wait until these have ended (a zombie has); whether they had in time."""
    until = asyncio.get_running_loop().time() + seconds
    for pid in pids:
        while _runs(pid):
            if asyncio.get_running_loop().time() > until:
                return False
            await asyncio.sleep(0.005)
    return True


def _runs(pid: int) -> bool:
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def _uid(entry: Path) -> int:
    # Not the folder's owner: that is root for a process whose memory is its own.
    for line in (entry / "status").read_text().splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    return -1
