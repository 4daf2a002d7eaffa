"""Array types by name, and arrays as raw bytes of exactly the right length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES: dict[str, np.dtype[Any]] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "int32": np.dtype(np.int32),
    "uint32": np.dtype(np.uint32),
    "bool": np.dtype(np.bool_),
}


@dataclass(frozen=True)
class Spec:
    """A shape and the name of a dtype (a key of DTYPES)."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * DTYPES[self.dtype].itemsize

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    def to_json(self) -> list[Any]:
        return [list(self.shape), self.dtype]

    @classmethod
    def from_json(cls, value: Any) -> Spec:
        """Accept only `[[sizes], "dtype"]` with sizes from 0 to 2**31 and a known dtype; else ValueError."""
        match value:
            case [list(shape), str(dtype)] if dtype in DTYPES and all(
                type(n) is int and 0 <= n < 2**31 for n in shape
            ):
                return cls(tuple(shape), dtype)
        raise ValueError(f"not an array type: {str(value)[:80]}")

    @classmethod
    def of(cls, array: Array) -> Spec:
        return cls(array.shape, array.dtype.name)


def pack(arrays: Iterable[Array]) -> bytes:
    """The arrays' bytes in C order, one after the other."""
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def unpack(blob: bytes, specs: Sequence[Spec]) -> list[Array]:
    """The inverse of `pack`; ValueError unless the length is exact."""
    expected = sum(spec.nbytes for spec in specs)
    if len(blob) != expected:
        raise ValueError(f"expected {expected} bytes of arrays, got {len(blob)}")
    arrays, offset = [], 0
    for spec in specs:
        part = np.frombuffer(blob, DTYPES[spec.dtype], math.prod(spec.shape), offset)
        arrays.append(part.reshape(spec.shape))
        offset += spec.nbytes
    return arrays
