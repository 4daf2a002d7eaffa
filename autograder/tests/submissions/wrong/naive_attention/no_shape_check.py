"""Shapes are not checked: a batch or a head size of 1 broadcasts into an answer.

Fails: errors
"""

import jax
import jax.numpy as jnp


def naive_attention(query, key, value):
    scores = (
        jnp.einsum("...tnh,...snh->...nts", query, key, preferred_element_type=jnp.float32)
        / query.shape[-1] ** 0.5
    )
    weights = jax.nn.softmax(scores, axis=-1)
    output = jnp.einsum("...nts,...snh->...tnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)
