"""Pictures of programs on their way to the GPU: which implementation runs, and where errors come from."""

from __future__ import annotations

from itertools import pairwise

from autograder.pages.pictures import measured
from autograder.pages.pictures.canvas import SMALL, Canvas
from autograder.pages.pictures.picture import Picture
from autograder.pages.pictures.style import Hue


def dispatch(canvas: Canvas) -> None:
    """The argument on the left, what runs on the right."""
    rows = [row for row in measured.sweep("seq")[0] if row.dtype == "bfloat16" and row.kernels]
    stored = sorted({row.kernels for row in rows if row.variant == "XLA" and row.kernels})
    fused = sorted({row.kernels for row in rows if row.variant == "cuDNN" and row.kernels})
    canvas.text(10, 14, "jax.nn.dot_product_attention(", code=True, size=SMALL, at="left")
    canvas.text(10, 32, "query, key, value, implementation=…)", code=True, size=SMALL, at="left")
    arguments: tuple[tuple[str, float, str], ...] = (
        ("None", 56, "the default"),
        ('"xla"', 116, ""),
        ('"cudnn"', 186, ""),
    )
    for argument, y, words in arguments:
        canvas.box(10, y, 90, 32)
        canvas.text(55, y + 16, argument, code=True, size=SMALL)
        canvas.text(55, y + 44, words, size=SMALL, hue="grey")
    canvas.arrow((100, 72), (136, 72), (136, 102), (176, 102))
    canvas.line((100, 132), (136, 132), (136, 102), width=1.4)
    canvas.arrow((100, 202), (176, 202))
    runs: tuple[tuple[float, str, str, str, Hue], ...] = (
        (68, "XLA", "stores all scores", f"{' or '.join(map(str, stored))} kernels (H200)", "orange"),
        (168, "cuDNN", "stores no scores", f"{' or '.join(map(str, fused))} kernel (H200)", "green"),
    )
    for y, name, memory, kernels, hue in runs:
        canvas.box(178, y, 172, 68, hue)
        canvas.text(264, y + 15, name, bold=True)
        canvas.text(264, y + 43, f"{memory}\n{kernels}", size=SMALL)
    canvas.arrow((264, 236), (264, 262), dashed=True)
    canvas.text(256, 250, "refused", size=SMALL, at="right")
    canvas.box(178, 264, 172, 30, fill=False, dashed=True)
    canvas.text(264, 279, "an error, no fallback", size=SMALL)
    canvas.text(10, 322, "The numbers agree up to rounding.", at="left")
    canvas.text(10, 342, "The compiled program tells which ran:", at="left")
    canvas.text(10, 364, "__cudnn$fmhaSoftmax", code=True, size=SMALL, at="left")
    canvas.text(158, 364, "stands in it, or does not.", at="left", size=SMALL)


def cudnn_gates(canvas: Canvas) -> None:
    """The stages from a call to its result, and what each may raise."""
    stages: tuple[tuple[str, float], ...] = (("trace", 40), ("lower", 218), ("compile", 292), ("run", 352))
    for name, y in stages:
        canvas.box(22, y, 76, 36, "blue")
        canvas.text(60, y + 18, name, bold=True)
    for (_, above), (_, below) in pairwise(stages):
        canvas.arrow((60, above + 36), (60, below))
    canvas.arrow((60, 388), (60, 412))
    canvas.text(60, 423, "output", bold=True)

    canvas.box(8, 6, 344, 192, "green", fill=False, dashed=True)
    canvas.text(20, 22, "inside your function, and its try", size=SMALL, bold=True, hue="green", at="left")
    raised: tuple[tuple[float, str, str], ...] = (
        (48, "NotImplementedError", "float32; H not a multiple of 8,\nor too large"),
        (106, "RuntimeError", "cuDNN is not there"),
        (150, "ValueError", "heads that do not divide;\nthe other path raises it too"),
        (228, "NotImplementedError", "a platform without the call: CPU"),
    )
    for y, name, words in raised:
        canvas.text(114, y, name, code=True, size=SMALL, hue="orange", at="left")
        canvas.text(114, y + 18 + 8 * words.count("\n"), words, size=SMALL, at="left")
    canvas.line((106, 294), (112, 294), (112, 386), (106, 386), hue="orange")
    canvas.text(122, 320, "cuDNN has no plan for this GPU", hue="orange", at="left", bold=True, size=SMALL)
    canvas.text(122, 348, "one older than Ampere, as the T4:\nJAX does not check that", size=SMALL, at="left")


PICTURES = (
    Picture(
        "dispatch",
        "What the argument implementation runs",
        "None and xla lead to XLA, cudnn leads to cuDNN or an error. Only the compiled program tells which.",
        380,
        dispatch,
    ),
    Picture(
        "cudnn-gates",
        "Where the cuDNN path raises errors",
        "Dtype, head size, a missing cuDNN and heads that do not divide raise while tracing, inside the "
        "function's try. A platform without the call raises at lowering, a GPU older than Ampere at "
        "compiling or running, both outside it.",
        436,
        cudnn_gates,
    ),
)
