"""Exercise 4: grouped-query attention, and what it saves.

Several query heads share one key/value head, so that the cache of keys and values, which decides how many
requests a GPU can serve at once, shrinks by G = N / K. It only helps if nobody copies K and V out again.

The file imports installed packages alone, no other file of yours.
"""

import math

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike


def grouped_query_attention(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Attention in which query head n reads key/value head n // G, where G = N / K.

    "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints" (Ainslie et al.,
    2023, section 2.2, arXiv:2305.13245). K = N is multi-head attention, K = 1 multi-query attention:

        scores[b, n, t, s] = Σ_h query[b, t, n, h] · key[b, s, n // G, h] / √H
        output[b, t, n, h] = Σ_s softmax(scores[b, n, t, :])[s] · value[b, s, n // G, h]

    Rules:
        * No copy of `key` or `value` out to N heads: no repeat, no broadcast, no gather, no one-hot product.
          Where N · T is at most K · S and K · H, no array of the program has more than K · S · H elements a
          batch row.
        * No library attention: neither `jax.nn.dot_product_attention` nor anybody else's.
        * Scores and softmax are float32 for float16 and bfloat16 inputs too; only the result is cast back.
        * Shapes that do not fit raise. They never broadcast into an answer.
        * It is traced under `jax.jit`: shapes and dtypes are known there, values are not. So no NumPy on the
          arrays, and no Python `if`, `float()` or `int()` on values; a print shows a tracer.

    Args:
        query: (B, T, N, H), float32, bfloat16 or float16.
        key: (B, S, K, H), dtype of `query`; N is a multiple of K.
        value: (B, S, K, H), dtype of `query`.

    Returns:
        (B, T, N, H), dtype of `query`.

    Raises:
        ValueError (TypeError counts too): N is not a multiple of K (the message names both), or the shapes do
            not fit otherwise.
    """
    # TODO 1: Check the shapes, and that the K heads can be shared out evenly among the N.

    # TODO 2: Give the query heads a second axis, so that those which share a key/value head are together.

    # TODO 3: Attend as in exercise 1, with that axis along. `key` and `value` stay as they are.

    # TODO 4: Fold the two axes of heads into one again, and cast back.
    raise NotImplementedError("TODO: grouped_query_attention")


def kv_cache_bytes(batch: int, seq_len: int, num_kv_heads: int, head_dim: int, dtype: DTypeLike) -> int:
    """How many bytes the keys and values of one layer take while a model generates.

    Two arrays, K and V, of `batch` · `seq_len` · `num_kv_heads` · `head_dim` elements of `dtype`. The number
    of query heads is no part of it. "Fast Transformer Decoding: One Write-Head is All You Need" (Shazeer,
    2019, sections 2.4 and 3, arXiv:1911.02150) counts these elements, with K = N and with K = 1.

    Args:
        batch: B, the number of sequences held.
        seq_len: S, the positions held of each.
        num_kv_heads: K.
        head_dim: H.
        dtype: anything `jnp.dtype` takes, such as `jnp.bfloat16`, `"float32"` or `jnp.float8_e4m3fn`.

    Returns:
        A Python int.
    """
    # TODO 1: Multiply: both arrays, and the size of one element of `dtype`.
    raise NotImplementedError("TODO: kv_cache_bytes")
