"""An attack for each refusal. What may crash or hang the process is in test_process.py."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from autograder.arrays import Spec
from autograder.runner import allowed
from autograder.runner.programs import Entry, compile_program
from autograder.runner.refusal import PLAIN, Refusal
from autograder.runner.validate import validate
from autograder.tests.runner import forged, honest
from autograder.tests.runner.attacks import ATTACKS, SINE, convert, window
from autograder.tests.runner.forged import ENDLESS, T, doubling, main, nested


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_refused(name: str) -> None:
    code, text = ATTACKS[name]
    with pytest.raises(Refusal) as refusal:
        validate(forged.job(text))
    assert refusal.value.code == code, refusal.value.message


@pytest.mark.parametrize(
    "text", [main(SINE), ENDLESS, doubling(8), nested(8), window(1000, 1000), convert("f16")]
)
def test_the_like_that_is_harmless_passes(text: str) -> None:
    valid = validate(forged.job(text))
    assert valid.module.startswith(allowed.MAGIC)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_float32_cases_hold_no_lower_precision(element: str) -> None:
    validate(forged.job(convert(element)))
    with pytest.raises(Refusal, match="keep float32 throughout"):
        validate(forged.job(convert(element), float32_only=True))


HALF = T.replace("f32", "bf16")
CONSTANT = f"%c = stablehlo.constant dense<1.0> : {HALF}\n %w = stablehlo.convert %c : ({HALF}) -> {T}\n"
CALLED = f"""  func.func private @half(%a: {HALF}) -> {HALF} {{
    %0 = stablehlo.add %a, %a : {HALF}
    return %0 : {HALF}
  }}
"""


def test_a_constant_in_lower_precision_costs_float32_nothing() -> None:
    """A mask of 0 and 1 in bfloat16, also by way of a function that is called."""
    called = f"%c = stablehlo.constant dense<1.0> : {HALF}\n %h = call @half(%c) : ({HALF}) -> {HALF}\n"
    widened = f"%w = stablehlo.convert %h : ({HALF}) -> {T}\n"
    product = f"%0 = stablehlo.multiply %x, %w : {T}\n return %0 : {T}"
    for text in (main(CONSTANT + product), main(called + widened + product, more=CALLED)):
        validate(forged.job(text, float32_only=True))


@pytest.mark.parametrize(
    "body",
    [
        f"%n = stablehlo.convert %x : ({T}) -> {HALF}\n %h = call @half(%n) : ({HALF}) -> {HALF}\n",
        # Called with a constant as well.
        f"%c = stablehlo.constant dense<1.0> : {HALF}\n %g = call @half(%c) : ({HALF}) -> {HALF}\n"
        f"%n = stablehlo.convert %x : ({T}) -> {HALF}\n %h = call @half(%n) : ({HALF}) -> {HALF}\n",
        # Two constants, chosen by an input.
        f"%i = stablehlo.constant dense<0> : tensor<i32>\n"
        f"%s = stablehlo.slice %x [0:1] : ({T}) -> tensor<1xf32>\n"
        f"%r = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>\n"
        f"%k = stablehlo.convert %r : (tensor<f32>) -> tensor<i32>\n"
        f"%c = stablehlo.constant dense<1.0> : {HALF}\n"
        f'%h = "stablehlo.case"(%k) ({{ stablehlo.return %c : {HALF} }}, {{ stablehlo.return %c : {HALF} }}) '
        f": (tensor<i32>) -> {HALF}\n",
    ],
)
def test_what_depends_on_an_input_is_no_constant(body: str) -> None:
    text = main(f"{body} return %x : {T}", more=CALLED)
    validate(forged.job(text))
    with pytest.raises(Refusal, match="keep float32 throughout"):
        validate(forged.job(text, float32_only=True))


UNNAMED = CALLED.replace("@half", '@""')


@pytest.mark.parametrize("more", [UNNAMED, CALLED + UNNAMED])
def test_a_function_of_any_name_hides_no_lower_precision(more: str) -> None:
    body = f"%h = stablehlo.convert %x : ({T}) -> {HALF}\n %w = stablehlo.convert %h : ({HALF}) -> {T}\n"
    with pytest.raises(Refusal, match="keep float32 throughout"):
        validate(forged.job(main(f"{body} return %w : {T}", more=more), float32_only=True))


def test_a_call_of_what_has_no_body_is_a_refusal() -> None:
    more = f"func.func private @half({HALF}) -> {HALF}"
    body = f"%c = stablehlo.constant dense<1.0> : {HALF}\n %h = call @half(%c) : ({HALF}) -> {HALF}\n"
    with pytest.raises(Refusal):
        validate(forged.job(main(f"{body} return %x : {T}", more=more), float32_only=True))


def test_float32_cases_hold_no_rounding_and_no_dot_algorithm() -> None:
    rounding = main(f"%0 = stablehlo.reduce_precision %x, format = e5m2 : {T}\n return %0 : {T}")
    algorithm = main(f"""%d = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32,
      lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1,
      allow_imprecise_accumulation = false> : ({T}, {T}) -> tensor<f32>
      return %x : {T}""")
    for text in (rounding, algorithm):
        validate(forged.job(text))
        with pytest.raises(Refusal) as refusal:
            validate(forged.job(text, float32_only=True))
        assert refusal.value.code == "precision"


def test_float8_only_where_the_job_says_so() -> None:
    validate(forged.job(convert("f8E4M3FN"), float8=True))


def test_not_an_artifact() -> None:
    good = honest.job(honest.Case("sine", jnp.sin, (Spec((4,), "float32"),))).artifact
    validate(forged.job(good))
    huge = main(f"%0 = stablehlo.constant dense<{list(range(20_000))}> : tensor<20000xi32>\n return %x : {T}")
    for data, code in [
        (b"", "invalid"),
        (main(SINE).encode(), "invalid"),
        (good[1:], "invalid"),
        (good[: len(good) // 2], "invalid"),
        (good + b"garbage", "invalid"),
        (allowed.MAGIC, "invalid"),
        (forged.artifact(huge), "too_large"),
    ]:
        with pytest.raises(Refusal) as refusal:
            validate(forged.job(data))
        assert refusal.value.code == code


def test_constants_are_plain_numbers() -> None:
    text = main(f"%0 = stablehlo.constant dense_resource<r> : {T}\n return %0 : {T}")
    text += '{-# dialect_resources: { builtin: { r: "0x0400000000000000000000000000000000000000" } } #-}'
    with pytest.raises(Refusal, match="a constant is not plain numbers"):
        validate(forged.job(forged.portable(text)))


def test_main_has_exactly_the_expected_type() -> None:
    good = forged.job(main(SINE))
    for ins, outs in [
        ((Spec((5,), "float32"),), good.outs),
        ((Spec((4,), "bfloat16"),), good.outs),
        ((), good.outs),
        (good.ins * 2, good.outs),
        (good.ins, good.outs * 2),
        (good.ins, (Spec((4, 1), "float32"),)),
    ]:
        with pytest.raises(Refusal, match="the function's type is"):
            validate(dataclasses.replace(good, ins=ins, outs=outs))


def test_largest_value_is_counted() -> None:
    case = honest.Case("outer", lambda x: (x[:, None] * x[None, :] * 2.0).sum(1), (Spec((50,), "float32"),))
    assert validate(honest.job(case)).largest == 2500


def test_temporary_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    job = honest.job(next(honest.cases()))
    entry = Entry(job, validate(job))
    assert compile_program([entry]).temp_bytes > 0
    monkeypatch.setattr(allowed, "MAX_TEMP_BYTES", 0)
    with pytest.raises(Refusal, match="temporary memory"):
        compile_program([entry])


def test_a_cudnn_call_where_none_should_be_leaves_the_next_step_to_the_check() -> None:
    with pytest.raises(Refusal, match="where it should not") as refusal:
        validate(forged.job(forged.custom_call("__cudnn$fmhaSoftmax")))
    assert refusal.value.next_step == ""


HONEST_MISTAKES = {
    "linalg": lambda x: x + jnp.linalg.cholesky(jnp.outer(x, x) + jnp.eye(4))[0],
    "random": lambda x: x + jax.lax.rng_uniform(0.0, 1.0, (4,)),  # type: ignore[no-untyped-call]
    "sort": jnp.sort,
    "complex": lambda x: jnp.fft.fft(x).real,
    "callback": lambda x: jax.pure_callback(lambda y: y, x, x),
}


@pytest.mark.parametrize("code", HONEST_MISTAKES)
def test_honest_mistakes_name_the_next_step(code: str) -> None:
    case = honest.Case(code, HONEST_MISTAKES[code], (Spec((4,), "float32"),))
    if code == "callback":  # JAX itself refuses to export it
        with pytest.raises(NotImplementedError):
            honest.job(case, "cpu")
        return
    with pytest.raises(Refusal) as refusal:
        validate(honest.job(case, "cpu"))
    assert refusal.value.code == code
    assert len(refusal.value.message) > 60
    assert refusal.value.next_step not in ("", PLAIN)
