"""What a file can do to a grader: each gets a clear message and no point, and the next exercise is graded."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder import catalog, workspace
from autograder.grading import Grader
from autograder.results import ExerciseResult, Outcome
from autograder.sandbox import Limits
from autograder.submission import Settings
from autograder.tests.conftest import failed

pytestmark = pytest.mark.slow

Run = Callable[[Path], ExerciseResult]

HEAD = "import os, sys, time\nimport jax, jax.numpy as jnp, numpy as np\n\n"


def body(lines: str) -> str:
    """A module whose function does this."""
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    return f"{HEAD}def naive_attention(query, key, value):\n{indented}"


ATTEND = (
    "scores = jnp.einsum('btnh,bsnh->bnts', query, key, preferred_element_type=jnp.float32)\n"
    "weights = jax.nn.softmax(scores / query.shape[-1] ** 0.5, axis=-1)\n"
    "out = jnp.einsum('bnts,bsnh->btnh', weights, value, preferred_element_type=jnp.float32)\n"
    "return out.astype(query.dtype)"
)
RIGHT = body(
    "if query.ndim != 4 or key.ndim != 4 or key.shape != value.shape:\n"
    "    raise ValueError('shapes')\n"
    "if (query.shape[0], *query.shape[2:]) != (key.shape[0], *key.shape[2:]):\n"
    "    raise ValueError('shapes')\n" + ATTEND
)

# Without /proc nobody counts them, and their time runs out.
BOMB = " processes" if sys.platform == "linux" else "endless loop"
# Source, and a part of the message that its learner reads.
FAILS: dict[str, tuple[str | bytes, str]] = {
    "syntax_error": ("def naive_attention(query, key, value:\n    pass\n", "not valid Python: line 1"),
    "import_error": ("import no_such_module\n" + RIGHT, "does not load: ModuleNotFoundError at line 1"),
    "raises_at_import": ("raise RuntimeError('early')\n" + RIGHT, "RuntimeError at line 1: early"),
    "endless_at_import": ("while True:\n    pass\n" + RIGHT, "endless loop"),
    "endless_in_function": (body("while True:\n    pass"), "endless loop"),
    "sleeps": (body("time.sleep(10_000)"), "endless loop"),
    "os_exit": (body("os._exit(0)"), "exited with status 0"),
    "os_exit_at_import": ("import os\nos._exit(0)\n" + RIGHT, "exited with status 0"),
    "sys_exit": (body("sys.exit()"), "SystemExit"),
    "sys_exit_at_import": ("import sys\nsys.exit(0)\n" + RIGHT, "SystemExit"),
    "signal": (body("os.kill(os.getpid(), 11)"), "SIGSEGV"),
    "huge_allocation": (body("return np.ones((50, 2**30), np.int8)"), "MemoryError"),
    "fork_bomb": (body("while True:\n    try:\n        os.fork()\n    except OSError:\n        pass"), BOMB),
    "closed_stdout": (body("os.closerange(0, 100)\ntime.sleep(10_000)"), "process ended"),
    "flooded_stdout": (body("while True:\n    print('x' * 10_000)"), "endless loop"),
    "not_utf8": (b"def naive_attention(query, key, value):\n    return '\xff\xfe'\n", "holds the byte 0xFF"),
    "nul_bytes": (b"\x00" * 100, "naive_attention.py"),
    "empty": ("", "is empty"),
    "comments_alone": ("# later\n", "is empty but for comments"),
    "too_large": ("#" * 300_000, "more than 64 kB"),
    "deep_nesting": ("x = " + "(" * 5_000 + ")" * 5_000, "naive_attention.py"),
    "long_name": ("import a" + ".b" * 30_000 + "\n" + RIGHT, "a name in it has more than 100 parts"),
    "long_chain": ("x = " + "-" * 100_000 + "1", "naive_attention.py"),
    "no_function": ("naive = 1\n", "defines no naive_attention"),
    "function_is_a_number": ("naive_attention = 3\n", "is a int, not a function"),
    "wrong_signature": ("def naive_attention(query):\n    return query\n", "TypeError"),
    "none": (body("return None"), "returned None"),
    "numpy_array": (body("return np.zeros(query.shape, np.float32)"), "NumPy array"),
    "uses_numpy": (body("return np.asarray(query)"), "raised TracerArrayConversionError"),
    "tracer_leak": (
        HEAD
        + "kept, library = [], jax.nn.dot_product_attention\n"
        + body("kept.append(query)\n" + ATTEND.replace("out.astype", "(out + 0 * kept[0].sum()).astype"))[
            len(HEAD) :
        ],
        "earlier call",
    ),
    "wrong_shape": (body("return query[0]"), "expected float32[2, 7, 3, 16], got float32[7, 3, 16]"),
    "wrong_dtype": (body("return query.astype(jnp.float16)"), "got float16[2, 7, 3, 16]"),
    "complex": (body("return query.astype(jnp.complex64)"), "got complex64"),
    "integer": (body("return query.astype(jnp.int32)"), "got int32"),
    "nan": (body("return query * jnp.nan"), "not finite"),
    "a_pair": (body("return query, key"), "returned a tuple"),
    "generator": (body("yield query"), "returned a generator"),
    "coroutine": (RIGHT.replace("def naive", "async def naive"), "returned a coroutine"),
    "callback": (
        body("return jax.pure_callback(lambda q: q, jax.ShapeDtypeStruct(query.shape, query.dtype), query)"),
        "calls back into Python",
    ),
    "debug_print": (body("jax.debug.print('{}', query[0, 0, 0, 0])\nreturn query"), "jax.debug.print"),
    "linalg": (body("return query * jnp.linalg.eigh(jnp.eye(4) * query.sum())[0].sum()"), "linear-algebra"),
    "random": (
        body("return jax.lax.rng_uniform(query.min(), query.max(), query.shape).astype(query.dtype)"),
        "random",
    ),
    "recursion": (body("return naive_attention(query, key, value)"), "RecursionError"),
    "exception_without_words": (
        HEAD + "class Mute(Exception):\n    def __str__(self):\n        raise self\n\n"
        "def naive_attention(query, key, value):\n    raise Mute\n",
        "raised Mute",
    ),
    "markup_and_escapes": (body(r"raise RuntimeError('\x1b[2J[bold red]\ud800\x00')"), "raised RuntimeError"),
    "endless_program": (
        body("return query + jax.lax.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 7, jnp.int32(0))"),
        "compiling and running it took more than 15 s",
    ),
    "input": (body("return query * float(input())"), "waited for input"),
    "huge_program": (
        body("return query + jnp.zeros((60_000, 60_000)).sum().astype(query.dtype)"),
        "too large",
    ),
}

# Where there is a wrong answer, the check's own hint is the next step; elsewhere it would mislead.
HINTED = ("nan",)

WORKS = {
    "x64": "jax.config.update('jax_enable_x64', True)\n",
    "platforms": "jax.config.update('jax_platforms', 'cuda')\n",
    "matmul_precision": "jax.config.update('jax_default_matmul_precision', 'highest')\n",
    "prints": "print('hello from the file')\n",
    "threads": "import threading\nthreading.Thread(target=time.sleep, args=(10_000,)).start()\n",
    "atexit": "import atexit\natexit.register(time.sleep, 10_000)\n",
    "closed_stderr": "os.close(2)\n",
    "warnings": "import warnings\nwarnings.warn('careful')\n",
    "future_dataclass": "@dataclasses.dataclass\nclass Shapes:\n    heads: 'tuple[int, ...]'\n",
    "scratch_file": "import tempfile\nwith tempfile.TemporaryFile() as file:\n    file.write(b'x')\n",
}


@pytest.fixture(scope="module")
def impatient() -> Iterator[Run]:
    """A grader with short limits, and the loop that it runs in."""
    with asyncio.Runner() as loop:
        limits = Limits(wall_seconds=12, cpu_seconds=12)
        grader = loop.run(Grader(Settings(limits, Limits(wall_seconds=15))).__aenter__())

        def run(folder: Path) -> ExerciseResult:
            return loop.run(grader.grade(catalog.EXERCISES[0], folder)).result

        yield run
        loop.run(grader.__aexit__())


def write(folder: Path, source: str | bytes) -> Path:
    data = source if isinstance(source, bytes) else source.encode()
    (folder / "naive_attention.py").write_bytes(data)
    return folder


@pytest.mark.parametrize("name", FAILS)
def test_gets_a_message_and_no_point(name: str, tmp_path: Path, impatient: Run) -> None:
    source, message = FAILS[name]
    result = impatient(write(tmp_path, source))
    problems = failed(result)
    assert set(problems) >= {"float32", "half_precision", "gradient", "errors"}, result
    assert message in f"{problems['float32'].detail} {problems['float32'].diagnosis}", problems["float32"]
    assert "\x1b" not in problems["float32"].detail
    assert not any(check.outcome is Outcome.PASSED for check in result.checks)
    hint = catalog.EXERCISES[0].checks[0].hint
    assert (problems["float32"].next_step == hint) is (name in HINTED), problems["float32"]


@pytest.mark.parametrize("name", WORKS)
def test_harmless_habits_cost_nothing(name: str, tmp_path: Path, impatient: Run) -> None:
    head = "from __future__ import annotations\nimport dataclasses\n"
    result = impatient(write(tmp_path, head + HEAD + WORKS[name] + RIGHT[len(HEAD) :]))
    assert failed(result) == {}
    if name == "prints":
        assert "hello from the file" in result.output


def test_a_program_that_is_too_large_costs_only_its_own_step(tmp_path: Path, impatient: Run) -> None:
    table = "\n    if query.dtype == jnp.float32:"
    table += "\n        value = value + 0 * jnp.asarray(np.arange(40_000, dtype=np.float32)).sum()"
    source = RIGHT.replace("\n    scores =", f"{table}\n    scores =", 1)
    problems = failed(impatient(write(tmp_path, source)))
    assert set(problems) == {"float32", "extreme_inputs", "gradient", "errors"}
    assert "the largest that is graded 65,536: a precomputed array" in problems["float32"].detail
    assert problems["float32"].next_step.startswith("Build the array with jnp")


def test_directory(tmp_path: Path, impatient: Run) -> None:
    (tmp_path / "naive_attention.py").mkdir()
    assert "is a folder" in failed(impatient(tmp_path))["float32"].detail


def test_missing(tmp_path: Path, impatient: Run) -> None:
    missing = failed(impatient(tmp_path))["float32"]
    assert "does not exist" in missing.detail and missing.next_step.startswith("Copy the stub: ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
def test_fifo(tmp_path: Path, impatient: Run) -> None:
    os.mkfifo(tmp_path / "naive_attention.py")
    assert "not a regular file" in failed(impatient(tmp_path))["float32"].detail


def test_link_out_of_the_folder(tmp_path: Path, impatient: Run) -> None:
    (tmp_path / "naive_attention.py").symlink_to(workspace.solutions() / "naive_attention.py")
    assert "leaves its folder" in failed(impatient(tmp_path))["float32"].detail


def test_sparse_terabyte(tmp_path: Path, impatient: Run) -> None:
    with (tmp_path / "naive_attention.py").open("wb") as file:
        file.truncate(2**40)
    assert "more than 64 kB" in failed(impatient(tmp_path))["float32"].detail


def test_the_next_exercise_is_graded(tmp_path: Path) -> None:
    write(tmp_path, FAILS["os_exit"][0])
    source = (workspace.solutions() / "grouped_query.py").read_text(encoding="utf-8")
    (tmp_path / "grouped_query.py").write_text(source, encoding="utf-8")

    async def both() -> list[ExerciseResult]:
        async with Grader() as grader:
            exercises = [catalog.EXERCISES[0], catalog.EXERCISES[3]]
            return [(await grader.grade(exercise, tmp_path)).result for exercise in exercises]

    first, second = asyncio.run(both())
    assert failed(first)
    assert not failed(second)
