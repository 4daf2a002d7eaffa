"""The operations, attributes and element types that an artifact may hold, and its bounds.

Everything that is not here is refused. The list is what honest attention, its gradients and a learner's
detours lower to; it leaves out whatever can corrupt memory, leave the process, or differ from run to run.
"""

from __future__ import annotations

import os

from autograder.wire import MAX_ARTIFACT

ON_GPU = os.environ.get("JAX_PLATFORMS", "cpu") != "cpu"

MAGIC = b"ML\xefR\rStableHLO_v"
MAX_BYTES = MAX_ARTIFACT
MAX_DEPTH = 16
MAX_OPS = 5_000
MAX_RANK = 10
MAX_VALUE_BYTES = 4 * 2**30 if ON_GPU else 256 * 2**20  # T = 4096 makes a (B, N, T, S) matrix of 2 GiB
MAX_TOTAL_BYTES = 64 * 2**30 if ON_GPU else 4 * 2**30
MAX_WINDOW_WORK = 2**22
MAX_TEMP_BYTES = 16 * 2**30 if ON_GPU else 2 * 2**30

_PLAIN = (
    "abs add and atan2 bitcast_convert case cbrt ceil clamp convert cosine divide dynamic_update_slice "
    "exponential exponential_minus_one floor is_finite log log_plus_one logistic maximum minimum multiply "
    "negate not optimization_barrier or popcnt power remainder reshape return round_nearest_afz "
    "round_nearest_even rsqrt select shift_left shift_right_arithmetic shift_right_logical sign sine sqrt "
    "subtract tan tanh while xor"
)
_WITH_ATTRIBUTES = {
    "broadcast_in_dim": "broadcast_dimensions",
    "compare": "compare_type comparison_direction",
    "composite": "composite_attributes decomposition name version",
    "concatenate": "dimension",
    "constant": "value",
    "custom_call": "api_version backend_config call_target_name operand_layouts result_layouts",
    "dot_general": "algorithm dot_dimension_numbers precision_config",
    "dynamic_slice": "slice_sizes",
    "exponential": "result_accuracy",
    "gather": "dimension_numbers indices_are_sorted slice_sizes",
    "get_dimension_size": "dimension",
    "iota": "iota_dimension",
    "pad": "edge_padding_high edge_padding_low interior_padding",
    "reduce": "dimensions",
    "reduce_precision": "exponent_bits mantissa_bits",
    "reduce_window": "base_dilations padding window_dilations window_dimensions window_strides",
    "reverse": "dimensions",
    "scatter": "indices_are_sorted scatter_dimension_numbers unique_indices",
    "slice": "limit_indices start_indices strides",
    "transpose": "permutation",
}

OPS: dict[str, frozenset[str]] = {
    **{f"stablehlo.{name}": frozenset() for name in _PLAIN.split()},
    **{f"stablehlo.{name}": frozenset(names.split()) for name, names in _WITH_ATTRIBUTES.items()},
    "func.call": frozenset({"callee"}),
    "func.return": frozenset(),
}
FUNCTION_ATTRIBUTES = frozenset({"arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"})
MODULE_ATTRIBUTES = {
    "jax.uses_shape_polymorphism": "false",
    "mhlo.num_partitions": "1 : i32",
    "mhlo.num_replicas": "1 : i32",
}
VALUE_ATTRIBUTES = frozenset({"jax.result_info"})
CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition"}
CUDNN = "__cudnn$fmhaSoftmax"

# Element types and their bytes. The 64-bit integers are JAX's own loop counters (0.12).
ITEM_BYTES = {
    "f32": 4, "f16": 2, "bf16": 2, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8,
    "ui8": 1, "ui16": 2, "ui32": 4, "ui64": 8, "f8E4M3FN": 1, "f8E5M2": 1,
}  # fmt: skip
FLOAT8 = frozenset({"f8E4M3FN", "f8E5M2"})
LOW_PRECISION = FLOAT8 | {"f16", "bf16"}

# The element types of arrays.DTYPES in MLIR's spelling.
ELEMENTS = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN",
    "int32": "i32",
    "uint32": "ui32",
    "bool": "i1",
}
