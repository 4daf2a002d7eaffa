"""What failed, as files: inputs, what came and what was expected, and a script that looks at them."""

from __future__ import annotations

import io
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from autograder.arrays import Array
from autograder.catalog import Exercise
from autograder.plan import FailedRound
from autograder.report import document

MARK = "# Written by grade --inputs, and replaced by its next run: copy it to keep it."
INPUTS = ("query", "key", "value", "cotangent")
GRADIENTS = ("dquery", "dkey", "dvalue")
SCRIPT = """{mark}
# {about}
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, {folder!r})
from {module} import {function}

saved = np.load(Path(__file__).with_suffix(".npz"))
{inputs} = (jnp.asarray(saved[name], "{dtype}") for name in {quoted})
came = {came}
for name in came:
    off = np.abs(np.asarray(came[name], np.float64) - saved["expected_" + name])
    at = [int(place) for place in np.unravel_index(off.argmax(), off.shape)]
    print(name, "is furthest off, by", float(off.max()), "at", at)
"""


def check(folder: Path, exercises: Iterable[Exercise]) -> None:
    """Make the folder. document.Unusable where nothing can be written to it, or where a file that is not ours
    is in the way."""
    for exercise in exercises:
        for each in exercise.checks:
            for path in _files(folder, exercise.name, each.id):
                if os.path.lexists(path) and not _ours(path):
                    raise document.Unusable(
                        f"--inputs {folder}: {path.name} is there, and grade did not write it; "
                        "move it away or name another folder"
                    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        why = error.strerror or error
        raise document.Unusable(f"--inputs {folder} cannot be written: {why}; name another folder") from None


def write(folder: Path, rounds: Sequence[FailedRound], modules: Path) -> Iterator[Path]:
    """Write each round and its script, and give the arrays' file. OSError where that fails."""
    for failed in rounds:
        arrays, script = _files(folder.resolve(), failed.exercise, failed.check)
        document.replace(script, _script(failed, modules).encode())
        document.replace(arrays, _arrays(failed))
        yield folder / arrays.name


def _files(folder: Path, exercise: str, check: str) -> tuple[Path, Path]:
    return folder / f"{exercise}_{check}.npz", folder / f"{exercise}_{check}.py"


def _ours(path: Path) -> bool:
    """Whether a file of this name is one that `write` made; arrays are, where their script is."""
    script = path.with_suffix(".py")
    try:
        if not all(stat.S_ISREG(each.lstat().st_mode) for each in (path, script)):
            return False
        with script.open(encoding="utf-8") as file:
            return file.readline().rstrip() == MARK
    except (OSError, UnicodeDecodeError):
        return False


def _arrays(failed: FailedRound) -> bytes:
    expected = failed.trace.expected
    wanted = expected(failed.inputs) if expected else ()
    names = _outputs(failed)
    stream = io.BytesIO()
    np.savez(
        stream,
        allow_pickle=False,
        dtype=np.asarray(failed.inputs[0].dtype.name),
        **{name: _storable(array) for name, array in zip(INPUTS, failed.inputs, strict=False)},
        **{f"came_{name}": _storable(array) for name, array in zip(names, failed.outs, strict=True)},
        **{f"expected_{name}": array for name, array in zip(names, wanted, strict=True)},
    )
    return stream.getvalue()


def _storable(array: Array) -> Array:
    """NumPy's files know no bfloat16: every number of it is one of float32."""
    return array if array.dtype.isbuiltin == 1 else array.astype(np.float32)


def _outputs(failed: FailedRound) -> tuple[str, ...]:
    return GRADIENTS if failed.trace.step.get("gradient") else ("output",)


def _script(failed: FailedRound, modules: Path) -> str:
    step, function, names = failed.trace.step, failed.trace.function, INPUTS[: len(failed.inputs)]
    about = f"{failed.trace.key}, {failed.name.replace('_', ' ')} inputs"
    if step.get("device"):
        about += "\n# The grader stood in for this GPU. Here the function sees the devices of this machine."
    options = "".join(f", {name}={value!r}" for name, value in step.get("kwargs", {}).items())
    output = f".{step['output']}" if "output" in step else ""
    if step.get("gradient"):
        call = f"lambda *given: {function}(*given{options}){output}" if options or output else function
        came = f"dict(zip({_quoted(GRADIENTS)}, jax.vjp({call}, query, key, value)[1](cotangent)))"
    else:
        came = f'{{"output": {function}(query, key, value{options}){output}}}'
    return SCRIPT.format(
        mark=MARK,
        about=about,
        folder=str(modules.resolve()),
        module=failed.exercise,
        function=function,
        inputs=", ".join(names),
        quoted=_quoted(names),
        dtype=failed.inputs[0].dtype.name,
        came=came,
    )


def _quoted(names: Iterable[str]) -> str:
    return "(" + ", ".join(f'"{name}"' for name in names) + ")"
