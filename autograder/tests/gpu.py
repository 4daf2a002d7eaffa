"""What tests on a GPU need; import `gpu` and name it as an argument."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others test on the same GPU


@pytest.fixture
def gpu() -> None:
    import jax

    if jax.default_backend() != "gpu":
        pytest.skip(f"needs an NVIDIA GPU; JAX finds a {jax.default_backend()} here")
