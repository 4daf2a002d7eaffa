"""Valid modules, compiled and run: all in one XLA program, or one program each."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax._src.lax import linalg

from autograder.arrays import DTYPES, Array, Spec
from autograder.runner import allowed
from autograder.runner.job import Job
from autograder.runner.refusal import Refusal, large, shown
from autograder.runner.validate import Valid

# Calling an export loads SciPy's LAPACK, a quarter of a second, and no artifact that passes can use it.
linalg.initialize_lapack = lambda: None


@dataclasses.dataclass(frozen=True)
class Entry:
    """A job that passed, and its validated module."""

    job: Job
    valid: Valid


@dataclasses.dataclass(frozen=True)
class Program:
    """One compiled XLA program that runs several entries."""

    entries: tuple[Entry, ...]
    compiled: Any

    @property
    def temp_bytes(self) -> int:
        return int(self.compiled.memory_analysis().temp_size_in_bytes)

    @functools.cached_property
    def custom_calls(self) -> tuple[str, ...]:
        """The names of the custom calls that are left after XLA's passes."""
        return tuple(sorted(set(re.findall(r'custom_call_target="([^"]+)"', self._text))))

    @functools.cached_property
    def float8_calls(self) -> tuple[str, ...]:
        """Of these, the ones that take an f8 operand."""
        return float8_calls(self._text)

    @functools.cached_property
    def _text(self) -> str:
        return str(self.compiled.as_text())

    def run(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """The outputs of each entry; raises what XLA raises."""
        outputs = self.compiled([[jax.device_put(array) for array in arrays] for arrays in inputs])
        return [[np.asarray(array) for array in arrays] for arrays in outputs]


def float8_calls(hlo: str) -> tuple[str, ...]:
    """The targets of the custom calls in a compiled program's text that take an f8 operand."""
    operands = r"operand_layout_constraints=\{((?:[^{}]|\{[^{}]*\})*)\}"
    found = re.findall(rf'custom_call_target="([^"]+)", {operands}', hlo)
    return tuple(sorted({name for name, types in found if re.search(r"\bf8e", types)}))


def compile_program(entries: Sequence[Entry]) -> Program:
    """Compile entries into one program; Refusal where XLA cannot, or where it would take too much memory."""
    exports = [_exported(entry) for entry in entries]

    def everything(inputs: list[list[jax.Array]]) -> list[Any]:
        return [exported.call(*arrays) for exported, arrays in zip(exports, inputs, strict=True)]

    shapes = [[_aval(spec) for spec in entry.job.ins] for entry in entries]
    try:
        program = Program(tuple(entries), jax.jit(everything).lower(shapes).compile())
    except Exception as error:  # XLA's own types, which differ between versions
        raise Refusal("compile", f"XLA cannot compile the program: {shown(str(error))}.") from None
    if program.temp_bytes > allowed.MAX_TEMP_BYTES:
        raise large(
            f"it needs {program.temp_bytes:,} bytes of temporary memory, of {allowed.MAX_TEMP_BYTES:,}"
        )
    return program


def _exported(entry: Entry) -> export.Exported:
    """The validated bytes inside an export of our own, whose types are those that were validated."""
    own = _own_export(entry.job.ins, entry.job.outs)
    return dataclasses.replace(own, mlir_module_serialized=entry.valid.module)


@functools.lru_cache(maxsize=256)
def _own_export(ins: tuple[Spec, ...], outs: tuple[Spec, ...]) -> export.Exported:
    def zeros(*_: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(jnp.zeros(spec.shape, DTYPES[spec.dtype]) for spec in outs)

    return export.export(jax.jit(zeros, keep_unused=True))(*map(_aval, ins))


def _aval(spec: Spec) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(spec.shape, DTYPES[spec.dtype])
