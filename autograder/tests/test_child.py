"""How a child ends: each way is said, none hangs the judge, and nothing is left of any."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from pathlib import Path

import pytest

from autograder import sandbox, wire
from autograder.sandbox import Limits, Role, processes
from autograder.sandbox.ending import in_words
from autograder.sandbox.output import Output, clean
from autograder.tests.puppet import HONEST, ask, play

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def marked(word: str) -> list[int]:
    """Processes of any user with this word in their command line or name."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            named = word in (entry / "cmdline").read_text() + (entry / "comm").read_text()
            if entry.name.isdigit() and int(entry.name) != os.getpid() and named:
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if processes._runs(pid)]


NAME = "import ctypes; ctypes.CDLL(None).prctl(15, b'%s')\n"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("os._exit(0)", "it exited with status 0"),
        ("sys.exit(3)", "it exited with status 3"),
        ("raise RuntimeError('no')", "it exited with status 1"),
        pytest.param("os.abort()", "it was killed by signal 6 (SIGABRT)", marks=posix),
        pytest.param(
            "os.kill(os.getpid(), 9)",
            "it was killed by signal 9 (SIGKILL): out of memory, perhaps",
            marks=posix,
        ),
    ],
)
def test_an_end_is_said_in_words(confined: str, code: str, reason: str) -> None:
    assert ask(code).reason == reason


def test_the_last_answer_before_an_end_counts(confined: str) -> None:
    assert ask(HONEST + "; os._exit(0)").value == 42


def test_a_traceback_is_shown(confined: str) -> None:
    assert "RuntimeError: no" in ask("print('before'); raise RuntimeError('no')").output
    assert "before" in ask("print('before'); os._exit(1)").output


@pytest.mark.parametrize("code", ["import time; time.sleep(1000)", "while True: pass"])
def test_one_that_does_not_answer_hits_its_deadline(confined: str, code: str) -> None:
    started = time.monotonic()
    ended = ask(code, Limits(wall_seconds=1))
    assert ended.reason == "it did not answer within 1 seconds"
    assert time.monotonic() - started < 5


def test_one_that_never_stops_answering_hits_its_deadline(confined: str) -> None:
    async def main() -> int:
        child = await sandbox.start(Role.TRACER, Limits(wall_seconds=2))
        try:
            await child.send({"code": "while True: answer(1)"})
            for count in range(10**9):
                try:
                    await child.receive()
                except sandbox.ChildTimeout:
                    return count
            return -1
        finally:
            await child.kill()

    assert asyncio.run(asyncio.wait_for(main(), 60)) >= 0


@posix
def test_one_that_spins_uses_up_its_processor_time(confined: str) -> None:
    reason = ask("while True: pass", Limits(wall_seconds=30, cpu_seconds=1)).reason
    assert reason == "it was killed by signal 24 (SIGXCPU): its processor time was used up"


def test_a_deadline_can_be_set_again(confined: str) -> None:
    async def main() -> list[object]:
        child = await sandbox.start(Role.RUNNER, Limits(wall_seconds=0.7))
        try:
            answers = []
            for _ in range(3):
                child.deadline(5)
                await child.send({"code": "import time; time.sleep(0.3); answer(1)"})
                answers.append((await child.receive())[0]["value"])
            return answers
        finally:
            await child.kill()

    assert asyncio.run(main()) == [1, 1, 1]


def test_a_deadline_holds_for_sending_too(confined: str) -> None:
    async def main() -> None:
        child = await sandbox.start(Role.TRACER, Limits(wall_seconds=1))
        try:
            await child.send({"code": "import time; time.sleep(1000)"})
            with pytest.raises(sandbox.ChildTimeout):
                await child.send({}, bytes(2**24))
            with pytest.raises(sandbox.ChildDied, match="did not answer within 1"):
                await child.receive()
        finally:
            await child.kill()
            await child.kill()

    asyncio.run(main())


@linux
def test_a_fork_bomb_ends_with_nothing_left(confined: str) -> None:
    # Without a namespace, the limit counts this user's other threads too; the deadline ends both.
    code = NAME % "bomb-of-forks" + "while True:\n  try: os.fork()\n  except OSError: pass"
    assert ask(code, Limits(wall_seconds=1.5, processes=32)).reason is not None
    assert marked("bomb-of-forks") == []
    assert ask(HONEST).value == 42


@linux
@pytest.mark.parametrize(
    "code",
    [
        "bytearray(50 * 2**30)",
        "import numpy; numpy.ones(50 * 2**30 // 8)",
        "x = [bytearray(os.urandom(1) * 2**28) for _ in range(200)]",
        "for _ in range(3): os.fork()\nx = bytearray(b'1' * 2**27)\nimport time; time.sleep(60)",
    ],
)
def test_an_allocation_of_much_dies_alone(confined: str, code: str) -> None:
    limits = Limits(wall_seconds=30, memory_bytes=4 * 2**30, resident_bytes=2**29, processes=40)
    ended = ask(code, limits)
    assert ended.value is None
    assert ended.reason is not None
    assert ended.reason == "it exited with status 1" or ended.reason.startswith("it ran out of memory")
    assert "MemoryError" in ended.output or "ran out of memory" in ended.reason
    assert ask(HONEST, limits).value == 42


@linux
def test_memory_that_many_processes_hold_is_said_with_their_number(confined: str) -> None:
    code = (
        "import time\n"
        "r, w = os.pipe()\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        os.close(w)\n"
        "        os.read(r, 1)\n"  # until all are there
        "        break\n"
        "else:\n"
        "    os.close(w)\n"
        "x = bytearray(b'1' * 2**27)\n"
        "time.sleep(60)\n"
    )
    limits = Limits(wall_seconds=30, resident_bytes=2**29, processes=40)
    reason = ask(code, limits).reason
    assert reason is not None and re.fullmatch(
        r"it ran out of memory: more than 0\.5 GiB in (9|10|11) processes", reason
    )
    alone = ask("x = bytearray(b'1' * 2**30)\nimport time; time.sleep(60)", limits).reason
    assert alone == "it ran out of memory: more than 0.5 GiB"


DAEMON = """
if os.fork() == 0:
    os.setsid()
    %s
    import time; time.sleep(60)
    os._exit(0)
import time; time.sleep(0.2)
answer(1)
"""


@linux
@pytest.mark.parametrize("again", ["", "os.fork() and os._exit(0)"])
def test_a_daemon_is_gone_after_its_parent(confined: str, again: str) -> None:
    if confined == "none" and again and os.geteuid() != 0:
        pytest.skip("without a namespace, or a user of its own, an orphan that left its group is not found")
    name = f"daemon-{os.getpid() % 1000}"
    assert ask(NAME % name + DAEMON % again).value == 1
    assert marked(name) == []


@posix
def test_a_grandchild_that_holds_the_pipe_does_not_hang_us(confined: str) -> None:
    code = "if os.fork(): os._exit(7)\nos.setsid()\nimport time; time.sleep(8)"
    started = time.monotonic()
    assert ask(code).reason == "it exited with status 7"
    assert time.monotonic() - started < 5


def test_a_pipe_closed_by_one_that_lives_is_said(confined: str) -> None:
    ended = ask("os.close(pipe.fileno()); import time; time.sleep(60)", Limits(wall_seconds=2))
    # bubblewrap's own processes hold the pipe too.
    alone = "it closed its pipe but went on running"
    assert ended.reason == (alone if confined == "none" else "it did not answer within 2 seconds")


@pytest.mark.parametrize(
    "code",
    [
        "pipe.write(b'\\xff' * 2**20); pipe.flush()",
        "pipe.write(b'\\0\\0\\0\\x03\\0\\0\\0\\0NaN'); pipe.flush()",
        "print('x', file=os.fdopen(pipe.fileno(), 'w', closefd=False) , end='y' * 100, flush=True)",
        "while True: pipe.write(b'A' * 2**16)",
    ],
)
def test_what_is_not_a_frame_is_refused(confined: str, code: str) -> None:
    with pytest.raises(wire.WireError):
        ask(code)


def test_a_large_answer_is_refused_unread(confined: str) -> None:
    with pytest.raises(wire.WireError, match="over"):
        ask("answer('A' * 100_000)")


def test_a_flood_of_prints_blocks_nobody(confined: str) -> None:
    ended = ask("for _ in range(2000): os.write(2, b'flood' * 2000 + b'\\n')\nprint('end')\n" + HONEST)
    assert ended.value == 42
    assert ended.output.startswith("flood")
    assert ended.output.endswith("end\n")
    assert len(ended.output) < 17_000


def test_what_it_prints_is_cleaned(confined: str) -> None:
    text = b"\\x1b[31mred\\x1b[0m\\x1b]0;title\\x07\\x00\\x07\\xed\\xa0\\x80\\xffend\\n"
    ended = ask(f"os.write(2, b'{text.decode()}')\n" + HONEST)
    assert ended.value == 42
    assert ended.output.replace("\N{REPLACEMENT CHARACTER}", "") == "redend\n"


def test_two_side_by_side(confined: str) -> None:
    async def main() -> list[object]:
        both = await asyncio.gather(play(HONEST), play(HONEST, role=Role.RUNNER))
        return [ended.value for ended in both]

    assert asyncio.run(main()) == [42, 42]


@linux
def test_a_child_dies_with_the_judge(confined: str, top: Path) -> None:
    """A judge that is killed outright leaves no child behind."""
    import subprocess

    name = f"orphan-{os.getpid() % 1000}"
    judge = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from pathlib import Path
from autograder import sandbox
sandbox.PACKAGE = Path({str(top / "autograder")!r})
if {confined!r} == "none":
    sandbox.confinement = lambda: sandbox.Confinement("")
async def main():
    child = await sandbox.start(sandbox.Role.TRACER)
    await child.send({{"code": {NAME % name + HONEST + "; import time; time.sleep(60)"!r}}})
    await child.receive()
    import os; os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    subprocess.run([*sandbox.PYTHON, "-c", judge], timeout=60, env={**os.environ, "TMPDIR": str(top.parent)})
    for _ in range(100):
        if not marked(name):
            return
        time.sleep(0.05)
    raise AssertionError("the child outlived its judge")


def test_signals_and_statuses_in_words() -> None:
    assert in_words(137, contained=False) == "it exited with status 137"
    assert in_words(137, contained=True).startswith("it was killed by signal 9 (SIGKILL)")
    assert in_words(255, contained=True) == "it exited with status 255"
    assert in_words(-11, contained=True) == "it was killed by signal 11 (SIGSEGV)"


def test_clean() -> None:
    assert clean("a\tb\r\nc\rd") == "a\tb\nc\nd"
    assert clean("\x1b[1;31mx\x1b[0m\x9b2Jy\x1b]8;;http://z\x1b\\link\x1b]8;;\x07") == "xylink"
    assert clean("\x00\x08\ud800\u202e\u200b\x85é中") == "é中"
    assert clean("[bold]kept[/bold] <b>") == "[bold]kept[/bold] <b>"
    assert clean("\x1b") == ""
    assert clean("a\u2800\u3164\u115f\u1160\uffa0b") == "ab"
    assert clean("e\u0301" + "\u0302" * 400 + "o") == "e\u0301\u0302o"


def test_output_keeps_both_ends() -> None:
    output = Output()
    for i in range(10_000):
        output.feed(f"{i}\n".encode())
    text = str(output)
    assert text.startswith("0\n1\n")
    assert text.endswith("9998\n9999\n")
    assert "bytes left out" in text
    assert len(text) < 16_500
