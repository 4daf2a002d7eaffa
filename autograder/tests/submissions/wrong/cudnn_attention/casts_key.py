"""A key and a value of another dtype are cast to the query's.

Fails: errors
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class AttentionRun:
    output: jax.Array
    backend: str
    reason: str | None


def attention_with_fallback(query, key, value, *, is_causal=False):
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape or n % k:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    key, value = key.astype(query.dtype), value.astype(query.dtype)
    device = jax.devices()[0]
    if query.dtype not in (jnp.float16, jnp.bfloat16):
        reason = f"cuDNN does not take {query.dtype}"
    elif device.platform != "gpu":
        reason = f"the device is a {device.platform}"
    elif float(device.compute_capability) < 8.0:
        reason = f"compute capability {device.compute_capability} is older than 8.0"
    else:
        try:
            output = jax.nn.dot_product_attention(
                query, key, value, is_causal=is_causal, implementation="cudnn"
            )
            return AttentionRun(output, "cudnn", None)
        except (NotImplementedError, RuntimeError) as error:
            reason = str(error)
    output = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation="xla")
    return AttentionRun(output, "xla", reason)
