"""Exercise 2 on a GPU: the kernel in the compiled program, its memory, its time."""

from __future__ import annotations

from autograder.catalog import BEATS_NAIVE, CUDNN_MEMORY, SPEED
from autograder.device import Gpu
from autograder.exercises.attention import Case
from autograder.exercises.cudnn import CUDNN_CALL, FUNCTION, OUTPUT, Run, label
from autograder.exercises.gpu import LENGTHS, raced, sizes, weightiest
from autograder.plan import Evidence, GpuPlan, Problem, Race, Verdicts

NAIVE = "naive_attention"


def gpu_plan(gpu: Gpu) -> GpuPlan:
    [limit] = SPEED[FUNCTION]
    measured = {length: _long(length, gpu).case.trace() for length in LENGTHS}
    timed = measured[limit.length]
    races = (
        Race(timed.key, "cudnn_attention", timed, limit.ratio),
        Race(timed.key, NAIVE, _naive(gpu).trace(), BEATS_NAIVE.ratio),
    )
    return GpuPlan((*(run.case.trace() for run in _short(gpu)), *measured.values()), races)


def judge_gpu(evidence: Evidence, gpu: Gpu) -> Verdicts:
    [limit] = SPEED[FUNCTION]
    key = _long(limit.length, gpu).case.key
    return {
        "path": next(filter(None, (_ran(evidence, run) for run in _short(gpu))), None),
        "memory": _memory(evidence, gpu),
        "speed": weightiest(
            (
                raced(evidence, key, key, limit.ratio, "the reference's"),
                raced(evidence, key, _naive(gpu).key, BEATS_NAIVE.ratio, "exercise 1's reference"),
            )
        ),
    }


def _naive(gpu: Gpu) -> Case:
    return Case(NAIVE, sizes(BEATS_NAIVE.length), "bfloat16", (), step={"device": gpu.double})


def _run(gpu: Gpu, dtype: str, case_sizes: tuple[int, ...], backend: str, is_causal: bool = False) -> Run:
    b, t, s, n, k, h = case_sizes
    case = Case(
        FUNCTION,
        (b, t, s, n, k, h),
        dtype,
        # A GPU multiplies float32 in TF32 unless told otherwise; its numbers are judged on a CPU.
        ("normal", "mixed_heads") if t < min(LENGTHS) and dtype != "float32" else (),
        is_causal=is_causal,
        step={**OUTPUT, "kwargs": {"is_causal": is_causal} if is_causal else {}, "device": gpu.double},
        cudnn=backend == "cudnn",
    )
    return Run(case, backend)


def _short(gpu: Gpu) -> tuple[Run, ...]:
    return (
        _run(gpu, "bfloat16", (2, 128, 128, 4, 4, 64), "cudnn"),
        _run(gpu, "float16", (2, 64, 96, 4, 4, 128), "cudnn", is_causal=True),
        _run(gpu, "bfloat16", (2, 128, 128, 8, 2, 64), "cudnn"),
        _run(gpu, "float32", (2, 64, 64, 4, 4, 64), "xla"),
        _run(gpu, "bfloat16", (2, 64, 64, 4, 4, 100), "xla", is_causal=True),
    )


def _long(length: int, gpu: Gpu) -> Run:
    return _run(gpu, "bfloat16", sizes(length), "cudnn")


def _ran(evidence: Evidence, run: Run) -> Problem | None:
    """The label, the kernel that XLA left in the program, and the numbers that it gave."""
    key = run.case.key
    if problem := label(evidence, run):
        return problem
    calls = evidence.facts[key].compiled_calls
    ran = any(name.startswith(CUDNN_CALL) for name in calls)
    if ran is not (run.backend == "cudnn"):
        held = ", ".join(calls) or "no custom call"
        return Problem(f"{key}: backend={run.backend!r}, but the compiled program holds {held}")
    return evidence.first((key,))


def _memory(evidence: Evidence, gpu: Gpu) -> Problem | None:
    found = []
    for length in LENGTHS:
        case = _long(length, gpu).case
        if problem := evidence.first((case.key,)):
            return problem
        b, t, s, n, _, _ = case.sizes
        temporary, matrix = evidence.facts[case.key].temp_bytes, b * n * t * s * 2
        if temporary > CUDNN_MEMORY * matrix:
            return Problem(
                f"{case.key}: {temporary:,} bytes of temporary memory; a (B, N, T, S) bfloat16 matrix has "
                f"{matrix:,}, and the limit is {CUDNN_MEMORY:.0%} of it",
                "The scores are stored.",
            )
        found.append(temporary)
    growth, allowed = found[1] / max(found[0], 1), LENGTHS[1] / LENGTHS[0]
    if growth <= allowed:
        return None
    return Problem(
        f"temporary memory grows {growth:.3g} times from T = {LENGTHS[0]} to {LENGTHS[1]}; "
        f"the limit is {allowed:g} times"
    )
