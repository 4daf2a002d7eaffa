"""`delayed_scale` and `quantize_e4m3`, judged by their formulas in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from autograder import diagnosis
from autograder.arrays import DTYPES, Array, Spec
from autograder.plan import Arrays, Problem, Trace

E4M3_MAX, E5M2_MAX = 448.0, 57344.0
SCALE = Spec((), "float32")
FLOAT = 43.7
"""A scale as a float of Python: by it bfloat16 stays bfloat16, whose products round otherwise."""
TOLERANCE = 1e-6
HISTORIES: dict[str, Callable[[Array], Array]] = {
    "steady": lambda amax: amax,
    "spike in the middle": lambda amax: _with(amax, amax.size // 2, 40 * amax.max()),
    "zero": lambda amax: amax * 0,
    "negative": lambda amax: -amax,
    "infinite": lambda amax: _with(amax, 0, np.inf),
    "NaN": lambda amax: _with(amax, 0, np.nan),
    "tiny": lambda amax: amax * 1e-37,
}
TENSORS: dict[str, Callable[[Array], Array]] = {
    "normal": lambda x: x,
    "too large": lambda x: x * 4000,
    "small": lambda x: x * 1e-4,
    "infinite": lambda x: _with(_with(x, 0, np.inf), 1, -np.inf),
    "NaN": lambda x: _with(x, 2, np.nan),
}
OPTIONS: tuple[tuple[int, dict[str, float]], ...] = (
    (16, {}),
    (5, {"fp8_max": E5M2_MAX}),
    (1024, {"margin": 3}),
)


@cache
def delayed_scale_traces() -> tuple[Trace, ...]:
    plain = (_delayed_scale(length, options) for length, options in OPTIONS)
    return (*plain, _delayed_scale(4, {}, FLOAT))


@cache
def quantize_traces() -> tuple[Trace, ...]:
    plain = (_quantize(Spec((8, 16), "float32")), _quantize(Spec((3, 5, 7), "bfloat16")))
    return (*plain, _quantize(Spec((16, 32), "bfloat16"), FLOAT))


def _delayed_scale(length: int, options: dict[str, float], fixed: float | None = None) -> Trace:
    """`fixed`: the scale, where it is no array."""
    history = Spec((length,), "float32")
    ins = (history,) if fixed else (history, SCALE)
    shown = "".join(f", {name}={value:g}" for name, value in options.items())
    about = f"delayed_scale({history}, {_shown(fixed)}{shown})"

    def draw(rng: np.random.Generator, name: str) -> Arrays:
        amax = np.asarray(rng.uniform(0.5, 9.0, length)).astype(np.float32)
        return (HISTORIES[name](amax), np.asarray(rng.uniform(0.1, 100), np.float32))[: len(ins)]

    def judge(name: str, given: Arrays, outs: Arrays, reference: Arrays) -> Problem | None:
        amax, scale = given[0].max(), _scale(given, fixed)
        with np.errstate(all="ignore"):
            fresh = (
                np.float32(options.get("fp8_max", E4M3_MAX))
                / amax
                / np.float32(2.0) ** options.get("margin", 0)
            )
        want = fresh if amax > 0 and np.isfinite(amax) and np.isfinite(fresh) else scale
        error = abs(float(outs[0]) - float(want))
        if error <= TOLERANCE * abs(float(want)):
            return None
        detail = f"{about}, a history that is {name}: amax {amax:.6g}, old scale {scale:.6g}: "
        detail += f"expected {want:.6g}, got {outs[0]:.6g}"
        found = diagnosis.explain_scale(float(outs[0]), given[0], float(scale), **options)
        return Problem(detail, found.sentence, found.next_step) if found else Problem(detail)

    return Trace(
        key=about,
        about=about,
        step={
            "kind": "trace",
            "function": "delayed_scale",
            "args": [spec.to_json() for spec in ins],
            "kwargs": {**options, **_fixed(fixed)},
        },
        ins=ins,
        outs=(SCALE,),
        rounds=tuple(HISTORIES),
        draw=draw,
        judge=judge,
    )


def _quantize(spec: Spec, fixed: float | None = None) -> Trace:
    """`fixed`: the scale, where it is no array."""
    ins = (spec,) if fixed else (spec, SCALE)
    about = f"quantize_e4m3({spec}, {_shown(fixed)})"
    out = Spec(spec.shape, "float8_e4m3fn")

    def draw(rng: np.random.Generator, name: str) -> Arrays:
        x = TENSORS[name](np.asarray(rng.standard_normal(spec.shape)).reshape(-1)).reshape(spec.shape)
        return (x.astype(DTYPES[spec.dtype]), np.asarray(rng.uniform(20, 90), np.float32))[: len(ins)]

    def judge(name: str, given: Arrays, outs: Arrays, reference: Arrays) -> Problem | None:
        x, scale = given[0], _scale(given, fixed)
        with np.errstate(all="ignore"):
            want = np.clip(x.astype(np.float32) * scale, -E4M3_MAX, E4M3_MAX).astype(DTYPES[out.dtype])
        got_wide, want_wide = outs[0].astype(np.float32), want.astype(np.float32)
        same = (got_wide == want_wide) | (np.isnan(got_wide) & np.isnan(want_wide))
        if same.all():
            return None
        index = tuple(int(i) for i in np.argwhere(~same)[0])
        count = int((~same).sum())
        return Problem(
            f"{about}, {name} entries: {count} of {same.size} differ, the first at {list(index)}: "
            f"x {float(x[index]):.6g} · scale {float(scale):.6g}: "
            f"expected {want_wide[index]:g}, got {got_wide[index]:g}"
        )

    return Trace(
        key=about,
        about=about,
        step={
            "kind": "trace",
            "function": "quantize_e4m3",
            "args": [spec.to_json() for spec in ins],
            "kwargs": _fixed(fixed),
        },
        ins=ins,
        outs=(out,),
        rounds=tuple(TENSORS),
        draw=draw,
        judge=judge,
        float8=True,
    )


def _shown(fixed: float | None) -> str:
    return f"scale={fixed}" if fixed else "scale"


def _fixed(fixed: float | None) -> dict[str, float]:
    return {"scale": fixed} if fixed else {}


def _scale(given: Arrays, fixed: float | None) -> Array:
    return np.asarray(fixed, np.float32) if fixed else given[1]


def _with(array: Array, place: int, value: float) -> Array:
    array = array.copy()
    array[place] = value
    return array
