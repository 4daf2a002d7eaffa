"""init_with_output, and a FrozenDict of variables; two autocasts; the deprecated question."""

import re
from contextlib import nullcontext
from dataclasses import dataclass

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Support:
    ok: bool
    reason: str | None


def fp8_support(device, op="matmul"):
    if op not in ("matmul", "attention"):
        raise ValueError(f"there is no FP8 {op}")
    if device.platform in ("cpu", "tpu"):
        return Support(ok=False, reason=f"{device.platform} has no FP8")
    try:
        major, minor = map(int, device.compute_capability.split("."))
    except (AttributeError, ValueError):
        return Support(
            ok=False, reason=f"unknown capability {getattr(device, 'compute_capability', 'absent')}"
        )
    if 10 * major + minor < (89 if op == "matmul" else 90):
        return Support(ok=False, reason=f"capability {major}.{minor} is too old for {op}")
    try:
        from transformer_engine.jax.quantize import is_fp8_available
    except ImportError:
        return Support(ok=False, reason="no transformer_engine")
    available, reason = is_fp8_available()
    return Support(ok=available, reason=None if available else reason)


def run_with_fp8(module, rng, inputs, *, support, recipe):
    from flax.core import freeze

    if not support.ok:
        output, variables = module.init_with_output(rng, *inputs)
        return output, freeze(variables)
    from transformer_engine.jax import autocast

    with autocast(enabled=True, recipe=recipe):
        variables = freeze(module.init(rng, *inputs))
    with autocast(True, recipe):
        return module.apply(variables, *inputs), variables


def delayed_scale(amax_history, scale, *, fp8_max=448.0, margin=0):
    amax = amax_history.astype(jnp.float32).max()
    candidate = jnp.float32(fp8_max) / amax * jnp.exp2(-jnp.float32(margin))
    keep = ~(amax > 0) | ~jnp.isfinite(amax) | jnp.isinf(candidate)
    return jax.lax.select(keep, jnp.float32(scale), candidate)


def quantize_e4m3(x, scale):
    scaled = jnp.float32(x) * jnp.float32(scale)
    return jnp.minimum(jnp.maximum(scaled, -448.0), 448.0).astype("float8_e4m3fn")


def ran_fp8(program_text):
    for line in program_text.splitlines():
        while line.count('"') > 1:
            before, _, rest = line.partition('"')
            line = before + rest.partition('"')[2]
        line = line.split("//")[0]
        if not any(
            f"stablehlo.{op} " in line.replace("(", " ")
            for op in ("dot_general", "convolution", "custom_call")
        ):
            continue
        types = line.rpartition(" : ")[2].rpartition(" -> ")[0]
        if "xf8" in types or "<f8" in types:
            return True
    return False
