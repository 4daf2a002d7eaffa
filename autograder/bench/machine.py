"""The machine that was measured: its names and versions, and the two rates that bound every program on it."""

from __future__ import annotations

import dataclasses
import datetime
import os
import platform
import statistics
import subprocess
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from autograder import provenance
from autograder.arrays import Spec
from autograder.runner import clocks
from autograder.runner.device import cudnn_version

PACKAGES = ("transformer-engine-jax", "jax-cuda12-plugin", "jax-cuda13-plugin", "nvidia-cuda-cupti")


@dataclass(frozen=True)
class Machine:
    """Where rows came from. `label` goes on every figure."""

    device: str
    devices: int
    capability: str
    driver: str
    cudnn: str
    versions: dict[str, str]
    l2_bytes: int
    memory_bytes: int
    matrix_tflops: float
    matrix: str
    copy_gbytes_s: float
    measured: str
    clock: str

    @property
    def gpu(self) -> bool:
        return self.clock == clocks.DeviceClock.name

    @property
    def label(self) -> str:
        engine = self.versions.get("transformer-engine")
        parts = [self.device, f"JAX {self.versions.get('jax', '?')}"]
        parts += [f"cuDNN {self.cudnn}"] if self.cudnn else []
        parts += [f"TransformerEngine {engine}"] if engine else []
        return ", ".join([*parts, self.measured])

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "label": self.label}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Machine:
        return cls(**{field.name: value[field.name] for field in dataclasses.fields(cls)})


def measured() -> Machine:
    """This machine, its matrix and copy rates measured now (a second or two)."""
    gpu = clocks.on_gpu()
    device = jax.local_devices()[0]
    tflops, matrix = _matrix(8192 if gpu else 1024, "bfloat16" if gpu else "float32")
    return Machine(
        device=device.device_kind if gpu else f"CPU ({platform.machine()}, {_cores()} cores)",
        devices=jax.local_device_count(),
        capability=str(getattr(device, "compute_capability", "")) if gpu else "",
        driver=_driver() if gpu else "",
        cudnn=_cudnn() if gpu else "",
        versions=provenance.versions(PACKAGES),
        l2_bytes=clocks.l2_bytes(),
        memory_bytes=int((device.memory_stats() or {}).get("bytes_limit", 0)),
        matrix_tflops=tflops,
        matrix=matrix,
        copy_gbytes_s=_copy(1 << 30 if gpu else 1 << 26),
        measured=datetime.datetime.now(datetime.UTC).date().isoformat(),
        clock=(clocks.DeviceClock if gpu else clocks.WallClock).name,
    )


def _matrix(n: int, dtype: str) -> tuple[float, str]:
    spec = Spec((n, n), dtype)
    ms = _median_ms(lambda a, b: a @ b, [spec, spec])
    return 2 * n**3 / ms / 1e9, f"{dtype} product of matrices of {n} by {n}, standard normal"


def _copy(nbytes: int) -> float:
    """10^9 bytes a second, read and written: every element negated."""
    return 2 * nbytes / _median_ms(lambda x: -x, [Spec((nbytes // 4,), "float32")]) / 1e6


def _median_ms(function: Any, specs: list[Spec]) -> float:
    avals = [jax.ShapeDtypeStruct(spec.shape, jnp.dtype(spec.dtype)) for spec in specs]
    program = jax.jit(function).lower(*avals).compile()
    inputs = clocks.Inputs(specs)
    clock = (clocks.DeviceClock if clocks.on_gpu() else clocks.WallClock)([program], inputs)
    return statistics.median(clocks.patiently(lambda: clock.round([0] * 10, inputs.sets(1, 10))[1]))


def _cudnn() -> str:
    number = cudnn_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}" if number else ""


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.split("\n")[0].strip()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
