"""Which system calls are refused to a child: read from the filter for each machine, and tried on this one."""

from __future__ import annotations

import errno
import platform
import struct
from pathlib import Path

import pytest

from autograder import sandbox, syscalls, workspace
from autograder.tests.conftest import Grade, failed
from autograder.tests.puppet import ask, use

MACHINES = sorted(syscalls.NUMBERS)
REFUSED = syscalls.ERROR | errno.EPERM
NEW_USER, SIGCHLD = 0x10000000, 17
THREAD = 0x003D0F00
"""The flags with which the C library starts a thread."""


def verdict(machine: str, number: int, argument: int = 0, architecture: int | None = None) -> int:
    """What the filter returns for a call, by the rules of classic BPF."""
    steps = list(struct.iter_unpack("=HBBI", syscalls.program(machine)))
    data = struct.pack("=IIQ6Q", number, architecture or syscalls.AUDIT_ARCH[machine], 0, argument, *[0] * 5)
    value, at = 0, 0
    while True:
        operation, so, else_, operand = steps[at]
        at += 1
        if operation == syscalls.RETURN:
            return int(operand)
        if operation == syscalls.LOAD:
            (value,) = struct.unpack_from("=I", data, operand)
            continue
        holds = {
            syscalls.EQUALS: value == operand,
            syscalls.AT_LEAST: value >= operand,
            syscalls.HAS_BITS: value & operand != 0,
        }[operation]
        at += so if holds else else_


@pytest.mark.parametrize("machine", MACHINES)
def test_each_named_call_is_refused(machine: str) -> None:
    named = {**syscalls.NUMBERS[machine], **syscalls.SHARED}
    named.pop("clone")
    assert {name: verdict(machine, number) for name, number in named.items()} == dict.fromkeys(named, REFUSED)


@pytest.mark.parametrize("machine", MACHINES)
def test_all_others_are_allowed(machine: str) -> None:
    named = {*syscalls.NUMBERS[machine].values(), *syscalls.SHARED.values(), syscalls.CLONE3}
    allowed = {verdict(machine, number) for number in range(470) if number not in named}
    assert allowed == {syscalls.ALLOW}


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_and_processes_start_and_namespaces_do_not(machine: str) -> None:
    clone = syscalls.NUMBERS[machine]["clone"]
    assert verdict(machine, clone, THREAD) == verdict(machine, clone, SIGCHLD) == syscalls.ALLOW
    assert verdict(machine, clone, NEW_USER | SIGCHLD) == REFUSED
    assert verdict(machine, syscalls.CLONE3) == syscalls.ERROR | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_the_calls_of_another_machine_are_refused(machine: str) -> None:
    i386, getpid = 0x40000003, 39
    assert verdict(machine, getpid) == syscalls.ALLOW
    assert verdict(machine, getpid, architecture=i386) == REFUSED


def test_the_second_abi_of_x86_64_is_refused() -> None:
    assert verdict("x86_64", syscalls.X32 + 250) == verdict("x86_64", syscalls.X32) == REFUSED


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert syscalls.program("riscv64") == b""


filtered = pytest.mark.skipif(
    platform.machine() not in MACHINES
    or not Path("/proc/self/status").is_file()
    or "Seccomp:" not in Path("/proc/self/status").read_text(),
    reason="no filter for this machine or system",
)


@filtered
def test_a_child_may_not_and_works_on(confined: str) -> None:
    """Without the filter all of them work or fail otherwise: their arguments are harmless or wrong."""
    numbers = {**syscalls.NUMBERS[platform.machine()], **syscalls.SHARED}
    calls = [
        (numbers["keyctl"], 0, -3, 0),  # the id of the session's keyring
        (numbers["add_key"], 0, 0, 0),
        (numbers["unshare"], 0, 0, 0),
        (numbers["setns"], -1, 0, 0),
        (numbers["io_uring_setup"], 1, 0, 0),
        (numbers["clone"], NEW_USER | SIGCHLD, 0, 0),
    ]
    code = f"""
import ctypes, subprocess, threading
libc, found = ctypes.CDLL(None, use_errno=True), []
for call in {calls}:
    if libc.syscall(*map(ctypes.c_long, call)) == 0 and call[0] == {numbers["clone"]}: os._exit(1)
    found.append(ctypes.get_errno())
thread = threading.Thread(target=found.append, args=("a thread",)); thread.start(); thread.join()
process = subprocess.run([sys.executable, "-c", "print('a process', end='')"], stdout=-1, text=True)
found.append(process.stdout)
answer(found)
"""
    assert ask(code).value == [errno.EPERM] * len(calls) + ["a thread", "a process"]


@filtered
def test_no_process_that_a_child_sees_is_without_it(monkeypatch: pytest.MonkeyPatch, top: Path) -> None:
    """bubblewrap's own is the child's user where no root started it."""
    use(monkeypatch, top, "bubblewrap")
    wrap = sandbox.confinement().bubblewrap
    if wrap is None or not wrap.filtered:
        pytest.skip("this bubblewrap takes no filter")
    code = """
import time
def free():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with open(f"/proc/{pid}/status") as file:
            if "Seccomp:\\t2" not in file.read(): found.append(pid)
    return found
until = time.monotonic() + 10  # the first puts it on when it has started the second
while free() and time.monotonic() < until: time.sleep(0.01)
answer(free())
"""
    assert ask(code).value == []


@filtered
@pytest.mark.slow
def test_learner_code_runs_under_it(tmp_path: Path, grade: Grade) -> None:
    solution = (workspace.solutions() / "naive_attention.py").read_text(encoding="utf-8")
    code = 'with open("/proc/self/status") as file:\n    assert "Seccomp:\\t2" in file.read()\n'
    (tmp_path / "naive_attention.py").write_text(solution + code, encoding="utf-8")
    assert failed(grade("naive_attention", tmp_path)) == {}
