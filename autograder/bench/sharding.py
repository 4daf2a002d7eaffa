"""The cuDNN call spread over the GPUs of one host, by batch or by head."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from autograder.bench.rows import Row
from autograder.bench.shapes import Shape
from autograder.bench.variants import VARIANTS, attention
from autograder.bench.workload import Built, Workload

AXES = {"batch": PartitionSpec("d"), "head": PartitionSpec(None, None, "d")}


def workloads(variant: str, shape: Shape, dtype: str) -> Sequence[Workload]:
    """One device, then powers of two of them up to all, by batch and by head."""
    there = len(jax.local_devices())
    found = [attention("two-gpus", f"{variant}, batch", shape, dtype, build=_builder(variant, "batch", 1))]
    if there == 1:
        note = "two GPUs are needed to go on; here is one"
        return [attention("two-gpus", f"{variant}, batch", shape, dtype, build=found[0].build, note=note)]
    found += [attention("two-gpus", f"{variant}, head", shape, dtype, build=_builder(variant, "head", 1))]
    count = 2
    while count <= there:
        for axis in AXES:
            build = _builder(variant, axis, count)
            found.append(
                attention("two-gpus", f"{variant}, {axis}", shape, dtype, build=build, devices=count)
            )
        count *= 2
    return found


def with_speedup(rows: Sequence[Row]) -> list[Row]:
    """The rows, each with its speed-up over the one of the same work on one device."""
    alone = {(row.variant, row.T): row.amortised_ms for row in rows if row.devices == 1}

    def speedup(row: Row) -> float | None:
        base = alone.get((row.variant, row.T))
        return base / row.amortised_ms if base and row.amortised_ms else None

    return [dataclasses.replace(row, speedup=speedup(row)) for row in rows]


def _builder(variant: str, axis: str, count: int) -> functools.partial[Built]:
    return functools.partial(_build, variant, axis, count)


def _build(variant: str, axis: str, count: int) -> Built:
    mesh = Mesh(np.array(jax.local_devices()[:count]), ("d",))
    function = functools.partial(VARIANTS[variant], causal=False)
    return Built(function, sharding=NamedSharding(mesh, AXES[axis]))
