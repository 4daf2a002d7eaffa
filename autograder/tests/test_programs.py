"""The program texts of exercise 5: valid StableHLO, and answered as JAX's own programs are."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

from autograder import workspace
from autograder.exercises.programs import KINDS, programs


def ran_fp8() -> Callable[[str], bool]:
    """The reference's."""
    spec = importlib.util.spec_from_file_location("reference_fp8", workspace.solutions() / "fp8_autocast.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found: Callable[[str], bool] = module.ran_fp8
    return found


@pytest.mark.parametrize("seed", range(5))
def test_texts_are_programs_and_the_reference_knows_them(seed: int) -> None:
    judge = ran_fp8()
    made = programs(np.random.default_rng(seed))
    assert len(made) == len(KINDS)
    for program in made:
        with mlir.make_ir_context():
            assert ir.Module.parse(program.text).operation.verify(), program.name
        assert judge(program.text) is program.ran_fp8, program.text


def _product(a: Any, b: Any) -> Any:
    return jnp.matmul(a.astype(jnp.float8_e4m3fn), b.astype(jnp.float8_e4m3fn))


def _cast_and_back(a: Any, b: Any) -> Any:
    return jnp.matmul(a.astype(jnp.float8_e5m2).astype(a.dtype), b)


@pytest.mark.parametrize(
    "function, right", [(_product, True), (jax.jit(_product), True), (_cast_and_back, False)]
)
def test_the_reference_reads_real_programs(function: Callable[..., Any], right: bool) -> None:
    a, b = jnp.ones((16, 32), jnp.bfloat16), jnp.ones((32, 8), jnp.bfloat16)
    assert ran_fp8()(jax.jit(function).lower(a, b).as_text()) is right
