"""Whom a child runs as: learner code never runs as root, and each run of it is a user of its own."""

from __future__ import annotations

import functools
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SECONDS = 20


def root() -> bool:
    """Whether this process may become any user."""
    return sys.platform != "win32" and os.geteuid() == 0


def fresh() -> int:
    """A user id that nobody has: from a range no system hands out, or a quiet one where few are mapped."""
    try:
        ranges = Path("/proc/self/uid_map").read_text().splitlines()
        mapped = sum(int(line.split()[2]) for line in ranges)
    except OSError:
        mapped = 0
    first, count = (1_900_000_000, 100_000_000) if mapped > 2_000_000_000 else (40_000, 20_000)
    return first + secrets.randbelow(count)


@functools.cache
def may_run(command: Sequence[str]) -> bool:
    """Whether a fresh user can run this here: its files may lie where only root looks."""
    if sys.platform == "win32":
        return False
    uid = fresh()
    try:
        done = subprocess.run(
            command,
            user=uid,
            group=uid,
            extra_groups=[],
            env={},
            cwd="/",
            capture_output=True,
            timeout=SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
