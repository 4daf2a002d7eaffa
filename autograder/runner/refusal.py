"""What the runner refuses, in words that name the next step."""

from __future__ import annotations

import re

PLAIN = "Write it with plain JAX operations: matrix products, softmax, sums, where."


class Refusal(Exception):
    """An artifact that is not run; `code` is a stable word, `message` says why, `next_step` what to do.

    Without a next step, the hint of the check that asked applies.
    """

    def __init__(self, code: str, message: str, next_step: str = PLAIN) -> None:
        super().__init__(f"{message} {next_step}")
        self.code = code
        self.message = message
        self.next_step = next_step


# Why, and what to do instead.
CALLBACK = (
    "it calls back into Python (jax.debug.print, jax.debug.callback, jax.pure_callback, io_callback): "
    "a graded function is data and has no Python to call",
    "Remove the call; print while you develop, not here.",
)
LINALG = (
    "it uses a linear-algebra routine (jnp.linalg, jax.scipy.linalg): attention needs none",
    "Write it with matrix products, softmax and sums.",
)
RANDOM = (
    "it draws random numbers (jax.random, dropout): attention is a function of its inputs alone",
    "Remove jax.random and dropout.",
)
SORT = (
    "it sorts (sort, top_k, argsort, median): attention needs no sort",
    "Use a maximum or a comparison instead.",
)
SHARDING = (
    "it places arrays on devices (sharding constraints, shard_map, collectives): graded functions "
    "run on one device",
    "Remove the sharding.",
)
KERNEL = (
    "it brings a kernel of its own (Pallas, Triton, Mosaic), which is native code",
    "Write it with JAX operations: einsum, softmax, sums.",
)
MEMORY = ("it reads memory that nobody wrote (lax.empty)", "Start from zeros.")
FLOAT64 = (
    "it computes in float64, so jax_enable_x64 is on somewhere or a float64 array came in",
    "Leave x64 off, and keep constants Python scalars or float32.",
)
DYNAMIC = (
    "its shapes are not known while tracing (jnp.nonzero, symbolic sizes)",
    "Use the arguments' own shapes.",
)
COMPLEX = ("it computes with complex numbers: attention is real", "Take no complex square roots and no fft.")
PRECISION = (
    "inputs are float32 here, and it computes in lower precision ({what})",
    "For float32 inputs keep float32 throughout; cast only what came in as float16 or bfloat16.",
)
ENGINE = (
    "it calls TransformerEngine otherwise than the given module does, under the given recipe or without FP8",
    "Pass the recipe on, and call module.init and module.apply on the inputs as they came.",
)
LOOPS = (
    "A Python loop over positions is unrolled while JAX traces: write array operations or lax.scan in its "
    "place."
)
SIZES = "Look for a loop whose condition depends on the sizes."
CONSTANT = "Build the array with jnp inside the function, and replace the loop by lax.scan."
SMALLER = "Look for an array that is far larger than the inputs and their (B, N, T, S) scores."

# Operations and custom calls that honest code can meet; the first pattern that matches names the refusal.
KINDS = [
    (r"callback|debug_print|infeed|outfeed|send|recv", "callback", CALLBACK),
    (r"stablehlo\.(cholesky|triangular_solve|fft)$|lapack|cusolver|cublas|cusparse|cu_lu|hip|Qr|Eigh|LuDec",
     "linalg", LINALG),
    (r"threefry|rng|PhiloxBits", "random", RANDOM),
    (r"stablehlo\.sort$|top_?k|TopK", "sort", SORT),
    (r"[Ss]harding|SPMD|^sdy\.|^mpmd\.|annotate_device|all_gather|all_reduce|all_to_all|reduce_scatter|collective"
     r"|partition_id|replica_id|cross-replica", "sharding", SHARDING),
    (r"mosaic|triton|pallas|tpu_custom_call", "kernel", KERNEL),
    (r"stablehlo\.(complex|real|imag)$", "complex", COMPLEX),
    (r"dynamic_(?!slice|update)|set_dimension_size", "dynamic", DYNAMIC),
    (r"AllocateBuffer", "memory", MEMORY),
    (r"^te_", "engine", ENGINE),
    (r"reduce_precision", "precision", PRECISION),
]  # fmt: skip


def unknown(name: str, what: str) -> Refusal:
    """The refusal of an operation or custom call that is on no list."""
    for pattern, code, (why, next_step) in KINDS:
        if re.search(pattern, name):
            why = why.format(what=shown(name))
            return Refusal(code, f"the program holds {shown(name)}: {why}.", next_step)
    return Refusal(
        "operation", f"the program holds the {what} {shown(name)}, which is not among those graded here."
    )


def of(code: str, kind: str, reason: tuple[str, str]) -> Refusal:
    """The refusal of a value of this type."""
    why, next_step = reason
    return Refusal(code, f"the program holds {shown(kind)}: {why}.", next_step)


def low_precision(what: str) -> Refusal:
    why, next_step = PRECISION
    return Refusal("precision", f"{why.format(what=shown(what))}.", next_step)


def large(what: str, next_step: str = SMALLER) -> Refusal:
    return Refusal("too_large", f"the program is too large: {what}.", next_step)


def shown(text: str) -> str:
    """A short, printable form of a name that came from a submission."""
    return ascii(text[:200])[1:-1]
