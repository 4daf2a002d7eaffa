"""Texts of lowered programs, with FP8 arithmetic and without: what `ran_fp8` is asked about.

Written in the form that `jax.jit(f).lower(…).as_text()` prints. Sizes and formats are drawn anew, and so are
lines without effect: no count, and no look at results or names, tells the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Program:
    name: str
    text: str
    ran_fp8: bool


@dataclass(frozen=True)
class Sizes:
    """An (m, k) by (k, n) product and the type that it gives, an 8-bit format, and lines without effect."""

    m: int
    k: int
    n: int
    f8: str
    wide: str = "f32"
    before: tuple[str, ...] = ()

    def left(self, dtype: str) -> str:
        return f"tensor<{self.m}x{self.k}x{dtype}>"

    def right(self, dtype: str) -> str:
        return f"tensor<{self.k}x{self.n}x{dtype}>"

    def out(self, dtype: str) -> str:
        return f"tensor<{self.m}x{self.n}x{dtype}>"


def programs(rng: np.random.Generator) -> list[Program]:
    """Every kind once, of drawn sizes, in a drawn order."""
    made, first = [], int(rng.integers(2))
    for place, (name, ran, body) in enumerate(KINDS):
        m, k, n = (int(size) for size in rng.choice([16, 24, 48, 64, 80, 96], size=3, replace=False))
        f8 = ("f8E4M3FN", "f8E5M2")[(place + first) % 2]  # both stand among those that ran FP8
        wide = ("f32", "bf16")[int(rng.integers(2))]
        sizes = Sizes(m, k, n, f8, wide)
        made.append(Program(name, body(replace(sizes, before=_before(sizes, rng))), ran))
    order = rng.permutation(len(made))
    return [made[number] for number in order]


def _before(s: Sizes, rng: np.random.Generator) -> tuple[str, ...]:
    """Casts to f8, casts back, sums in f8 and bfloat16 products, whose results nobody uses."""
    lines = []
    for number in range(20, 20 + 10 * int(rng.integers(4)), 10):
        made = (
            f"%{number} = stablehlo.convert %arg0 : ({s.left('bf16')}) -> {s.left(s.f8)}",
            f"%{number + 1} = stablehlo.convert %{number} : ({s.left(s.f8)}) -> {s.left('bf16')}",
            f"%{number + 2} = stablehlo.add %{number}, %{number} : {s.left(s.f8)}",
            f"%{number + 3} = {_dot(s, '%arg0', '%arg1', 'bf16', s.wide)}",
        )
        lines += [made[0], *(line for line in made[1:] if rng.integers(2))]
    return tuple(lines)


def _module(s: Sizes, lines: list[str], result: str, *, name: str = "jit_f", note: str = "") -> str:
    body = "\n".join(f"    {line}" for line in (*s.before, *lines, f"return {result}"))
    out = result.split(" : ")[1]
    return (
        f"module @{name} attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}} {{{note}\n"
        f"  func.func public @main(%arg0: {s.left('bf16')}, %arg1: {s.right('bf16')}) -> "
        f'({out} {{jax.result_info = "result"}}) {{\n{body}\n  }}\n}}\n'
    )


def _cast(s: Sizes) -> list[str]:
    return [
        f"%0 = stablehlo.convert %arg0 : ({s.left('bf16')}) -> {s.left(s.f8)}",
        f"%1 = stablehlo.convert %arg1 : ({s.right('bf16')}) -> {s.right(s.f8)}",
    ]


def _dot(s: Sizes, left: str, right: str, dtype: str, out: str) -> str:
    return (
        f"stablehlo.dot_general {left}, {right}, contracting_dims = [1] x [0], "
        f"precision = [DEFAULT, DEFAULT] : ({s.left(dtype)}, {s.right(dtype)}) -> {s.out(out)}"
    )


def _attributes(settings: str, more_results: str = "") -> str:
    return (
        f'{{backend_config = "", mhlo.backend_config = {{{settings}}}, '
        "operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], "
        f"result_layouts = [dense<[1, 0]> : tensor<2xindex>{more_results}]}}"
    )


def _product(s: Sizes) -> str:
    return _module(s, [*_cast(s), f"%2 = {_dot(s, '%0', '%1', s.f8, s.wide)}"], f"%2 : {s.out(s.wide)}")


def _te_gemm(s: Sizes) -> str:
    """The operands of FP8 stand among others: each has its scale, in float32."""
    scale = "%2 = stablehlo.constant dense<1.000000e+00> : tensor<1xf32>"
    layouts = "dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>"
    call = (
        "%3 = stablehlo.custom_call @te_gemm_v2_ffi(%0, %2, %1, %2) "
        '{backend_config = "", mhlo.backend_config = {}, '
        f"operand_layouts = [{layouts}, {layouts}], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}} : "
        f"({s.left(s.f8)}, tensor<1xf32>, {s.right(s.f8)}, tensor<1xf32>) -> {s.out('bf16')}"
    )
    return _module(s, [*_cast(s), scale, call], f"%3 : {s.out('bf16')}")


def _second_operand(s: Sizes) -> str:
    """Weights in FP8, activations in bfloat16."""
    dot = (
        "%2 = stablehlo.dot_general %arg0, %1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] "
        f": ({s.left('bf16')}, {s.right(s.f8)}) -> {s.out('f32')}"
    )
    return _module(s, [*_cast(s), dot], f"%2 : {s.out('f32')}")


def _after_another(s: Sizes) -> str:
    """A bfloat16 product comes first."""
    lines = [
        *_cast(s),
        f"%2 = {_dot(s, '%arg0', '%arg1', 'bf16', 'f32')}",
        f"%3 = {_dot(s, '%0', '%1', s.f8, 'f32')}",
        f"%4 = stablehlo.add %2, %3 : {s.out('f32')}",
    ]
    return _module(s, lines, f"%4 : {s.out('f32')}")


def _convolution(s: Sizes) -> str:
    """The same product as a convolution of width 1."""
    image, kernel = f"tensor<{s.m}x1x{s.k}x{s.f8}>", f"tensor<1x{s.k}x{s.n}x{s.f8}>"
    lines = [
        *_cast(s),
        f"%2 = stablehlo.reshape %0 : ({s.left(s.f8)}) -> {image}",
        f"%3 = stablehlo.reshape %1 : ({s.right(s.f8)}) -> {kernel}",
        "%4 = stablehlo.convolution(%2, %3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
        "window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = "
        "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : "
        f"({image}, {kernel}) -> tensor<{s.m}x1x{s.n}xf32>",
        f"%5 = stablehlo.reshape %4 : (tensor<{s.m}x1x{s.n}xf32>) -> {s.out('f32')}",
    ]
    return _module(s, lines, f"%5 : {s.out('f32')}")


def _plain_te_gemm(s: Sizes) -> str:
    """The same call without FP8, beside casts of the same arrays."""
    call = (
        f"%2 = stablehlo.custom_call @te_gemm_v2_ffi(%arg0, %arg1) {_attributes('')} : "
        f"({s.left('bf16')}, {s.right('bf16')}) -> {s.out('bf16')}"
    )
    return _module(s, [*_cast(s), call], f"%2 : {s.out('bf16')}")


def _nested(s: Sizes) -> str:
    """The product is in a function of its own, as under a nested jit."""
    return _called(s, [*_cast(s), f"%2 = {_dot(s, '%0', '%1', s.f8, s.wide)}"])


def _plain_nested(s: Sizes) -> str:
    return _called(s, [*_cast(s), f"%2 = {_dot(s, '%arg0', '%arg1', 'bf16', s.wide)}"])


def _called(s: Sizes, lines: list[str]) -> str:
    types = f"({s.left('bf16')}, {s.right('bf16')}) -> {s.out(s.wide)}"
    text = _module(s, [f"%0 = call @inner(%arg0, %arg1) : {types}"], f"%0 : {s.out(s.wide)}")
    body = "\n".join(f"    {line}" for line in (*lines, f"return %2 : {s.out(s.wide)}"))
    inner = (
        f"  func.func private @inner(%arg0: {s.left('bf16')}, %arg1: {s.right('bf16')}) -> "
        f"{s.out(s.wide)} {{\n{body}\n  }}\n}}\n"
    )
    return text.removesuffix("}\n") + inner


def _plain(s: Sizes) -> str:
    return _module(s, [f"%0 = {_dot(s, '%arg0', '%arg1', 'bf16', s.wide)}"], f"%0 : {s.out(s.wide)}")


def _cast_and_back(s: Sizes) -> str:
    lines = [
        *_cast(s),
        f"%2 = stablehlo.convert %0 : ({s.left(s.f8)}) -> {s.left('bf16')}",
        f"%3 = stablehlo.convert %1 : ({s.right(s.f8)}) -> {s.right('bf16')}",
        f"%4 = {_dot(s, '%2', '%3', 'bf16', s.wide)}",
    ]
    return _module(s, lines, f"%4 : {s.out(s.wide)}")


def _cast_after(s: Sizes) -> str:
    """The result is stored in FP8, the arithmetic is bfloat16."""
    lines = [
        f"%0 = {_dot(s, '%arg0', '%arg1', 'bf16', 'bf16')}",
        f"%1 = stablehlo.convert %0 : ({s.out('bf16')}) -> {s.out(s.f8)}",
    ]
    return _module(s, lines, f"%1 : {s.out(s.f8)}")


def _named(s: Sizes) -> str:
    """An f8 in a name, a comment and a string."""
    call = (
        f"%0 = stablehlo.custom_call @te_{s.f8}_gemm_v2_ffi(%arg0, %arg1) "
        f"{_attributes(f'kernel = {chr(34)}({s.f8}, {s.f8}) -> bf16{chr(34)}')} : "
        f"({s.left('bf16')}, {s.right('bf16')}) -> {s.out('bf16')}"
    )
    note = f"  // was: {_dot(s, '%0', '%1', s.f8, 'f32')}"
    return _module(s, [call], f"%0 : {s.out('bf16')}", name=f"jit_{s.f8.lower()}_matmul", note=note)


def _quantize(s: Sizes) -> str:
    """A call that makes f8 and takes none."""
    call = (
        f"%0:2 = stablehlo.custom_call @te_dbias_quantize_ffi(%arg0, %arg1) "
        f"{_attributes('', ', dense<0> : tensor<1xindex>')} : "
        f"({s.left('bf16')}, {s.right('bf16')}) -> ({s.left(s.f8)}, tensor<1xf32>)"
    )
    return _module(s, [call], "%0#1 : tensor<1xf32>")


def _te_attention(s: Sizes) -> str:
    """TransformerEngine's fused attention under autocast: the recipe is on, the kernel is bfloat16."""
    q = f"tensor<2x{s.m}x4x{s.k}xbf16>"
    lines = [
        f"%0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 3] : ({s.left('bf16')}) -> {q}",
        "%1:2 = stablehlo.custom_call @te_fused_attn_forward_ffi(%0, %0, %0) "
        '{backend_config = "", mhlo.backend_config = {attn_mask_type = 2 : i64, deterministic = false}, '
        "operand_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, "
        "dense<[3, 2, 1, 0]> : tensor<4xindex>], "
        "result_layouts = [dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]} : "
        f"({q}, {q}, {q}) -> ({q}, tensor<256xui8>)",
    ]
    return _module(s, lines, f"%1#0 : {q}", name="jit_fp8_autocast_attention")


KINDS: tuple[tuple[str, bool, Callable[[Sizes], str]], ...] = (
    ("a matrix product of f8 operands", True, _product),
    ("TransformerEngine's GEMM on f8 operands", True, _te_gemm),
    ("a matrix product of f8 operands in a nested function", True, _nested),
    ("a matrix product whose second operand is f8", True, _second_operand),
    ("a matrix product of f8 operands after one in bfloat16", True, _after_another),
    ("a convolution of f8 operands", True, _convolution),
    ("a bfloat16 matrix product", False, _plain),
    ("TransformerEngine's GEMM on bfloat16 operands", False, _plain_te_gemm),
    ("a bfloat16 matrix product in a nested function", False, _plain_nested),
    ("a cast to f8 and back before a bfloat16 product", False, _cast_and_back),
    ("a bfloat16 product whose result is cast to f8", False, _cast_after),
    ("a bfloat16 call with f8 in names, a comment and a string", False, _named),
    ("a call that quantizes to f8 and takes bfloat16", False, _quantize),
    ("TransformerEngine's fused attention under autocast", False, _te_attention),
)
