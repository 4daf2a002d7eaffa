"""An error is told by the code it stands on: what asks for a value, what was renamed, which import fails."""

from __future__ import annotations

import io
import re
import sys
import types
import warnings

import pytest

from autograder.arrays import Spec
from autograder.faults import ended, explain, located, unrolled, untraced
from autograder.plan import Problem
from autograder.runner.refusal import LOOPS
from autograder.source import Unreadable, parse
from autograder.text import cut
from autograder.tracer import steps
from autograder.tracer.faults import describe

NAME = "naive_attention"
HEAD = "import math, jax, jax.numpy as jnp, numpy as np\nfrom numpy import einsum\nfrom jax import lax\n"
VECTOR = Spec((4,), "float32")
OURS = re.compile(r"autograder|steps\.py|pullback|docs\.jax|/")


def told(source: str, *, gradient: bool = False) -> Problem:
    """What becomes of the error that loading this file, or tracing its function, raises."""
    module = types.ModuleType(NAME)
    try:
        exec(compile(source, f"{NAME}.py", "exec"), module.__dict__)
    except BaseException as error:
        return problem_of(error, source, "import")
    try:
        program = steps._program(steps.function(module, NAME), {}, {})
        if gradient:
            steps.exported(steps._pullback(program), [VECTOR, VECTOR], {})
        else:
            steps.exported(program, [VECTOR], {})
    except BaseException as error:
        return problem_of(error, source, "call")
    raise AssertionError("nothing was raised")


def problem_of(error: BaseException, source: str, where: str) -> Problem:
    answer = located({"error": describe(error, NAME, where)}, parse(NAME, source.encode()))
    problem = explain(answer, "it")
    assert problem is not None
    return problem


def body(text: str) -> str:
    """A file whose function has this body, at line 5."""
    return f"{HEAD}def {NAME}(x):\n    {text}\n"


VALUES = {
    "return x * np.einsum('i,i->', x, x)": "Write jnp in place of np at line 5.",
    "return np.exp(x) / np.sqrt(x.shape[-1])": "Write jnp in place of np at line 5.",
    "return np.sqrt(x.shape[-1]) * np.exp(x)": "Write jnp in place of np at line 5.",
    "return x * einsum('i,i->', x, x)": "Write jnp.einsum in place of NumPy's einsum at line 5.",
    "y = np.zeros(4); y[0] = x[0]; return y": "Write jnp in place of np at line 5.",
    "return x * float(x.sum())": "Leave float(…) out at line 5, or write .astype(jnp.float32). For a",
    "return x / float(jnp.sqrt(x.shape[-1]))": "Leave float(…) out at line 5, or write .astype(jnp.float32).",
    "return x * math.sqrt(x.sum())": "Write jnp.sqrt in place of math.sqrt at line 5, for an array.",
    "return x * int(x.sum())": "Leave int(…) out at line 5, or write .astype(jnp.int32).",
    "return x * x.sum().item()": "Leave .item() out at line 5: keep the array.",
    "if x.sum() > 3: return x": "Write jnp.where(condition, one, other) in place of the if at line 5.",
    "return x if x.sum() > 3 else -x": "Write jnp.where(condition, one, other) in place of the if at line 5.",
    "return x if x.any() and x.all() else -x": "Write jnp.where(condition, one, other) in place of the if at",
    "y = x.any() and x.all(); return x": "Write &, | and ~ in place of and, or and not at line 5",
    "return x * max(x[0], x[1])": "Write jnp.maximum in place of max at line 5.",
    "assert x.sum() > 0; return x": "Let the assert at line 5 ask for shapes and dtypes alone, or remove it.",
    "\n    while x.sum() < 3: x = x * 2\n    return x": "Write array operations or lax.scan in place",
    "return sum(x for _ in range(x.sum().astype(int)))": "Let range at line 5 count up to a size",
    "return x[x > 0]": "Write jnp.where(mask, x, 0) in place of x[mask] at line 5",
    "return jax.jit(lambda y: y if y.sum() > 0 else -y)(x)": "Write jnp.where(condition, one, oth",
    "return x * jax.random.normal(jax.random.key(x.sum()), x.shape)": "Remove jax.random.normal at line 5",
    "return x.reshape(x.sum().astype(int), -1)": "Take sizes from shapes, such as query.shape[-1]",
    "return x * float(f'{x.sum():.2f}')": "Leave the text out, or put shapes and dtypes into it",
}


@pytest.mark.parametrize("text", VALUES)
@pytest.mark.parametrize("gradient", [False, True])
def test_what_asks_for_a_value_is_named_and_no_file_of_ours(text: str, gradient: bool) -> None:
    problem = told(body(text), gradient=gradient)
    assert problem.next_step.startswith(VALUES[text])
    assert not OURS.search(problem.detail) and f"line {6 if text[0] == chr(10) else 5}" in problem.detail


def test_a_condition_is_quoted_and_cut_at_a_words_end() -> None:
    assert told(body("if x.sum() > 3: return x")).diagnosis.startswith("`if x.sum() > 3:` asks for the value")
    long = " + ".join(["x.sum()"] * 20)
    assert "x.sum() +…:` asks" in told(body(f"if {long} > 3: return x")).diagnosis


BACKWARD = {
    "(g,)": "the backward rule of its custom_vjp returned a tuple of 1; its function takes 2 arguments",
    "(g, g, g)": "the backward rule of its custom_vjp returned a tuple of 3; its function takes 2 arguments",
    "g": "the backward rule of its custom_vjp returned an array and no tuple; its function takes 2",
    "None": "the backward rule of its custom_vjp returned None; its function takes 2 arguments",
    "(g[:2], g)": "raised ValueError at line 5: Custom VJP bwd rule",
    "(g.astype(jnp.float16), g)": "raised AssertionError at line 5: (ShapedArray(float16[4])",
}


@pytest.mark.parametrize("returned", BACKWARD)
def test_a_backward_rule_that_does_not_fit(returned: str) -> None:
    rules = f"f.defvjp(lambda a, b: (a * b, (a, b)), lambda r, g: {returned})"
    problem = told(body(f"f = jax.custom_vjp(lambda a, b: a * b); {rules}; return f(x, x)"), gradient=True)
    assert problem.detail.startswith(f"it: {BACKWARD[returned]}")
    assert problem.next_step == (
        "The backward rule of custom_vjp must return one cotangent for each argument, of its shape and dtype."
    )


PALLAS = (
    "from jax.experimental import pallas as pl\n"
    "    def copy(a, o): o[...] = a[...]\n"
    "    return pl.pallas_call(copy, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)"
)


@pytest.mark.parametrize("gradient", [False, True])
def test_a_kernel_is_named_with_its_line(gradient: bool) -> None:
    problem = told(body(PALLAS), gradient=gradient)
    assert problem.detail.startswith("it: raised ValueError at line 7:")
    assert problem.diagnosis.startswith("It brings a kernel of its own (Pallas")
    assert problem.next_step.startswith("Write it with JAX operations")


@pytest.mark.parametrize("call", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_a_debugger_is_removed(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    problem = told(body(f"{call}\n    return x"))
    assert problem.detail == "it: it stopped for a debugger at line 5"
    assert re.match(r"Remove (breakpoint|pdb\.set_trace)\(\) at line 5: nobody types", problem.next_step)


RENAMED = {
    "def naive_attn(x): return x": ("defines naive_attn and no", "Rename naive_attn at line 4 to naive_att"),
    "def Naive_Attention(x): return x": (
        "defines Naive_Attention and no",
        "Rename Naive_Attention at line 4",
    ),
    "def mha(q, k, v): return q": ("defines mha and no", "Rename mha at line 4 to naive_attention."),
    "attention = jax.jit(lambda x: x)": ("defines attention and no", "Rename attention at line 4"),
    "class A:\n    def naive_attention(self, q): return q": (
        "at line 5 inside the class A",
        "Move naive_att",
    ),
    "def make():\n    def naive_attention(q): return q": (
        "inside the function make",
        "Move naive_attention out",
    ),
    "if not jax:\n    def naive_attention(q): return q": (
        "which begins at line 4",
        "Move naive_attention out",
    ),
    "def a(q, k, v): return q\ndef b(q, k, v): return q": ("defines no naive_attention", "Define naive_att"),
    "def mha(q, k, v): return q\ndef other(x): return mha(x, x, x)": ("defines no", "Define naive_attention"),
    "": ("defines no naive_attention", "Define naive_attention, with the arguments that the stub"),
}


@pytest.mark.parametrize("text", RENAMED)
def test_a_function_that_is_missing_is_looked_for(text: str) -> None:
    problem = told(f"{HEAD}{text}\n")
    detail, step = RENAMED[text]
    assert detail in problem.detail and problem.next_step.startswith(step)


def test_an_assigned_function_is_as_good() -> None:
    with pytest.raises(AssertionError, match="nothing was raised"):
        told(f"{HEAD}def attn(x): return x\nnaive_attention = jax.jit(attn)\n")


IMPORTS = {
    "from cudnn_attention import AttentionRun": "Each file is graded alone: copy what you need into",
    "from exercises.grouped_query import f": "Each file is graded alone",
    "import solutions.naive_attention": "Each file is graded alone",
    "from .causal_check import is_causal": "Each file is graded alone",
    "import torch": "Remove the import of torch at line 4: it is not installed",
    "import jax.attention": "Correct the import at line 4: jax has no jax.attention",
    "import transformer_engine.jax": "Import installed packages only; TransformerEngine in a try in",
}


@pytest.mark.parametrize("text", IMPORTS)
def test_an_import_that_cannot_work(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cudnn_attention", "exercises", "solutions", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" in entry])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = told(f"{HEAD}{text}\n")
    assert problem.next_step.startswith(IMPORTS[text]), problem
    assert "at line 4" in problem.detail


def test_jaxs_words_on_its_own_pages_and_on_our_files_go() -> None:
    said = "Attempted boolean conversion of traced array with shape bool[]."
    for noise in (
        "\nThe error occurred while tracing the function program at /a/autograder/steps.py:116 for jit. See",
        " The error occurred while tracing the function pullback at C:\\autograder\\steps.py:1 for jit.",
        " The error occurred while tracing the function <lambda> at naive_attention.py:5 for scan.",
        "\nThis BatchTracer with object id 14 was created on line:\n  /a/autograder/x.py:3 (f)",
        "\nSee https://docs.jax.dev/en/latest/errors.html#jax.errors.TracerBoolConversionError",
        "\n\nSee https://jax.readthedocs.io/en/latest/errors.html",
        "\nThe function being traced when the value leaked was program at /a/autograder/s.py:1 traced",
        " at /opt/autograder/tracer/steps.py:128",
        " (/usr/lib/python3/site-packages/jax/nn/__init__.py)",
    ):
        assert untraced(said + noise) == said


def test_an_unrolled_loop_is_named_where_there_is_one() -> None:
    few = "    for name in ('a', 'b'):\n        pass\n"
    loops = parse(NAME, f"def f(x):\n{few}    for t in range(x.shape[1]):\n        x = x + t\n".encode())
    none = parse(NAME, b"def f(x):\n    return x\n")
    reason = "it did not answer within 120 seconds: an endless loop, perhaps"
    assert ended(reason, loops) == unrolled(loops) == f"{LOOPS} See the loop at line 4."
    assert ended(reason, none) == ended(reason) == "Look for a loop or a wait that does not end."
    assert unrolled(none) == LOOPS


DOTS = "(a" + "".join(f"\n.b#{number}" for number in range(1_500)) + "\n)()"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = y" + " + y" * 900, "nests deeper than 200 levels at line 1"),
        (DOTS, "nests deeper than 200 levels"),
        ("x = a" + "()" * 900, "nests deeper than 200 levels at line 1"),
        (f"def f():\n    return {'v' * 2_000}", "holds a name of more than 200 characters at line 2"),
        (f"from {'m' * 300} import a", "holds a name of more than 200 characters at line 1"),
        (f"import a as {'m' * 300}", "holds a name of more than 200 characters"),
        (f"def f({'m' * 300}): pass", "holds a name of more than 200 characters"),
    ],
)
def test_what_nobody_writes_is_not_looked_at(text: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        parse(NAME, text.encode())


def test_a_message_of_blanks_is_read_as_one() -> None:
    assert untraced(" " * 100_000 + "x" + "\n" * 100_000 + "y") == "x y"


def test_texts_are_cut_at_the_end_of_a_word() -> None:
    assert cut("one two three", 9) == "one two…"
    assert cut("one two three", 7) == "one two…"
    assert cut("one two", 7) == "one two"
    assert cut("x" * 20, 5) == "xxxxx…"
