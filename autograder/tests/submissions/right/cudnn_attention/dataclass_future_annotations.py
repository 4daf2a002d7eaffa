"""A dataclass under `from __future__ import annotations`, which looks its module up in sys.modules."""

from __future__ import annotations

import dataclasses
from typing import Literal, Optional

import jax
import jax.numpy as jnp


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRun:
    output: jax.Array
    backend: Literal["cudnn", "xla"] = "cudnn"
    reason: Optional[str] = None


def attention_with_fallback(query, key, value, *, is_causal=False) -> AttentionRun:
    b, t, n, h = query.shape
    _, s, k, _ = key.shape
    if key.shape != (b, s, k, h) or value.shape != key.shape or n % k:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")

    def attend(implementation: str) -> jax.Array:
        return jax.nn.dot_product_attention(
            query, key, value, is_causal=is_causal, implementation=implementation
        )

    device = jax.devices()[0]
    if query.dtype == jnp.float32:
        return AttentionRun(output=attend("xla"), backend="xla", reason="float32 inputs")
    if device.platform == "cpu" or float(device.compute_capability) < 8:
        reason = f"device {device}, capability {getattr(device, 'compute_capability', 'none')}"
        return AttentionRun(output=attend("xla"), backend="xla", reason=reason)
    try:
        return AttentionRun(output=attend("cudnn"))
    except NotImplementedError as error:
        return AttentionRun(output=attend("xla"), backend="xla", reason=str(error))
