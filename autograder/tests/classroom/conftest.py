"""What tests with a real kernel share."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture
def kernels() -> Iterator[None]:
    """What nbclient leaves open of its event loops goes with the test that ran it, and disturbs no other."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
