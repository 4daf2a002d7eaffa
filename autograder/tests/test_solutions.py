"""The solutions beside JAX's own library, on a few inputs; and that the corpus of submissions is complete.

That the grader passes the right ones of the corpus and fails the wrong ones is tested end to end elsewhere.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from autograder import author
from autograder.catalog import EXERCISES

pytestmark = pytest.mark.slow
SUBMISSIONS = Path(__file__).parent / "submissions"
NAMES = [exercise.name for exercise in EXERCISES]
Load = Callable[[str], Any]


@pytest.fixture
def load() -> Iterator[Load]:
    """Loads a solution by its name, registered in sys.modules while the test runs."""
    loaded: list[str] = []

    def load(name: str) -> Any:
        spec = importlib.util.spec_from_file_location(name, author.ROOT / "solutions" / f"{name}.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loaded.append(name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in loaded:
        del sys.modules[name]


def draw(*shapes: tuple[int, ...], dtype: Any = jnp.float32, seed: int = 0) -> list[jax.Array]:
    rng = np.random.default_rng(seed)
    return [jnp.asarray(rng.standard_normal(shape), dtype) for shape in shapes]


def close(out: jax.Array, want: jax.Array, limit: float) -> None:
    assert out.shape == want.shape and out.dtype == want.dtype
    np.testing.assert_allclose(np.asarray(out, np.float32), np.asarray(want, np.float32), rtol=0, atol=limit)


def agree(function: Callable[..., jax.Array], heads: tuple[int, int], *, is_causal: bool = False) -> None:
    """Values and gradients in float32 with T < S, values in bfloat16 with T > S, against the library's."""
    want, want_half = expected(heads, is_causal)
    for one, two in zip(_with_gradient(function, heads), want, strict=True):
        close(one, two, 1e-5)
    close(jax.jit(function)(*_half(heads)), want_half, 2e-2)


@functools.cache
def expected(heads: tuple[int, int], is_causal: bool) -> tuple[list[jax.Array], jax.Array]:
    library = functools.partial(jax.nn.dot_product_attention, is_causal=is_causal)
    return _with_gradient(library, heads), jax.jit(library)(*_half(heads))


def _with_gradient(attention: Callable[..., jax.Array], heads: tuple[int, int]) -> list[jax.Array]:
    def both(cotangent: jax.Array, *arrays: jax.Array) -> list[jax.Array]:
        output, pull = jax.vjp(attention, *arrays)
        return [output, *pull(cotangent)]

    n, k = heads
    return jax.jit(both)(*draw((2, 5, n, 8), (2, 5, n, 8), (2, 7, k, 8), (2, 7, k, 8)))  # type: ignore[no-any-return]


def _half(heads: tuple[int, int]) -> list[jax.Array]:
    n, k = heads
    return draw((2, 6, n, 8), (2, 3, k, 8), (2, 3, k, 8), dtype=jnp.bfloat16)


def test_naive_attention(load: Load) -> None:
    function = load("naive_attention").naive_attention
    agree(function, (3, 3))
    with pytest.raises((ValueError, TypeError)):
        function(*draw((2, 5, 4, 8), (1, 6, 4, 8), (1, 6, 4, 8)))


def test_attention_with_fallback_on_a_cpu(load: Load) -> None:
    module = load("cudnn_attention")

    def function(*arrays: jax.Array) -> jax.Array:
        run = module.attention_with_fallback(*arrays, is_causal=True)
        assert run.backend == "xla" and run.reason
        return run.output  # type: ignore[no-any-return]

    agree(function, (4, 2), is_causal=True)
    with pytest.raises((ValueError, TypeError)):
        module.attention_with_fallback(*draw((2, 5, 8, 8), (2, 6, 3, 8), (2, 6, 3, 8)))


def test_causal_check(load: Load) -> None:
    module = load("causal_check")
    agree(module.causal_attention, (2, 2), is_causal=True)
    arrays = draw((2, 6, 2, 8), (2, 6, 2, 8), (2, 6, 2, 8))
    first, last = module.first_last_difference(*arrays)
    causal, full = (jax.nn.dot_product_attention(*arrays, is_causal=causal) for causal in (True, False))
    gap = jnp.abs(causal - full)
    assert float(first) == pytest.approx(float(gap[:, 0].max()), abs=1e-5)
    assert float(last) == pytest.approx(0, abs=1e-5)


def one_too_far(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    mask = jnp.arange(key.shape[1]) <= jnp.arange(query.shape[1])[:, None] + 1
    return jax.nn.dot_product_attention(query, key, value, mask=mask)


def masked_after_softmax(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    scores = jnp.einsum("btnh,bsnh->bnts", query, key) / query.shape[-1] ** 0.5
    weights = jax.nn.softmax(scores.astype(jnp.float32)) * jnp.tri(query.shape[1], key.shape[1])
    return jnp.einsum("bnts,bsnh->btnh", weights, value).astype(query.dtype)


@pytest.mark.parametrize(("t", "s", "dtype"), [(3, 5, jnp.float32), (4, 4, jnp.bfloat16)])
def test_is_causal(load: Load, t: int, s: int, dtype: Any) -> None:
    module = load("causal_check")
    arrays = draw((2, t, 2, 8), (2, s, 2, 8), (2, s, 2, 8), dtype=dtype)
    sound = jax.jit(lambda *arrays: jax.nn.dot_product_attention(*arrays, is_causal=True))
    assert module.is_causal(sound, *arrays)
    for leak in (one_too_far, masked_after_softmax):
        assert not module.is_causal(jax.jit(leak), *arrays)


def test_grouped_query(load: Load) -> None:
    module = load("grouped_query")
    agree(module.grouped_query_attention, (6, 2))
    with pytest.raises(ValueError, match=r"8.*3"):
        module.grouped_query_attention(*draw((2, 5, 8, 8), (2, 6, 3, 8), (2, 6, 3, 8)))
    assert module.kv_cache_bytes(2, 3, 5, 7, jnp.bfloat16) == 840
    assert module.kv_cache_bytes(2, 3, 5, 7, "float8_e4m3fn") == 420


def test_fp8_autocast(load: Load) -> None:
    module = load("fp8_autocast")
    for capability in ("8.0", "gfx942", None):
        device = types.SimpleNamespace(platform="gpu", compute_capability=capability)
        if capability is None:
            del device.compute_capability
        support = module.fp8_support(device)
        assert support.ok is False and "capability" in support.reason
    assert "cpu" in module.fp8_support(jax.devices()[0], op="attention").reason

    for history, scale in (([1.0, 4.0, 2.0], 56.0), ([0.0, 0.0], 3.0), ([1.0, np.nan], 3.0), ([1e-38], 3.0)):
        out = module.delayed_scale(jnp.array(history, jnp.float32), jnp.float32(3.0), margin=1)
        assert float(out) == scale
    x = jnp.array([0.3, 1000.0, -1000.0, np.nan], jnp.float32)
    out = module.quantize_e4m3(x, jnp.float32(2.0))
    assert out.dtype == jnp.float8_e4m3fn
    np.testing.assert_array_equal(np.asarray(out, np.float32), [0.625, 448.0, -448.0, np.nan])

    def product(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.dot(
            x.astype(jnp.float8_e4m3fn), y.astype(jnp.float8_e4m3fn), preferred_element_type=x.dtype
        )

    def cast(x: jax.Array, y: jax.Array) -> jax.Array:
        return x.astype(jnp.float8_e4m3fn).astype(x.dtype) @ y

    for function, ran in ((product, True), (cast, False)):
        for debug_info in (False, True):
            text = jax.jit(function).lower(jnp.ones((8, 8)), jnp.ones((8, 8))).as_text(debug_info=debug_info)
            assert module.ran_fp8(text) is ran


@pytest.mark.parametrize("name", NAMES)
def test_corpus_is_complete(name: str) -> None:
    """Four right styles at least, and for every check that runs here a wrong answer that names it."""
    assert len(list((SUBMISSIONS / "right" / name).glob("*.py"))) >= 4
    exercise = next(exercise for exercise in EXERCISES if exercise.name == name)
    graded = {check.id for check in exercise.checks if not check.needs}
    named = set()
    for path in sorted((SUBMISSIONS / "wrong" / name).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert set(exercise.functions) <= defined, path
        mistake, fails = (ast.get_docstring(tree) or "").split("\n\n")
        checks = set(fails.removeprefix("Fails: ").split(", "))
        assert mistake.endswith(".") and checks <= graded, path
        named |= checks
    assert named == graded
