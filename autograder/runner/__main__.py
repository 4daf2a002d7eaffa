"""The runner's process: frames on stdin, answers on stdout, until the pipe ends."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from autograder import limits, syscalls

limits.apply(json.loads(sys.argv[1]))
syscalls.refuse()

# The machine that programs run on, chosen before JAX is imported: a CPU unless the judge names another.
if os.environ.setdefault("JAX_PLATFORMS", "cpu") == "cpu":  # compilation is cheap: only numbers count
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
else:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # leave the GPU's memory to those who need it

# Whatever a library prints must not land between frames.
channel = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

from autograder import wire  # noqa: E402
from autograder.runner.service import Service  # noqa: E402 (imports JAX)

MAX_BLOB = 1 << 30


def main() -> None:
    service = Service()
    while True:
        try:
            header, blob = wire.read(sys.stdin.buffer, max_blob=MAX_BLOB)
        except EOFError:
            return
        channel.write(wire.encode(*service.answer(header, blob)))
        channel.flush()


if __name__ == "__main__":
    main()
