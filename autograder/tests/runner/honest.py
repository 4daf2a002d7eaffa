"""Right answers in many styles, and what turns them into artifacts: what the runner must accept."""

# Written as learners write, without annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

from autograder.arrays import DTYPES, Array, Spec
from autograder.runner.client import Job

Function = Callable[..., Any]
QUERY, KEY = (2, 5, 4, 8), (2, 7, 4, 8)
GROUPED_KEY = (2, 7, 2, 8)
CUDNN = (
    "__cudnn$fmhaSoftmax",
    "__cudnn$fmhaSoftmaxBackward",
    "__cudnn$fmhaScaleBiasSoftmax",
    "xla_ffi_python_cpu_callback",
)


@dataclass(frozen=True)
class Case:
    """A function, the types of its inputs, and how it is lowered."""

    name: str
    function: Function
    ins: tuple[Spec, ...]
    cudnn: bool | None = None
    float32_only: bool = False
    float8: bool = False


def einsum(q, k, v):
    scores = jnp.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1])
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(scores, axis=-1), v)


def matmul(q, k, v):
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    weights = jnp.exp(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5)
    return (weights / weights.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


def one_head(q, k, v):
    return jax.nn.softmax(q @ k.T * q.shape[-1] ** -0.5) @ v


def per_head(q, k, v):
    return jax.vmap(jax.vmap(one_head, in_axes=1, out_axes=1))(q, k, v)


def dot_general(q, k, v):
    dims = (((3,), (3,)), ((0, 2), (0, 2)))
    scores = lax.dot_general(q, k, dims, precision="highest", preferred_element_type=jnp.float32)
    weights = jax.nn.softmax(scores * q.shape[-1] ** -0.5)
    out = lax.dot_general(weights, v.astype(jnp.float32), (((3,), (1,)), ((0, 1), (0, 2))))
    return out.transpose(0, 2, 1, 3).astype(q.dtype)


def half(q, k, v):
    return einsum(*(x.astype(jnp.float32) for x in (q, k, v))).astype(q.dtype)


def online(q, k, v):
    def step(carry, key_value):
        top, total, out = carry
        k1, v1 = key_value
        score = jnp.einsum("btnh,bnh->btn", q, k1) * q.shape[-1] ** -0.5
        new_top = jnp.maximum(top, score)
        old, now = jnp.exp(top - new_top), jnp.exp(score - new_top)
        return (new_top, total * old + now, out * old[..., None] + now[..., None] * v1[:, None]), None

    shape = q.shape[:3]
    start = jnp.full(shape, -jnp.inf), jnp.zeros(shape), jnp.zeros(q.shape)
    (_, total, out), _ = lax.scan(step, start, (k.swapaxes(0, 1), v.swapaxes(0, 1)))
    return out / total[..., None]


def looped(q, k, v):
    def body(i, out):
        return out.at[:, i].set(einsum(q[:, i][:, None], k, v)[:, 0])

    return lax.fori_loop(0, q.shape[1], body, jnp.zeros_like(q))


def while_rows(q, k, v):
    def step(state):
        i, out = state
        row = einsum(lax.dynamic_slice_in_dim(q, i, 1, 1), k, v)
        return i + 1, lax.dynamic_update_slice_in_dim(out, row, i, 1)

    return lax.while_loop(lambda state: state[0] < q.shape[1], step, (0, jnp.zeros_like(q)))[1]


def mapped(q, k, v):
    return lax.map(lambda x: einsum(*(y[None] for y in x))[0], (q, k, v))


def python_loops(q, k, v):
    rows = [[one_head(q[b, :, n], k[b, :, n], v[b, :, n]) for n in range(q.shape[2])] for b in range(2)]
    return jnp.stack([jnp.stack(row, axis=1) for row in rows])


def nested_jit(q, k, v):
    inner = jax.jit(one_head)
    return jnp.stack([jax.jit(jax.vmap(inner))(q[:, :, n], k[:, :, n], v[:, :, n]) for n in range(4)], 2)


def causal_where(q, k, v):
    scores = jnp.einsum("btnh,bsnh->bnts", q, k) * q.shape[-1] ** -0.5
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)), v)


def cond(q, k, v):
    return lax.cond(jnp.isfinite(q).all(), einsum, lambda q, k, v: q * 0, q, k, v)


def library(q, k, v, **options):
    return jax.nn.dot_product_attention(q, k, v, **options)


def custom_gradient(q, k, v):
    f = jax.custom_vjp(einsum)
    f.defvjp(lambda *a: (einsum(*a), a), lambda a, g: jax.vjp(einsum, *a)[1](g))
    return f(q, k, v)


def repeated(q, k, v):
    g = q.shape[2] // k.shape[2]
    return einsum(q, jnp.repeat(k, g, axis=2), jnp.repeat(v, g, axis=2))


def grouped(q, k, v):
    b, t, n, h = q.shape
    q = q.reshape(b, t, k.shape[2], -1, h)
    weights = jax.nn.softmax(jnp.einsum("btkgh,bskh->bkgts", q, k) * h**-0.5)
    return jnp.einsum("bkgts,bskh->btkgh", weights, v).reshape(b, t, n, h)


def group_loop(q, k, v):
    g = q.shape[2] // k.shape[2]
    parts = [einsum(q[:, :, n : n + 1], k[:, :, [n // g]], v[:, :, [n // g]]) for n in range(q.shape[2])]
    return jnp.concatenate(parts, axis=2)


def batched_jit(q, k, v):
    """cuDNN inside nested jits, an added axis and a swapped one."""
    inner = jax.jit(functools.partial(library, implementation="cudnn"))
    return jax.jit(lambda *a: inner(*a))(q.swapaxes(1, 2).swapaxes(1, 2), k, v)


def unbatched(q, k, v):
    return library(q[0], k[0], v[0], implementation="cudnn")[None]


def vjp(function: Function) -> Function:
    return lambda q, k, v, g: jax.vjp(function, q, k, v)[1](g)


def module(x):
    layer = nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8)
    variables = jax.eval_shape(layer.init, jax.random.key(0), x)
    leaves, tree = jax.tree.flatten(variables)
    filled = [jnp.full(leaf.shape, 0.1) + jnp.arange(leaf.shape[-1]) / 9 for leaf in leaves]
    return layer.apply(jax.tree.unflatten(tree, filled), x)


def quantize(x, scale):
    return jnp.clip(x.astype(jnp.float32) * scale, -448, 448).astype(jnp.float8_e4m3fn)


def delayed_scale(history, scale):
    amax = jnp.max(history)
    new = (448.0 / amax) / 2.0
    return jnp.where((amax > 0) & jnp.isfinite(amax) & jnp.isfinite(new), new, scale)


def odds_and_ends(x):
    y = jnp.tanh(x) + jax.nn.gelu(x) + jax.nn.logsumexp(x, -1, keepdims=True) + jnp.cumsum(x, -1)
    return y + jnp.var(x) + x**2 + jnp.floor(x) % 2 + lax.rsqrt(1 + x * x) + jnp.pad(x, 1)[1:-1, 1:-1]


def types(shape: tuple[int, ...], key: tuple[int, ...] | None = None, dtype: str = "float32") -> Any:
    key = key or shape
    return Spec(shape, dtype), Spec(key, dtype), Spec(key, dtype)


def cases() -> Iterator[Case]:
    plain = [
        einsum, matmul, per_head, dot_general, online, looped, while_rows, mapped, python_loops, nested_jit,
        causal_where, cond, library, custom_gradient,
    ]  # fmt: skip
    cotangent = (Spec(QUERY, "float32"),)
    for f in plain:
        yield Case(f.__name__, f, types(QUERY, KEY), float32_only=True)
        if f is not while_rows:
            yield Case(f"{f.__name__} gradient", vjp(f), types(QUERY, KEY) + cotangent, float32_only=True)
    for f in (repeated, grouped, group_loop, library):
        yield Case(f"{f.__name__} GQA", f, types(QUERY, GROUPED_KEY), float32_only=True)
    for dtype in ("bfloat16", "float16"):
        for f in (half, dot_general, library, vjp(half)):
            ins = types(QUERY, KEY, dtype)
            name = getattr(f, "__name__", "")
            yield Case(f"{name} {dtype}", f, ins + (Spec(QUERY, dtype),) * (name == "<lambda>"))
        for causal in (False, True):
            cudnn = functools.partial(library, implementation="cudnn", is_causal=causal)
            yield Case(f"cudnn {dtype} {causal}", cudnn, types(QUERY, KEY, dtype), cudnn=causal)
            yield Case(f"cudnn GQA {dtype} {causal}", cudnn, types(QUERY, GROUPED_KEY, dtype), cudnn=causal)
    yield Case("cudnn jit", batched_jit, types(QUERY, KEY, "bfloat16"), cudnn=False)
    yield Case("cudnn unbatched", unbatched, types((1, 5, 4, 8), (1, 7, 4, 8), "bfloat16"), cudnn=False)
    cudnn = functools.partial(library, implementation="cudnn")
    yield Case("cudnn vmap", jax.vmap(cudnn), types((3, *QUERY), (3, *KEY), "bfloat16"), cudnn=False)
    yield Case(
        "cudnn long name", lambda q, k, v: cudnn(q, k, v, scale=0.5), types(QUERY, KEY, "float16"), False
    )
    yield Case("flax", module, (Spec((2, 3, 8), "float32"),), float32_only=True)
    yield Case("quantize", quantize, (Spec((3, 8), "bfloat16"), Spec((), "float32")), float8=True)
    yield Case("delayed scale", delayed_scale, (Spec((16,), "float32"), Spec((), "float32")))
    yield Case("odds and ends", odds_and_ends, (Spec((3, 8), "float32"),))


@contextmanager
def gpu() -> Iterator[None]:
    """Answer the capability probes of JAX's cuDNN binding for a Hopper GPU."""
    probes = {"check_cudnn_version": 91900, "check_compute_capability": True,
              "is_cuda_compute_capability_equal": False}  # fmt: skip
    with mock.patch.multiple(
        "jax._src.cudnn.fused_attention_stablehlo",
        **{name: mock.Mock(return_value=value) for name, value in probes.items()},
    ):
        yield


def lower(case: Case, platform: str = "cuda") -> export.Exported:
    args = [jax.ShapeDtypeStruct(spec.shape, DTYPES[spec.dtype]) for spec in case.ins]
    checks = [export.DisabledSafetyCheck.custom_call(name) for name in CUDNN]
    with gpu():
        f = jax.jit(case.function, keep_unused=True)
        return export.export(f, platforms=[platform], disabled_checks=checks)(*args)


def job(case: Case, platform: str = "cuda") -> Job:
    exported = lower(case, platform)
    outs = tuple(Spec(aval.shape, aval.dtype.name) for aval in exported.out_avals)
    return Job(exported.mlir_module_serialized, case.ins, outs, case.cudnn, case.float32_only, case.float8)


def inputs(ins: tuple[Spec, ...], seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(spec.shape).astype(DTYPES[spec.dtype]) for spec in ins]


def on_cpu(case: Case) -> Case:
    """The same case without cuDNN, for what JAX itself computes on a CPU."""
    return replace(case, cudnn=None)
