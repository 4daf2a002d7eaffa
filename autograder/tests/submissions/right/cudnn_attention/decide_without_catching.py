"""Decides from the device, the dtype and the head size, and catches nothing."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class AttentionRun:
    output: jax.Array
    backend: str
    reason: str | None


def why_not(dtype, head_size):
    device = jax.devices()[0]
    if device.platform != "gpu":
        return f"cuDNN needs a GPU, this is a {device.platform}"
    major, minor = map(int, device.compute_capability.split("."))
    if major < 8:
        return f"cuDNN attention needs compute capability 8.0, this GPU has {major}.{minor}"
    if dtype != jnp.bfloat16 and dtype != jnp.float16:
        return f"cuDNN attention does not take {dtype}"
    largest = 256 if major >= 9 else 128
    if head_size % 8 or head_size > largest:
        return f"head size {head_size} is not a multiple of 8 up to {largest}"
    return None


def attention_with_fallback(query, key, value, *, is_causal=False):
    if query.ndim != 4 or key.ndim != 4:
        raise ValueError(f"expected four axes, got {query.shape} and {key.shape}")
    reason = why_not(query.dtype, query.shape[-1])
    backend = "xla" if reason else "cudnn"
    output = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation=backend)
    return AttentionRun(output, backend, reason)
