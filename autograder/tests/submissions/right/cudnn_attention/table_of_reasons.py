"""A table of conditions, each with its reason; the first that holds decides."""

from collections import namedtuple

import jax
import jax.numpy as jnp

AttentionRun = namedtuple("AttentionRun", "output backend reason")


def attention_with_fallback(query, key, value, *, is_causal=False):
    jax.eval_shape(jax.nn.dot_product_attention, query, key, value)
    gpu = jax.devices()[0]
    head = query.shape[-1]
    capability = getattr(gpu, "compute_capability", None) or "none"
    reasons = {
        f"platform {gpu.platform}": gpu.platform != "gpu",
        f"compute capability {capability}": capability == "none" or float(capability) < 8,
        f"dtype {query.dtype.name}": query.dtype.name not in {"bfloat16", "float16"},
        f"head size {head}": head % 8 != 0
        or head > (256 if capability >= "9" or len(capability) > 3 else 128),
    }
    reason = next((why for why, holds in reasons.items() if holds), None)
    backend = "cudnn" if reason is None else "xla"
    return AttentionRun(
        jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation=backend),
        backend,
        reason,
    )
