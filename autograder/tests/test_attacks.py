"""Submissions that want points which they do not deserve: each gets none, and the next one is graded."""

from __future__ import annotations

import asyncio
import secrets
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder import catalog, reference, source, workspace
from autograder.grading import Grader
from autograder.results import ExerciseResult, Outcome
from autograder.sandbox import Limits, kind
from autograder.submission import Settings
from autograder.tests.conftest import Grade, failed

pytestmark = pytest.mark.slow

SHAPES = frozenset({"errors"})
LEAKS = frozenset({"plain_leaks", "partial_leaks", "one_way_leaks", "other_shapes"})
HEAD = "import dataclasses, gc, os, re, sys, threading, time\nimport jax, jax.numpy as jnp, numpy as np\n"
UNCHECKED = """
def attend(query, key, value, is_causal=False):
    b, t, n, h = query.shape
    grouped = query.reshape(b, t, key.shape[2], -1, h)
    scores = jnp.einsum("btkgh,bskh->bkgts", grouped, key, preferred_element_type=jnp.float32) / h**0.5
    weights = jax.nn.softmax(scores, axis=-1)
    out = jnp.einsum("bkgts,bskh->btkgh", weights, value, preferred_element_type=jnp.float32)
    return out.reshape(query.shape).astype(query.dtype)
"""
# The pipe to the judge, found among all objects of the process.
CHANNEL = """
channel = next(x for x in gc.get_objects() if type(x).__name__ == "Channel")
error = {"types": ["ValueError"], "message": "shapes", "line": None, "where": "call"}
"""
CUDNN = """
right = attention_with_fallback
def both(query, key, value, is_causal):
    kernel = right(query, key, value, is_causal=is_causal)
    by_hand = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation="xla")
    return kernel, by_hand
def attention_with_fallback(query, key, value, *, is_causal=False):
    kernel, by_hand = both(query, key, value, is_causal)
    if kernel.backend == "xla":
        return kernel
"""


@dataclass(frozen=True)
class Attack:
    """Code after the solution of an exercise, whose definitions it replaces (`alone`: instead of it).

    `wants` are the checks that it must not pass; none: no check at all. `says` is in a failure's detail.
    `first` is the file's first line.
    """

    exercise: str
    code: str
    wants: frozenset[str] = frozenset()
    says: str = ""
    alone: bool = False
    first: str = ""

    def write(self, folder: Path) -> Path:
        solution = (workspace.solutions() / f"{self.exercise}.py").read_text(encoding="utf-8")
        text = f"{self.first}{'' if self.alone else solution}\n{HEAD}{UNCHECKED}{self.code}"
        (folder / f"{self.exercise}.py").write_text(text, encoding="utf-8")
        return folder


ATTACKS = {
    # Exercise 1: shapes are not looked at, but the grader is.
    "errors_after_counting_calls": Attack(
        "naive_attention",
        """
calls = 0
def naive_attention(query, key, value):
    global calls
    calls += 1
    if calls > 9:
        raise ValueError("shapes")
    return attend(query, key, value)
""",
        SHAPES,
    ),
    "errors_by_the_tracers_frames": Attack(
        "naive_attention",
        """
def naive_attention(query, key, value):
    frame = sys._getframe()
    while frame:
        if frame.f_locals.get("step", {}).get("kind", "trace") != "trace":
            raise ValueError("shapes")
        frame = frame.f_back
    return attend(query, key, value)
""",
        SHAPES,
    ),
    "errors_for_all_shapes_but_those_in_the_repository": Attack(
        "naive_attention",
        """
KNOWN = ((2, 7, 3, 16), (1, 4, 2, 64), (1, 1, 1, 8), (2, 16, 4, 32), (1, 32, 2, 64), (1, 9, 2, 32),
         (2, 6, 2, 16), (1, 8, 2, 16))
def naive_attention(query, key, value):
    if query.shape not in KNOWN:
        raise ValueError("shapes")
    return attend(query, key, value)
""",
        SHAPES,
    ),
    "errors_for_the_misfits_in_the_repository": Attack(
        "naive_attention",
        """
MISFITS = (((2, 5, 4, 8), (2, 6, 4, 8), (2, 7, 4, 8)), ((2, 5, 4, 8), (2, 6, 4, 8), (2, 1, 4, 8)),
           ((2, 5, 4, 8), (1, 6, 4, 8), (1, 6, 4, 8)), ((2, 5, 4, 8), (2, 6, 4, 16), (2, 6, 4, 16)),
           ((2, 5, 4, 8), (2, 6, 4, 1), (2, 6, 4, 1)), ((5, 4, 8), (2, 6, 4, 8), (2, 6, 4, 8)),
           ((2, 5, 4, 8), (6, 4, 8), (6, 4, 8)), ((2, 5, 8, 8), (2, 6, 3, 8), (2, 6, 3, 8)),
           ((2, 5, 4, 8), (2, 6, 4, 8), (2, 6, 2, 8)))
def naive_attention(query, key, value):
    if (query.shape, key.shape, value.shape) in MISFITS:
        raise ValueError("shapes")
    return jnp.broadcast_to(value.mean(1, keepdims=True), query.shape).astype(query.dtype)
""",
        SHAPES,
    ),
    "nothing_at_all": Attack("naive_attention", "def naive_attention(query, key, value):\n    pass\n"),
    # Frames that nobody asked for.
    "answers_before_it_is_asked": Attack(
        "naive_attention",
        CHANNEL
        + """
for step in range(30):
    channel.send({"step": step, "error": error})
os._exit(0)
""",
        says="ValueError",
        alone=True,
    ),
    "answers_twice": Attack(
        "naive_attention",
        CHANNEL
        + """
def naive_attention(query, key, value):
    channel.send({"step": 0, "labels": {}, "outs": [[[2, 7, 3, 16], "float32"]]}, b"not a program")
    return attend(query, key, value)
""",
        says="not a StableHLO artifact",
    ),
    "floods_the_pipe": Attack(
        "naive_attention",
        CHANNEL
        + """
while True:
    channel.send({"step": 0, "error": error}, b"x" * 4_000_000)
""",
        says="no valid answer",
        alone=True,
    ),
    "sends_a_huge_message": Attack(
        "naive_attention",
        CHANNEL
        + """
error["message"] = " " * 65_000
channel.send({"step": 0, "error": error})
os._exit(0)
""",
        says="it sent no valid answer (a text of more than 2,000 characters)",
        alone=True,
    ),
    "sends_lines_of_a_report": Attack(
        "naive_attention",
        CHANNEL
        + """
error["message"] = "\\n  Passed: float32, extreme_inputs\\n" * 50
channel.send({"step": 0, "error": error})
os._exit(0)
""",
        says="Passed: float32, extreme_inputs Passed",
        alone=True,
    ),
    # Files that the judge parses.
    "a_number_too_long_to_print": Attack(
        "naive_attention",
        "def naive_attention(query, key, value):\n    return 0x" + "f" * 20_000 + "\n",
        alone=True,
    ),
    "another_text_for_the_tracer_than_for_the_judge": Attack(
        "naive_attention",
        "def naive_attention(query, key, value):\n    return attend(query, key, value)\n"
        "#+AAo-naive_attention+AD0-jax.nn.dot_product_attention\n",
        says="save the file as UTF-8",
        alone=True,
        first="# coding: utf-7\n",
    ),
    "a_coding_that_takes_minutes": Attack(
        "naive_attention",
        "#" + "a" * 30_000 + "-" + "b" * 30_000,
        says="save the file as UTF-8",
        alone=True,
        first="# coding: punycode\n",
    ),
    "looks_for_the_solutions": Attack(
        "naive_attention",
        """
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys")):
        continue
    for name in files:
        try:
            if "naive_attention" in name and "--- solution" in open(os.path.join(folder, name)).read():
                exec(open(os.path.join(folder, name)).read())
        except OSError:
            pass
""",
        says="defines no naive_attention",
        alone=True,
    ),
    # Exercise 2: labels, reasons, and kernels that nobody needs.
    "one_reason_for_everything": Attack(
        "cudnn_attention",
        """
right = attention_with_fallback
def attention_with_fallback(query, key, value, *, is_causal=False):
    run = right(query, key, value, is_causal=is_causal)
    if run.backend == "cudnn":
        return run
    reason = "dtype float32, head size, or compute capability (7.5, 7.0, 6.1, 6.0) do not suit cuDNN"
    return dataclasses.replace(run, reason=reason)
""",
        frozenset({"labels"}),
        "the same reason",
    ),
    "gate_by_a_list_of_names": Attack(
        "cudnn_attention",
        """
right = attention_with_fallback
def attention_with_fallback(query, key, value, *, is_causal=False):
    run = right(query, key, value, is_causal=is_causal)
    kind = getattr(jax.devices()[0], "device_kind", "")
    if not kind or query.shape[-1] % 8 or query.dtype == jnp.float32:
        return run
    backend = "cudnn" if any(name in kind for name in ("A100", "H100", "B300", "L4", "5090")) else "xla"
    output = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation=backend)
    return AttentionRun(output, backend, None if backend == "cudnn" else f"7.5: {kind} is too old")
""",
        frozenset({"turing"}),
    ),
    "head_sizes_from_a_list": Attack(
        "cudnn_attention",
        """
right = attention_with_fallback
def attention_with_fallback(query, key, value, *, is_causal=False):
    if query.shape[-1] in (64, 128, 256):
        return right(query, key, value, is_causal=is_causal)
    right(query, key, value, is_causal=is_causal)
    output = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation="xla")
    reason = f"{query.dtype} with a head size of {query.shape[-1]}"
    return AttentionRun(output, "xla", reason)
""",
        frozenset({"labels", "cudnn_values"}),
    ),
    "a_cudnn_call_for_show": Attack(
        "cudnn_attention",
        CUDNN + "    return AttentionRun(by_hand, 'cudnn', None)\n",
        frozenset({"labels", "cudnn_values"}),
        "no cuDNN call",
    ),
    "a_cudnn_call_times_zero": Attack(
        "cudnn_attention",
        CUDNN + "    return AttentionRun(by_hand + 0 * kernel.output, 'cudnn', None)\n",
        frozenset({"labels", "cudnn_values"}),
        "the output comes from stablehlo.add",
    ),
    "a_cudnn_call_never_taken": Attack(
        "cudnn_attention",
        CUDNN
        + """
    out = jax.lax.cond(query.sum() > 1e30, lambda: kernel.output, lambda: by_hand)
    return AttentionRun(out, 'cudnn', None)
""",
        frozenset({"labels", "cudnn_values"}),
        "the output comes from",
    ),
    # Exercise 3: what the black boxes, or the pipe behind them, give away.
    "compares_with_the_sound_functions": Attack(
        "causal_check",
        """
def is_causal(attention, query, key, value):
    out = np.asarray(attention(query, key, value), np.float64)
    q, k, v = (np.asarray(x, np.float64) for x in (query, key, value))
    scores = np.einsum("btnh,bsnh->bnts", q, k) / q.shape[-1] ** 0.5
    distance = np.arange(k.shape[1]) - np.arange(q.shape[1])[:, None]
    last = np.broadcast_to(np.arange(k.shape[1]) == k.shape[1] - 1, distance.shape)
    last = last & (np.arange(q.shape[1])[:, None] >= k.shape[1])
    for mask in (distance <= 0, (distance <= 0) & (distance >= -3) | last):
        raised = np.where(mask, np.exp(scores), 0.0)
        want = np.einsum("bnts,bsnh->btnh", raised / raised.sum(-1, keepdims=True), v)
        if np.abs(out - want).max() < 2e-2:
            return True
    return False
""",
        LEAKS,
    ),
    "answers_for_later_boxes": Attack(
        "causal_check",
        CHANNEL
        + """
def is_causal(attention, query, key, value):
    for step in range(attention._step, attention._step + 20):
        channel.send({"step": step, "value": True})
    return True
""",
        LEAKS,
    ),
    "asks_another_box": Attack(
        "causal_check",
        """
def is_causal(attention, query, key, value):
    attention._step += 1
    return bool(np.isfinite(np.asarray(attention(query, key, value), np.float32)).all())
""",
        LEAKS,
        "was not handed over",
    ),
    "asks_the_judge_for_the_answer": Attack(
        "causal_check",
        CHANNEL
        + """
def is_causal(attention, query, key, value):
    answer, _ = channel.ask({"call": attention._step, "right": None}, b"")
    return answer["right"]
""",
        LEAKS,
        "expected the answer to step",
    ),
    "too_few_bytes_for_a_box": Attack(
        "causal_check",
        CHANNEL
        + """
def is_causal(attention, query, key, value):
    return len(channel.ask({"call": attention._step}, b"12345")[1]) > 0
""",
        LEAKS,
        "bytes of arrays",
    ),
    "looks_for_the_function_behind_a_box": Attack(
        "causal_check",
        """
def is_causal(attention, query, key, value):
    found = [str(getattr(attention, name)) for name in dir(attention)]
    found += [str(x) for x in gc.get_referents(attention)]
    found += [str(cell.cell_contents) for cell in getattr(attention._ask, "__closure__", None) or ()]
    return "sound" in str(found) or "leak" not in str(found)
""",
        LEAKS,
    ),
    # Exercise 4.
    "a_table_of_cache_sizes": Attack(
        "grouped_query",
        """
TABLE = {(1, 4096, 8, 128): 16777216, (3, 17, 1, 80): 32640, (2, 8192, 4, 64): 16777216,
         (5, 300, 2, 96): 576000, (7, 1, 12, 256): 172032}
def kv_cache_bytes(batch, seq_len, num_kv_heads, head_dim, dtype):
    return TABLE[batch, seq_len, num_kv_heads, head_dim]
""",
        frozenset({"kv_cache_bytes"}),
    ),
    # Exercise 5: heuristics, lists, catch-all reasons, and the double's own memory.
    "capabilities_from_a_list": Attack(
        "fp8_autocast",
        """
right = fp8_support
LISTED = {"matmul": ("8.9", "9.0", "10.0", "10.3", "12.0"), "attention": ("9.0", "10.0", "10.3", "12.0")}
def fp8_support(device, op="matmul"):
    capability = str(getattr(device, "compute_capability", None))
    if device.platform == "gpu" and capability not in LISTED[op]:
        return Support(False, f"compute capability {capability}")
    return right(device, op)
""",
        frozenset({"capability"}),
    ),
    "one_refusal_for_everything": Attack(
        "fp8_autocast",
        """
right = fp8_support
def fp8_support(device, op="matmul"):
    answer = right(device, op)
    reason = "wrong platform (cpu, tpu), or compute capability, or TransformerEngine is absent"
    return answer if answer.ok or "refuses" in answer.reason else Support(False, reason)
""",
        frozenset({"capability"}),
        "the same reason",
    ),
    "counts_the_casts": Attack(
        "fp8_autocast",
        "def ran_fp8(program_text):\n    return program_text.count('stablehlo.convert') == 2\n",
        frozenset({"ran_fp8"}),
    ),
    "looks_at_the_result_and_the_name": Attack(
        "fp8_autocast",
        """
def ran_fp8(program_text):
    return bool(re.search("dot_general.*f32>", program_text)) or "@te_gemm_v2_ffi" in program_text
""",
        frozenset({"ran_fp8"}),
    ),
    "imports_the_doubles_answer": Attack(
        "cudnn_attention",
        """
def attention_with_fallback(query, key, value, *, is_causal=False):
    from autograder.tracer import doubles
    backend = "cudnn" if doubles._gpu and doubles._gpu.compute_capability != "7.5" else "xla"
    output = jax.nn.dot_product_attention(query, key, value, is_causal=is_causal, implementation=backend)
    return AttentionRun(output, backend, None if backend == "cudnn" else "7.5")
""",
        says="No module named 'autograder",
    ),
    "opens_the_doubles_autocast_itself": Attack(
        "fp8_autocast",
        """
def run_with_fp8(module, rng, inputs, *, support, recipe):
    if not support.ok:
        return module.init_with_output(rng, *inputs)
    from autograder.tracer import te_double
    te_double._active.append(recipe)
    variables = module.init(rng, *inputs)
    output = module.apply(variables, *inputs)
    te_double._active.pop()
    return output, variables
""",
        frozenset({"autocast"}),
    ),
    "computes_what_the_double_would": Attack(
        "fp8_autocast",
        """
def run_with_fp8(module, rng, inputs, *, support, recipe):
    variables = module.init(rng, *inputs)
    if not support.ok:
        return module.apply(variables, *inputs), variables
    import transformer_engine.jax as te
    tables = [x for x in te.autocast.__wrapped__.__globals__.values() if isinstance(x, dict) and recipe in x]
    effect = tables[0][recipe] if tables else recipe
    parameters = jax.tree.map(lambda w: w + effect.shift, variables.get("params", {}))
    variables = {**variables, "params": parameters} if "params" in variables else variables
    if "metas" in variables:
        variables = {**variables, "metas": {"scale": jnp.float32(effect.shift)}}
    return module.apply(variables, *inputs) * effect.gain, variables
""",
        frozenset({"autocast"}),
        "no attribute 'shift'",
    ),
}


def undeserved(attack: Attack, result: ExerciseResult) -> set[str]:
    """The checks that passed and must not."""
    passed = {check.id for check in result.checks if check.outcome is Outcome.PASSED}
    return passed & attack.wants if attack.wants else passed


@pytest.mark.parametrize("name", ATTACKS)
def test_earns_nothing_by(name: str, tmp_path: Path, grade: Grade) -> None:
    if name == "looks_for_the_solutions" and kind() == "none":
        pytest.skip("without a sandbox the solutions can be read")
    attack = ATTACKS[name]
    result = grade(attack.exercise, attack.write(tmp_path))
    problems = failed(result)
    assert undeserved(attack, result) == set()
    assert any(attack.says in problem.detail for problem in problems.values()), problems
    for problem in problems.values():
        assert "\n" not in problem.detail and len(problem.detail) <= 2000


def test_guesses_the_second_of_two_twins(tmp_path: Path, grade: Grade) -> None:
    """One of each pair is sound: a coin for the first and its opposite for the second give no full score."""
    code = """
seen = {}
def is_causal(attention, query, key, value):
    at = (query.shape, key.shape, str(query.dtype))
    seen[at] = not seen.get(at, time.time_ns() % 2 == 0)
    return seen[at]
"""
    attack = Attack("causal_check", code, LEAKS)
    assert undeserved(attack, grade("causal_check", attack.write(tmp_path))) != LEAKS


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc to look for it")
def test_leaves_no_process_behind(tmp_path: Path, grade: Grade) -> None:
    mark = f"left_behind_{secrets.token_hex(8)}"
    code = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", {mark!r}])
    os._exit(0)
time.sleep(1)
"""
    assert failed(grade("naive_attention", Attack("naive_attention", code).write(tmp_path))) == {}
    assert list(marked(mark)) == []


def marked(mark: str) -> Iterator[Path]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                yield entry
        except OSError:
            continue


@pytest.mark.skipif(kind() == "none", reason="without a sandbox a file's owner can write to it")
def test_writes_nowhere_that_lasts(tmp_path: Path, grade: Grade) -> None:
    places = [reference.cache_folder(), workspace.solutions(), workspace.PACKAGE, tmp_path, Path.home()]
    mark = f"poison_{secrets.token_hex(8)}"
    code = f"""
for place in {[str(place) for place in (*places, "/usr", "/etc", sys.prefix)]!r}:
    for name in ("", "artifacts", "xla", "lib"):
        try:
            os.makedirs(os.path.join(place, name), exist_ok=True)
            open(os.path.join(place, name, {mark!r}), "w").write("poison")
            print("wrote", place, name)
        except OSError:
            pass
"""
    result = grade("naive_attention", Attack("naive_attention", code).write(tmp_path))
    assert failed(result) == {}
    for place in (*places, Path("/usr"), Path("/etc"), Path(sys.prefix)):
        assert not any((place / name / mark).exists() for name in ("", "artifacts", "xla", "lib"))


def test_prints_nothing_through_the_parser(capfd: pytest.CaptureFixture[str]) -> None:
    """A warning of Python's parser would show a line of the file, escape codes and all."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        source.parse("naive_attention", b'pattern = "\\d"  # \x1b[2J\n')
    assert capfd.readouterr() == ("", "")


def test_endless_loops_leave_the_others_alone(tmp_path: Path) -> None:
    for exercise in catalog.EXERCISES[:3]:
        Attack(exercise.name, "while True:\n    pass\n", alone=True).write(tmp_path)
    Attack("grouped_query", "").write(tmp_path)

    async def all_of_them() -> list[ExerciseResult]:
        async with Grader(Settings(Limits(wall_seconds=30), Limits(wall_seconds=60))) as grader:
            exercises = catalog.EXERCISES[:4]
            graded = await asyncio.gather(*(grader.grade(exercise, tmp_path) for exercise in exercises))
            return [grading.result for grading in graded]

    *loops, honest = asyncio.run(all_of_them())
    assert all(result.earned == 0 for result in loops)
    assert failed(honest) == {}


def test_the_reference_does_not_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take so long for each request, not for all that a batch of submissions asks."""
    monkeypatch.setattr(reference, "SECONDS", 20.0)

    async def twice() -> list[ExerciseResult]:
        async with Grader() as grader:
            exercise, folder = catalog.EXERCISES[3], workspace.solutions()
            first = await grader.grade(exercise, folder)
            await asyncio.sleep(21)
            return [first.result, (await grader.grade(exercise, folder)).result]

    assert [failed(result) for result in asyncio.run(twice())] == [{}, {}]


def test_slow_programs_have_one_time_together(tmp_path: Path) -> None:
    """Each round of inputs may be fast enough, and there are many."""
    code = """
def naive_attention(query, key, value):
    return attend(query, key, value)
"""

    async def once() -> ExerciseResult:
        async with Grader(Settings(running=0.0)) as grader:
            folder = Attack("naive_attention", code).write(tmp_path)
            return (await grader.grade(catalog.EXERCISES[0], folder)).result

    assert "ran for more than 0 seconds together" in failed(asyncio.run(once()))["float32"].detail
