"""Answer one request: load the module it carries, do its steps in order, send one frame a step."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import BinaryIO

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from autograder import limits, syscalls, wire
from autograder.wire import Header

MAX_REQUEST = 4 * 1024 * 1024


class Channel:
    """The pipe to the judge. `ask` sends a frame and waits for its answer, from any thread."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._lock = threading.Lock()

    def request(self) -> tuple[Header, bytes]:
        return wire.read(self._incoming, MAX_REQUEST, MAX_REQUEST)

    def send(self, header: Header, blob: bytes = b"") -> None:
        with self._lock:
            self._outgoing.write(wire.encode(header, blob))

    def ask(self, header: Header, blob: bytes) -> tuple[Header, bytes]:
        with self._lock:
            self._outgoing.write(wire.encode(header, blob))
            return wire.read(self._incoming, MAX_REQUEST, MAX_REQUEST)


def open_channel() -> Channel:
    """Move the pipe away from fds 0 and 1: what a learner prints goes to fd 2, what it reads is empty."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return Channel(incoming, outgoing)


def _forget() -> None:
    """Leave nothing of this package to import: what asks the doubles would be right nowhere but here."""
    ours = Path(__file__).resolve().parents[2]
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != ours]
    for name in [name for name in sys.modules if name.partition(".")[0] == "autograder"]:
        del sys.modules[name]


# What a learner runs here is small: compiling it well would take longer than running it.
CHEAP = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


def main() -> None:
    limits.apply(json.loads(sys.argv[1]))
    syscalls.refuse()
    os.environ["XLA_FLAGS"] = CHEAP
    channel = open_channel()
    from autograder.tracer import steps
    from autograder.tracer.session import Session

    session = Session(channel.ask)
    header, blob = channel.request()
    steps.prepare(header["steps"])
    _forget()
    channel.send({"ready": True})
    for answer, artifact in session.answers(header, blob):
        channel.send(answer, artifact)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads that a learner left running end here


main()
