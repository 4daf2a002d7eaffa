"""An attention function without a body: the judge answers each call over the pipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograder.arrays import DTYPES, Array, Spec, pack, unpack
from autograder.wire import Header


class BlackBox:
    """Callable with arrays of exactly the given shapes and dtypes, under `jit` and `vmap` too."""

    def __init__(
        self, ask: Callable[[Header, bytes], tuple[Header, bytes]], step: int, specs: Sequence[Spec]
    ) -> None:
        self._ask, self._step, self._specs = ask, step, tuple(specs)

    def __call__(self, query: Any, key: Any, value: Any) -> jax.Array:
        arrays = [x if isinstance(x, jax.Array) else np.asarray(x) for x in (query, key, value)]
        for name, array, spec in zip(("query", "key", "value"), arrays, self._specs, strict=True):
            if array.shape != spec.shape or array.dtype != DTYPES[spec.dtype]:
                raise ValueError(f"{name}: expected {spec}, got {array.dtype}{list(array.shape)}")
        if any(isinstance(array, jax.core.Tracer) for array in arrays):
            out = jax.ShapeDtypeStruct(self._specs[0].shape, DTYPES[self._specs[0].dtype])
            return jax.pure_callback(self._answer, out, *arrays, vmap_method="sequential")
        return jnp.asarray(self._answer(*arrays))

    def _answer(self, *arrays: Any) -> Array:
        blob = pack(np.asarray(array) for array in arrays)
        header, out = self._ask({"call": self._step}, blob)
        if not out:
            raise RuntimeError(header["refused"])
        return unpack(out, self._specs[:1])[0]
