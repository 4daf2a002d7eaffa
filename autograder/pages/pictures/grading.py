"""Pictures of grading: what each kind of machine can grade, and who believes whom."""

from __future__ import annotations

from autograder import catalog
from autograder.pages.pictures.canvas import SMALL, Canvas
from autograder.pages.pictures.picture import Picture
from autograder.pages.pictures.style import Hue

MACHINES = (
    ("laptop", "no GPU", (0, 0)),
    ("notebook", "T4: 7.5", (7, 5)),
    ("pod", "L4: 8.9", (8, 9)),
)


def setups(canvas: Canvas) -> None:
    """Points of the catalog by what each machine's compute capability serves."""
    checks = [check for exercise in catalog.EXERCISES for check in exercise.checks]
    total = sum(check.points for check in checks)
    rows: tuple[tuple[str, str], ...] = (
        ("numbers, labels,\nsimulated GPUs", ""),
        ("kernel that ran,\nmemory, time", catalog.GPU_CUDNN),
        ("FP8 on the chip", catalog.GPU_FP8),
    )
    for n, (name, gpu, capability) in enumerate(MACHINES):
        x = 116 + 80.0 * n
        served = [check for check in checks if not check.needs or capability >= catalog.LEAST[check.needs]]
        points = sum(check.points for check in served)
        canvas.box(x, 8, 74, 46, "blue")
        canvas.text(x + 37, 22, name, bold=True, size=SMALL)
        canvas.text(x + 37, 41, gpu, size=SMALL)
        for m, (_, needs) in enumerate(rows):
            there = sum(check.points for check in checks if check.needs == needs)
            serves = not needs or capability >= catalog.LEAST[needs]
            hue: Hue = "green" if serves else "grey"
            canvas.box(x, 64 + 50.0 * m, 74, 42, hue, fill=serves, dashed=not serves)
            canvas.text(x + 37, 85 + 50 * m, f"{there} points" if serves else "waits", size=SMALL)
        canvas.text(x + 37, 228, f"{points} of {total}", bold=True, size=SMALL)
    for m, (words, _) in enumerate(rows):
        canvas.text(10, 85 + 50 * m, words, size=SMALL, at="left")
    canvas.text(10, 228, "points", bold=True, size=SMALL, at="left")
    canvas.text(10, 256, "What waits costs nothing.", at="left")
    canvas.text(10, 276, "7.5 and 8.9 are compute capabilities.", at="left")


def trust(canvas: Canvas) -> None:
    """Three processes, and what goes from one to the next."""
    boxes: tuple[tuple[float, str, str, Hue], ...] = (
        (42, "tracer", "runs your code in a sandbox,\nknows no expected value", "orange"),
        (168, "runner", "checks each operation, runs the\nprogram on hidden inputs", "blue"),
        (276, "judge", "compares with attention in\nfloat64, within a tolerance", "green"),
    )
    canvas.box(50, 4, 180, 22, fill=False)
    canvas.text(140, 15, "your module", size=SMALL)
    canvas.arrow((140, 26), (140, 42))
    for y, name, words, hue in boxes:
        canvas.box(10, y, 260, 66, hue)
        canvas.text(140, y + 14, name, bold=True)
        canvas.text(140, y + 42, words, size=SMALL)
    canvas.line((10, 138), (350, 138), hue="grey", dashed=True)
    canvas.text(10, 124, "not believed", size=SMALL, at="left", hue="orange")
    canvas.text(10, 152, "none of your code", size=SMALL, at="left", hue="blue")
    canvas.arrow((140, 108), (140, 168))
    canvas.text(150, 124, "programs, as data", size=SMALL, at="left")
    canvas.arrow((140, 234), (140, 276))
    canvas.text(150, 254, "arrays, times", size=SMALL, at="left")
    canvas.arrow((270, 75), (296, 75), (296, 309), (270, 309))
    canvas.text(303, 200, "answers", size=SMALL, at="left")
    canvas.arrow((140, 342), (140, 364))
    canvas.text(140, 375, "report", bold=True)


PICTURES = (
    Picture(
        "setups",
        "What a laptop, a notebook and a pod can grade",
        "A table of points. A laptop without a GPU and a notebook with a T4 grade numbers, labels and "
        "answers about simulated GPUs. A pod with an L4 also the kernel that ran, memory, time, and FP8.",
        290,
        setups,
    ),
    Picture(
        "trust",
        "Tracer, runner and judge",
        "The tracer runs the learner's code and is not believed. It sends programs as data to the runner, "
        "which sends arrays and times to the judge, and answers straight to the judge.",
        388,
        trust,
    ),
)
