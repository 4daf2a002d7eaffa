"""A double of a device: JAX's answers about its devices and cuDNN, for a named GPU, on a CPU.

Lowering for CUDA needs no GPU once the capability probes of JAX's cuDNN binding answer. The probes and
the public questions are replaced once, before the learner's module is loaded, by functions that ask which
device is in use; so `from jax import devices` at its top stays right too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax._src.cudnn.fused_attention_stablehlo as binding


@dataclass(frozen=True)
class Gpu:
    """What JAX says of one NVIDIA GPU. By another name it is the same: no trace may depend on that."""

    device_kind: str = field(compare=False)
    compute_capability: str
    cudnn: int
    platform: str = "gpu"
    id: int = 0
    process_index: int = 0
    host_id: int = 0
    local_hardware_id: int = 0

    def __repr__(self) -> str:
        return f"CudaDevice(id={self.id})"


GPU_PLATFORMS = ("gpu", "cuda")
_gpu: Gpu | None = None


def use(device: dict[str, Any] | None) -> None:
    """Answer as this GPU, or as the real CPU where `device` is None; forget traces made for another."""
    global _gpu
    wanted = Gpu(**device) if device else None
    if wanted != _gpu:
        jax.clear_caches()
    _gpu = wanted


def platform() -> str:
    """The platform to lower for."""
    return "cuda" if jax.default_backend() == "gpu" else "cpu"


def install() -> None:
    """Replace the questions by ones that `use` answers; once a process."""
    jax.devices = _devices(jax.devices)
    jax.local_devices = _devices(jax.local_devices)
    jax.default_backend = lambda: "gpu" if _gpu else "cpu"
    jax.device_count = lambda backend=None: len(jax.devices(backend))
    jax.local_device_count = lambda backend=None: len(jax.devices(backend))
    binding.check_cudnn_version = _cudnn_version
    binding.check_compute_capability = lambda least: _gpu is not None and _capability() >= _numbers(least)
    binding.is_cuda_compute_capability_equal = lambda wanted: (
        _gpu is not None and _capability() == _numbers(wanted)
    )


def _devices(real: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    def devices(backend: str | None = None, **options: Any) -> list[Any]:
        if _gpu and backend in (None, *GPU_PLATFORMS):
            return [_gpu]
        return real(backend="cpu" if backend is None else backend, **options)

    return devices


def _cudnn_version() -> int:
    if _gpu is None:
        raise RuntimeError("cuDNN is not detected.")
    return _gpu.cudnn


def _capability() -> tuple[int, ...]:
    assert _gpu is not None
    return _numbers(_gpu.compute_capability)


def _numbers(capability: str) -> tuple[int, ...]:
    return tuple(int(part) for part in capability.split("."))
