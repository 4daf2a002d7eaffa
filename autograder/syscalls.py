"""System calls that no learner's program needs, refused by the kernel. Linux; standard library only.

The kernel's keyrings outlive a process, new namespaces give rights back, tracing is a way into processes
without the filter, and the others are where holes in the kernel have been. The filter is a program of classic
BPF (Linux, Documentation/userspace-api/seccomp_filter.rst).
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

# Their numbers on each machine; from 424 on all machines share them.
NUMBERS = {
    "x86_64": {
        "clone": 56,
        "ptrace": 101,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "setns": 308,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "bpf": 321,
        "userfaultfd": 323,
    },
    "aarch64": {
        "unshare": 97,
        "ptrace": 117,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "clone": 220,
        "setns": 268,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "bpf": 280,
        "userfaultfd": 282,
    },
}
SHARED = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "pidfd_getfd": 438}
CLONE3 = 435
NAMESPACES = 0x7E020000
"""Those flags of clone that ask for a namespace."""
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000
"""Calls of x86-64's second ABI start here."""

LOAD, EQUALS, AT_LEAST, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
ALLOW, ERROR = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


def refuse() -> None:
    """Refuse them to this process and all that it starts, for ever; needs no_new_privs.

    A system that has no such filters, or another kind of machine, leaves it as it was.
    """
    code = program(platform.machine()) if sys.platform == "linux" else b""
    if not code:
        return

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))

    filter_ = Program(len(code) // 8, code)
    ctypes.CDLL(None).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0)


def program(machine: str) -> bytes:
    """The filter for this kind of machine, empty for one that we do not know.

    Refused calls fail with EPERM. `clone3` fails with ENOSYS, since its flags lie in memory, which a filter
    does not read: the C library then starts threads and processes by `clone`.
    """
    if machine not in NUMBERS:
        return b""
    numbers = dict(NUMBERS[machine])
    clone = numbers.pop("clone")
    # (operation, operand, where to go if it holds, where if not); None: on to the next.
    steps: list[tuple[int, int, str | None, str | None]] = [
        (LOAD, ARCHITECTURE, None, None),
        (EQUALS, AUDIT_ARCH[machine], None, "refuse"),
        (LOAD, NUMBER, None, None),
        *([(AT_LEAST, X32, "refuse", None)] if machine == "x86_64" else []),
        *((EQUALS, number, "refuse", None) for number in (*numbers.values(), *SHARED.values())),
        (EQUALS, CLONE3, "absent", None),
        (EQUALS, clone, None, "allow"),
        (LOAD, FIRST_ARGUMENT, None, None),
        (HAS_BITS, NAMESPACES, "refuse", "allow"),
    ]
    ends = {"allow": ALLOW, "refuse": ERROR | errno.EPERM, "absent": ERROR | errno.ENOSYS}
    places = {name: len(steps) + place for place, name in enumerate(ends)}
    jumps = [
        (operation, *(0 if goal is None else places[goal] - at - 1 for goal in goals), operand)
        for at, (operation, operand, *goals) in enumerate(steps)
    ]
    return b"".join(
        struct.pack("=HBBI", *step) for step in [*jumps, *((RETURN, 0, 0, end) for end in ends.values())]
    )
