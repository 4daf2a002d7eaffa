"""The GPU that checks can be graded on, if there is one."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from autograder import sandbox
from autograder.runner.canary import CANARY
from autograder.runner.client import GraderFault, Runner
from autograder.sandbox import Limits, Role
from autograder.wire import Header

ENVIRONMENT = {"JAX_PLATFORMS": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
KEPT = ("LD_LIBRARY_PATH", "CUDNN_HOME")
"""Where a user may have named libraries."""
# CUDA reserves far more addresses than it uses, and starts threads of its own.
LIMITS = Limits(
    wall_seconds=120.0,
    cpu_seconds=600,
    memory_bytes=None,
    resident_bytes=32 * 2**30,
    processes=None,
    open_files=4096,
    cores=None,
)
BESIDE = replace(
    LIMITS,
    cpu_seconds=120,
    resident_bytes=8 * 2**30,
    processes=512,
    open_files=1024,
    cores=4,
)
"""For learner code beside a GPU."""


@dataclass(frozen=True)
class Gpu:
    """An NVIDIA GPU as JAX names it; `cudnn` as 91900 for 9.19."""

    kind: str
    capability: str
    cudnn: int

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.capability.split("."))

    @property
    def double(self) -> Header:
        """What a tracer needs to lower for it."""
        return {"device_kind": self.kind, "compute_capability": self.capability, "cudnn": self.cudnn}

    def __str__(self) -> str:
        return f"{self.kind} ({self.capability})"


async def start_runner() -> sandbox.Child:
    """A runner on the GPU."""
    return await _start(Role.RUNNER, LIMITS)


async def start_tracer() -> sandbox.Child:
    """A tracer that sees the GPU, as TransformerEngine asks it while it traces."""
    return await _start(Role.TRACER, BESIDE)


async def _start(role: Role, limits: Limits) -> sandbox.Child:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return await sandbox.start(role, limits, {**ENVIRONMENT, **kept}, devices=True)


async def engine() -> str:
    """Why TransformerEngine computes no FP8 on this GPU; "" where it does."""
    runner = Runner(start_runner, CANARY)
    try:
        return await runner.engine()
    except GraderFault as fault:
        return str(fault)
    finally:
        await runner.close()


def driver() -> bool:
    """Whether this machine has NVIDIA's driver, for a GPU of its own or one lent to a container."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


async def find() -> Gpu | None:
    """The first GPU, as a runner sees it; None where there is none, or where JAX cannot use it."""
    if not driver():
        return None
    runner = Runner(start_runner, CANARY)
    try:
        facts = await runner.device()
    except GraderFault:
        return None
    finally:
        await runner.close()
    if facts["platform"] != "gpu" or not facts["capability"]:
        return None
    return Gpu(facts["kind"], facts["capability"], facts["cudnn"])
