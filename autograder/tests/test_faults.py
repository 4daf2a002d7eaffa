"""Each error of a learner's code has a next step that fits it: real errors, described as the tracer does."""

from __future__ import annotations

import io
import sys

import jax
import numpy as np
import pytest

from autograder.advice import ARGUMENTS, NO_CALLBACK, RETURNS, SMALLER
from autograder.arrays import Spec
from autograder.exercises.shapes import FITS, Shapes
from autograder.faults import ended, explain
from autograder.hearing import hear
from autograder.interrogation import Interrogation
from autograder.plan import Evidence, Plan, Problem, Question
from autograder.runner import cudnn
from autograder.sandbox.ending import in_words
from autograder.source import parse
from autograder.tracer import steps
from autograder.tracer.faults import WrongValue, describe
from autograder.wire import MAX_ARTIFACT

NAME = "naive_attention"
HEAD = "import dataclasses, jax, jax.numpy as jnp, numpy as np\nfrom jax import lax\n"
VECTOR = Spec((4,), "float32")


def explained(body: str, *, gradient: bool = False, head: str = "") -> Problem:
    """What becomes of the error that tracing a function of this body raises; the body is line 4."""
    space: dict[str, object] = {"__name__": NAME}
    source = f"{HEAD}{head}def {NAME}(x):\n    {body}\n"
    exec(compile(source, f"{NAME}.py", "exec"), space)
    program = steps._program(space[NAME], {}, {})  # type: ignore[arg-type]
    try:
        if gradient:
            steps.exported(steps._pullback(program), [VECTOR, VECTOR], {})
        else:
            steps.exported(program, [VECTOR], {})
    except BaseException as error:
        problem = explain({"error": describe(error, NAME, "call")}, "it")
        assert problem is not None
        return problem
    raise AssertionError("nothing was raised")


def test_an_error_of_no_known_kind_is_corrected_where_it_stands() -> None:
    problem = explained("return y")
    assert problem.detail == "it: raised NameError at line 4: name 'y' is not defined"
    assert problem.next_step == "Correct the error at line 4 first."


ON_CPU = "    if float(jax.devices()[0].compute_capability) < 8.0:"
EMPTY = {"types": ["AttributeError"], "message": "", "line": 2, "where": "call"}


def heard(line: str, error: dict[str, object]) -> Problem:
    """What a question that raised is told, where this is line 2 of the file."""
    source = parse(NAME, f"def {NAME}(x):\n{line}\n        pass\n".encode())
    question = Question("key", "it", {"kind": "call", "function": NAME}, lambda answer: explain(answer, "it"))
    evidence = Evidence(source, Plan((), (question,)))
    hear(Interrogation(answers={"key": {"error": error}}), evidence)
    return evidence.problems["key", ""]


def test_jax_says_nothing_where_a_cpu_is_asked_for_its_capability() -> None:
    with pytest.raises(AttributeError) as raised:
        float(jax.devices("cpu")[0].compute_capability)
    assert str(raised.value) == ""
    problem = heard(ON_CPU, EMPTY)
    assert problem.detail == f"it: raised AttributeError at line 2: `{ON_CPU.strip()}`"
    assert problem.next_step.startswith("A CPU device has no compute_capability: ask for the platform first")
    said = heard("    if x.cc:", {**EMPTY, "message": "'Cpu' object has no attribute 'compute_capability'"})
    assert said.next_step == problem.next_step and "`" not in said.detail


def test_a_source_line_is_cut_and_stands_for_an_empty_message_alone() -> None:
    long = f"    if {'x + ' * 60}x:"
    assert heard(long, {**EMPTY, "types": ["AssertionError"]}).detail.endswith(f": `{long.strip()[:80]}…`")
    assert heard(ON_CPU, {**EMPTY, "message": "no"}).detail == "it: raised AttributeError at line 2: no"
    assert heard(ON_CPU, {**EMPTY, "message": "no"}).next_step == "Correct the error at line 2 first."
    for line in (-1, 0, 10**9, None):  # the process that says it is the learner's
        assert "`" not in heard(ON_CPU, {**EMPTY, "line": line}).detail


def test_block_until_ready_waits_for_nothing_while_tracing() -> None:
    problem = explained("return (x + 1).block_until_ready()")
    assert problem.detail.startswith("it: raised AttributeError at line 4: The 'block_until_ready' method")
    assert problem.detail.endswith("on traced array with shape float32[4].")  # and of no file of ours
    assert problem.next_step.startswith("Remove .block_until_ready(): while JAX traces")


def test_input_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    problem = explained("return x * float(input())")
    assert (problem.detail, problem.diagnosis) == (
        "it: raised EOFError at line 4: EOF when reading a line",
        "It waited for input, perhaps.",
    )
    assert problem.next_step.startswith("Remove input(): nobody types")


def test_the_library_compiles_float16_on_gpus_only() -> None:
    problem = explained("x = jnp.ones((1, 2, 1, 8), 'float16'); return jax.nn.dot_product_attention(x, x, x)")
    assert problem.diagnosis.startswith("JAX's own attention compiles float16 on GPUs only")
    assert problem.next_step.startswith("Cast the arrays to float32 first")
    assert problem.next_step.endswith("where the exercise asks for your own steps, write them.")


def test_only_arrays_leave_a_function_under_jit() -> None:
    head = "Run = dataclasses.make_dataclass('Run', ['output'])\njitted = jax.jit(lambda x: Run(x))\n"
    problem = explained("return jitted(x).output", head=head)
    assert "is not a valid JAX type" in problem.detail
    assert problem.next_step.startswith("Remove the jax.jit decorator")


@pytest.mark.parametrize(
    "body",
    [
        "return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, 2 * c[1]), (0, x))[1]",
        "return lax.fori_loop(0, x.sum().astype(int), lambda i, y: 2 * y, x)",
        "return jax.pure_callback(lambda y: y, x, x)",
        "return jax.ffi.ffi_call('mine', jax.ShapeDtypeStruct(x.shape, x.dtype))(x)",
    ],
)
def test_what_has_no_gradient_is_named(body: str) -> None:
    problem = explained(body, gradient=True)
    assert problem.diagnosis == "It holds an operation that JAX cannot differentiate."
    assert problem.next_step.startswith("Write it with operations that have gradients: lax.scan")


def test_cudnns_refusal_is_a_reason_to_fall_back() -> None:
    """It is no unfinished function, though cuDNN raises NotImplementedError for dtypes and head sizes."""
    for raised in ("NotImplementedError('Q must be fp16/bf16')", "RuntimeError('cuDNN is not detected.')"):
        problem = explained(f"raise {raised}")
        assert problem.diagnosis == "cuDNN's refusal was let out."
        assert problem.next_step.startswith("Catch NotImplementedError and RuntimeError where you ask for")
    assert explained("raise NotImplementedError('TODO')").diagnosis == "It is not finished."


def test_the_refusals_that_jax_itself_raises_for_cudnn_are_known() -> None:
    for dtype, size in (("float32", 64), ("bfloat16", 60), ("bfloat16", 264)):
        x = steps.struct(Spec((1, 8, 2, size), dtype))
        with cudnn._probes(), pytest.raises((NotImplementedError, RuntimeError)) as raised:
            jax.eval_shape(lambda x: jax.nn.dot_product_attention(x, x, x, implementation="cudnn"), x)
        problem = explain({"error": describe(raised.value, NAME, "call")}, "it")
        assert problem is not None and problem.diagnosis == "cuDNN's refusal was let out."


def test_callbacks_are_removed() -> None:
    error = {"types": ["NotImplementedError"], "message": "x host_callbacks y", "line": 3, "where": "call"}
    problem = explain({"error": error}, "it")
    assert problem is not None and problem.next_step == NO_CALLBACK
    assert problem.detail.startswith("it: it calls back into Python")


def test_a_program_of_more_than_64_kb_is_a_problem_of_its_own_step() -> None:
    problem = explained("return x + jnp.asarray(np.arange(40_000, dtype=np.float32))[:4]")
    assert f"and the largest that is graded {MAX_ARTIFACT:,}: a precomputed array" in problem.detail
    assert problem.next_step.startswith("Build the array with jnp inside the function")


def test_an_error_without_a_line_is_about_the_arguments() -> None:
    error = {"types": ["TypeError"], "message": "takes 1 argument", "line": None, "where": "call"}
    problem = explain({"error": error}, "it")
    assert problem is not None and problem.next_step == ARGUMENTS


def test_a_wrong_value_may_mention_anything() -> None:
    problem = explain({"error": describe(WrongValue("no attribute 'cuDNN'"), NAME, "call")}, "it")
    assert problem is not None
    assert (problem.detail, problem.next_step) == ("it: no attribute 'cuDNN'", RETURNS)


ENDED = {
    "it did not answer within 120 seconds: an endless loop, perhaps": "Look for a loop",
    in_words(-24, False): "Look for a loop",
    "it ran out of memory: more than 3 GiB": SMALLER,
    "it ran out of memory: more than 3 GiB in 12 processes": "Start no processes",
    in_words(-9, False): SMALLER,
    in_words(-11, False): "Remove what crashes",
    in_words(139, True): "Remove what crashes",
    in_words(0, True): "Remove what ends",
    in_words(None, True): "Leave the process's files and pipes alone",
    "it sent no valid answer (not JSON)": "Leave the process's files and pipes alone",
}


@pytest.mark.parametrize("reason", ENDED)
def test_the_end_of_a_process_has_a_next_step(reason: str) -> None:
    assert ended(reason).startswith(ENDED[reason])
    source = parse(NAME, b"pass\n")
    question = Question("key", "asked", {"kind": "call", "function": NAME}, lambda answer: None)
    evidence = Evidence(source, Plan((), (question,)))
    hear(Interrogation(ended=("key", reason)), evidence)
    assert evidence.problems["key", ""] == Problem(
        f"asked: the process ended: {reason}", next_step=ended(reason)
    )


@pytest.mark.parametrize(
    ("kind", "source", "step"),
    [
        ("ValueError", "raise ValueError(shapes)", "The check at line 7 refuses a call that fits"),
        ("TypeError", "if query.shape != key.shape: raise TypeError", "The check at line 7 refuses"),
        ("AssertionError", "assert query.shape == key.shape", "The check at line 7 refuses"),
        ("ValueError", "scores = jnp.einsum('btnh,bsnh->bnts', query, key)", "Correct the error at line 7"),
        ("NameError", "scores = score", "Correct the error at line 7 first."),
    ],
)
def test_a_check_that_refuses_what_fits_is_told_to_loosen(kind: str, source: str, step: str) -> None:
    """Another error is corrected first, as everywhere."""
    [question] = Shapes(NAME, FITS[:1]).questions(np.random.default_rng(0))
    error = {"types": [kind], "message": "no", "line": 7, "where": "call", "source": source}
    problem = question.judge({"error": error})
    assert problem is not None and problem.next_step.startswith(step)
