"""The command line that starts a child under bubblewrap, and whether that works on this machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from autograder import syscalls
from autograder.sandbox import users
from autograder.sandbox.mounts import View

CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # what setpriv needs to give up all others
NAMESPACES = ("pid", "net", "ipc", "uts", "cgroup-try")
SECONDS = 20


class Unusable(Exception):
    """bubblewrap does not work here; the message says why."""


@dataclass(frozen=True)
class Bubblewrap:
    """How bwrap is to be called here. As root it makes no user namespace: a child in one would stay root
    outside of it, so `setpriv` makes it a user of its own instead."""

    options: tuple[str, ...]
    sized: bool  # whether it can bound the size of a tmpfs
    setpriv: str | None
    filtered: bool = False  # whether it can refuse system calls

    @contextmanager
    def filter(self) -> Iterator[tuple[int, ...]]:
        """The descriptor, for `command` and to be inherited, from which one child's filter is read; or none.

        The child puts the same filter on itself; this one holds bubblewrap's own process in there too, which
        a child of the same user could get hold of.
        """
        if not self.filtered or sys.platform != "linux":
            yield ()
            return
        file = os.memfd_create("filter")
        try:
            os.write(file, syscalls.program(platform.machine()))
            os.lseek(file, 0, os.SEEK_SET)
            yield (file,)
        finally:
            os.close(file)

    def command(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        view: View,
        uid: int | None,
        filter_: Sequence[int] = (),
    ) -> list[str]:
        """Start it with an empty environment: its first process shows its own to the child."""
        values = [word for pair in environment.items() for word in ("--setenv", *pair)]
        return [
            *self.options,
            *(word for file in filter_ for word in ("--seccomp", str(file))),
            *view.options(self.sized),
            *values,
            "--chdir",
            "/tmp",
            *self._as(uid),
            *command,
        ]

    def _as(self, uid: int | None) -> list[str]:
        if uid is None or self.setpriv is None:
            return []
        user = ["--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
        return [self.setpriv, *user, "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]


def find(python: Sequence[str], view: View) -> Bubblewrap:
    """Try it by starting Python in this view; raises Unusable."""
    if sys.platform != "linux":
        raise Unusable("bubblewrap needs Linux")
    program, setpriv = shutil.which("bwrap"), None
    if program is None:
        raise Unusable("bubblewrap is not installed")
    known = _run([program, "--help"]).stdout
    if users.root():
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise Unusable("setpriv, of util-linux, is not installed")
        user = [word for name in CAPABILITIES for word in ("--cap-add", name)]
    else:
        user = ["--unshare-user", *(["--disable-userns"] if "--disable-userns" in known else [])]
    private = [f"--unshare-{name}" for name in NAMESPACES]
    options = (program, *private, "--die-with-parent", "--new-session", "--cap-drop", "ALL", *user)
    filtered = "--seccomp " in known and bool(syscalls.program(platform.machine()))
    found = Bubblewrap(options, "--size " in known, setpriv, filtered)
    trial = _try(found, python, view)
    if trial.returncode != 0 and filtered:  # a kernel without such filters, perhaps
        found = replace(found, filtered=False)
        trial = _try(found, python, view)
    if trial.returncode != 0:
        lines = trial.stderr.strip().splitlines() or [f"exit status {trial.returncode}"]
        raise Unusable(f"bubblewrap does not work here ({lines[-1][:200]})")
    return found


def _try(found: Bubblewrap, python: Sequence[str], view: View) -> subprocess.CompletedProcess[str]:
    uid = users.fresh() if users.root() else None
    with found.filter() as filter_:
        return _run(
            found.command([*python, "-c", "import json, os, struct"], {}, view, uid, filter_), filter_
        )


def _run(command: Sequence[str], inherited: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            pass_fds=inherited,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))
