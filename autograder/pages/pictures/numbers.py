"""Pictures of FP8: which numbers there are, and the scale that moves a tensor among them."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from autograder.arrays import Array
from autograder.pages.pictures.canvas import SMALL, WIDTH, At, Canvas
from autograder.pages.pictures.picture import Picture
from autograder.pages.pictures.style import Hue

FORMATS: tuple[tuple[str, type, str, Hue], ...] = (
    ("E4M3", ml_dtypes.float8_e4m3fn, "4 bits of exponent, 3 of mantissa", "blue"),
    ("E5M2", ml_dtypes.float8_e5m2, "5 bits of exponent, 2 of mantissa", "orange"),
)


def positive(dtype: type) -> Array:
    """Every positive finite number of a format of 8 or 16 bits, ascending, in float64."""
    size = np.dtype(dtype).itemsize
    codes = np.arange(2 ** (8 * size), dtype=f"u{size}")
    with np.errstate(invalid="ignore"):  # some codes are NaN
        values = np.unique(codes.view(dtype).astype(np.float64))
    return values[np.isfinite(values) & (values > 0)]


def fp8_lines(canvas: Canvas) -> None:
    """A stroke for each number: over the whole range on a logarithmic line, from 1 to 2 on a straight one."""
    left, right = 14.0, WIDTH - 14

    def across(value: float) -> float:
        return left + (math.log2(value) + 16) / 32 * (right - left)

    canvas.text(10, 14, "All positive numbers, logarithmic", bold=True, at="left")
    for n, (name, dtype, bits, hue) in enumerate(FORMATS):
        values, y = positive(dtype), 70 + 92.0 * n
        canvas.text(10, y - 30, name, bold=True, hue=hue, at="left")
        canvas.text(54, y - 30, bits, size=SMALL, at="left")
        canvas.line((left, y + 14), (right, y + 14), hue="grey", width=0.8)
        canvas.strokes([((across(v), y - 14), (across(v), y + 14)) for v in values], hue=hue, width=0.7)
        for value in (values[0], 1.0, values[-1]):
            digits = 2 if value < 1 else 5
            shown = np.format_float_positional(value, precision=digits, fractional=False, trim="-")
            at: At = "left" if across(value) < 40 else "right" if across(value) > WIDTH - 40 else "center"
            x = {"left": left, "right": right, "center": across(value)}[at]
            canvas.line((across(value), y + 14), (across(value), y + 19))
            canvas.text(x, y + 28, shown, size=SMALL, at=at)

    canvas.text(10, 222, "From 1 to 2, linear", bold=True, at="left")
    for n, (name, dtype, _, hue) in enumerate(FORMATS):
        values, y = positive(dtype), 254 + 46.0 * n
        canvas.text(10, y, name, bold=True, hue=hue, at="left")
        canvas.line((66, y), (250, y), hue="grey")
        marks = [66 + 184 * (value - 1) for value in values if 1 <= value <= 2]
        canvas.strokes([((x, y - 10), (x, y + 10)) for x in marks], hue=hue, width=1.6)
        canvas.text(266, y, f"steps of 1/{_steps(dtype)}", at="left")
    canvas.text(66, 322, "1", size=SMALL)
    canvas.text(250, 322, "2", size=SMALL)
    canvas.text(10, 346, f"bfloat16: steps of 1/{_steps(ml_dtypes.bfloat16)} there", size=SMALL, at="left")


def amax(canvas: Canvas) -> None:
    """Made-up maxima of six steps; what follows from them is computed."""
    history = (2.1, 2.8, 3.5, 2.4, 1.9, 2.6)
    now, largest = 4.2, max(history)
    top = float(positive(ml_dtypes.float8_e4m3fn)[-1])
    scale = top / largest
    base, unit = 128.0, 22.0
    canvas.text(10, 14, "amax history: largest |x| of each step", bold=True, at="left")
    for n, value in enumerate((*history, now)):
        x, height = 18 + 46.0 * n + (18 if n == len(history) else 0), unit * value
        hue: Hue = "orange" if n == len(history) else "blue"
        canvas.box(x, base - height, 32, height, hue, fill="solid" if value == largest else True, corner=0)
        canvas.text(x + 16, base - height - 10, str(value), size=SMALL)
    canvas.line((10, base), (WIDTH - 10, base), hue="grey")
    canvas.line((142, base - unit * largest), (WIDTH - 10, base - unit * largest), dashed=True)
    canvas.text(18 + 46 * 3 - 7, base + 14, "steps before", size=SMALL)
    canvas.text(310, base + 14, "now", size=SMALL)

    canvas.arrow((126, base + 24), (126, base + 46))
    canvas.box(10, base + 46, 232, 62, "blue")
    canvas.text(126, base + 65, f"amax = max of history = {largest}")
    canvas.text(126, base + 88, f"scale = {top:.0f} / {largest} = {scale:g}", bold=True)

    canvas.arrow((126, base + 108), (126, base + 132))
    canvas.line((310, base + 24), (310, base + 157), hue="orange", width=1.4)
    canvas.arrow((310, base + 157), (243, base + 157), hue="orange")
    canvas.text(302, base + 76, "x", bold=True, hue="orange", at="right")
    canvas.box(10, base + 132, 232, 50, "orange")
    canvas.text(126, base + 147, "this step's x · scale, clipped to")
    canvas.text(126, base + 167, f"±{top:.0f} and rounded to E4M3")

    clipped = f"{now} · {scale:g} = {now * scale:.0f} is clipped to {top:.0f}:"
    canvas.text(10, base + 208, clipped, at="left")
    canvas.text(10, base + 228, "the scale comes one step late.", at="left")
    canvas.text(10, base + 252, f"Then {now} enters the history, {history[0]} drops out.", at="left")


def _steps(dtype: type) -> int:
    """Of a format from 1 to 2."""
    values = positive(dtype)
    return int(np.sum((values >= 1) & (values < 2)))


PICTURES = (
    Picture(
        "fp8-lines",
        "The numbers that E4M3 and E5M2 have",
        "On a logarithmic line E4M3 goes from 0.002 to 448 with 8 numbers for each doubling, E5M2 from "
        "0.000015 to 57344 with 4. Between 1 and 2 the steps are one eighth and one quarter.",
        362,
        fp8_lines,
    ),
    Picture(
        "amax",
        "Delayed scaling",
        "Bars for the largest magnitude of the steps before. Their maximum gives the scale with which this "
        "step's tensor is multiplied, clipped and rounded. This step's larger maximum is clipped, and enters "
        "the history for the next step.",
        394,
        amax,
    ),
)
