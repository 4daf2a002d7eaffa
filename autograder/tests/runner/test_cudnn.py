"""cuDNN's attention: what is accepted, what it computes here, and the attacks on it."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.cudnn import fused_attention_stablehlo

from autograder.arrays import Array, Spec
from autograder.runner.cudnn import _probes
from autograder.runner.job import Job
from autograder.runner.programs import Entry, compile_program
from autograder.runner.refusal import Refusal
from autograder.runner.validate import validate
from autograder.tests.runner import forged, honest
from autograder.tests.runner.honest import KEY, QUERY, Case, library, types
from autograder.tracer import doubles, steps

CUDNN = functools.partial(library, implementation="cudnn")
INS = types(QUERY, KEY, "bfloat16")


def text(case: Case) -> str:
    return str(honest.lower(case).mlir_module())


def refusal(case: Case, edit: Callable[[str], str] = lambda text: text) -> Refusal:
    """What the runner says of this case, its program's text edited."""
    job = dataclasses.replace(honest.job(case), artifact=forged.artifact(edit(text(case))))
    with pytest.raises(Refusal) as found:
        validate(job)
    return found.value


def test_the_text_unedited_passes() -> None:
    case = Case("cudnn", CUDNN, INS, cudnn=False)
    job = dataclasses.replace(honest.job(case), artifact=forged.artifact(text(case)))
    assert validate(job).custom_calls == ("__cudnn$fmhaSoftmax",)


def test_the_scale_is_free_and_finite() -> None:
    case = Case("cudnn", CUDNN, INS, cudnn=False)
    job = honest.job(case)
    edited = text(case).replace("0.35355339059327373", "2.5e-1")
    validate(dataclasses.replace(job, artifact=forged.artifact(edited)))
    for scale in ("NaN", "Infinity", "1e999", "true", "\\22a\\22", "[1.0]"):
        found = refusal(case, lambda text, scale=scale: text.replace("0.35355339059327373", scale))  # type: ignore[misc]
        assert found.code == "cudnn"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\\22dropout_rate\\22: 0.0", "\\22dropout_rate\\22: 0.5"),
        ("\\22dropout_rate\\22: 0.0", "\\22dropout_rate\\22: 0"),
        ("\\22seed\\22: 42", "\\22seed\\22: 43"),
        ("\\22seed\\22: 42", "\\22seed\\22: 43, \\22seed\\22: 42"),
        ("\\22sliding_window_length\\22: 0", "\\22sliding_window_length\\22: 4"),
        ("\\22is_flash_attention\\22: true", "\\22is_flash_attention\\22: 1"),
        ("NO_MASK", "PADDING"),
        ("\\22algo_id\\22: \\220\\22", "\\22algo_id\\22: \\221\\22"),
        ("\\22operation_queue_id\\22: \\220\\22", "\\22more\\22: 0, \\22operation_queue_id\\22: \\220\\22"),
        ("api_version = 2", "api_version = 1"),
        ("operand_layouts = [dense<[3, 2, 1, 0]>", "operand_layouts = [dense<[3, 1, 2, 0]>"),
        ("backend_config =", "has_side_effect = true, backend_config ="),
        ("@__cudnn$fmhaSoftmax(", "@__cudnn$fmhaSoftmaxDropout("),
    ],
)
def test_another_configuration_is_refused(old: str, new: str) -> None:
    case = Case("cudnn", CUDNN, INS, cudnn=False)
    assert old in text(case)
    assert refusal(case, lambda text: text.replace(old, new)).code in ("cudnn", "attribute")


def test_the_mask_is_the_jobs() -> None:
    for is_causal in (False, True):
        case = Case("cudnn", functools.partial(CUDNN, is_causal=not is_causal), INS, cudnn=is_causal)
        assert "is_causal" in refusal(case).next_step
    window = functools.partial(CUDNN, is_causal=True, local_window_size=(2, 0))
    assert refusal(Case("window", window, INS, cudnn=True)).code == "cudnn"


def test_no_bias_and_no_lengths() -> None:
    bias = functools.partial(CUDNN, bias=jnp.ones((2, 4, 5, 7), jnp.bfloat16))
    lengths = functools.partial(CUDNN, query_seq_lengths=jnp.full(2, 5), key_value_seq_lengths=jnp.full(2, 7))
    for function in (bias, lengths):
        assert refusal(Case("cudnn", function, INS, cudnn=False)).code == "cudnn"


TOUCHED = {
    "query": lambda q, k, v: CUDNN(q * 2, k, v),
    "key": lambda q, k, v: CUDNN(q, k.astype(jnp.float32).astype(k.dtype), v),
    "value": lambda q, k, v: CUDNN(q, k, v[::-1]),
    "constants": lambda q, k, v: CUDNN(jnp.ones_like(q), k, v),
    "output": lambda q, k, v: CUDNN(q, k, v) * 2,
    "twice": lambda q, k, v: CUDNN(CUDNN(q, k, v), k, v),
    "unused": lambda q, k, v: (CUDNN(q, k, v), honest.half(q, k, v))[1] + 0 * CUDNN(q, k, v),
    "cond": lambda q, k, v: jax.lax.cond(q[0, 0, 0, 0] > 0, CUDNN, honest.half, q, k, v),
    "scan": lambda q, k, v: jax.lax.scan(lambda c, _: (CUDNN(c, k, v), None), q, length=2)[0],
    "nested": lambda q, k, v: jax.jit(lambda q: jax.jit(CUDNN)(q + 1, k, v))(q),
}


@pytest.mark.parametrize("name", TOUCHED)
def test_nothing_but_the_call(name: str) -> None:
    assert refusal(Case(name, TOUCHED[name], INS, cudnn=False)).code == "cudnn"


def test_other_types_than_cudnn_takes() -> None:
    def shrink(text: str) -> str:
        return text.replace("x8xbf16", "x12xbf16")

    case = Case("cudnn", CUDNN, INS, cudnn=False)
    job = dataclasses.replace(
        honest.job(case),
        artifact=forged.artifact(shrink(text(case))),
        ins=types((*QUERY[:3], 12), (*KEY[:3], 12), "bfloat16"),
        outs=(Spec((*QUERY[:3], 12), "bfloat16"),),
    )
    with pytest.raises(Refusal, match="multiple of 8"):
        validate(job)


def test_no_call_at_all_is_no_refusal_but_shows() -> None:
    assert validate(honest.job(Case("xla", honest.half, INS, cudnn=False))).custom_calls == ()


def oracle(inputs: Sequence[Array], is_causal: bool) -> Array:
    q, k, v = (x.astype(np.float64) for x in inputs)
    k, v = (np.repeat(x, q.shape[2] // k.shape[2], axis=2) for x in (k, v))
    scores = np.einsum("btnh,bsnh->bnts", q, k) * q.shape[-1] ** -0.5
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    out: Array = np.einsum("bnts,bsnh->btnh", weights / weights.sum(-1, keepdims=True), v)
    return out


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("key", [KEY, honest.GROUPED_KEY])
def test_what_is_computed_here(is_causal: bool, key: tuple[int, ...]) -> None:
    case = Case(
        "cudnn", functools.partial(CUDNN, is_causal=is_causal), types(QUERY, key, "bfloat16"), is_causal
    )
    inputs = honest.inputs(case.ins)
    job = honest.job(case)
    [[out]] = compile_program([Entry(job, validate(job))]).run([inputs])
    expected = oracle(inputs, is_causal)
    error = np.linalg.norm(out.astype(np.float64) - expected) / np.linalg.norm(expected)
    assert error < 2e-3


def test_a_bias_or_a_mask_is_refused_by_the_runner_and_not_by_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tracer lets every cuDNN call out, so that its learner reads our sentence, not JAX's dump of it."""
    monkeypatch.setattr(doubles, "platform", lambda: "cuda")
    bias = functools.partial(CUDNN, bias=jnp.ones((2, 4, 5, 7), jnp.bfloat16))
    mask = functools.partial(CUDNN, mask=jnp.ones((2, 4, 5, 7), bool))
    for program in (bias, mask):
        with _probes():
            _, artifact = steps.exported(program, INS, {})
        with pytest.raises(Refusal) as found:
            validate(Job(artifact, INS, INS[:1], cudnn=False))
        assert found.value.message == (
            "the program calls __cudnn$fmhaScaleBiasSoftmax, which is not plain attention."
        )
        assert found.value.next_step.startswith("Give it no bias, mask or dropout")


def test_every_call_that_jax_makes_of_cudnns_attention_leaves_the_tracer() -> None:
    assert set(fused_attention_stablehlo._custom_name_maps.values()) <= set(steps.CUDNN_CALLS)
