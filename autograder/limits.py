"""Limits that a child puts on itself before anything else runs. Standard library only."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38


def apply(limits: Mapping[str, Any]) -> None:
    """Limit this process and all that it starts; what this system cannot limit is left out quietly.

    Keys, each optional or None: `cpu_seconds`, `memory_bytes` (address space of a process), `file_bytes`,
    `processes` (threads too, of this user), `open_files`, `cores`.
    """
    _expendable()
    _pin(limits.get("cores"))
    try:
        import resource
    except ImportError:  # Windows
        return
    cpu = limits.get("cpu_seconds")
    # One second between the limits: the first sends SIGXCPU, which says why; the second kills.
    _limit(resource, "RLIMIT_CPU", cpu, None if cpu is None else cpu + 1)
    _limit(resource, "RLIMIT_AS", limits.get("memory_bytes"))
    _limit(resource, "RLIMIT_FSIZE", limits.get("file_bytes"))
    _limit(resource, "RLIMIT_NPROC", limits.get("processes"))
    _limit(resource, "RLIMIT_NOFILE", limits.get("open_files"))
    _limit(resource, "RLIMIT_CORE", 0)


def prctl(option: int, value: int) -> None:
    """Linux's `prctl`, quietly nothing elsewhere."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _expendable() -> None:
    """First to go when memory runs out; gone with its parent; no more rights than now; memory its own."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    prctl(PR_SET_PDEATHSIG, 9)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_DUMPABLE, 0)


def _pin(cores: int | None) -> None:
    # JAX starts threads by the number of cores it may use, so this comes before the limit on processes.
    if cores is not None and sys.platform == "linux":
        import random

        allowed = sorted(os.sched_getaffinity(0))
        with suppress(OSError):
            os.sched_setaffinity(0, random.sample(allowed, min(cores, len(allowed))))


def _limit(resource: Any, name: str, soft: int | None, hard: int | None = None) -> None:
    kind = getattr(resource, name, None)
    if kind is None or soft is None:
        return
    ceiling = resource.getrlimit(kind)[1]
    hard = soft if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    with suppress(OSError, ValueError):
        resource.setrlimit(kind, (soft, hard))
