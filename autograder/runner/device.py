"""The device that a runner's programs run on."""

from __future__ import annotations

import jax

from autograder.wire import Header


def facts() -> Header:
    """Platform, kind, compute capability ("" where there is none) and cuDNN's version (0 without)."""
    found = jax.devices()[0]
    return {
        "platform": found.platform,
        "kind": found.device_kind,
        "capability": str(getattr(found, "compute_capability", "")),
        "cudnn": _cudnn(),
    }


def _cudnn() -> int:
    try:
        from jax._src.lib import cuda_versions

        return int(cuda_versions.cudnn_get_version()) if cuda_versions else 0
    except (ImportError, AttributeError, RuntimeError):
        return 0
