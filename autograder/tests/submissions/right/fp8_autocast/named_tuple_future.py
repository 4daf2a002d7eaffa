"""A NamedTuple under `from __future__ import annotations`, an ExitStack, a loop over lines."""

from __future__ import annotations

import contextlib
import importlib
import re
import warnings
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Support(NamedTuple):
    ok: bool
    reason: str | None = None


MINIMUM = {"matmul": (8, 9), "attention": (9, 0)}


def fp8_support(device, op="matmul"):
    return Support(*next(((False, why) for why in _refusals(device, op) if why), (True, None)))


def _refusals(device, op):
    if op not in ("matmul", "attention"):
        raise ValueError(f"there is no FP8 {op}")
    yield device.platform != "gpu" and f"platform: {device.platform}"
    match = re.match(r"(\d+)\.(\d+)$", getattr(device, "compute_capability", ""))
    yield not match and "compute capability unknown"
    yield (int(match[1]), int(match[2])) < MINIMUM[op] and f"compute capability {match[0]} is too old"
    try:
        te = importlib.import_module("transformer_engine.jax")
    except ImportError as error:
        yield f"TransformerEngine: {error}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = te.quantize.is_fp8_available()
    yield not answer[0] and f"TransformerEngine: {answer[1]}"


def run_with_fp8(module, rng, inputs, *, support, recipe):
    with contextlib.ExitStack() as stack:
        if support.ok:
            te = importlib.import_module("transformer_engine.jax")
            stack.enter_context(te.autocast(recipe=recipe, enabled=True))
        variables = module.init({"params": rng}, *inputs)
        return module.apply(variables, *inputs), variables


def delayed_scale(amax_history, scale, *, fp8_max=448.0, margin=0):
    amax = jnp.max(amax_history)
    return jax.lax.cond(
        (amax > 0) & (amax < jnp.inf) & (fp8_max / amax / 2.0**margin < jnp.inf),
        lambda: (fp8_max / amax / 2.0**margin).astype(jnp.float32),
        lambda: jnp.asarray(scale, jnp.float32),
    )


def quantize_e4m3(x, scale):
    limit = jnp.finfo(jnp.float8_e4m3fn).max.astype(jnp.float32)
    return jax.lax.clamp(-limit, x.astype(jnp.float32) * scale, limit).astype(jnp.float8_e4m3fn)


CALL = re.compile(r"stablehlo\.(dot_general|convolution|custom_call)\b")


def ran_fp8(program_text):
    bare = re.sub(r'"(\\.|[^"\\])*"', "", program_text)
    lines = (line.partition("//")[0] for line in bare.splitlines())
    return any(re.search(r"f8E\w+", _operands(line)) is not None for line in lines if CALL.search(line))


def _operands(line):
    start = line.rfind(" : (")
    return line[start : line.find(") ->", start)]
