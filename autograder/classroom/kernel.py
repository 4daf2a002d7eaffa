"""The kernel that runs a class's notebooks: one a notebook, in a sandbox where there is one.

It sees this Python and a folder of its own, and neither the course, its gradebook, the solutions nor the
network: it talks through sockets in that folder.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.manager import AsyncKernelManager

from autograder import limits, sandbox, syscalls
from autograder.sandbox import Limits, processes, users
from autograder.sandbox.mounts import View

MEMORY = 3 * 2**30
"""Bytes in use by all its processes together."""
LIMITS = Limits(cpu_seconds=600, memory_bytes=4 * 2**30, resident_bytes=MEMORY, processes=256)
MAX_MESSAGE = 64 * 2**20
WATCH = 0.1
"""Seconds between two looks at its memory."""
# Cells may ask for a grade as they did at home; it is given elsewhere.
CHECK = (
    "import sys, types; sys.modules['autograder'] = types.ModuleType('autograder'); "
    "sys.modules['autograder'].check = lambda *names: print('Graded outside this kernel.'); del sys, types"
)
START = """
import json, os, runpy, sys
limits, syscalls, allowed, *arguments = sys.argv[1:]
runpy.run_path(limits)["apply"](json.loads(allowed))
runpy.run_path(syscalls)["refuse"]()
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what it says of itself is of no use here
os.dup2(1, 2)
from ipykernel.kernelapp import launch_new_instance
launch_new_instance(argv=arguments)
"""


class SandboxedKernelManager(AsyncKernelManager):
    """Starts ipykernel under bubblewrap, or under limits alone where there is none.

    `folder` is what the kernel shares with us: whoever makes it removes it. It sees nothing of `secret`.
    """

    folder: Path
    secret: tuple[Path, ...] = ()
    verdict: str = ""
    """Why `watch` ended the kernel."""

    def share(self, folder: Path, secret: Sequence[Path]) -> None:
        self.folder, self.secret = folder, tuple(secret)
        self.transport = "ipc"
        self.ip = str(folder / "ipc")
        self.connection_file = str(folder / "kernel.json")

    def client(self, **traits: Any) -> Any:
        """One that takes no message larger than MAX_MESSAGE: a kernel sends what it likes."""
        client = super().client(**traits)
        client.context.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)  # of all its sockets
        return client

    def watch(self) -> None:
        """Until the kernel ends; end it when its processes together use more memory than they may."""
        process = getattr(self.provisioner, "process")  # noqa: B009 (only local provisioners have it)
        while process.poll() is None:
            family = processes.family(process.pid)
            if processes.resident_bytes(family) > MEMORY:
                self.verdict = f"they used more than {MEMORY // 2**30} GiB of memory"
                processes.kill(family)
            time.sleep(WATCH)

    async def start_kernel(self, **options: Any) -> None:  # type: ignore[override]
        wrap = sandbox.confinement().bubblewrap
        with wrap.filter() if wrap else nullcontext(()) as self._filter:
            await super().start_kernel(**options, pass_fds=self._filter)

    _filter: tuple[int, ...] = ()

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        """The command line; called when the connection file has been written."""
        own = ["-f", self.connection_file, f"--IPKernelApp.exec_lines={CHECK}", *(extra_arguments or ())]
        return command(self.folder, own, self.secret, self._filter)


def command(
    folder: Path, arguments: Sequence[str], secret: Sequence[Path] = (), filter_: Sequence[int] = ()
) -> list[str]:
    """What starts ipykernel with these arguments, and shares `folder` with it."""
    scripts = [Path(limits.__file__), Path(syscalls.__file__)]
    allowed = json.dumps(dataclasses.asdict(LIMITS))
    kernel = [*sandbox.PYTHON, "-c", START, *map(str, scripts), allowed, *arguments]
    variables = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "JAX_PLATFORMS": "cpu",
    }
    wrap, uid = sandbox.confinement().bubblewrap, None
    if wrap is None:
        variables |= {"HOME": str(folder), "TMPDIR": str(folder)}  # what one leaves there, no other reads
        return ["env", *(f"{name}={value}" for name, value in variables.items()), *kernel]
    if users.root():
        uid = users.fresh()
        for path in (folder, *folder.iterdir()):
            os.chown(path, uid, uid)
    hidden = [*sandbox.hidden(), *(path.resolve() for path in secret)]
    view = View(scripts, hidden, folder, LIMITS.file_bytes)
    # Its first process shows its environment to the kernel: it starts with none.
    return ["/usr/bin/env", "-i", *wrap.command(kernel, variables, view, uid, filter_)]
