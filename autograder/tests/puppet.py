"""A package tree whose children run whatever code a test sends: attackers and honest children."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from autograder import sandbox
from autograder.sandbox import Limits, Role

MAIN = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from autograder import limits, syscalls, wire
limits.apply(json.loads(sys.argv[1]))
syscalls.refuse()
pipe = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
def answer(value=None):
    pipe.write(wire.encode({"value": value}))
    pipe.flush()
while True:
    try:
        header, _ = wire.read(sys.stdin.buffer)
    except EOFError:
        break
    exec(header["code"], {"answer": answer, "pipe": pipe, "os": os, "sys": sys, "__name__": "learner"})
"""

HONEST = "answer(6 * 7)"


@dataclass(frozen=True)
class Ended:
    """What came of one child: its answer, or why there was none."""

    value: object
    reason: str | None
    output: str


async def play(code: str, limits: Limits | None = None, role: Role = Role.TRACER) -> Ended:
    """Start a child, let it run the code, wait for one answer, kill it."""
    child = await sandbox.start(role, limits or Limits(wall_seconds=30))
    value, reason = None, None
    try:
        await child.send({"code": code})
        value = (await child.receive())[0]["value"]
    except sandbox.ChildEnded as ended:
        reason = ended.reason
    finally:
        await child.kill()
    return Ended(value, reason, child.output)


def ask(code: str, limits: Limits | None = None, role: Role = Role.TRACER) -> Ended:
    return asyncio.run(play(code, limits, role))


@contextmanager
def tree() -> Iterator[Path]:
    """A checkout with a puppet for each role, and things that no tracer may see; readable by any user."""
    with TemporaryDirectory(prefix="puppet-") as name:
        Path(name).chmod(0o755)
        top = Path(name).resolve() / "checkout"
        package = top / "autograder"
        for role in ("tracer", "runner"):
            (package / role).mkdir(parents=True)
            (package / role / "__main__.py").write_text(MAIN)
        for part in ("wire.py", "arrays.py", "limits.py", "syscalls.py"):
            shutil.copy(sandbox.PACKAGE / part, package / part)
        (package / "__init__.py").touch()
        (package / "oracle.py").write_text("SECRET = 1\n")
        for folder in (top / "solutions", package / "_files" / "solutions"):
            folder.mkdir(parents=True)
            (folder / "naive_attention.py").write_text("SECRET = 2\n")
        (top / "pyproject.toml").touch()
        yield top


def use(patch: pytest.MonkeyPatch, top: Path, kind: str) -> None:
    """Make the sandbox start puppets, under this kind of confinement; skip where it does not work."""
    if kind == "none":
        patch.setattr(sandbox, "confinement", lambda: sandbox.Confinement("as the test asks"))
    elif sandbox.kind() != "bubblewrap":
        pytest.skip(sandbox.why())
    patch.setattr(sandbox, "PACKAGE", top / "autograder")
    try:
        ask(HONEST)
    except sandbox.SandboxUnavailable as error:
        pytest.skip(str(error))
