"""What each `grade bench` name measures, as workloads; smaller on a CPU and with --quick."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from autograder.bench import precision, sharding
from autograder.bench.shapes import Shape
from autograder.bench.variants import attention
from autograder.bench.workload import Workload

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Scope:
    """How much to measure: what a GPU bears, or a CPU; and less of it for a first look."""

    gpu: bool
    quick: bool

    def choose(self, full: Sequence[T], quick: Sequence[T], cpu: Sequence[T]) -> Sequence[T]:
        if not self.gpu:
            return cpu
        return quick if self.quick else full


def workloads(name: str, scope: Scope) -> list[Workload]:
    """The workloads of a sweep, in the order in which they run."""
    return list(SWEEPS[name](scope))


def coarse_first(found: Sequence[Workload]) -> list[Workload]:
    """The smallest size, the largest, the one in the middle, and so on, so that any beginning spans all.

    Where both B and T vary, each T is spanned by itself, and they take turns.
    """
    shapes = dict.fromkeys(each.shape for each in found)
    lengths = dict.fromkeys(shape.T for shape in shapes) if len({shape.B for shape in shapes}) > 1 else [None]
    series = [[shape for shape in shapes if length in (None, shape.T)] for length in lengths]
    turns = itertools.zip_longest(*map(_coarse_first, series))
    return [each for turn in turns for shape in turn if shape for each in found if each.shape == shape]


def _coarse_first(sizes: Sequence[Shape]) -> list[Shape]:
    order = dict.fromkeys((0, len(sizes) - 1))
    step = len(sizes)
    while step > 1:
        step = (step + 1) // 2
        order |= dict.fromkeys(at for at in range(0, len(sizes), step) if at not in order)
    return [sizes[at] for at in order]


def _default(scope: Scope) -> Iterator[Workload]:
    shape = Shape.square(4, 128, 8, 64)
    for causal in (False, True):
        yield attention("default", "naive", shape, "float32", causal)
        yield attention("default", "naive", shape, "bfloat16", causal)
        yield attention("default", "XLA", shape, "float32", causal)
        yield attention("default", "XLA", shape, "bfloat16", causal)
        yield attention("default", "cuDNN", shape, "float32", causal)
        yield attention("default", "cuDNN", shape, "bfloat16", causal)
        yield attention("default", "TE", shape, "bfloat16", causal)


def _seq(scope: Scope) -> Iterator[Workload]:
    full = [2**n for n in range(6, 15)]
    for length in scope.choose(full, (64, 1024, 4096), (64, 128, 256)):
        shape = Shape.square(4, length, 8, 64)
        yield attention("seq", "naive", shape)
        yield attention("seq", "XLA", shape, "float32")
        yield attention("seq", "XLA", shape)
        yield attention("seq", "cuDNN", shape)


def _batch(scope: Scope) -> Iterator[Workload]:
    for length in scope.choose((256, 4096), (256, 4096), (64, 256)):
        for batch in scope.choose([2**n for n in range(9)], (1, 4, 16, 256), (1, 2, 4)):
            shape = Shape.square(batch, length, 8, 64)
            for variant in ("naive", "XLA", "cuDNN"):
                yield attention("batch", variant, shape)


def _heads(scope: Scope) -> Iterator[Workload]:
    [(batch, length, heads, size)] = scope.choose(
        [(4, 2048, 32, 128)], [(4, 2048, 32, 128)], [(1, 128, 8, 32)]
    )
    for groups in sorted({heads, heads // 4, heads // 8, 1}, reverse=True):
        shape = Shape(batch, length, length, heads, groups, size)
        for variant in ("repeat", "XLA", "cuDNN"):
            yield attention("heads", variant, shape, cache_bytes=shape.cache_bytes("bfloat16"))


def _headdim(scope: Scope) -> Iterator[Workload]:
    sizes = scope.choose((*range(8, 265, 8), 60, 100, 512), (8, 64, 100, 128, 256, 264), (8, 64))
    for size in sorted(sizes):
        yield attention("headdim", "cuDNN", Shape.square(4, 2048 if scope.gpu else 128, 8, size))


def _te(scope: Scope) -> Iterator[Workload]:
    full = [2**n for n in range(7, 14)]
    for length in scope.choose(full, (128, 2048), (128, 256)):
        for variant in ("XLA", "cuDNN", "TE"):
            yield attention("te", variant, Shape.square(4, length, 8, 64), causal=True)


def _fp8(scope: Scope) -> Iterator[Workload]:
    for hidden in scope.choose((1024, 2048, 4096, 8192), (1024, 2048), (256,)):
        for recipe in precision.RECIPES:
            yield precision.module_workload(recipe, 4, 2048 if scope.gpu else 128, hidden)
    for length in scope.choose((2048, 8192, 16384), (2048,), (128,)):
        yield from precision.calls(4, length, 8)


def _decode(scope: Scope) -> Iterator[Workload]:
    full = [2**n for n in range(9, 17)]
    for cached in scope.choose(full, (512, 4096, 65536), (128, 512)):
        shape = Shape(4, 1, cached, 32, 4, 128)
        for variant in ("repeat", "grouped", "XLA", "cuDNN"):
            yield attention("decode", variant, shape, cache_bytes=shape.cache_bytes("bfloat16"))


def _two_gpus(scope: Scope) -> Iterator[Workload]:
    if not scope.gpu:
        yield from sharding.workloads("XLA", Shape.square(4, 256, 8, 64), "float32")
        return
    for length in scope.choose((1024, 4096, 16384), (4096,), ()):
        yield from sharding.workloads("cuDNN", Shape.square(8, length, 16, 128), "bfloat16")


SWEEPS: dict[str, Callable[[Scope], Iterator[Workload]]] = {
    "seq": _seq,
    "default": _default,
    "heads": _heads,
    "decode": _decode,
    "te": _te,
    "fp8": _fp8,
    "headdim": _headdim,
    "two-gpus": _two_gpus,
    "batch": _batch,
}
