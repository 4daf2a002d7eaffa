"""The reference solutions' artifacts, cached, and the trusted runner that runs them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import platformdirs

from autograder import device, sandbox, wire, workspace
from autograder.interrogation import interrogate
from autograder.plan import Trace
from autograder.runner.canary import CANARY
from autograder.runner.client import GraderFault, Job, Loaded, Runner
from autograder.sandbox import Limits, Role
from autograder.source import Source, read

CACHE = "ATTENTION_LAB_CACHE"
COMPILATION_CACHE = {
    "JAX_ENABLE_COMPILATION_CACHE": "true",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
SECONDS = 120.0


class Reference:
    """One runner for all exercises of a grading; hold `lock` from `load` to the last `run`."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.runner = Runner(self._start, CANARY, patience=SECONDS)
        self._loaded: tuple[str, ...] = ()

    async def load(self, name: str, traces: Sequence[Trace]) -> None:
        """Load the reference's artifacts of these traces, in order; GraderFault where one is refused."""
        wanted = (name, *(json.dumps(trace.reference or trace.step) for trace in traces))
        if wanted == self._loaded:
            return
        artifacts = await self.artifacts(name, traces)
        jobs = [job(trace, artifacts[trace.key]) for trace in traces]
        for trace, answer in zip(traces, await self.runner.load(jobs), strict=True):
            if not isinstance(answer, Loaded):
                raise GraderFault(f"the reference is refused: {trace.about}: {answer.message}")
        self._loaded = wanted

    async def _start(self) -> sandbox.Child:
        folder = cache_folder() / "xla"
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**COMPILATION_CACHE, "JAX_COMPILATION_CACHE_DIR": str(folder)}
        limits = Limits(wall_seconds=SECONDS, cpu_seconds=None)  # it may grade a class
        return await sandbox.start(Role.REFERENCE, limits, environment, folder)

    async def artifacts(self, name: str, traces: Sequence[Trace]) -> Mapping[str, bytes]:
        """By key, the artifacts that the solution `name` gives; GraderFault where it gives none."""
        source = read(workspace.solutions(), name)
        traces = [replace(trace, step=trace.reference or trace.step) for trace in traces]
        file = cache_folder() / "artifacts" / f"{source.name}-{_fingerprint(source, traces)}"
        with suppress(OSError, ValueError, EOFError), file.open("rb") as stored:
            header, blob = wire.read(stored, 2**20, 2**26)
            return _cut(blob, header)
        engine = any(trace.engine for trace in traces)
        child = await (device.start_tracer() if engine else sandbox.start(Role.TRACER, Limits()))
        found = await interrogate(child, source, traces)
        if missing := next((trace for trace in traces if not found.artifacts.get(trace.key)), None):
            why = found.ended or found.answers.get(missing.key)
            raise GraderFault(f"the reference gives no program for {missing.about}: {why} {found.output}")
        _store(file, found.artifacts)
        return found.artifacts


def job(trace: Trace, artifact: bytes, *, facts_only: bool = False, like: tuple[bytes, ...] = ()) -> Job:
    """What the runner is to make sure of."""
    return Job(
        artifact, trace.ins, trace.outs, trace.cudnn, trace.float32_only, trace.float8, facts_only, like
    )


def cache_folder() -> Path:
    """Where artifacts and compiled programs of the references are kept; ATTENTION_LAB_CACHE overrides it."""
    return Path(os.environ.get(CACHE) or platformdirs.user_cache_dir("attention-lab"))


def _fingerprint(source: Source, traces: Sequence[Trace]) -> str:
    steps = json.dumps([trace.step for trace in traces], sort_keys=True)
    parts = (
        source.sha256,
        _tracer_code(),
        version("jax"),
        version("jaxlib"),
        _engine_version(),
        platform.python_version(),
        steps,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _engine_version() -> str:
    try:
        return version("transformer_engine")
    except PackageNotFoundError:
        return ""


@cache
def _tracer_code() -> str:
    files = sorted((Path(__file__).parent / "tracer").glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _cut(blob: bytes, sizes: Mapping[str, int]) -> dict[str, bytes]:
    artifacts, position = {}, 0
    for key, size in sizes.items():
        artifacts[key] = blob[position : position + size]
        position += size
    if position != len(blob):
        raise ValueError("sizes that do not fit")
    return artifacts


def _store(file: Path, artifacts: Mapping[str, bytes]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    header = {key: len(artifact) for key, artifact in artifacts.items()}
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as made:
        made.write(wire.encode(header, b"".join(artifacts.values())))
    Path(made.name).replace(file)
