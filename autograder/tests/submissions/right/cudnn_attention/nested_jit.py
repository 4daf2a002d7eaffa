"""Both paths are compiled functions; the decision is made outside them."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class AttentionRun:
    output: jax.Array
    backend: str
    reason: str | None


@functools.partial(jax.jit, static_argnames=("is_causal", "implementation"))
def _attend(query, key, value, is_causal, implementation):
    return jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation=implementation)


def attention_with_fallback(query, key, value, *, is_causal=False):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape or n % k:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    reason = None
    match jax.devices()[0]:
        case device if jax.default_backend() != "gpu":
            reason = f"no GPU, but {device}"
        case device if int(device.compute_capability.split(".")[0]) < 8:
            reason = f"{device.device_kind} has compute capability {device.compute_capability}"
        case _ if jnp.finfo(query.dtype).bits != 16:
            reason = f"dtype {query.dtype}"
        case _:
            try:
                return AttentionRun(_attend(query, key, value, is_causal, "cudnn"), "cudnn", None)
            except (NotImplementedError, RuntimeError) as error:
                reason = f"{type(error).__name__}: {error}"
    return AttentionRun(_attend(query, key, value, is_causal, "xla"), "xla", reason)
