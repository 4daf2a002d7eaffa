"""The device that a runner's programs run on."""

from __future__ import annotations

import jax

from autograder.runner.refusal import shown
from autograder.wire import Header


def facts() -> Header:
    """Platform, kind, compute capability ("" where there is none) and cuDNN's version (0 without)."""
    found = jax.devices()[0]
    return {
        "platform": found.platform,
        "kind": found.device_kind,
        "capability": str(getattr(found, "compute_capability", "")),
        "cudnn": cudnn_version(),
    }


def engine() -> str:
    """Why TransformerEngine computes no FP8 here; "" where it does. Once imported, XLA knows its calls."""
    try:
        import transformer_engine.jax as te
    except ModuleNotFoundError as error:
        return f"TransformerEngine is not installed ({error})"
    except Exception as error:  # it looks for libraries, and asserts
        return f"TransformerEngine cannot be imported: {type(error).__name__}: {shown(str(error))}"
    modes = te.quantize.ScalingMode
    for mode in (modes.CURRENT_TENSOR_SCALING, modes.DELAYED_TENSOR_SCALING):
        ok, reason = te.quantize.is_scaling_mode_supported(mode)
        if not ok:
            return f"TransformerEngine refuses: {shown(str(reason))}"
    return ""


def cudnn_version() -> int:
    """As JAX loaded it, 91900 for 9.19; 0 where there is none."""
    try:
        from jax._src.lib import cuda_versions

        return int(cuda_versions.cudnn_get_version()) if cuda_versions else 0
    except (ImportError, AttributeError, RuntimeError):
        return 0
