"""What the runner takes for TransformerEngine's, and what it says of a machine without it."""

from __future__ import annotations

import dataclasses
import importlib.util

import pytest

from autograder.runner.canary import CANARY
from autograder.runner.client import Runner
from autograder.runner.job import Job
from autograder.runner.programs import float8_calls
from autograder.runner.refusal import Refusal
from autograder.runner.validate import validate
from autograder.tests.runner import forged
from autograder.tests.runner.children import real, with_runner
from autograder.tests.runner.forged import T, custom_call, main

SCALED = "mhlo.backend_config = {config = {scaling_mode = 3 : i64, lhs_transposed = false}}"
GEMM = custom_call("te_gemm_v2_ffi", SCALED)
OURS = forged.artifact(GEMM)
TWICE = main(f"""%0 = stablehlo.custom_call @te_gemm_v2_ffi(%x) {{{SCALED}}} : ({T}) -> {T}
  %1 = stablehlo.sine %0 : {T}
  %2 = stablehlo.custom_call @te_gemm_v2_ffi(%1) {{{SCALED}}} : ({T}) -> {T}
  return %2 : {T}""")
OTHERS = {
    "another mode": ("engine", GEMM.replace("mode = 3", "mode = 1")),
    "one attribute less": ("engine", GEMM.replace(", lhs_transposed = false", "")),
    "one attribute more": ("engine", GEMM.replace("{mhlo.", "{has_side_effect = true, mhlo.")),
    "other types": (
        "engine",
        main(f"""%y = stablehlo.concatenate %x, %x, dim = 0 : ({T}, {T}) -> tensor<8xf32>
          %0 = stablehlo.custom_call @te_gemm_v2_ffi(%y) {{{SCALED}}} : (tensor<8xf32>) -> {T}
          return %0 : {T}"""),
    ),
    "another call": ("engine", custom_call("te_fused_attn_forward_ffi", SCALED)),
    "memory that nobody wrote": ("memory", custom_call("AllocateBuffer")),
    "a callback": ("callback", custom_call("xla_python_cpu_callback", SCALED)),
}


@pytest.mark.parametrize("text", [GEMM, TWICE])
def test_calls_that_our_own_artifact_holds_pass(text: str) -> None:
    assert validate(
        forged.job(text, like=(forged.artifact(main(f"return %x : {T}")), OURS))
    ).custom_calls == ("te_gemm_v2_ffi",)


@pytest.mark.parametrize("name", OTHERS)
def test_all_other_calls_are_refused(name: str) -> None:
    code, text = OTHERS[name]
    with pytest.raises(Refusal) as refusal:
        validate(forged.job(text, like=(OURS,)))
    assert refusal.value.code == code, refusal.value.message


def test_without_an_artifact_of_ours_none_passes() -> None:
    with pytest.raises(Refusal, match="TransformerEngine otherwise"):
        validate(forged.job(GEMM))


@pytest.mark.parametrize("like", [(), (b"one",), (b"one", b"", b"three")])
def test_a_job_travels_with_the_artifacts_that_it_is_like(like: tuple[bytes, ...]) -> None:
    job = dataclasses.replace(forged.job(b"its own"), like=like)
    header = job.to_json()
    assert header["size"] == len(job.blob)
    assert Job.from_json(header, job.blob) == job


HLO = """
  %a = (f8e4m3fn[8,4]{1,0}, f32[1]{0}) custom-call(%x), custom_call_target="te_dbias_quantize_ffi", operand_layout_constraints={bf16[8,4]{1,0}, f32[1]{0}}, api_version=API_VERSION_TYPED_FFI
  %b = (bf16[8,8]{1,0}, u8[9]{0}) custom-call(%f, %s), custom_call_target="te_gemm_v2_ffi", operand_layout_constraints={f8e4m3fn[8,4]{1,0}, f32[1]{0}, f8e4m3fn[8,4]{1,0}}, metadata={op_name="te_norm"}
  %c = f8e5m2[8]{0} custom-call(), custom_call_target="AllocateBuffer"
  %d = bf16[8,8]{1,0} custom-call(%b), custom_call_target="af8e4m3fn", operand_layout_constraints={bf16[8,8]{1,0}}
"""  # noqa: E501


def test_f8_operands_are_told_from_f8_results_and_names() -> None:
    assert float8_calls(HLO) == ("te_gemm_v2_ffi",)
    assert (
        float8_calls(HLO.replace("f8e4m3fn[8,4]{1,0}, f32", "bf16[8,4]{1,0}, f32").replace("f8e4", "bf16"))
        == ()
    )


@pytest.mark.slow
def test_a_machine_without_it_says_so() -> None:
    if importlib.util.find_spec("transformer_engine"):
        pytest.skip("TransformerEngine is installed here")
    found = with_runner(lambda runner: runner.engine(), Runner(real(), CANARY))
    assert found.startswith("TransformerEngine is not installed")
