"""Asks jax.eval_shape, which only traces, and catches only once the capability is known to do."""

import functools
from typing import NamedTuple

import jax


class AttentionRun(NamedTuple):
    output: jax.Array
    backend: str
    reason: str | None


def attention_with_fallback(query, key, value, *, is_causal=False):
    attend = functools.partial(jax.nn.dot_product_attention, is_causal=is_causal)
    with_xla = functools.partial(attend, implementation="xla")
    with_cudnn = functools.partial(attend, implementation="cudnn")
    jax.eval_shape(with_xla, query, key, value)  # input errors come out here
    capability = getattr(jax.devices()[0], "compute_capability", "0.0")
    if tuple(int(part) for part in capability.split(".")) < (8, 0):
        return AttentionRun(
            with_xla(query, key, value), "xla", f"compute capability is {capability}, not 8.0"
        )
    try:
        jax.eval_shape(with_cudnn, query, key, value)
    except (NotImplementedError, RuntimeError) as error:
        return AttentionRun(with_xla(query, key, value), "xla", f"cuDNN says: {error}")
    return AttentionRun(with_cudnn(query, key, value), "cudnn", None)
