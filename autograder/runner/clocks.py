"""What a program costs: the GPU's own clock, through CUPTI, and the host's.

A program is any compiled callable of arrays, also one loaded through `jax.export`. Nothing here judges.
"""

from __future__ import annotations

import ctypes
import functools
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import jax
import jax.numpy as jnp

from autograder.arrays import DTYPES, Spec

Arrays = Sequence[jax.Array]
Program = Callable[..., Any]
Kernel = tuple[str, float]  # name, milliseconds
T = TypeVar("T")

DEFAULT_L2_BYTES = 60 << 20
MAX_SETS_BYTES = 4 << 30
L2_CACHE_SIZE = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
TRIES = 5


class Untimed(Exception):
    """A clock gave nothing that could be believed; the message is a sentence on why."""


class Lost(Untimed):
    """Of some calls not all kernels were recorded, which CUPTI does now and then."""


def patiently(attempt: Callable[[], T]) -> T:
    """What `attempt` returns, tried again while its times are Lost; after TRIES in a row they stay it.

    Lost times are dropped whole: a program whose kernels depend on its inputs is Lost each time, or nearly.
    """
    for _ in range(TRIES - 1):
        try:
            return attempt()
        except Lost:
            continue
    return attempt()


@dataclass(frozen=True)
class Wall:
    """Milliseconds a call by the host's clock, over a burst: until all is done, and until all is launched."""

    amortised_ms: float
    enqueue_ms: float


def on_gpu() -> bool:
    return jax.default_backend() == "gpu"


def l2_bytes() -> int:
    """The size of the GPU's L2 cache, as the driver says; 60 MB where it does not; 0 on a CPU."""
    if not on_gpu():
        return 0
    size = ctypes.c_int(0)
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        cuda.cuDeviceGetAttribute(ctypes.byref(size), L2_CACHE_SIZE, jax.local_devices()[0].local_hardware_id)
    except (OSError, AttributeError, TypeError):
        pass
    return size.value or DEFAULT_L2_BYTES


class Inputs:
    """Sets of standard normal arrays of given types, none of them in the cache when it is first read.

    `sharding` lays each of them out over devices.
    """

    def __init__(self, specs: Sequence[Spec], scale: float = 1.0, sharding: Any = None) -> None:
        self.nbytes = sum(spec.nbytes for spec in specs)
        self._draw = _drawing(tuple(specs), scale, sharding)

    def sets(self, seed: int, count: int) -> list[list[jax.Array]]:
        """`count` sets, fresh for each seed; fewer, used again in turn, where they would fill the memory."""
        fresh = max(2, min(count, MAX_SETS_BYTES // max(self.nbytes, 1)))
        drawn = [self._draw(jnp.uint32((seed * 1009 + n) % 2**32)) for n in range(fresh)]
        jax.block_until_ready(drawn)
        self.evict()
        return [drawn[n % fresh] for n in range(count)]

    def evict(self) -> None:
        """Overwrite the GPU's L2 cache."""
        jax.block_until_ready(_evicting()(jnp.float32(0)))


@functools.lru_cache(maxsize=8)
def _drawing(specs: tuple[Spec, ...], scale: float, sharding: Any) -> Callable[[jax.Array], list[jax.Array]]:
    """Compiled once for all programs that take the same arrays: it takes longer than most of them do."""

    def draw(seed: jax.Array) -> list[jax.Array]:
        keys = jax.random.split(jax.random.key(seed), len(specs))
        return [
            (scale * jax.random.normal(key, spec.shape)).astype(DTYPES[spec.dtype])
            for key, spec in zip(keys, specs, strict=True)
        ]

    return jax.jit(draw, out_shardings=sharding).lower(jax.ShapeDtypeStruct((), jnp.uint32)).compile()


@functools.lru_cache(maxsize=1)
def _evicting() -> Callable[[jax.Array], jax.Array]:
    size = max(1, 2 * l2_bytes() // 4)
    return jax.jit(lambda n: jnp.full(size, n))


def percall(program: Program, sets: Sequence[Arrays]) -> list[float]:
    """Milliseconds of each call by itself, the host's work and waiting included."""
    times = []
    for arrays in sets:
        begin = time.perf_counter()
        jax.block_until_ready(program(*arrays))
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def wall(program: Program, sets: Sequence[Arrays], bursts: int = 3) -> Wall:
    """The median over bursts of one call a set; of at most 32, since JAX waits when more are in flight."""
    sets = sets[:32]
    done, launched = [], []
    for _ in range(bursts):
        begin = time.perf_counter()
        outputs = [program(*arrays) for arrays in sets]
        launched.append((time.perf_counter() - begin) * 1e3 / len(sets))
        jax.block_until_ready(outputs)
        done.append((time.perf_counter() - begin) * 1e3 / len(sets))
        del outputs
    return Wall(statistics.median(done), statistics.median(launched))


class _Steps(jax.stages.Wrapped):
    """What the profiler calls twice, to warm up and to record. Being "Wrapped", it is called, not traced."""

    def __init__(self, *steps: Callable[[], Any]) -> None:
        self._steps = iter(steps)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return next(self._steps)()

    def lower(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError

    trace = lower


def kernels(calls: Callable[[], Any], before: Callable[[], Any]) -> tuple[Any, list[Kernel]]:
    """What `calls` returns, and the kernels that it ran on the GPU, in order.

    `before` runs first, unrecorded. Untimed where CUPTI cannot be had, Lost where it recorded none.
    """
    from jax.experimental.mosaic.gpu import profiler

    measure: Any = profiler.measure
    try:
        outputs, records = measure(_Steps(before, calls), aggregate=False)()
    except (RuntimeError, ImportError, AttributeError) as error:
        if "RESOURCE_EXHAUSTED" in str(error):
            raise
        raise Untimed(f"CUPTI cannot be used here: {str(error)[:200]}") from None
    if not records:
        raise Lost("CUPTI recorded no kernel")
    return outputs, records


def split(records: Sequence[Kernel], expected: Sequence[Counter[str]]) -> list[float]:
    """Milliseconds of each call, from the kernels of all in order and the names that each call must have run.

    Lost where they differ: then a record is missing, or a program does not always run the same.
    """
    times, offset = [], 0
    for names in expected:
        mine = records[offset : offset + names.total()]
        if _names(mine) != names:
            raise Lost("the kernels that CUPTI recorded differ from call to call")
        times.append(sum(ms for _, ms in mine))
        offset += names.total()
    if offset != len(records):
        raise Lost("CUPTI recorded more kernels than the calls run")
    return times


class DeviceClock:
    """Times programs on the GPU by CUPTI, many calls a session."""

    name = "CUPTI"

    def __init__(self, programs: Sequence[Program], inputs: Inputs, seed: int = 0) -> None:
        self._programs, self._inputs = programs, inputs
        self.kernels: list[list[Kernel]] = []
        for program in programs:
            sets = inputs.sets(seed, 5)
            for arrays in sets[:3]:  # XLA records some programs as a CUDA graph in their first calls
                jax.block_until_ready(program(*arrays))
            self.kernels.append(patiently(functools.partial(self._kernels, program, sets[3:])))
        self._names = [_names(found) for found in self.kernels]

    def _kernels(self, program: Program, sets: Sequence[Arrays]) -> list[Kernel]:
        """Those of one call. Lost where two calls did not run the same."""
        first, second = (self._call(program, arrays)[1] for arrays in sets)
        if _names(first) != _names(second):
            raise Lost("the kernels that CUPTI recorded differ from call to call")
        return second

    def _call(self, program: Program, arrays: Arrays) -> tuple[Any, list[Kernel]]:
        return kernels(lambda: program(*arrays), self._inputs.evict)

    def round(self, who: Sequence[int], sets: Sequence[Arrays]) -> tuple[list[Any], list[float]]:
        """Outputs and milliseconds of the programs `who`, one after the other, each with its own set."""

        def calls() -> list[Any]:
            return [self._programs[program](*arrays) for program, arrays in zip(who, sets, strict=True)]

        outputs, records = kernels(calls, self._inputs.evict)
        try:
            return outputs, split(records, [self._names[program] for program in who])
        except Lost:  # a program on several streams: its last kernels come after the next call's first
            return self._apart(who, sets)

    def _apart(self, who: Sequence[int], sets: Sequence[Arrays]) -> tuple[list[Any], list[float]]:
        """`round` with a session for each call."""
        outputs, times = [], []
        for program, arrays in zip(who, sets, strict=True):
            output, records = self._call(self._programs[program], arrays)
            if _names(records) != self._names[program]:
                raise Lost("the kernels that CUPTI recorded differ from call to call")
            outputs.append(output)
            times.append(sum(ms for _, ms in records))
        return outputs, times


def _names(records: Sequence[Kernel]) -> Counter[str]:
    return Counter(name for name, _ in records)


class WallClock:
    """Times programs by the host's clock, call by call; all there is on a CPU."""

    name = "wall"

    def __init__(self, programs: Sequence[Program], inputs: Inputs, seed: int = 0) -> None:
        self._programs = programs
        for program in programs:
            for arrays in inputs.sets(seed, 2):
                jax.block_until_ready(program(*arrays))

    def round(self, who: Sequence[int], sets: Sequence[Arrays]) -> tuple[list[Any], list[float]]:
        """As `DeviceClock.round`."""
        outputs, times = [], []
        for program, arrays in zip(who, sets, strict=True):
            begin = time.perf_counter()
            outputs.append(jax.block_until_ready(self._programs[program](*arrays)))
            times.append((time.perf_counter() - begin) * 1e3)
        return outputs, times
