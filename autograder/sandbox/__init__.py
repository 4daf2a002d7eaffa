"""Starts a child inside limits: under bubblewrap where it works, under resource limits alone elsewhere."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from autograder.limits import PR_SET_DUMPABLE, prctl
from autograder.sandbox import bubblewrap, processes, users
from autograder.sandbox.child import Child, Launch
from autograder.sandbox.ending import ChildDied, ChildEnded, ChildTimeout
from autograder.sandbox.mounts import View

__all__ = [
    "Child",
    "ChildDied",
    "ChildEnded",
    "ChildTimeout",
    "Limits",
    "Role",
    "SandboxUnavailable",
    "confinement",
    "hidden",
    "kind",
    "require",
    "start",
    "why",
]

PACKAGE = Path(__file__).resolve().parent.parent
PYTHON = (sys.executable, "-I", "-u", "-X", "utf8")  # -u: what it printed before a sudden end is shown
NOTHING: Mapping[str, str] = MappingProxyType({})


class Role(StrEnum):
    """Which of the judge's children: it decides what of our own code the child sees."""

    TRACER = "tracer"
    RUNNER = "runner"
    REFERENCE = "reference"


@dataclass(frozen=True)
class Limits:
    """What a child may use; None where there is no limit."""

    wall_seconds: float = 60.0
    cpu_seconds: int | None = 60
    memory_bytes: int | None = 8 * 2**30  # address space, of each process; JAX on two cores needs 1.3 GiB
    resident_bytes: int | None = 3 * 2**30  # memory in use, of all its processes together
    file_bytes: int | None = 64 * 2**20  # of each file, and of its temporary folder
    processes: int | None = 64  # threads count; JAX on two cores starts a dozen
    open_files: int | None = 256
    cores: int | None = 2


class SandboxUnavailable(Exception):
    """Nothing here may run learner code; the message names the next step."""


@dataclass(frozen=True)
class Confinement:
    """What confines children on this machine."""

    why: str
    bubblewrap: bubblewrap.Bubblewrap | None = None


def kind() -> str:
    """The word for the report: "bubblewrap", or "none" for resource limits alone."""
    return "none" if confinement().bubblewrap is None else "bubblewrap"


def why() -> str:
    """A sentence on what confines learner code here, and why it is not more."""
    return confinement().why


def require() -> None:
    """Raises SandboxUnavailable where learner code cannot run at all."""
    if kind() == "bubblewrap" or not users.root():
        return
    if not users.may_run((*PYTHON, "-c", f"open({str(PACKAGE / 'limits.py')!r})")):
        raise SandboxUnavailable(
            "learner code never runs as root, and without bubblewrap a user of its own cannot run "
            f"{sys.executable}: install bubblewrap, or run this as an ordinary user"
        )


async def start(
    role: Role,
    limits: Limits | None = None,
    environment: Mapping[str, str] = NOTHING,
    writable: Path | None = None,
    devices: bool = False,
) -> Child:
    """Start the role's `__main__.py` with an empty environment but for `environment` and a few of its own.

    `writable`: a folder that the child may write to besides its temporary one; `devices`: it sees the GPUs.
    Raises SandboxUnavailable.
    """
    limits, wrap = limits or Limits(), confinement().bubblewrap
    script = PACKAGE / ("tracer" if role is Role.TRACER else "runner") / "__main__.py"
    allowed = dataclasses.replace(limits, processes=_processes(limits.processes))
    command = [*PYTHON, str(script), json.dumps(dataclasses.asdict(allowed))]
    if role is Role.TRACER:
        environment = {"JAX_PLATFORMS": "cpu", **environment}
    fresh = users.fresh() if users.root() and role is not Role.REFERENCE else None
    if wrap is None:
        launch = _alone(command, environment, fresh)
        return await Child.start(launch, limits.wall_seconds, limits.resident_bytes)
    # The reference runs no learner code: as root, it becomes the owner of what it writes to.
    owner = (writable or PACKAGE).stat().st_uid if users.root() else None
    view = dataclasses.replace(_view(role, writable, limits.file_bytes), devices=devices)
    uid = owner if fresh is None else fresh
    with wrap.filter() as inherited:
        whole = wrap.command(command, _variables("/tmp", environment), view, uid, inherited)
        launch = Launch(whole, {}, contained=True, inherited=inherited)
        return await Child.start(launch, limits.wall_seconds, limits.resident_bytes)


@functools.cache
def confinement() -> Confinement:
    """What works here; tried once."""
    try:
        found = bubblewrap.find(PYTHON, _view(Role.TRACER, None, Limits.file_bytes))
    except bubblewrap.Unusable as error:
        alone = "learner code runs under resource limits alone, which is for self-study and not for a class"
        return Confinement(f"{error}: {alone}")
    own = "no network, read-only files, processes and a user of its own"
    return Confinement(f"learner code runs under bubblewrap: {own}", found)


def hidden() -> list[Path]:
    """Where solutions, their history and our own code lie: learner code sees none of it."""
    # A checkout holds the solutions and their history beside the package; an installed package within.
    home = PACKAGE.parent if (PACKAGE.parent / "pyproject.toml").is_file() else PACKAGE
    # Beside an editable install, a folder of our name with a copy of the solutions lies among the packages.
    named = {(Path(entry) / PACKAGE.name).resolve() for entry in sys.path}
    copies = sorted(path for path in named if path.is_dir() and path != PACKAGE)
    return [home, PACKAGE / "_files", *copies]


def _view(role: Role, writable: Path | None, scratch_bytes: int | None) -> View:
    parts = [PACKAGE / name for name in ("tracer", "wire.py", "arrays.py", "limits.py", "syscalls.py")]
    shown = parts if role is Role.TRACER else [PACKAGE]
    return View(shown, hidden(), writable, scratch_bytes)


def _alone(command: Sequence[str], environment: Mapping[str, str], uid: int | None) -> Launch:
    if uid is not None:
        require()
    prctl(PR_SET_DUMPABLE, 0)  # or a child of the same user could read and write the judge's memory
    folder = Path(tempfile.mkdtemp(prefix="attention-lab-"))
    if uid is not None and sys.platform != "win32":
        os.chown(folder, uid, uid)
    return Launch(command, _variables(str(folder), environment), contained=False, folder=folder, uid=uid)


def _variables(folder: str, environment: Mapping[str, str]) -> dict[str, str]:
    if sys.platform == "win32":  # Python does not start there without SYSTEMROOT
        system = os.environ.get("SYSTEMROOT", r"C:\Windows")
        own = {"SYSTEMROOT": system, "TEMP": folder, "TMP": folder, "USERPROFILE": folder}
    else:
        own = {"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8"}
    return {**own, **environment}


def _processes(limit: int | None) -> int | None:
    """The limit counts all of a user's threads: those that the judge's own user runs already come on top."""
    if limit is None or sys.platform != "linux" or users.root():
        return limit if sys.platform == "linux" else None
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    if kind() == "bubblewrap" and version and (int(version[1]), int(version[2])) >= (5, 14):
        return limit  # a user namespace counts for itself
    return limit + processes.threads_of_user(os.getuid())
