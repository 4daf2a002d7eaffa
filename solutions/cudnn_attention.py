"""Exercise 2: take cuDNN's fused attention where it can serve, and say so when it cannot.

`jax.nn.dot_product_attention` has two implementations. "xla" takes everything; "cudnn" is one fused kernel
that is much faster and never stores the (B, N, T, S) scores, but it needs an NVIDIA GPU and is choosy about
dtypes and shapes. Left to itself (`implementation=None`) JAX runs "xla": who wants the kernel asks for it.

The file imports installed packages alone, no other file of yours.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class AttentionRun:
    """What ran.

    Attributes:
        output: (B, T, N, H), dtype of the query.
        backend: the implementation that computed `output`.
        reason: one sentence on why cuDNN could not serve; None when it did.
    """

    output: jax.Array
    backend: Literal["cudnn", "xla"]
    reason: str | None


# --- solution
def _check_shapes(query: jax.Array, key: jax.Array, value: jax.Array) -> None:
    """Raise ValueError unless query is (B, T, N, H), key and value (B, S, K, H), and N a multiple of K."""
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(f"expected 4 dimensions each, got {query.shape}, {key.shape} and {value.shape}")
    B, _, N, H = query.shape
    _, S, K, _ = key.shape
    for name, array in (("key", key), ("value", value)):
        if array.shape != (B, S, K, H):
            raise ValueError(f"expected {name} of shape (B, S, K, H) = {(B, S, K, H)}, got {array.shape}")
    if K == 0 or N % K:
        raise ValueError(f"{N} query heads are not a multiple of {K} key/value heads")


def _reason_against_cudnn(device: jax.Device, dtype: jnp.dtype) -> str | None:
    """Why `device` cannot run cuDNN's attention on arrays of `dtype`, or None if JAX will know the rest."""
    if dtype not in (jnp.float16, jnp.bfloat16):
        return f"cuDNN's attention takes float16 and bfloat16, and the inputs are {dtype}"
    if device.platform != "gpu":
        return f"cuDNN needs an NVIDIA GPU, and the device is a {device.platform}"
    capability = str(getattr(device, "compute_capability", None))
    try:
        old = tuple(map(int, capability.split("."))) < (8, 0)
    except ValueError:
        return f"cuDNN needs an NVIDIA GPU, and the device's compute capability is {capability}"
    if old:
        return f"cuDNN's attention needs compute capability 8.0 or later, and the device has {capability}"
    return None


# --- end


def attention_with_fallback(
    query: jax.Array, key: jax.Array, value: jax.Array, *, is_causal: bool = False
) -> AttentionRun:
    """Attention by cuDNN where it can serve these inputs on this device, by XLA otherwise.

    output = softmax(Q Kᵀ / √H + mask) V, with query head n reading key/value head n // (N / K), as in
    `jax.nn.dot_product_attention` (docs.jax.dev, "jax.nn.dot_product_attention").

    cuDNN's attention needs (JAX 0.10 to 0.12, `jax/_src/cudnn/fused_attention_stablehlo.py`):
        * float16 or bfloat16;
        * H a multiple of 8, at most 128, or 256 from compute capability 9.0 (Hopper) on;
        * an NVIDIA GPU of compute capability 8.0 (Ampere) or later, with cuDNN installed. JAX does not check
          the 8.0: on an older GPU tracing succeeds, and the program fails when it is compiled or run.

    Rules:
        * Ask for `implementation="cudnn"` or `"xla"` by name.
        * Decide from dtype, shape, the attributes of `jax.devices()[0]` (`platform`, `compute_capability`)
          and what tracing raises (`NotImplementedError`, `RuntimeError`). Compile or run nothing to find out.
        * Input errors propagate: shapes that do not fit are wrong on every device, not a reason to fall back.
        * Cast nothing: float32 inputs are a reason to fall back, not to round them to bfloat16.
        * `is_causal` holds on both paths.
        * No `jax.jit` decorator: under it only arrays are returned, no backend and no reason.
        * It is traced all the same: shapes and dtypes are known, values are not. So no NumPy on the
          arrays, and no Python `if`, `float()` or `int()` on values; a print shows a tracer.

    Args:
        query: (B, T, N, H), float32, bfloat16 or float16, which JAX's XLA path compiles on GPUs only.
        key: (B, S, K, H), dtype of `query`; N is a multiple of K.
        value: (B, S, K, H), dtype of `query`.
        is_causal: whether query position t sees the key positions s ≤ t only (top-left, also where T ≠ S).

    Returns:
        AttentionRun with backend "cudnn" and reason None, or with backend "xla" and the reason: one that a
        user can act on, naming the dtype, the head size or the compute capability that cuDNN does not take.

    Raises:
        ValueError (TypeError counts too): shapes or dtypes that do not fit together.
    """
    # 1. Check the shapes. Do it before anything else, so that they raise the same error on every device.
    # --- solution
    _check_shapes(query, key, value)
    # --- end

    # 2. Find out, without running anything, what JAX will not check for you: the device.
    # --- solution
    reason = _reason_against_cudnn(jax.devices()[0], query.dtype)
    # --- end

    # 3. Ask for cuDNN. What it cannot serve raises while it is traced: catch that, and nothing else.
    # --- solution
    if reason is None:
        try:
            output = jax.nn.dot_product_attention(
                query, key, value, is_causal=is_causal, implementation="cudnn"
            )
            return AttentionRun(output, "cudnn", None)
        except (NotImplementedError, RuntimeError) as error:
            reason = f"cuDNN cannot serve this call: {error}"
    # --- end

    # 4. Fall back to XLA, and say why.
    # --- solution
    output = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation="xla")
    return AttentionRun(output, "xla", reason)
    # --- end
