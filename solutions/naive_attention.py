"""Exercise 1: attention from first principles.

Write scaled dot-product attention with basic array operations, such as `jnp.einsum` and `jax.nn.softmax`.
This is the formula that every faster kernel computes, and what you will compare the others with.

The file imports installed packages alone, no other file of yours.
"""

import math

import jax
import jax.numpy as jnp


def naive_attention(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Scaled dot-product attention: softmax(Q Kᵀ / √H) V, for each batch row and head on its own.

    Formula (1) in "Attention Is All You Need" (Vaswani et al., 2017, section 3.2.1, arXiv:1706.03762):

        scores[b, n, t, s] = Σ_h query[b, t, n, h] · key[b, s, n, h] / √H
        weights[b, n, t, :] = softmax of scores[b, n, t, :], over the S keys
        output[b, t, n, h] = Σ_s weights[b, n, t, s] · value[b, s, n, h]

    Rules:
        * No library attention: neither `jax.nn.dot_product_attention` nor anybody else's.
        * Scores and softmax are float32 for float16 and bfloat16 inputs too; only the result is cast back.
        * Large scores, of many hundreds, give finite and right results too.
        * Shapes that do not fit raise. They never broadcast into an answer.
        * It is traced under `jax.jit`: shapes and dtypes are known there, values are not. So no NumPy on the
          arrays, and no Python `if`, `float()` or `int()` on values; a print shows a tracer.

    Args:
        query: (B, T, N, H), float32, bfloat16 or float16. B batch, T query length, N heads, H head size.
        key: (B, S, N, H), dtype of `query`. S is the key/value length, which may differ from T.
        value: (B, S, N, H), dtype of `query`.

    Returns:
        (B, T, N, H), dtype of `query`.

    Raises:
        ValueError (TypeError counts too): the three are not 4-dimensional, or their B, S, N or H differ.
    """
    # 1. Check the shapes. Say in the error what was expected and what came.
    # --- solution
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(f"expected 4 dimensions each, got {query.shape}, {key.shape} and {value.shape}")
    B, _, N, H = query.shape
    S = key.shape[1]
    for name, array in (("key", key), ("value", value)):
        if array.shape != (B, S, N, H):
            raise ValueError(f"expected {name} of shape (B, S, N, H) = {(B, S, N, H)}, got {array.shape}")
    # --- end

    # 2. Compute the scores in float32: (B, N, T, S), scaled. `preferred_element_type` lets a product of
    # bfloat16 arrays be summed up and returned in float32 without casting the arrays first.
    # --- solution
    scores = jnp.einsum("BTNH,BSNH->BNTS", query, key, preferred_element_type=jnp.float32) / math.sqrt(H)
    # --- end

    # 3. Turn the scores into weights that sum to 1 over the keys.
    # --- solution
    weights = jax.nn.softmax(scores, axis=-1)
    # --- end

    # 4. Average the values with these weights: (B, T, N, H), cast to the query's dtype at the very end.
    # --- solution
    output = jnp.einsum("BNTS,BSNH->BTNH", weights, value, preferred_element_type=jnp.float32)
    return output.astype(query.dtype)
    # --- end
