"""What the grader's clock is worth on this machine, as numbers.

    python -m autograder.bench.timing_evidence --out DIR [--quick]

The reference against itself, many times ("slower" must never come out); and the reference with a quarter
more work in it, many times ("slower" must come out). Writes verdicts.csv and evidence.json as it goes, and
prints a summary. What the three clocks say of the same programs is in `grade bench seq`.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import typer

from autograder.arrays import DTYPES, Spec
from autograder.bench import machine
from autograder.bench.cli import machine_to_itself
from autograder.bench.shapes import Shape
from autograder.bench.variants import VARIANTS
from autograder.runner import clocks, ratio, timing
from autograder.runner.clocks import Inputs, Program

LIMIT = 1.1  # the tightest that an exercise has
MORE = 1.25  # what the slowed program's time should be of the reference's
ITSELF, SLOWED = "against itself", "with a quarter more work"


@dataclass(frozen=True)
class Trial:
    """One comparison. `answer` is a verdict, or why there is none; ratios are learner / reference."""

    what: str
    size: str
    answer: str
    low: float | None = None
    ratio: float | None = None
    high: float | None = None
    blocks: int | None = None
    seconds: float = 0.0
    reference_ms: float | None = None
    wall_ms: float | None = None
    enqueue_ms: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Pair:
    """The programs of one experiment."""

    what: str
    size: str
    reference: Program
    learner: Program
    inputs: Inputs
    wanted: int


def compiled(function: Callable[..., Any], specs: Sequence[Spec]) -> Program:
    avals = [jax.ShapeDtypeStruct(spec.shape, DTYPES[spec.dtype]) for spec in specs]
    return jax.jit(function).lower(*avals).compile()


def slowed(function: Callable[..., jax.Array], rows: int) -> Callable[..., jax.Array]:
    """The same answer, with the work of the first `rows` rows of each query done twice."""

    def slow(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        again = function(q[:, :rows], k, v)
        return function(q, k, v).at[:, :rows].add(0 * again)  # floats: XLA may not drop a product with 0

    return slow


def quarter_slower(
    function: Callable[..., jax.Array], specs: Sequence[Spec], reference: Program, inputs: Inputs
) -> Program:
    """The slowed program whose time, measured, is nearest to MORE of the reference's; of four at most."""
    length = specs[0].shape[1]
    grain, rows = max(1, length // 64), length // 5
    best: tuple[float, Program] | None = None
    for _ in range(4):
        rows = min(length, max(grain, round(rows / grain) * grain))
        program = compiled(slowed(function, rows), specs)
        extra = _ratio(reference, program, inputs) - 1
        miss = abs(extra - (MORE - 1))
        if best is None or miss < best[0]:
            best = miss, program
        if best[0] < 0.01:
            break
        rows = round(rows * min(2.0, (MORE - 1) / max(extra, 0.01)))
    assert best is not None
    return best[1]


def _ratio(reference: Program, learner: Program, inputs: Inputs) -> float:
    clock = (clocks.DeviceClock if clocks.on_gpu() else clocks.WallClock)([reference, learner], inputs)
    who = [program for block in range(ratio.FIRST_LOOK) for program in ratio.order(block)]
    times = clocks.patiently(lambda: clock.round(who, inputs.sets(secrets.randbits(31), len(who)))[1])
    return ratio.interval(ratio.log_ratios(*ratio.by_program(times))).ratio


def pairs(gpu: bool, quick: bool) -> Iterator[Pair]:
    """The experiments: on a GPU the two tightest exercises' kernels, on a CPU what exists there."""
    sizes = [("cuDNN", 8, 4096), ("naive", 8, 1024)] if gpu else [("naive", 4, 64)]
    same, slow = (each // len(sizes) for each in ((50, 20) if quick else (500, 100)))
    for name, batch, length in sizes:
        specs = Shape.square(batch, length, 8, 64).specs("bfloat16" if gpu else "float32")
        inputs = Inputs(specs)
        function = functools.partial(VARIANTS[name], causal=False)
        size = f"{name} B={batch} T={length} N=8 H=64 {specs[0].dtype}"
        # Compiled twice: also two builds of the same program must come out equal.
        reference, again = compiled(function, specs), compiled(function, specs)
        yield Pair(ITSELF, size, reference, again, inputs, same)
        slower = quarter_slower(function, specs, reference, inputs)
        yield Pair(SLOWED, size, reference, slower, inputs, slow)


def in_turn(found: Sequence[Pair]) -> Iterator[Pair]:
    """Each pair as often as it wants, spread evenly, so that any beginning has its share of all."""
    turns = max(pair.wanted for pair in found)
    for turn in range(turns):
        yield from (pair for pair in found if (turn + 1) * pair.wanted // turns > turn * pair.wanted // turns)


def trial(pair: Pair, seconds: float) -> Trial:
    begin = time.perf_counter()
    question = timing.Question(LIMIT, seconds)
    found = timing.compare(pair.reference, pair.learner, pair.inputs, question, secrets.randbits(31))
    spent = time.perf_counter() - begin
    match found:
        case timing.Comparison():
            interval, own = found.interval, found.reference
            return Trial(
                pair.what,
                pair.size,
                found.verdict.value,
                *(interval.low, interval.ratio, interval.high),
                found.blocks,
                spent,
                *(own.ms, own.wall.amortised_ms, own.wall.enqueue_ms),
            )
        case timing.NotMeasured(reason):
            return Trial(pair.what, pair.size, "not measured", seconds=spent, reason=reason)
        case timing.WrongOutput(error, tolerance):
            reason = f"error {error:.3g} over {tolerance:g}"
            return Trial(pair.what, pair.size, "wrong output", seconds=spent, reason=reason)


def summary(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """For each experiment: how often each answer came, the intervals' width, the seconds."""
    found = []
    for what, size in dict.fromkeys((each.what, each.size) for each in trials):
        mine = [each for each in trials if (each.what, each.size) == (what, size)]
        ratios = [each.ratio for each in mine if each.ratio is not None]
        widths = [each.high - each.low for each in mine if each.high is not None and each.low is not None]
        seconds = [each.seconds for each in mine]
        found.append(
            {
                "what": what,
                "size": size,
                "limit": LIMIT,
                "trials": len(mine),
                "answers": dict(Counter(each.answer for each in mine)),
                "ratio 1 %, 50 %, 99 %": _quantiles(ratios, (0.01, 0.5, 0.99)),
                "interval width 50 %, 99 %": _quantiles(widths, (0.5, 0.99)),
                "seconds 50 %, 99 %": _quantiles(seconds, (0.5, 0.99)),
                "reasons": dict(Counter(each.reason for each in mine if each.reason).most_common(5)),
            }
        )
    return found


def holds(found: Sequence[dict[str, Any]]) -> bool:
    """No false "slower" against itself, and 99 of 100 of the slowed ones found."""
    return all(
        each["answers"].get("slower", 0) >= 0.99 * each["trials"]
        if each["what"] != ITSELF
        else each["answers"].get("slower", 0) == 0
        for each in found
    )


def main(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go.")],
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the trials.")] = False,
    minutes: Annotated[float, typer.Option(min=0, help="Stop after this long.")] = 10.0,
) -> None:
    """Measure what the grader's clock is worth on this machine."""
    with machine_to_itself():
        _run(out, quick, minutes)


def _run(out: Path, quick: bool, minutes: float) -> None:
    end = time.monotonic() + 60 * minutes
    out.mkdir(parents=True, exist_ok=True)
    here = machine.measured()
    print(here.label, f"{here.matrix_tflops:.0f} TFLOP/s, {here.copy_gbytes_s:.0f} GB/s", flush=True)
    trials: list[Trial] = []
    written = time.monotonic()
    for pair in in_turn(list(pairs(here.gpu, quick))):
        trials.append(trial(pair, seconds=5.0 if here.gpu else 10.0))
        now = time.monotonic()
        if now > min(end, written + 10):
            _write(out, here, trials)
            written = time.monotonic()
            print(f"{len(trials)} trials, {dict(Counter(each.answer for each in trials))}", flush=True)
        if now > end:
            break
    _write(out, here, trials)
    found = summary(trials)
    print(json.dumps(found, indent=1))
    print("The evidence holds." if holds(found) else "THE EVIDENCE DOES NOT HOLD.")
    sys.exit(not holds(found))


def _write(out: Path, here: machine.Machine, trials: Sequence[Trial]) -> None:
    with (out / "verdicts.csv").open("w", newline="", encoding="utf-8") as file:
        names = [field.name for field in dataclasses.fields(Trial)]
        table = csv.DictWriter(file, names, lineterminator="\n")
        table.writeheader()
        table.writerows(
            {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in dataclasses.asdict(each).items()}
            for each in trials
        )
    about = {"machine": here.to_json(), "confidence": ratio.CONFIDENCE, "experiments": summary(trials)}
    text = json.dumps(about, ensure_ascii=False, indent=1) + "\n"
    (out / "evidence.json").write_text(text, encoding="utf-8")


def _quantiles(values: Sequence[float], at: Sequence[float]) -> list[float]:
    return [float(f"{each:.4g}") for each in np.quantile(values, at)] if values else []


if __name__ == "__main__":
    typer.run(main)
