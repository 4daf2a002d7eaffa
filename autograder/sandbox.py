"""Starts a child inside limits: under bubblewrap where it works, under resource limits alone elsewhere."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import platform
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from autograder import mounts, processes
from autograder.child import Child, ChildDied, ChildEnded, ChildTimeout, Launch
from autograder.limits import PR_SET_DUMPABLE, prctl

__all__ = [
    "Child",
    "ChildDied",
    "ChildEnded",
    "ChildTimeout",
    "Limits",
    "Role",
    "SandboxUnavailable",
    "kind",
    "start",
    "why",
]

PACKAGE = Path(__file__).resolve().parent
CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # what setpriv needs to give up all three
PROBE = "import json, os, struct, sys; sys.stdin.read()"
PROBE_SECONDS = 20
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
    """What confines children on this machine, and the options of bwrap that do it."""

    kind: str
    why: str
    options: tuple[str, ...] = ()
    sized: bool = True


def kind() -> str:
    """ "bubblewrap", or "none" for resource limits alone."""
    return confinement().kind


def why() -> str:
    """A sentence on what confines learner code here, and why it is not more."""
    return confinement().why


async def start(
    role: Role,
    limits: Limits | None = None,
    environment: Mapping[str, str] = NOTHING,
    writable: Path | None = None,
) -> Child:
    """Start the role's `__main__.py`, with an empty environment but for `environment`.

    `writable`: a folder that the child may write to besides its temporary one. Raises SandboxUnavailable.
    """
    limits = limits or Limits()
    contained = kind() == "bubblewrap"
    uid = _user(role, writable) if contained or role is not Role.REFERENCE else None
    script = PACKAGE / ("tracer" if role is Role.TRACER else "runner") / "__main__.py"
    allowed = dataclasses.replace(limits, processes=_processes(limits.processes, uid))
    command = [*_python(), str(script), json.dumps(dataclasses.asdict(allowed))]
    variables = {"JAX_PLATFORMS": "cpu", **environment} if role is Role.TRACER else dict(environment)
    if contained:
        command = _bubblewrap(confinement(), role, command, variables, uid, writable, limits.file_bytes)
        launch = Launch(command, {}, contained=True)
    else:
        launch = _plain(command, variables, uid)
    return await Child.start(launch, limits.wall_seconds, limits.resident_bytes)


@functools.cache
def confinement() -> Confinement:
    """Try once what works here, by starting Python in it."""
    alone = "learner code runs under resource limits alone, which is fit for self-study and not for a class"
    if sys.platform != "linux":
        return Confinement("none", f"bubblewrap needs Linux: {alone}")
    program = shutil.which("bwrap")
    if program is None:
        return Confinement("none", f"bubblewrap is not installed: {alone}")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return Confinement("none", f"setpriv (of util-linux) is not installed: {alone}")
    known = _run([program, "--help"]).stdout
    private = [f"--unshare-{name}" for name in ("pid", "net", "ipc", "uts", "cgroup-try")]
    options = [program, *private, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        options += [word for name in CAPABILITIES for word in ("--cap-add", name)]
    else:
        options += ["--unshare-user", *(["--disable-userns"] if "--disable-userns" in known else [])]
    found = Confinement(
        "bubblewrap",
        "learner code runs under bubblewrap: no network, read-only files, its own processes and user",
        tuple(options),
        "--size " in known,
    )
    command = [*_python(), "-c", PROBE]
    trial = _run(_bubblewrap(found, Role.TRACER, command, {}, _user(Role.TRACER, None), None, 2**20))
    if trial.returncode == 0:
        return found
    last = (trial.stderr.strip().splitlines() or [f"exit status {trial.returncode}"])[-1]
    return Confinement("none", f"bubblewrap does not work here ({last[:200]}): {alone}")


def _bubblewrap(
    found: Confinement,
    role: Role,
    command: Sequence[str],
    variables: Mapping[str, str],
    uid: int | None,
    writable: Path | None,
    scratch_bytes: int | None,
) -> list[str]:
    # A checkout holds the solutions and their history beside the package; an installed package within.
    home = PACKAGE.parent if (PACKAGE.parent / "pyproject.toml").is_file() else PACKAGE
    parts = [PACKAGE / name for name in ("tracer", "wire.py", "arrays.py", "limits.py")]
    shown = [part for part in parts if part.exists()] if role is Role.TRACER else [PACKAGE]
    view = mounts.options(shown, [home, PACKAGE / "_files"], writable, scratch_bytes if found.sized else None)
    values = [word for pair in _environment("/tmp", variables) for word in ("--setenv", *pair)]
    privileges: list[str] = []
    if uid is not None:
        ids = ["--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
        privileges = [str(shutil.which("setpriv")), *ids, "--no-new-privs"]
        privileges += ["--inh-caps=-all", "--bounding-set=-all"]
    return [*found.options, *view, *values, "--chdir", "/tmp", *privileges, *command]


def _plain(command: Sequence[str], variables: Mapping[str, str], uid: int | None) -> Launch:
    if uid is not None and not _may_run():
        raise SandboxUnavailable(
            "learner code never runs as root, and without bubblewrap a user of its own cannot run "
            f"{sys.executable}: install bubblewrap, or run this as an ordinary user"
        )
    prctl(PR_SET_DUMPABLE, 0)  # or a child of the same user could read and write the judge's memory
    folder = Path(tempfile.mkdtemp(prefix="attention-lab-"))
    if uid is not None and sys.platform != "win32":
        os.chown(folder, uid, uid)
    return Launch(command, dict(_environment(str(folder), variables)), False, folder, uid)


def _environment(folder: str, variables: Mapping[str, str]) -> list[tuple[str, str]]:
    values = {"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8"}
    if sys.platform == "win32":
        root = os.environ.get("SYSTEMROOT", r"C:\Windows")  # Python does not start without it
        values = {"SYSTEMROOT": root, "TEMP": folder, "TMP": folder, "USERPROFILE": folder}
    return list({**values, **variables}.items())


def _user(role: Role, writable: Path | None) -> int | None:
    """As root, the user that a child becomes: a fresh one, or the owner of what it may write to."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    if role is Role.REFERENCE:  # runs no learner code
        return 0 if writable is None else writable.stat().st_uid
    return _fresh_user()


def _fresh_user() -> int:
    # A range that no system hands out; in a container that maps only the first 65,536, a quiet one.
    try:
        ranges = Path("/proc/self/uid_map").read_text().splitlines()
        mapped = sum(int(line.split()[2]) for line in ranges)
    except OSError:
        mapped = 0
    first, count = (1_900_000_000, 100_000_000) if mapped > 2_000_000_000 else (40_000, 20_000)
    return first + secrets.randbelow(count)


def _processes(limit: int | None, uid: int | None) -> int | None:
    """The limit counts all threads of a user, so one that has others already needs them added."""
    if limit is None or sys.platform != "linux":
        return None
    release = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
    if uid is None and kind() == "bubblewrap" and release >= (5, 14):
        return limit  # a user namespace counts for itself
    return limit + processes.threads_of_user(os.getuid() if uid is None else uid)


@functools.cache
def _may_run() -> bool:
    """Whether a fresh user can run this Python and read our code."""
    uid = _fresh_user()
    try:
        done = subprocess.run(
            [*_python(), "-c", f"open({str(PACKAGE / 'limits.py')!r}).close()"],
            user=uid,
            group=uid,
            extra_groups=[],
            env={},
            cwd="/",
            capture_output=True,
            timeout=PROBE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _python() -> list[str]:
    return [sys.executable, "-I", "-u", "-X", "utf8"]


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))
