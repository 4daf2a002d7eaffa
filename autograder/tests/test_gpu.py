"""On a GPU the solutions pass what waited for it, and each way to be slow, large or untrue fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

from autograder import catalog, device, workspace
from autograder.grading import Grader
from autograder.results import CheckResult, ExerciseResult, Outcome

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("gpu")]

Grade = Callable[[str, str], ExerciseResult]


@pytest.fixture(scope="module")
def grade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grade]:
    """Grade a source as an exercise's module, on the GPU."""
    with asyncio.Runner() as loop:
        if loop.run(device.find()) is None:
            pytest.skip("no NVIDIA GPU that JAX can use")
        grader = loop.run(Grader().__aenter__())

        def run(name: str, source: str) -> ExerciseResult:
            folder = tmp_path_factory.mktemp(name)
            (folder / f"{name}.py").write_text(source, encoding="utf-8")
            exercise = catalog.find(name)
            assert exercise is not None
            return loop.run(grader.grade(exercise, folder)).result

        yield run
        loop.run(grader.__aexit__())


def solution(name: str) -> str:
    return (workspace.solutions() / f"{name}.py").read_text(encoding="utf-8")


def changed(name: str, *changes: tuple[str, str]) -> str:
    source = solution(name)
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize("name", ["naive_attention", "cudnn_attention", "grouped_query"])
def test_solutions_pass_everything(name: str, grade: Grade) -> None:
    result = grade(name, solution(name))
    assert {check.id: check.detail for check in result.checks if check.outcome is not Outcome.PASSED} == {}


UPCAST = """
import jax, jax.numpy as jnp

def naive_attention(query, key, value):
    q, k, v = (x.astype(jnp.float32) for x in (query, key, value))
    scores = jnp.einsum("btnh,bsnh->bnts", q, k, precision="highest") / query.shape[-1] ** 0.5
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("bnts,bsnh->btnh", weights, v, precision="highest").astype(query.dtype)
"""
CONSTANT = """
import jax.numpy as jnp

def naive_attention(query, key, value):
    return jnp.zeros_like(query)
"""
REPEATED = changed(
    "grouped_query",
    (
        '    # --- solution\n    grouped = query.reshape',
        '    # --- solution\n    key, value = (jax.lax.optimization_barrier(jnp.repeat(x, N // K, axis=2)) '
        'for x in (key, value))\n    K = N\n    grouped = query.reshape',
    ),
)  # fmt: skip
RUNS_XLA = changed("cudnn_attention", ('implementation="cudnn"\n', 'implementation="xla"\n'))
NEVER_CUDNN = changed(
    "cudnn_attention",
    ("reason = _reason_against_cudnn(jax.devices()[0], query.dtype)", 'reason = "cuDNN is not to my taste"'),
)
TWICE = changed(
    "cudnn_attention",
    ('return AttentionRun(output, "cudnn", None)', 'return AttentionRun(output + 0 * output, "cudnn", None)'),
)

WRONG = {
    "float32 operands": ("naive_attention", UPCAST, {"speed"}),
    "a constant is fast": ("naive_attention", CONSTANT, {"speed"}),
    "K and V repeated": ("grouped_query", REPEATED, {"speed"}),
    "XLA under cuDNN's name": ("cudnn_attention", RUNS_XLA, {"path", "memory", "speed"}),
    "always the fallback": ("cudnn_attention", NEVER_CUDNN, {"path", "memory", "speed"}),
    "arithmetic after the call": ("cudnn_attention", TWICE, {"path", "memory", "speed"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_fail(name: str, grade: Grade) -> None:
    module, source, checks = WRONG[name]
    result = grade(module, source)
    outcomes = {check.id: check for check in result.checks}
    details = "\n".join(f"{check.id} {check.outcome}: {check.detail}" for check in result.checks)
    print(details)
    assert {name for name in checks if outcomes[name].outcome is Outcome.FAILED} == checks, details


# Attention in a loop that XLA cannot count: `ROUNDS` times, or until `AGAIN` is false.
LOOP = """
import jax, jax.numpy as jnp

def attend(query, key, value):
    scores = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32)
    weights = jax.nn.softmax(scores / query.shape[-1] ** 0.5, axis=-1).astype(query.dtype)
    return jnp.einsum("bnts,bsnh->btnh", weights, value)

def naive_attention(query, key, value):
    T = query.shape[1]
    first = query[0, 0, 0, 0]
    rounds = ROUNDS

    def again(state):
        step, _ = state
        return AGAIN

    def body(state):
        step, out = state
        return (step + 1) % 1000, attend(query + 0 * out, key, value)

    return jax.lax.while_loop(again, body, (jnp.int32(0), jnp.zeros_like(query)))[1]
"""


def loop(rounds: str, again: str = "step < rounds") -> str:
    return LOOP.replace("ROUNDS", rounds).replace("AGAIN", again)


LOOPS = {
    "always three times": loop("jnp.where(jnp.isfinite(first), 3, 1)"),
    "four times or three by the inputs, so that the kernels differ": loop("jnp.where(first > 0, 4, 3)"),
}
ENDLESS = loop("1", "step < rounds if T < 1024 else step >= 0")


def speed(result: ExerciseResult) -> CheckResult:
    [check] = [check for check in result.checks if check.id == "speed"]
    print(check.outcome, check.detail, check.next_step, sep="\n  ")
    return check


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_is_slower_fails(name: str, grade: Grade) -> None:
    check = speed(grade("naive_attention", LOOPS[name]))
    assert check.outcome is Outcome.FAILED and "the limit is 1.5 times" in check.detail


def test_a_loop_that_is_as_fast_as_the_reference_does_not_fail(grade: Grade) -> None:
    check = speed(grade("naive_attention", loop("jnp.where(jnp.isfinite(first), 1, 2)")))
    assert check.outcome in (Outcome.PASSED, Outcome.NOT_GRADED)


def test_a_loop_that_does_not_end_at_large_sizes_fails_and_the_gpu_is_free_again(grade: Grade) -> None:
    begin = time.monotonic()
    result = grade("naive_attention", ENDLESS)
    print(f"graded in {time.monotonic() - begin:.1f} s")
    check = speed(result)
    assert check.outcome is Outcome.FAILED and "did not end within 10" in check.detail
    assert check.next_step == "Look for a loop whose condition depends on the sizes."
    outcomes = {check.id: check.outcome for check in result.checks}
    print(outcomes)
    assert outcomes["float32"] is Outcome.PASSED and Outcome.GRADER_ERROR not in outcomes.values()
    begin = time.monotonic()
    after = speed(grade("naive_attention", solution("naive_attention")))
    print(f"the next submission was graded in {time.monotonic() - begin:.1f} s")
    assert after.outcome is Outcome.PASSED
