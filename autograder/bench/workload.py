"""What is to be measured: a function, its inputs, and the work that it must do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.arrays import Spec
from autograder.bench.shapes import Shape

Function = Callable[..., Any]


@dataclass(frozen=True)
class Built:
    """`function(*weights, *inputs)`, to be compiled; `weights` are the same in each call.

    `answer(*inputs)` is right, and the function's error is told against it. `sharding` is each input's.
    """

    function: Function
    weights: tuple[Any, ...] = ()
    answer: Function | None = None
    sharding: Any = None


@dataclass(frozen=True)
class Workload:
    """What is known of a call before it is built. `build` may import much, refuse, or take memory."""

    sweep: str
    variant: str
    shape: Shape
    dtype: str
    causal: bool
    build: Callable[[], Built]
    specs: Sequence[Spec]
    flops: float
    least_bytes: int
    cache_bytes: int | None = None
    devices: int = 1
    note: str = ""

    def __str__(self) -> str:
        s = self.shape
        causal = " causal" if self.causal else ""
        sizes = f"B={s.B} T={s.T} S={s.S} N={s.N} K={s.K} H={s.H}"
        return f"{self.sweep}: {self.variant} {self.dtype}{causal} {sizes}"
