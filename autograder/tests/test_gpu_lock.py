"""The lock on a machine's GPU: who waits for whom, among tasks, processes and users."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder import cli, device, gpu_lock
from autograder.gpu_lock import exclusive, shared

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no such lock")
Lock = Callable[[], AbstractAsyncContextManager[None]]
HOLD = """
import asyncio, os, sys
from autograder import cli, device, gpu_lock
async def hold():
    async with gpu_lock.exclusive():
        print("held", flush=True)
        await asyncio.sleep(600)
asyncio.run(hold())
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(gpu_lock, "AGAIN", 0.001)
    return tmp_path


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        (shared, shared, False),
        (shared, exclusive, True),
        (exclusive, shared, True),
        (exclusive, exclusive, True),
    ],
)
def test_who_waits_for_whom(first: Lock, second: Lock, waits: bool) -> None:
    async def order() -> list[str]:
        seen, holds = [], asyncio.Event()

        async def other() -> None:
            await holds.wait()
            async with second():
                seen.append("second")

        async with asyncio.TaskGroup() as group:
            task = group.create_task(other())
            async with first():
                holds.set()
                await asyncio.wait({task}, timeout=0.2 if waits else 30)
                seen.append("first ends")
        return seen

    expected = ["first ends", "second"] if waits else ["second", "first ends"]
    assert asyncio.run(order()) == expected


def test_a_holder_that_dies_lets_go(folder: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(folder)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    said: list[str] = []

    def kill(text: str) -> None:
        said.append(text)
        holder.send_signal(signal.SIGKILL)

    with gpu_lock.waited_for(kill):
        assert holder.wait(30) == -signal.SIGKILL
    holder.stdout.close()
    assert said == ["Another process of attention-lab uses the GPU; this one waits for it."]


def test_who_waits_can_be_stopped() -> None:
    async def main() -> None:
        async with exclusive():
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05), shared():
                    pass
        async with shared():
            pass

    asyncio.run(main())


def test_every_user_can_read_it(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        with gpu_lock.waited_for(pytest.fail):
            pass
    finally:
        os.umask(before)
    assert (folder / "attention-lab-gpu0.lock").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("what", ["pipe", "link", "folder"])
def test_what_is_no_file_is_named(folder: Path, what: str) -> None:
    path = folder / "attention-lab-gpu0.lock"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "link":
        path.symlink_to(folder / "elsewhere")
    else:
        path.mkdir()

    async def hold() -> None:
        async with shared():
            pass

    with pytest.raises(gpu_lock.Unusable, match=r"gpu0\.lock, the lock on the GPU.*: remove it"):
        asyncio.run(hold())
    assert not (folder / "elsewhere").exists()


def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_lock, "PATIENCE", 0.0)

    async def main() -> None:
        async with exclusive():
            with pytest.raises(gpu_lock.Unusable, match="another process has held the GPU's lock"):
                async with shared():
                    pass

    asyncio.run(main())


def test_a_system_without_locks_needs_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_lock, "fcntl", None)
    monkeypatch.delattr(os, "fchmod")

    async def hold() -> None:
        async with shared(), exclusive():
            pass

    asyncio.run(hold())
    with gpu_lock.waited_for(pytest.fail):
        pass
    assert list(folder.iterdir()) == []


def test_a_bench_says_what_is_in_the_way(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "driver", lambda: True)
    (folder / "attention-lab-gpu0.lock").mkdir()
    done = CliRunner().invoke(cli.app, ["bench", "seq", "--quick"])
    assert done.exit_code == 2
    assert done.stderr.startswith("grade bench: ") and done.stderr.endswith("is no file: remove it\n")
