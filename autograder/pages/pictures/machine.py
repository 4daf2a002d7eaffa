"""Pictures of the machine: two clocks, and two GPUs."""

from __future__ import annotations

from autograder.pages.pictures import measured
from autograder.pages.pictures.canvas import SMALL, Canvas
from autograder.pages.pictures.picture import Picture
from autograder.pages.pictures.style import Hue
from autograder.pages.units import with_unit


def clocks(canvas: Canvas) -> None:
    """One call on a time line, not to scale; then what the two clocks said of two programs, to scale."""
    canvas.text(10, 50, "host", bold=True, at="left")
    canvas.text(10, 112, "device", bold=True, at="left")
    canvas.line((68, 34), (68, 130), hue="grey", dashed=True)
    canvas.line((340, 34), (340, 130), hue="grey", dashed=True)
    canvas.arrow((254, 16), (340, 16), hue="blue")
    canvas.arrow((154, 16), (68, 16), hue="blue")
    canvas.text(204, 16, "host's clock", hue="blue", bold=True)
    canvas.box(70, 36, 90, 28, "blue")
    canvas.text(115, 50, "dispatch", size=SMALL)
    canvas.box(162, 36, 176, 28, "blue", dashed=True, fill=False)
    canvas.text(250, 50, "wait for the result", size=SMALL)
    canvas.arrow((130, 64), (130, 84), (216, 84), (216, 98))
    canvas.text(124, 78, "stream", size=SMALL, at="right")
    for n in range(3):
        canvas.box(206 + 34 * n, 98, 30, 28, "orange")
    canvas.text(10, 152, "not to scale", size=SMALL, hue="grey", at="left")
    canvas.text(255, 88, "kernels", size=SMALL, at="left")
    canvas.strokes(
        [((206, 134), (206, 142)), ((304, 134), (304, 142)), ((206, 138), (304, 138))], hue="orange"
    )
    canvas.text(255, 152, "device clock", hue="orange", bold=True)

    length = 128
    canvas.text(10, 190, f"Measured at T = {length}", bold=True, at="left")
    programs = [measured.row("seq", name, length) for name in ("naive", "cuDNN")]
    times = [time for row in programs for time in (row.percall_ms, row.device_ms)]
    longest = max(time for time in times if time is not None)
    for n, row in enumerate(programs):
        y = 214 + 62.0 * n
        canvas.text(10, y + 23, row.variant, bold=True, at="left")
        clocks: tuple[tuple[float | None, Hue], ...] = ((row.percall_ms, "blue"), (row.device_ms, "orange"))
        for m, (time, hue) in enumerate(clocks):
            assert time is not None
            width = 210 * time / longest
            canvas.box(68, y + 24 * m, width, 20, hue, corner=0)
            canvas.text(74 + width, y + 24 * m + 10, with_unit(time, "ms"), size=SMALL, at="left")
    canvas.text(10, 346, "The host's clock: naive is faster.", at="left", hue="blue")
    canvas.text(10, 366, "The device clock: cuDNN is.", at="left", hue="orange")
    measured.source(canvas, 394, programs[0])


def scaling(canvas: Canvas) -> None:
    """Three ways to cut (B, T, N, H) in two, and what the GPUs then have to tell each other."""
    rows = (
        ("by batch", "B / 2, T, N, H", "nothing to exchange", ""),
        ("by head", "B, T, N / 2, H", "nothing in attention,", "a sum after the projection"),
        ("by position", "B, T / 2, N, H", "every query needs all keys:", "keys and values travel"),
    )
    for n, (name, shape, first, second) in enumerate(rows):
        y = 14 + 116.0 * n
        canvas.text(10, y, name, bold=True, at="left")
        for gpu, x in enumerate((10, 220)):
            canvas.box(x, y + 16, 130, 44, "blue")
            canvas.text(x + 65, y + 29, f"GPU {gpu}", bold=True, size=SMALL)
            canvas.text(x + 65, y + 47, shape, size=SMALL)
        if n == 2:
            canvas.arrow((142, y + 30), (218, y + 30), hue="purple")
            canvas.arrow((218, y + 46), (142, y + 46), hue="purple")
            canvas.text(180, y + 18, "key, value", size=SMALL, hue="purple")
        canvas.text(10, y + 74, f"{first} {second}".strip(), size=SMALL, at="left")


PICTURES = (
    Picture(
        "clocks",
        "The host's clock and the device's clock",
        "The host dispatches kernels into a stream and waits. Its clock covers all of it, the device's clock "
        "the kernels alone. At T = 128 the host's clock says naive attention is faster than cuDNN, the "
        "device's clock says the opposite.",
        426,
        clocks,
    ),
    Picture(
        "scaling",
        "Attention split over two GPUs",
        "Split by batch nothing is exchanged. Split by head nothing inside attention, and a sum after the "
        "output projection. Split by position keys and values travel between the GPUs.",
        340,
        scaling,
    ),
)
