"""NumPy in place of jax.numpy: nothing can be traced.

Fails: float32
"""

import jax
import numpy as np


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = np.einsum("btnh,bsnh->bnts", np.asarray(query), np.asarray(key)) / h**0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bnts,bsnh->btnh", weights / weights.sum(-1, keepdims=True), np.asarray(value))
