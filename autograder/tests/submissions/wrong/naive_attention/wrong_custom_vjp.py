"""A custom derivative of the softmax without its second term.

Fails: gradient
"""

import jax
import jax.numpy as jnp


@jax.custom_vjp
def _softmax(scores):
    return jax.nn.softmax(scores, axis=-1)


def _forward(scores):
    weights = _softmax(scores)
    return weights, weights


def _backward(weights, cotangent):
    return (weights * cotangent,)


_softmax.defvjp(_forward, _backward)


def naive_attention(query, key, value):
    b, t, n, h = query.shape
    if key.shape != (b, key.shape[1], n, h) or value.shape != key.shape:
        raise ValueError(f"query {query.shape}, key {key.shape} and value {value.shape} do not fit")
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32) / h**0.5
    weights = _softmax(scores)
    output = jnp.einsum("bnts,bsnh->btnh", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)
