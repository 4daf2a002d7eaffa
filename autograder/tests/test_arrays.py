"""Arrays cross the pipe as bytes of exactly the right length."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.arrays import DTYPES, Spec, pack, unpack


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip(dtype: str) -> None:
    first = np.arange(6).reshape(2, 3).astype(DTYPES[dtype])
    second = np.asarray(1).astype(DTYPES[dtype])
    specs = [Spec.of(first), Spec.of(second)]
    back = unpack(pack([first.T.copy().T, second]), specs)
    assert [Spec.of(array) for array in back] == specs
    assert all(np.array_equal(one, other) for one, other in zip(back, (first, second), strict=True))


def test_another_length_is_refused() -> None:
    spec = Spec((2,), "float32")
    for blob in (b"", b"1234567", b"123456789"):
        with pytest.raises(ValueError, match="expected 8 bytes"):
            unpack(blob, [spec])


@pytest.mark.parametrize(
    "value",
    [None, [], [[1]], [[1], "float64"], *([size, "float32"] for size in ([1.0], [True], [-1], "1"))],
)
def test_what_is_no_array_type_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not an array type"):
        Spec.from_json(value)


def test_json_round_trip() -> None:
    spec = Spec((2, 1), "bfloat16")
    assert Spec.from_json(spec.to_json()) == spec
    assert str(spec) == "bfloat16[2, 1]"
