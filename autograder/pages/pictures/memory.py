"""Pictures of memory: what attention stores, and in which order an array lies there."""

from __future__ import annotations

import math

from autograder.arrays import Spec
from autograder.pages.pictures import measured
from autograder.pages.pictures.canvas import SMALL, WIDTH, Canvas
from autograder.pages.pictures.picture import Picture
from autograder.pages.pictures.style import Hue
from autograder.pages.units import with_unit

LENGTHS = (1024, 4096, 16384)


def memory_ladder(canvas: Canvas) -> None:
    """Temporary memory of three lengths on a logarithmic scale; bounds are the L2 cache and the GPU."""
    machine = measured.sweep("seq")[1]
    left, right, low, high = 14.0, WIDTH - 14, 2.0, 12.0

    def across(size: float) -> float:
        return left + (math.log10(size) - low) / (high - low) * (right - left)

    canvas.text(10, 14, "What attention stores (logarithmic)", bold=True, at="left")
    legend: tuple[tuple[float, str, Hue], ...] = (
        (20, "cuDNN", "green"),
        (106, "query, key, value", "blue"),
        (256, "naive", "orange"),
    )
    for x, name, hue in legend:
        _mark(canvas, x, 40, hue)
        canvas.text(x + 13, 40, name, size=SMALL, bold=True, hue=hue, at="left")
    bounds = {"L2 cache": machine["l2_bytes"], "GPU memory": machine["memory_bytes"]}
    for name, size in bounds.items():
        canvas.text(across(size), 66, name, size=SMALL, hue="grey")
        canvas.line((across(size), 75), (across(size), 86), hue="grey", dashed=True)
    stored: list[tuple[float, ...]] = []
    for n, length in enumerate(LENGTHS):
        y = 110 + 72.0 * n
        naive, fused = (measured.row("seq", variant, length) for variant in ("naive", "cuDNN"))
        inputs = 3 * Spec((naive.B, naive.T, naive.N, naive.H), naive.dtype).nbytes
        sizes = (float(fused.temp_bytes or 0), float(inputs), float(naive.temp_bytes or 0))
        stored.append(sizes)
        canvas.text(left, y - 17, f"T = {length}", bold=True, at="left")
        canvas.line((left, y), (right, y), hue="grey", width=0.8)
        for size in bounds.values():
            canvas.line((across(size), y - 10), (across(size), y + 10), hue="grey", width=2)
        for size, (_, _, hue), side in zip(sizes, legend, (19, -18, 19), strict=True):
            _mark(canvas, across(size), y, hue)
            canvas.text(across(size), y + side, with_unit(size, "bytes"), size=SMALL)
    canvas.line((left, 290), (right, 290))
    for power, name in ((3, "kB"), (6, "MB"), (9, "GB")):
        canvas.line((across(10**power), 290), (across(10**power), 296))
        canvas.text(across(10**power), 306, f"1 {name}", size=SMALL)
    more = LENGTHS[1] // LENGTHS[0]
    fused_more, inputs_more, naive_more = (
        round(after / before) for before, after in zip(*stored[:2], strict=True)
    )
    growth = f"naive × {naive_more}, q k v × {inputs_more}, cuDNN × {fused_more}"  # noqa: RUF001
    canvas.text(10, 332, f"T × {more}: {growth}", at="left")  # noqa: RUF001
    measured.source(canvas, 356, measured.row("seq", "naive", LENGTHS[0]))


def _mark(canvas: Canvas, x: float, y: float, hue: Hue) -> None:
    """A circle, a diamond or a square by the hue, so that the hue is not needed."""
    corners, radius, turn = {"green": (24, 6.5, 0.0), "blue": (4, 8.0, 0.0)}.get(hue, (4, 8.0, 0.5))
    angles = [2 * math.pi * (n + turn) / corners for n in range(corners)]
    canvas.shape(*((x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles), hue=hue)


def layout(canvas: Canvas) -> None:
    """The axes of BTNH, each inside one step of the one before: B = 2, T = 3, N = 2, H = 4."""
    left, right = 12.0, WIDTH - 12
    axes = (
        ("b", 2, "T · N · H = 24 entries"),
        ("t", 3, "N · H = 8 entries"),
        ("n", 2, "H = 4 entries"),
        ("h", 4, "1 entry"),
    )
    hues: tuple[Hue, ...] = ("purple", "blue", "orange", "green")
    for level, ((name, count, stride), hue) in enumerate(zip(axes, hues, strict=True)):
        y = 36 + 84.0 * level
        width = (right - left) / count
        canvas.text(left, y - 14, f"one step of {name}: {stride}", at="left")
        for n in range(count):
            canvas.box(left + n * width, y, width, 30, hue, fill=n == 0 or level == 3, corner=0)
            canvas.text(left + (n + 0.5) * width, y + 15, f"{name} = {n}", bold=n == 0)
        if level < 3:
            canvas.shape(
                (left, y + 31), (left + width, y + 31), (right, y + 54), (left, y + 54), hue=hue, tint=True
            )
    canvas.text(left, 352, "place of [b, t, n, h] =", at="left")
    canvas.text(left, 372, "((b · T + t) · N + n) · H + h", code=True, at="left")


PICTURES = (
    Picture(
        "memory-ladder",
        "What attention stores",
        "For T of 1024, 4096 and 16384 on a logarithmic line: cuDNN's temporary memory stays the same, "
        "query, key and value grow with T, naive attention's scores grow with its square, past the L2 cache.",
        388,
        memory_ladder,
    ),
    Picture(
        "layout",
        "How an array of shape (B, T, N, H) lies in memory",
        "Four bars, each a close-up of the first part of the one above: batch rows, positions, heads, and "
        "the entries of a head, which are neighbours.",
        388,
        layout,
    ),
)
