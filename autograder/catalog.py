"""The manifest: exercises, their checks and points, and what a learner is told beside a failure."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.pages import stages

GPU_CUDNN = "needs an NVIDIA GPU of compute capability 8.0 or later"
GPU_FP8 = "needs an NVIDIA GPU of compute capability 8.9 or later, with TransformerEngine"
LEAST = {GPU_CUDNN: (8, 0), GPU_FP8: (8, 9)}
"""By what a check waits for, the compute capability that it takes."""


@dataclass(frozen=True)
class Check:
    """`hint` is the next step on a failure; `function` is the one it asks about ("": the exercise's first).

    `simulated` marks answers given to a double, until the check named `real` has passed on a GPU; `needs`
    says what it waits for, if not for this machine.
    """

    id: str
    points: int
    title: str
    hint: str
    function: str = ""
    simulated: bool = False
    real: str = ""
    needs: str = ""


@dataclass(frozen=True)
class Exercise:
    """`name` is the module's name, here and in the learner's folder; `functions` are what it asks for."""

    number: int
    name: str
    title: str
    functions: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def page(self) -> str:
        """The course's page about it."""
        return f"course/{stages.of_exercise(self.number).file}"


SHAPES_HINT = "Check ranks and sizes first (TODO 1) and raise ValueError where they do not fit."
LIBRARY_HINT = "Write the steps yourself, with jnp.einsum or matmul and jax.nn.softmax."
HALF_HINT = "Scores and softmax in float32 (preferred_element_type), cast back at the end."
GRADIENT_HINT = "Look for what cuts or changes a gradient: stop_gradient, round, casts, a custom_vjp."
SPEED_HINT = "Keep the operands of a matrix product in bfloat16 and ask for preferred_element_type=float32."

EXERCISES = (
    Exercise(
        1,
        "naive_attention",
        "Attention from four basic operations",
        ("naive_attention",),
        (
            Check("float32", 4, "values in float32", "Compare each of the four steps with the formula."),
            Check(
                "extreme_inputs",
                3,
                "large, flat, shifted and uneven inputs in float32",
                "Subtract each row's own maximum before exp, and clip nothing.",
            ),
            Check("half_precision", 3, "values in bfloat16 and float16", HALF_HINT),
            Check("gradient", 2, "the vector-Jacobian product", GRADIENT_HINT),
            Check("errors", 2, "shapes that do not fit raise", SHAPES_HINT),
            Check("no_library", 2, "no library attention", LIBRARY_HINT),
            Check("speed", 4, "device time against the reference", SPEED_HINT, needs=GPU_CUDNN),
        ),
    ),
    Exercise(
        2,
        "cudnn_attention",
        "cuDNN attention with a fallback that does not lie",
        ("attention_with_fallback",),
        (
            Check(
                "xla_values",
                2,
                "values and gradient of the XLA path",
                "Pass is_causal on, and return the library's output as it is.",
            ),
            Check(
                "errors", 1, "input errors propagate", "An input error is no reason to fall back: let it out."
            ),
            Check(
                "labels",
                4,
                "backend and reason agree with the program, on doubles of a CPU, Ampere and Hopper",
                "Decide once, from dtype, head size, device and what tracing raises; report that decision.",
                simulated=True,
                real="path",
            ),
            Check(
                "turing",
                2,
                "a GPU older than Ampere falls back",
                "JAX does not check for 8.0: ask jax.devices()[0].compute_capability yourself.",
                simulated=True,
            ),
            Check(
                "cudnn_values",
                3,
                "values of the cuDNN path, emulated",
                "Hand query, key and value to the cuDNN call as they came, with the same is_causal.",
                simulated=True,
                real="path",
            ),
            Check("path", 3, "the kernel that really ran", "Read the compiled HLO.", needs=GPU_CUDNN),
            Check("memory", 2, "temporary memory", "Force implementation='cudnn'.", needs=GPU_CUDNN),
            Check("speed", 3, "device time against naive", "Force implementation='cudnn'.", needs=GPU_CUDNN),
        ),
    ),
    Exercise(
        3,
        "causal_check",
        "Causal attention, and a check that finds leaks",
        ("causal_attention", "first_last_difference", "is_causal"),
        (
            Check(
                "values",
                4,
                "causal_attention: values, gradient, T = S and T ≠ S",
                "Query t may see keys 0…t, counted from the top left, also where T ≠ S.",
            ),
            Check("errors", 1, "causal_attention: shapes that do not fit raise", SHAPES_HINT),
            Check(
                "first_last",
                4,
                "first_last_difference",
                "Compare causal with full attention; take the largest difference at t = 0 and at t = T - 1.",
                function="first_last_difference",
            ),
            Check(
                "plain_leaks",
                3,
                "is_causal: no mask, transposed mask, one position too far",
                "Change a key and a value at one position s and look at every output before it.",
                function="is_causal",
            ),
            Check(
                "partial_leaks",
                3,
                "is_causal: leaks late in the sequence, in one head, in one batch row",
                "Try every position s, and compare every batch row and head.",
                function="is_causal",
            ),
            Check(
                "one_way_leaks",
                3,
                "is_causal: leaks through K alone or V alone",
                "Change keys and values both, and by enough to move a softmax.",
                function="is_causal",
            ),
            Check(
                "other_shapes",
                2,
                "is_causal: windows, T ≠ S and bfloat16",
                "Position s is in the future of t where s > t, whatever T and S are.",
                function="is_causal",
            ),
        ),
    ),
    Exercise(
        4,
        "grouped_query",
        "Grouped-query attention without copies",
        ("grouped_query_attention", "kv_cache_bytes"),
        (
            Check(
                "float32",
                4,
                "values in float32, G = 1 to N",
                "Compare scale, softmax axis and the head map n // G with the formula.",
            ),
            Check("half_precision", 3, "values in bfloat16 and float16", HALF_HINT),
            Check("gradient", 2, "the vector-Jacobian product", GRADIENT_HINT),
            Check(
                "no_copy",
                3,
                "K and V are not copied out to N heads",
                "Reshape the query to (B, T, K, G, H) and contract against K and V as they are.",
            ),
            Check("errors", 2, "shapes that do not fit raise", SHAPES_HINT),
            Check("no_library", 1, "no library attention", LIBRARY_HINT),
            Check(
                "kv_cache_bytes",
                2,
                "bytes of the KV cache",
                "Count K and V, and the dtype's bytes.",
                function="kv_cache_bytes",
            ),
            Check("speed", 3, "device time at decode", "Do not copy K and V.", needs=GPU_CUDNN),
        ),
    ),
    Exercise(
        5,
        "fp8_autocast",
        "An FP8 gate, and proof that FP8 ran",
        ("fp8_support", "run_with_fp8", "delayed_scale", "quantize_e4m3", "ran_fp8"),
        (
            Check(
                "capability",
                3,
                "fp8_support by platform and compute capability",
                "Compare the capability as numbers: 8.9 for a matrix product, 9.0 for attention.",
                simulated=True,
            ),
            Check(
                "transformer_engine",
                2,
                "fp8_support asks whether TransformerEngine is there and what it says",
                "Import it inside a try, and unpack the tuple (ok, reason): a tuple is always true.",
                simulated=True,
            ),
            Check(
                "autocast",
                4,
                "run_with_fp8: init and apply inside autocast, or both without FP8",
                "Open te.autocast around init and apply, and only where support.ok.",
                simulated=True,
                real="real_fp8",
                function="run_with_fp8",
            ),
            Check(
                "delayed_scale",
                2,
                "delayed_scale",
                "fp8_max / amax / 2^margin; else keep the old scale.",
                function="delayed_scale",
            ),
            Check(
                "quantize",
                2,
                "quantize_e4m3",
                "Multiply in float32, clip to ±448, then cast.",
                function="quantize_e4m3",
            ),
            Check(
                "ran_fp8",
                3,
                "ran_fp8 on program texts",
                "Look at the operand types of dot_general, convolution and custom_call, nothing else.",
                function="ran_fp8",
            ),
            Check(
                "real_fp8",
                4,
                "real FP8 arithmetic",
                "Open te.autocast(enabled=True, recipe=recipe) around init and apply, and ask ran_fp8.",
                needs=GPU_FP8,
                function="run_with_fp8",
            ),
        ),
    ),
)


@dataclass(frozen=True)
class SpeedLimit:
    """At length T (S at decode), learner / reference in device time is to stay below `ratio`.

    `measured` is where the number comes from: an H200, JAX 0.11.2, cuDNN 9.19.
    """

    length: int
    ratio: float
    measured: str


SPEED = {
    "naive_attention": (
        SpeedLimit(
            1024, 1.5, "operands cast to float32 first, at the highest precision: 2.02 times at T = 1024"
        ),
        SpeedLimit(
            4096, 1.5, "operands cast to float32 first, at the highest precision: 2.02 times at T = 1024"
        ),
    ),
    "attention_with_fallback": (SpeedLimit(4096, 1.1, "the same cuDNN call against itself: within 1.01"),),
    "grouped_query_attention": (
        # The check takes B = 16, so that kernels outweigh their launches.
        SpeedLimit(4096, 1.15, "B = 4: 0.041 ms grouped, 0.054 ms with K and V repeated: 1.32"),
    ),
}
BEATS_NAIVE = SpeedLimit(4096, 1 / 3, "naive 1.70 ms, cuDNN 0.286 ms: 5.9 times")
CUDNN_MEMORY = 0.01
"""Of the bytes of a (B, N, T, S) bfloat16 matrix; measured: 512 bytes at T = 1024 and at T = 4096."""

FP8_ERROR = (0.01, 0.15)
"""Relative error of an FP8 product to the bfloat16 one; measured: 0.036 to 0.037 either recipe, K = 256."""


def find(name: str) -> Exercise | None:
    """The exercise of this number or module name."""
    return next((e for e in EXERCISES if name in (str(e.number), e.name)), None)
