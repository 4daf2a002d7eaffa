"""What the grader's clock is worth on this machine, as numbers.

    python -m autograder.bench.timing_evidence --out DIR [--quick]

Three clocks of the same programs at several lengths; the reference against itself, many times ("slower" must
never come out); and the reference with a quarter more work in it, many times ("slower" must come out).
Writes clocks.csv, verdicts.csv and evidence.json, and prints a summary.
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
from autograder.bench import machine, measurement, rows
from autograder.bench.shapes import Shape
from autograder.bench.variants import VARIANTS, attention
from autograder.runner import ratio, timing
from autograder.runner.clocks import Inputs, Program

LIMIT = 1.1  # the tightest that an exercise has


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


def slowed(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """The same answer, with the work of a quarter of the batch done twice."""

    def slow(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        part = q.shape[0] // 4
        again = function(q[:part], k[:part], v[:part])
        return function(q, k, v).at[:part].add(0 * again)  # floats: XLA may not drop a product with 0

    return slow


def pairs(gpu: bool, quick: bool) -> Iterator[Pair]:
    """The experiments: on a GPU the two tightest exercises' kernels, on a CPU what exists there."""
    same, slow = (25, 10) if quick else (500, 100)
    sizes = [("cuDNN", 8, 4096), ("naive", 8, 1024)] if gpu else [("naive", 4, 64)]
    for name, batch, length in sizes:
        specs = Shape.square(batch, length, 8, 64).specs("bfloat16" if gpu else "float32")
        inputs = Inputs(specs)
        function = functools.partial(VARIANTS[name], causal=False)
        size = f"{name} B={batch} T={length} N=8 H=64 {specs[0].dtype}"
        # Compiled twice: also two builds of the same program must come out equal.
        reference, again = compiled(function, specs), compiled(function, specs)
        share = 1 if len(sizes) == 1 else len(sizes)
        yield Pair("against itself", size, reference, again, inputs, same // share)
        yield Pair(
            "with a quarter more work", size, reference, compiled(slowed(function), specs), inputs, slow
        )


def trial(pair: Pair, seconds: float) -> Trial:
    begin = time.perf_counter()
    question = timing.Question(LIMIT, seconds)
    found = timing.compare(pair.reference, pair.learner, pair.inputs, question, secrets.randbits(31))
    spent = time.perf_counter() - begin
    match found:
        case timing.Comparison():
            interval, clocks = found.interval, found.reference
            return Trial(
                pair.what,
                pair.size,
                found.verdict.value,
                *(interval.low, interval.ratio, interval.high),
                found.blocks,
                spent,
                *(clocks.ms, clocks.wall.amortised_ms, clocks.wall.enqueue_ms),
            )
        case timing.NotMeasured(reason):
            return Trial(pair.what, pair.size, "not measured", seconds=spent, reason=reason)
        case timing.WrongOutput(error, tolerance):
            reason = f"error {error:.3g} over {tolerance:g}"
            return Trial(pair.what, pair.size, "wrong output", seconds=spent, reason=reason)


def clock_rows(here: machine.Machine, quick: bool) -> Iterator[rows.Row]:
    """naive, XLA and cuDNN by three clocks, T = 64 to 16384."""
    exponents = (6, 8) if not here.gpu else (6, 8, 10, 12, 14) if quick else range(6, 15)
    effort = measurement.QUICK if quick else measurement.FULL
    for exponent in exponents:
        for name in ("naive", "XLA", "cuDNN"):
            dtype = "bfloat16" if here.gpu else "float32"
            workload = attention("clocks", name, Shape.square(4, 2**exponent, 8, 64), dtype)
            yield measurement.measure(workload, here, effort)


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
        if each["what"] != "against itself"
        else each["answers"].get("slower", 0) == 0
        for each in found
    )


def main(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go.")],
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the trials.")] = False,
    minutes: Annotated[float, typer.Option(help="Stop each experiment after this long.")] = 3.0,
) -> None:
    """Measure what the grader's clock is worth on this machine."""
    out.mkdir(parents=True, exist_ok=True)
    here = machine.measured()
    print(here.label, f"{here.matrix_tflops:.0f} TFLOP/s, {here.copy_gbytes_s:.0f} GB/s", flush=True)
    trials: list[Trial] = []
    for pair in pairs(here.gpu, quick):
        begin = time.perf_counter()
        for _ in range(pair.wanted):
            trials.append(trial(pair, seconds=5.0 if here.gpu else 10.0))
            if time.perf_counter() - begin > 60 * minutes:
                break
        print(json.dumps(summary(trials)[-1], indent=1), flush=True)
        _write(out, here, trials, [])
    clocks = []
    for row in clock_rows(here, quick):
        clocks.append(row)
        times = [f"{each:.4f}" if each else "-" for each in (row.percall_ms, row.amortised_ms, row.device_ms)]
        print(
            f"T={row.T:<6} {row.variant:<6} percall, amortised, device ms: {' '.join(times)} {row.note}",
            flush=True,
        )
    _write(out, here, trials, clocks)
    verdict = holds(summary(trials))
    print("The evidence holds." if verdict else "THE EVIDENCE DOES NOT HOLD.")
    sys.exit(not verdict)


def _write(out: Path, here: machine.Machine, trials: Sequence[Trial], clocks: Sequence[rows.Row]) -> None:
    with (out / "verdicts.csv").open("w", newline="", encoding="utf-8") as file:
        names = [field.name for field in dataclasses.fields(Trial)]
        table = csv.DictWriter(file, names, lineterminator="\n")
        table.writeheader()
        table.writerows(
            {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in dataclasses.asdict(each).items()}
            for each in trials
        )
    about = {
        "machine": here.to_json(),
        "confidence": ratio.CONFIDENCE,
        "experiments": summary(trials),
    }
    (out / "evidence.json").write_text(
        json.dumps(about, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    if clocks:
        rows.write(out, "clocks", clocks, here.to_json())


def _quantiles(values: Sequence[float], at: Sequence[float]) -> list[float]:
    return [float(f"{each:.4g}") for each in np.quantile(values, at)] if values else []


if __name__ == "__main__":
    typer.run(main)
