"""TransformerEngine is taken for granted.

Fails: transformer_engine
"""

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
    needed = {"matmul": 8.9, "attention": 9.0}[op]
    if device.platform != "gpu":
        return Support(False, f"platform {device.platform} is not a GPU")
    capability = getattr(device, "compute_capability", None)
    try:
        number = float(capability)
    except (TypeError, ValueError):
        return Support(False, f"compute capability {capability} is not a number")
    if number < needed:
        return Support(False, f"compute capability {capability} is below {needed}")
    return Support(True, None)


def run_with_fp8(module, rng, inputs, *, support, recipe):
    context = nullcontext()
    if support.ok:
        import transformer_engine.jax as te

        context = te.autocast(enabled=True, recipe=recipe)
    with context:
        variables = module.init(rng, *inputs)
        output = module.apply(variables, *inputs)
    return output, variables


def delayed_scale(amax_history, scale, *, fp8_max=448.0, margin=0):
    amax = jnp.max(amax_history)
    new = fp8_max / amax / 2**margin
    return jnp.where((amax > 0) & jnp.isfinite(amax) & jnp.isfinite(new), new, scale)


def quantize_e4m3(x, scale):
    return jnp.clip(x.astype(jnp.float32) * scale, -448, 448).astype(jnp.float8_e4m3fn)


def ran_fp8(program_text):
    text = re.sub(r'"[^"]*"|//.*', "", program_text)
    calls = re.findall(r"stablehlo.(?:dot_general|convolution|custom_call).* : \((.*)\) ->", text)
    return any("f8E" in operands for operands in calls)
