"""Always XLA, and says so.

Fails: labels
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
    output = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation="xla")
    return AttentionRun(output, "xla", "to be on the safe side")
