"""Pictures of attention itself: its four steps, and the same in tiles."""

from __future__ import annotations

import numpy as np

from autograder import oracle
from autograder.arrays import Array
from autograder.pages.pictures.canvas import SMALL, Canvas, Fill
from autograder.pages.pictures.picture import Picture
from autograder.pages.pictures.style import Hue

CELL = 13.0
BLOCK = 34.0


def steps(canvas: Canvas) -> None:
    """One head of small matrices, T = 3, S = 4, H = 5; the shades are their numbers."""
    random = np.random.default_rng(3)
    query, key, value = (random.normal(size=(1, length, 1, 5)) for length in (3, 4, 4))
    scores = oracle.scores(query, key)
    weights = oracle.softmax(scores)
    output = oracle.combine(weights, value)

    _step(canvas, 20, 1, "compare each query with each key")
    _matrix(canvas, 58, 72, "query", "B, T, N, H", _shades(query), "blue")
    _sign(canvas, 113, 92, "·")
    _matrix(canvas, 175, 59, "key, transposed", "B, S, N, H", _shades(key).T, "orange")
    _sign(canvas, 235, 92, "=")
    _matrix(canvas, 297, 72, "products", "B, N, T, S", _shades(scores), "grey")

    _step(canvas, 174, 2, "scale")
    _step(canvas, 174, 3, "weigh", x=154)
    _matrix(canvas, 58, 218, "products", "", _shades(scores), "grey")
    canvas.arrow((92, 237), (140, 237))
    canvas.text(116, 226, "/ √H", size=SMALL)
    _matrix(canvas, 175, 218, "scores", "B, N, T, S", _shades(scores), "grey")
    canvas.arrow((208, 237), (264, 237))
    canvas.text(235, 226, "softmax", size=SMALL)
    _matrix(canvas, 297, 218, "weights", "B, N, T, S", weights[0, 0], "grey")
    canvas.text(297, 286, "rows sum to 1", size=SMALL)

    _step(canvas, 308, 4, "average values by weights")
    _matrix(canvas, 58, 358, "weights", "B, N, T, S", weights[0, 0], "grey")
    _sign(canvas, 113, 377, "·")
    _matrix(canvas, 175, 351, "value", "B, S, N, H", _shades(value), "green")
    _sign(canvas, 235, 377, "=")
    _matrix(canvas, 297, 358, "output", "B, T, N, H", _shades(output), "purple")


def tiles(canvas: Canvas) -> None:
    """Scores of 4 blocks of queries by 5 of keys; the second row of blocks is under way, at its third."""
    left, top, columns, rows, row, column = 62.0, 58.0, 5, 4, 1, 2
    end = left + columns * BLOCK
    canvas.text(left + columns * BLOCK / 2, 14, "blocks of keys and values", size=SMALL)
    for n in range(columns):
        now = n == column
        canvas.box(left + n * BLOCK + 2, 26, BLOCK - 4, 11, "orange", fill="solid" if now else True, corner=2)
        canvas.box(left + n * BLOCK + 2, 41, BLOCK - 4, 11, "green", fill="solid" if now else True, corner=2)
    canvas.text(left - 6, 31, "key", size=SMALL, hue="orange", at="right")
    canvas.text(left - 6, 46, "value", size=SMALL, hue="green", at="right")
    for n in range(rows):
        y = top + n * BLOCK + 2
        canvas.box(42, y, 14, BLOCK - 4, "blue", fill="solid" if n == row else True, corner=2)
        made: Fill = "solid" if n < row else n == row
        canvas.box(end + 6, y, 14, BLOCK - 4, "purple", fill=made, dashed=n > row, corner=2)
        for m in range(columns):
            done = n < row or (n == row and m < column)
            now = (n, m) == (row, column)
            x = left + m * BLOCK + 2
            canvas.box(
                x, y, BLOCK - 4, BLOCK - 4, fill="solid" if now else done, dashed=not (done or now), corner=2
            )
    middle = top + 2 * BLOCK
    canvas.text(36, middle, "query", size=SMALL, hue="blue", at="right")
    canvas.text(end + 26, middle, "output", size=SMALL, hue="purple", at="left")
    canvas.text(end + 8, 38, "read again for\neach query block", size=SMALL, at="left")

    y = top + rows * BLOCK + 22
    for x, fill, words in (
        (20, True, "used, dropped"),
        (140, "solid", "on the chip"),
        (250, False, "to come"),
    ):
        canvas.box(x, y - 7, 14, 14, fill=fill, dashed=fill is False, corner=2)  # type: ignore[arg-type]
        canvas.text(x + 20, y, words, size=SMALL, at="left")

    y += 34
    canvas.text(10, y, "Kept for each query, tile after tile:", bold=True, at="left")
    kept = (
        ("max", "the largest score so far"),
        ("sum", "of exp(score - max)"),
        ("acc", "the sum of exp(score - max) · value"),
    )
    for n, (name, words) in enumerate(kept):
        canvas.text(18, y + 22 + 19 * n, name, bold=True, at="left")
        canvas.text(56, y + 22 + 19 * n, words, at="left")
    canvas.text(10, y + 90, "A tile raises max? Multiply sum and acc by", at="left")
    canvas.text(10, y + 109, "exp(old max - new max), then add the tile.", at="left")
    canvas.text(10, y + 135, "After the last tile: output = acc / sum", bold=True, at="left")


def _shades(array: Array) -> Array:
    """The last two axes of one head that hold more than one entry, as 0.1 to 0.9."""
    return np.asarray(0.5 + np.clip(np.squeeze(array), -2, 2) / 5)


def _matrix(canvas: Canvas, centre: float, y: float, name: str, shape: str, shades: Array, hue: Hue) -> None:
    """A matrix with its top at `y`, its name above and the whole array's shape beneath."""
    rows, columns = shades.shape
    canvas.cells(centre - columns * CELL / 2, y, CELL, shades, hue)
    canvas.text(centre, y - 12, name, size=SMALL, bold=True, hue=hue)
    if shape:
        canvas.text(centre, y + rows * CELL + 12, shape, size=SMALL)


def _sign(canvas: Canvas, x: float, y: float, sign: str) -> None:
    canvas.text(x, y, sign, size=20)


def _step(canvas: Canvas, y: float, number: int, words: str, x: float = 8) -> None:
    canvas.box(x, y - 10, 20, 20, corner=5)
    canvas.text(x + 10, y, str(number), bold=True)
    canvas.text(x + 28, y, words, at="left", bold=True)


PICTURES = (
    Picture(
        "steps",
        "Attention in four steps",
        "Query (B, T, N, H) times key (B, S, N, H), transposed, gives products (B, N, T, S). Divided "
        "by the root of H they are scores. The softmax of each row gives weights. Weights times value "
        "(B, S, N, H) give the output (B, T, N, H).",
        428,
        steps,
    ),
    Picture(
        "tiles",
        "Flash attention computes the scores tile by tile",
        "Blocks of queries down, blocks of keys and values across. One tile of scores is on the chip, those "
        "before it are dropped, those after it are to come. For each query a largest score, a sum and a "
        "weighted sum of values are kept and rescaled.",
        400,
        tiles,
    ),
)
