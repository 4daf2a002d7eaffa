"""What this machine has, what can be graded on it, what waits, and what to install. Imports no JAX itself."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from autograder import catalog, device, engine_parts, sandbox, workspace
from autograder.sandbox.output import clean

PROBE_SECONDS = 60
JAX = """
import json, os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # someone may be using the GPU
import jax
def about(device):
    return device.platform, device.device_kind, str(getattr(device, "compute_capability", ""))
found = {"devices": list(map(about, jax.devices()))}
try:
    from jax._src.lib import cuda_versions
    found["cudnn"] = cuda_versions.cudnn_get_version()
except Exception:
    pass
print(json.dumps(found))
"""
ENGINE = """
import json, os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
from transformer_engine.jax.quantize import is_fp8_available
print(json.dumps({"fp8": list(map(str, is_fp8_available()))}))
"""
CUDA_PLUGINS = ("jax-cuda12-plugin", "jax-cuda13-plugin")
CUDNN = ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
ENGINES = ("transformer-engine", "transformer-engine-jax")
COMPILED = ("jax", "jax.numpy", "flax", "numpy")
CUDA = "pip install -c requirements.lock -e . 'jax[cuda13]'"


class Broken(Exception):
    """Nothing can be graded on this machine; the message is what the line says."""


def examine(say: Callable[[str], None]) -> bool:
    """Say line by line what was found, as it goes on; whether anything can be graded here."""
    advice: list[str] = []
    looks: dict[str, Callable[[], str]] = {
        "Python": lambda: f"{platform.python_version()} ({sys.executable})",
        "bytecode": lambda: _bytecode(advice),
        "JAX": lambda: _installed(("jax",), ("jaxlib",), ("flax",), ("numpy",)),
        "CUDA plugin": lambda: _installed(CUDA_PLUGINS),
        "cuDNN": lambda: _installed(CUDNN),
        "TransformerEngine": lambda: _engine(advice),
        "devices": lambda: _devices(advice),
        "sandbox": lambda: _sandbox(advice),
        "nbgrader": _nbgrader,
    }
    works = True
    for name, look in looks.items():
        try:
            said = look()
        except Broken as broken:
            said, works = str(broken), False
        say(f"{name:<17} {said}")
    say("")
    for line in _exercises(asyncio.run(device.find())) if works else ["Nothing can be graded here yet."]:
        say(line)
    say("")
    for step in advice:
        say(f"To do: {step}")
    if not advice:
        say("Nothing is missing.")
    return works


def _exercises(gpu: device.Gpu | None) -> Iterator[str]:
    waits = False
    for exercise in catalog.EXERCISES:
        waiting = [check for check in exercise.checks if check.needs and not _serves(gpu, check.needs)]
        here = sum(check.points for check in exercise.checks if check not in waiting)
        total = here + sum(check.points for check in waiting)
        simulated = sum(check.points for check in exercise.checks if check.simulated)
        on_doubles = f", {simulated} of them on doubles of a GPU" if simulated else ""
        yield f"{exercise.number} {exercise.name:<16} {here} of {total} points can be graded here{on_doubles}"
        for needs in dict.fromkeys(check.needs for check in waiting):
            group = [check for check in waiting if check.needs == needs]
            names = ", ".join(check.id for check in group)
            yield f"  {sum(check.points for check in group)} wait ({names}): {needs}"
        waits = waits or bool(waiting)
    if waits:
        yield "What waits costs nothing: grade the same files on a machine that has it."


def _serves(gpu: device.Gpu | None, needs: str) -> bool:
    if gpu is None or gpu.number < catalog.LEAST[needs]:
        return False
    return needs != catalog.GPU_FP8 or importlib.util.find_spec("transformer_engine") is not None


def _bytecode(advice: list[str]) -> str:
    """Whether the packages that each child imports are compiled; a sandbox may not write what is missing."""
    missing = [name for name in COMPILED if not _compiled(name)]
    if not missing:
        return "compiled"
    root = importlib.util.find_spec(missing[0].partition(".")[0])
    folder = Path(str(root.origin)).parent.parent if root else Path(sys.prefix)
    advice.append(
        f'"{sys.executable}" -m compileall -q "{folder}"  (each process then starts about 2 s sooner)'
    )
    return f"not compiled: {', '.join(missing)}"


def _compiled(name: str) -> bool:
    package, _, module = name.partition(".")
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return True  # not installed: said elsewhere
    source = Path(found.origin).parent / module / "__init__.py"
    return not source.exists() or Path(importlib.util.cache_from_source(str(source))).exists()


def _devices(advice: list[str]) -> str:
    found, failure = _probe(JAX)
    gpu = _nvidia_smi()
    if found is None:
        advice.append("reinstall JAX: pip install --force-reinstall jax jaxlib")
        raise Broken(f"JAX does not run: {failure}")
    named = [_device(*device) for device in found["devices"]]
    if gpu and not any(where in ("gpu", "cuda") for where, _, _ in found["devices"]):
        older = "cuda12 for a driver before 580"
        advice.append(f"{CUDA}  (JAX does not see the GPU of this machine: {gpu}; {older})")
    cudnn = f", cuDNN {found['cudnn']} loaded" if found.get("cudnn") else ""
    driver = f", driver {_nvidia_smi('driver_version')}" if gpu else "; no NVIDIA driver"
    return f"{', '.join(named)}{cudnn}{driver}"


def _device(where: str, kind: str, capability: str) -> str:
    if where == kind:
        return kind
    return f"{kind} ({where}{f', compute capability {capability}' if capability else ''})"


def _engine(advice: list[str]) -> str:
    """Where there is a GPU, the advice names each piece that is missing."""
    installed = _installed(ENGINES)
    page = workspace.short(workspace.course()) / engine_parts.PAGE
    if not any(_version(name) for name in ENGINES):
        if _nvidia_smi():
            advice += engine_parts.to_build(engine_parts.site())
            advice.append(f"build TransformerEngine, if you want stages 10 and 11: {page}")
        return f"{installed} (a double of it stands in while grading)"
    found, failure = _probe(ENGINE)
    if found is None:
        advice.append(f"{engine_parts.to_load(failure)}  (TransformerEngine; {page})")
        return f"{installed}, but it does not load: {failure}"
    ok, reason = found["fp8"][0] == "True", found["fp8"][1]
    return f"{installed}, FP8 {'available' if ok else f'not available: {reason}'}"


def _nbgrader() -> str:
    installed = _installed(("nbgrader",))
    return (
        installed if _version("nbgrader") else f"{installed} (instructors need it: pip install -e '.[class]')"
    )


def _sandbox(advice: list[str]) -> str:
    """Not only what would be used, but whether a child really starts in it."""
    kind = sandbox.kind()
    try:
        asyncio.run(_start())
    except Exception as error:
        advice.append(f"make a sandbox possible: {error}")
        raise Broken(f"{kind}, and no child starts in it: {error}") from None
    if kind == "none" and sys.platform == "linux" and shutil.which("bwrap") is None:
        advice.append("install bubblewrap for a sandbox (Debian and Ubuntu: apt-get install bubblewrap)")
    return f"{kind}: {sandbox.why()}"


async def _start() -> None:
    child = await sandbox.start(sandbox.Role.TRACER)
    await child.kill()


def _probe(code: str) -> tuple[dict[str, Any] | None, str]:
    """What the code prints last, as JSON, from a process of its own; or None and why."""
    output, failure = _output((sys.executable, "-I", "-c", code))
    try:
        found = json.loads(output.strip().splitlines()[-1])
        return (found, "") if isinstance(found, dict) else (None, failure)
    except (ValueError, IndexError):
        return None, failure


def _nvidia_smi(field: str = "name") -> str:
    """What the driver says of each GPU, each answer once; "" where there is none."""
    program = shutil.which("nvidia-smi")
    query = (f"--query-gpu={field}", "--format=csv,noheader")
    return ", ".join(dict.fromkeys(_output((program, *query))[0].split("\n"))).strip(", ") if program else ""


def _output(command: Sequence[str]) -> tuple[str, str]:
    """Standard output, and the last line of standard error; no output where it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer in {PROBE_SECONDS} s"
    except OSError as error:
        return "", str(error)
    errors = clean(done.stderr.decode("utf-8", "replace")).strip().splitlines()
    last = errors[-1][:200] if errors else f"exit status {done.returncode}"
    return (clean(done.stdout.decode("utf-8", "replace")) if done.returncode == 0 else ""), last


def _installed(*groups: Iterable[str]) -> str:
    """Of each group the members that are installed, with versions."""
    said = []
    for names in groups:
        found = [f"{name} {number}" for name in names if (number := _version(name))]
        said += found or [f"{' or '.join(names)} not installed"]
    return ", ".join(said)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
