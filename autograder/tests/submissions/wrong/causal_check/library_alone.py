"""The library call without a check: it lets query heads share a key head.

Fails: errors
"""

import jax


def causal_attention(query, key, value):
    return jax.nn.dot_product_attention(query, key, value, is_causal=True)
