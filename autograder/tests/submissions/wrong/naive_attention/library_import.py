"""The library's attention, imported under another name.

Fails: no_library
"""

from jax.nn import dot_product_attention as attend


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    return attend(query, key, value)
