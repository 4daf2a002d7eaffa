"""The library's attention.

Fails: no_library
"""

import jax


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    return jax.nn.dot_product_attention(query, key, value)
