"""Artifacts that no honest submission makes: MLIR text made into bytes, past JAX's own checks."""

from __future__ import annotations

import io
from typing import Any

from jax._src.interpreters.mlir import make_ir_context
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from autograder.arrays import Spec
from autograder.runner.job import Job

VECTOR = Spec((4,), "float32")
T = "tensor<4xf32>"


def artifact(text: str) -> bytes:
    """A module as it stands, of any dialect, under the name of a StableHLO artifact.

    JAX's own serialisation would refuse some and drop what is not used; an attacker need not ask it.
    """
    with make_ir_context() as context:
        context.allow_unregistered_dialects = True
        buffer = io.BytesIO()
        ir.Module.parse(text).operation.write_bytecode(buffer, desired_version=6)
    data = buffer.getvalue()
    return b"ML\xefR\rStableHLO_v1.8.0" + data[data.index(b"\0") :]


def portable(text: str) -> bytes:
    """A module of StableHLO as JAX itself would serialise it."""
    with make_ir_context():
        module, version = ir.Module.parse(text), stablehlo.get_current_version()
        data: bytes = _jax.mlir.serialize_portable_artifact(module, version, True)
    return data


def main(body: str, *, more: str = "", attributes: str = "", argument: str = "", result: str = T) -> str:
    """A module whose main takes %x : tensor<4xf32>, with more functions and attributes where given."""
    return f"""module @m attributes {{{attributes}}} {{
      func.func public @main(%x: {T} {argument}) -> ({result}) {{
        {body}
      }}
      {more}
    }}"""


def job(text: str | bytes, **options: Any) -> Job:
    """A job of that module, float32[4] to float32[4]."""
    return Job(artifact(text) if isinstance(text, str) else text, (VECTOR,), (VECTOR,), **options)


def custom_call(name: str, attributes: str = "") -> str:
    return main(f"%0 = stablehlo.custom_call @{name}(%x) {{{attributes}}} : ({T}) -> {T}\n return %0 : {T}")


def doubling(levels: int) -> str:
    """Functions of which each calls the next one twice."""
    functions = [
        f"""func.func private @f{i}(%x: {T}) -> {T} {{
          %0 = func.call @f{i + 1}(%x) : ({T}) -> {T}
          %1 = func.call @f{i + 1}(%0) : ({T}) -> {T}
          return %1 : {T}
        }}"""
        for i in range(levels)
    ]
    last = (
        f"func.func private @f{levels}(%x: {T}) -> {T} {{ %0 = stablehlo.sine %x : {T}\n return %0 : {T} }}"
    )
    return main(
        f"%0 = func.call @f0(%x) : ({T}) -> {T}\n return %0 : {T}", more="\n".join([*functions, last])
    )


def nested(levels: int) -> str:
    """Cases within cases."""
    body = "stablehlo.return %x : " + T
    for i in range(levels):
        back = f"stablehlo.return %r{i} : {T}" if i + 1 < levels else f"return %r{i} : {T}"
        zero = f"%i{i} = stablehlo.constant dense<0> : tensor<i32>"
        body = f'{zero}\n %r{i} = "stablehlo.case"(%i{i}) ({{ {body} }}) : (tensor<i32>) -> {T}\n {back}'
    return main(body)


ENDLESS = main(f"""%0 = stablehlo.while(%i = %x) : {T}
  cond {{ %t = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %t : tensor<i1> }}
  do {{ %s = stablehlo.sine %i : {T}
    stablehlo.return %s : {T} }}
  return %0 : {T}""")

LARGE = "tensor<15000000x4xf32>"
HUNGRY = main(f"""%big = stablehlo.broadcast_in_dim %x, dims = [1] : ({T}) -> {LARGE}
  %0:3 = stablehlo.while(%a = %big, %b = %big, %c = %big) : {LARGE}, {LARGE}, {LARGE}
  cond {{ %t = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %t : tensor<i1> }}
  do {{ %s = stablehlo.sine %a : {LARGE}
    stablehlo.return %b, %c, %s : {LARGE}, {LARGE}, {LARGE} }}
  %1 = stablehlo.slice %0#0 [0:1, 0:4] : ({LARGE}) -> tensor<1x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<1x4xf32>) -> {T}
  return %2 : {T}""")
