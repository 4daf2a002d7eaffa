"""Where a report came from: versions, device, sandbox. Asks no JAX."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from autograder import sandbox
from autograder.results import Provenance

PACKAGES = ("attention-lab", "jax", "jaxlib", "flax", "numpy", "transformer-engine")


def of(
    *,
    seeds: Mapping[str, str],
    replay: bool,
    device: str,
    sha256: Mapping[str, str],
    started: str,
    seconds: float,
) -> Provenance:
    """The provenance of a grading on this machine; `device` names its GPU, "" without one."""
    return Provenance(
        versions=versions(),
        device=device or f"CPU ({platform.machine()})",
        seed=dict(seeds),
        replay=replay,
        sandbox=sandbox.kind(),
        sha256=dict(sha256),
        started=started,
        seconds=round(seconds, 3),
    )


def versions(more: Sequence[str] = ()) -> dict[str, str]:
    """Installed versions of what a grade depends on, and of `more` packages."""
    found = {"python": platform.python_version()}
    for name in (*PACKAGES, *more):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
