"""Exercise 5: FP8 with TransformerEngine: when it can run, how to switch it on, and whether it did.

TransformerEngine (TE) is imported inside the functions that need it, so that this module also loads on a
laptop: `import transformer_engine.jax as te` gives `te.autocast` and `te.quantize` (TE 2.10 and later).

The file imports installed packages alone, no other file of yours.
"""

import re
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import flax.linen as nn
import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Support:
    """Whether FP8 can run, and why not. Test `support.ok`: the object itself is always true.

    Attributes:
        ok: whether it can.
        reason: one sentence on what stands in the way; None when `ok`.
    """

    ok: bool
    reason: str | None


def fp8_support(device: jax.Device, op: Literal["matmul", "attention"] = "matmul") -> Support:
    """Whether FP8 `op` can run on `device` through TransformerEngine.

    FP8 matrix products need compute capability 8.9 (Ada), fused FP8 attention 9.0 (Hopper). For the first see
    TransformerEngine, `transformer_engine/jax/quantize/helper.py`. Ask for the capability and never for the
    name: lists of names forget the L4, the L40S, the RTX 50, and next year's GPU.

    Rules: checked in this order; the first that refuses decides, and its reason says which it was.
        1. platform: `device.platform` is "gpu", not "cpu" or "tpu".
        2. capability: `device.compute_capability`, a string such as "9.0". It may be too old or not such a
           number ("gfx942", an AMD GPU), or the attribute may be absent. "10.0" is later than "8.9".
        3. TransformerEngine can be imported.
        4. TransformerEngine agrees. `te.quantize.is_fp8_available()`, and its successor
           `te.quantize.is_scaling_mode_supported(te.quantize.ScalingMode.DELAYED_TENSOR_SCALING)`, return a
           tuple `(ok, reason)`. Pass its reason on.

    Args:
        device: one of `jax.devices()`.
        op: "matmul" or "attention".

    Returns:
        Support(True, None), or Support(False, reason).

    Raises:
        ValueError: another `op`.
    """
    # TODO 1: Look up the capability that `op` needs.

    # TODO 2: Check the platform.

    # TODO 3: Check the compute capability: absent, not a number, too old.

    # TODO 4: Import TransformerEngine. A broken installation lacks a shared library, which is an OSError.

    # TODO 5: Ask TransformerEngine, and take its tuple apart.
    raise NotImplementedError("TODO: fp8_support")


def run_with_fp8(
    module: nn.Module, rng: jax.Array, inputs: tuple[Any, ...], *, support: Support, recipe: Any
) -> tuple[Any, Any]:
    """Initialise `module` and apply it once, in FP8 where `support` says that it can run.

    `te.autocast(enabled=True, recipe=recipe)` changes what TE's modules do while they are *called* inside it
    (TransformerEngine's documentation, `transformer_engine.jax.autocast`). `enabled` is False by default.

    Rules:
        * `module.init` and `module.apply` both run inside one autocast, or two: outside it, `init` makes no
          variables for the scales, and `apply` does not use them.
        * Where `support.ok` is False nothing runs in FP8, and TransformerEngine may be absent.
        * Decide from `support.ok` alone; do not ask the device again.
        * It is traced under `jax.jit`: no NumPy on the arrays, and no Python `if` or `float()` on values.

    Args:
        module: any Flax Linen module.
        rng: a key for `module.init`.
        inputs: what `module` is called with, as in `module.apply(variables, *inputs)`.
        support: from `fp8_support`.
        recipe: one of TE's, such as `transformer_engine.common.recipe.DelayedScaling()`; passed on as it is.

    Returns:
        (output, variables): what `module.apply` gave, and what `module.init` gave.
    """
    # TODO 1: Choose the context: autocast with this recipe, or one that does nothing.

    # TODO 2: Inside it, initialise and apply.
    raise NotImplementedError("TODO: run_with_fp8")


def delayed_scale(
    amax_history: jax.Array, scale: jax.Array | float, *, fp8_max: float = 448.0, margin: int = 0
) -> jax.Array:
    """The next scale of a tensor, from how large its entries were in the last steps.

    Delayed scaling, as in TransformerEngine's `transformer_engine.common.recipe.DelayedScaling`, in whose
    convention a tensor is multiplied by its scale:

        amax = max(amax_history);   new scale = (fp8_max / amax) / 2^margin, in float32

    Rules:
        * The old `scale` stays where amax is 0, negative, infinite or NaN, and where the result is infinite.
        * Flax's FP8 operators keep the reciprocal. This function does not.
        * It is traced under `jax.jit`: no NumPy, no Python `if` or `float()` on values; use `jnp.where`.

    Args:
        amax_history: (L,), float32: the largest absolute entry in each of the last L steps. 0: not seen yet.
        scale: a scalar, float32, the scale so far.
        fp8_max: the largest number of the format: 448 for e4m3, 57344 for e5m2.
        margin: powers of two to stay below `fp8_max`.

    Returns:
        A scalar, float32.
    """
    # TODO 1: Compute the new scale.

    # TODO 2: Keep the old one where the new one is of no use.
    raise NotImplementedError("TODO: delayed_scale")


def quantize_e4m3(x: jax.Array, scale: jax.Array | float) -> jax.Array:
    """`x` in FP8: clip(float32(x) · scale, -448, 448), rounded to float8_e4m3fn.

    "FP8 Formats for Deep Learning" (Micikevicius et al., 2022, section 3, table 1, arXiv:2209.05433). The
    format has no infinity, and JAX's cast makes NaN of what lies far above 448: hence the clip.

    Rules:
        * Multiply by the scale, in float32, before the clip.
        * NaN stays NaN.
        * It is traced under `jax.jit`: no NumPy on the arrays, and no Python `if` or `float()` on values.

    Args:
        x: any shape, float32, bfloat16 or float16.
        scale: a scalar.

    Returns:
        Shape of `x`, float8_e4m3fn.
    """
    # TODO 1: Scale in float32, clip, cast.
    raise NotImplementedError("TODO: quantize_e4m3")


def ran_fp8(program_text: str) -> bool:
    """Whether a lowered program computes in FP8: a matrix product or a custom call takes an f8 operand.

    The text is that of `jax.jit(f).lower(…).as_text()`: StableHLO, one operation a line, its operands' types
    in parentheses after the last colon and before the arrow (openxla.org/stablehlo/spec, "Types": f8E4M3FN,
    f8E5M2 and others that begin with f8):

        %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<8x8xf8E4M3FN>, …) -> …

    Rules:
        * Counted: `dot_general`, `convolution` and `custom_call` of `stablehlo`, with an operand of f8 type.
        * Not counted: a cast to f8 or back, an f8 that is only a result, and "f8" in a name, a comment, a
          location or a string.

    Args:
        program_text: the text.

    Returns:
        True or False.
    """
    # TODO 1: Take away what may say anything: strings and comments.

    # TODO 2: Find the products and calls, and look at their operands' types alone.
    raise NotImplementedError("TODO: ran_fp8")
