"""Hand-made reports: one with everything that a report can say, and small ones."""

from __future__ import annotations

from autograder import catalog
from autograder.results import CheckResult, ExerciseResult, Outcome, Provenance, Report

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
WAITS = {check.id: check.needs for exercise in catalog.EXERCISES for check in exercise.checks if check.needs}
HOSTILE = "[red]not markup[/red] [link=http://x]x[/link] :smile: [/]"


def report(*exercises: ExerciseResult, sandbox: str = "bubblewrap", replay: bool = False) -> Report:
    return Report(
        exercises,
        Provenance(
            versions={"python": "3.13.0", "jax": "0.12.0", "jaxlib": "0.12.0", "numpy": "2.4.0"},
            device="CPU (x86_64)",
            seed={result.name: "0123456789abcdef-fedcba9876543210" for result in exercises},
            replay=replay,
            sandbox=sandbox,
            sha256={result.name: "ab" * 32 for result in exercises},
            started="2026-11-30T12:00:00+00:00",
            seconds=3.25,
        ),
    )


def exercise(name: str, *given: CheckResult, output: str = "") -> ExerciseResult:
    """An exercise's checks: those given, and all others passed, or waiting for what they need."""
    found = catalog.find(name)
    assert found is not None
    results = {check.id: check for check in given}
    for check in found.checks:
        outcome = Outcome.NOT_GRADED if check.needs else PASSED
        made = CheckResult(check.id, outcome, check.points, check.needs, simulated=check.simulated)
        results.setdefault(check.id, made)
    return ExerciseResult(name, tuple(results[check.id] for check in found.checks), output)


def every(name: str, outcome: Outcome, detail: str) -> ExerciseResult:
    """All checks with one outcome."""
    found = catalog.find(name)
    assert found is not None
    checks = (CheckResult(check.id, outcome, check.points, detail) for check in found.checks)
    return ExerciseResult(name, tuple(checks))


def failed(
    id: str, points: int, detail: str = "it raised", diagnosis: str = "", next_step: str = ""
) -> CheckResult:
    return CheckResult(id, FAILED, points, detail, diagnosis, next_step)


def everything() -> Report:
    """Every outcome, hostile text, a problem that hits many checks, a partly filled stub, our own fault."""
    far = (
        "naive_attention(query bfloat16[2, 7, 3, 16], key bfloat16[2, 9, 3, 16]), needle inputs: your error "
        "is 3e-1 ≥ 2e-2, its limit; the largest, 0.8125, is at [1, 4, 0, 11]: got 0.25, expected 1.0625"
    )
    return report(
        exercise(
            "naive_attention",
            failed("half_precision", 3, far, "softmax in bfloat16", "Compute scores and softmax in float32."),
            failed("errors", 2, HOSTILE, "", "Check ranks and sizes first (TODO 1)."),
            output="".join(f"line {number} {HOSTILE}\n" for number in range(40)),
        ),
        ExerciseResult(
            "cudnn_attention",
            tuple(
                CheckResult(
                    check.id,
                    FAILED,
                    check.points,
                    "the file does not load: NameError at line 3: jx",
                    "",
                    hint,
                )
                for check, hint in zip(catalog.EXERCISES[1].checks, "abcdefgh", strict=True)
            ),
        ),
        every("causal_check", Outcome.NOT_STARTED, "causal_attention is still the stub"),
        exercise(
            "grouped_query",
            CheckResult("kv_cache_bytes", Outcome.NOT_STARTED, 2, "kv_cache_bytes is still the stub"),
        ),
        exercise(
            "fp8_autocast",
            *(
                CheckResult(id, Outcome.GRADER_ERROR, points, "the grader failed: OSError: no space left")
                for id, points in (("delayed_scale", 2), ("quantize", 2))
            ),
        ),
        sandbox="none",
        replay=True,
    )
