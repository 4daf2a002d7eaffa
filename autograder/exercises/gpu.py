"""What the exercises on attention ask of a GPU: which kernel ran, how much memory, how fast."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.plan import Evidence, Problem
from autograder.results import Outcome

LENGTHS = (1024, 4096)
SHAPE = (4, 8, 64)
"""B, N, H of the measurements in course/: large enough that kernels, not launches, are timed."""


def sizes(length: int) -> tuple[int, int, int, int, int, int]:
    batch, heads, head_dim = SHAPE
    return batch, length, length, heads, heads, head_dim


def raced(evidence: Evidence, key: str, beside: str, limit: float, than: str) -> Problem | None:
    """Judge the race of two traces, by their keys: slower is a failure, undecided and not measured wait."""
    if problem := evidence.first((key,)):
        return problem
    race = evidence.races.get((key, beside))
    if race is None:
        return Problem(f"{key} was never timed", outcome=Outcome.GRADER_ERROR)
    match race["answer"]:
        case "faster":
            return None
        case "slower":
            time = "device time" if race["clock"] == "CUPTI" else "time by the host's clock"
            return Problem(
                f"{key}: {race['learner_ms']:.3g} ms of {time}, {race['ratio']:.3g} times {than} "
                f"({race['reference_ms']:.3g} ms; between {race['low']:.3g} and {race['high']:.3g} times); "
                f"the limit is {limit:g} times"
            )
        case "undecided":
            return Problem(
                f"{key}: {race['ratio']:.3g} times {than}, between {race['low']:.3g} and {race['high']:.3g}; "
                f"the limit, {limit:g}, lies between, and time ran out",
                outcome=Outcome.NOT_GRADED,
            )
        case "not measured":
            return Problem(f"{key}: {race['message']}", outcome=Outcome.NOT_GRADED)
    return Problem(f"{key}: {race['message']}", next_step=race.get("next_step", ""))


def weightiest(problems: Iterable[Problem | None]) -> Problem | None:
    """A failure before what could not be measured: one length at which a program is too slow is enough."""
    found = [problem for problem in problems if problem]
    return min(found, key=lambda problem: problem.outcome is not Outcome.FAILED, default=None)
