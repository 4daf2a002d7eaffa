"""One row: builds a workload, compiles it, and times it. What goes wrong is the row's note."""

from __future__ import annotations

import functools
import itertools
import re
import statistics
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograder.arrays import DTYPES
from autograder.bench.machine import Machine
from autograder.bench.rows import Row
from autograder.bench.workload import Built, Workload
from autograder.runner import clocks

OUT_OF_MEMORY = "out of memory"


@dataclass(frozen=True)
class Effort:
    """How often each program runs; less often where `calls * rounds` of them would take over SLOW ms."""

    calls: int
    rounds: int

    def bearable(self, ms: float) -> Effort:
        """At least 4 calls, of a program that takes `ms` each."""
        calls = max(4, min(self.calls, int(SLOW / ms)))
        return Effort(calls, max(1, min(self.rounds, int(SLOW / ms / calls))))


SLOW = 400.0
QUICK, FULL = Effort(calls=8, rounds=1), Effort(calls=16, rounds=3)
# FP8 or not, the kernels are cuDNN's: through JAX's binding, or through TransformerEngine's.
CUDNN = re.compile(r"__cudnn\$fmha|te_fused_attn_forward")


def measure(workload: Workload, machine: Machine, effort: Effort) -> Row:
    """The workload's row. Raises nothing but what ends the process; warnings are not even a note."""
    shape = workload.shape
    empty = Row(
        workload.sweep,
        workload.variant,
        workload.dtype,
        workload.causal,
        *(shape.B, shape.T, shape.S, shape.N, shape.K, shape.H, workload.devices),
        cache_bytes=workload.cache_bytes,
        note=workload.note,
    )
    found: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # TransformerEngine's about itself, mostly
            _measure(workload, machine, effort, found)
    except Exception as error:  # cuDNN, TE, XLA and our clock refuse with types of their own
        found["note"] = _why(error, found.get("temp_bytes"))
    notes = "; ".join(filter(None, (workload.note, found.pop("note", ""))))
    return Row(**{**_fields(empty), **found, "note": notes})


def _measure(workload: Workload, machine: Machine, effort: Effort, found: dict[str, Any]) -> None:
    """Fill `found` with the columns of a row, as far as it gets."""
    built = workload.build()
    compiled = _compile(workload, built)
    text = compiled.as_text()
    found["cudnn"] = CUDNN.search(text) is not None
    found["float8"] = re.search(r"\bf8e[45]m", text) is not None
    memory = compiled.memory_analysis()
    found["temp_bytes"] = int(memory.temp_size_in_bytes)
    _check_room(memory, machine)
    program = functools.partial(compiled, *built.weights)
    inputs = clocks.Inputs(workload.specs, sharding=built.sharding)
    if built.answer is not None:
        [arrays] = inputs.sets(0, 1)
        found["error"] = _error(program(*arrays), built.answer(*arrays))
    found |= _times(program, inputs, machine, effort, workload.devices)
    ms = found.get("device_ms", found["amortised_ms"])
    found["tflops"] = workload.flops / ms / 1e9
    found["peak_share"] = found["tflops"] / machine.matrix_tflops / workload.devices
    found["gbytes_s"] = workload.least_bytes / ms / 1e6
    found["bandwidth_share"] = found["gbytes_s"] / machine.copy_gbytes_s / workload.devices


def _compile(workload: Workload, built: Built) -> Any:
    avals = [
        jax.ShapeDtypeStruct(spec.shape, DTYPES[spec.dtype], sharding=built.sharding)
        for spec in workload.specs
    ]
    return jax.jit(built.function).lower(*built.weights, *avals).compile()


def _times(
    program: clocks.Program, inputs: clocks.Inputs, machine: Machine, effort: Effort, devices: int
) -> dict[str, Any]:
    """Times by all clocks, each over fresh inputs."""
    found: dict[str, Any] = {}
    if machine.gpu:
        clock = clocks.DeviceClock([program], inputs)
        found["kernels"] = len(clock.kernels[0])
        effort = effort.bearable(sum(ms for _, ms in clock.kernels[0]) / devices)
        times: list[float] = []
        seeds = itertools.count(1)
        for _ in range(effort.rounds):
            times += clocks.patiently(
                lambda: clock.round([0] * effort.calls, inputs.sets(next(seeds), effort.calls))[1]
            )
        low, middle, high = np.quantile(times, [0.25, 0.5, 0.75])
        found["device_ms"] = float(middle) / devices  # CUPTI adds up the kernels of all devices
        found["spread"] = float((high - low) / middle)
    else:
        clocks.WallClock([program], inputs)  # warms
    sets = inputs.sets(101, effort.calls)
    found["percall_ms"] = statistics.median(clocks.percall(program, sets * effort.rounds))
    inputs.evict()
    found["amortised_ms"] = clocks.wall(program, sets, bursts=max(2, effort.rounds)).amortised_ms
    return found


def _check_room(memory: Any, machine: Machine) -> None:
    """MemoryError where the program cannot fit, so that it need not be tried."""
    device = jax.local_devices()[0]
    free = machine.memory_bytes - int((device.memory_stats() or {}).get("bytes_in_use", 0))
    needed = memory.temp_size_in_bytes + memory.argument_size_in_bytes * 2 + memory.output_size_in_bytes * 2
    if machine.gpu and needed > free:
        raise MemoryError(f"needs {needed / 1e9:.0f} GB where {free / 1e9:.0f} GB are free")


def _error(out: Any, answer: Any) -> float:
    """‖out - answer‖ / ‖answer‖ of the whole, in float32."""
    out, answer = (jnp.asarray(each, jnp.float32) for each in (out, answer))
    return float(jnp.linalg.norm((out - answer).ravel()) / jnp.linalg.norm(answer.ravel()))


def _why(error: Exception, temp_bytes: int | None) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError):
        return f"{OUT_OF_MEMORY}: {text}"
    if "RESOURCE_EXHAUSTED" in text:
        wants = f" ({temp_bytes / 1e9:.0f} GB of temporaries)" if temp_bytes else ""
        return f"{OUT_OF_MEMORY}{wants}"
    if isinstance(error, clocks.Untimed):
        return f"not measured: {text}"
    if isinstance(error, ImportError):
        return f"not installed: {text[:160]}"
    return f"refused: {type(error).__name__}: {text[:160]}"


def _fields(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def hopeless(workload: Workload, rows: Sequence[Row]) -> bool:
    """Whether a smaller workload of the same kind ran out of memory, so that this one would too."""
    shape = workload.shape
    kind = (workload.variant, workload.dtype, workload.causal, shape.T, shape.S)
    return any(
        row.note.startswith(OUT_OF_MEMORY)
        and (row.variant, row.dtype, row.causal, row.T, row.S) == kind
        and row.B <= shape.B
        for row in rows
    )
