"""Pictures of who sees whom: masks over positions, and heads that share keys and values."""

from __future__ import annotations

import numpy as np

from autograder import oracle
from autograder.oracle import Window
from autograder.pages.pictures.canvas import SMALL, Canvas
from autograder.pages.pictures.picture import Picture

CELL = 18.0
SEEN = 0.6


def masks(canvas: Canvas) -> None:
    """Four masks; what is seen is what the oracle says."""
    _mask(canvas, 36, 50, "causal", "s ≤ t", 6, 6, causal=True)
    _mask(canvas, 218, 50, "causal window", "t - 2 ≤ s ≤ t", 6, 6, causal=True, window=(2, 0))
    _mask(canvas, 36, 238, "T < S, top-left", "s ≤ t, is_causal", 3, 6, causal=True)
    _mask(canvas, 218, 238, "T < S, bottom-right", "s ≤ t + S - T", 3, 6, window=(None, 3))
    canvas.cells(36, 322, 14, np.full((1, 1), SEEN), "blue")
    canvas.text(56, 329, "query t sees key s", size=SMALL, at="left")
    canvas.cells(218, 322, 14, np.zeros((1, 1)), "blue")
    canvas.text(238, 329, "hidden", size=SMALL, at="left")


def _mask(
    canvas: Canvas,
    x: float,
    y: float,
    name: str,
    rule: str,
    queries: int,
    keys: int,
    causal: bool = False,
    window: Window | None = None,
) -> None:
    width, height = keys * CELL, queries * CELL
    canvas.text(x + width / 2, y - 36, name, bold=True)
    canvas.text(x + width / 2, y - 17, rule, size=SMALL)
    canvas.cells(x, y, CELL, SEEN * oracle.visible(queries, keys, causal, window), "blue")
    canvas.text(x - 14, y + 8, "t")
    canvas.arrow((x - 14, y + 20), (x - 14, y + height))
    canvas.text(x + 5, y + height + 12, "s")
    canvas.arrow((x + 16, y + height + 14), (x + width, y + height + 14))


def head_groups(canvas: Canvas) -> None:
    """8 query heads over 8, 2 and 1 key/value heads."""
    heads = 8
    rows = ((8, "MHA", "multi-head"), (2, "GQA", "grouped-query"), (1, "MQA", "multi-query"))
    for n, (shared, name, words) in enumerate(rows):
        top, group = 12 + 134.0 * n, heads // shared
        canvas.text(10, top, name, bold=True, at="left")
        canvas.text(50, top, f"{words}, K = {shared}, G = {group}", at="left")
        for head in range(heads):
            canvas.box(12 + 42 * head, top + 16, 38, 24, "blue")
            canvas.text(31 + 42 * head, top + 28, str(head), size=SMALL)
            canvas.line((31 + 42 * head, top + 40), (31 + 42 * head, top + 56), hue="grey")
        for k in range(shared):
            x, width = 12 + 42 * group * k, 42.0 * group - 4
            label = str(k) if group == 1 else f"key/value head {k}"
            canvas.box(x, top + 56, width, 24, "orange")
            canvas.text(x + width / 2, top + 68, label, size=SMALL)
        share = "" if group == 1 else f", 1/{group} of MHA's"
        canvas.text(12, top + 96, f"KV cache: 2 · B · S · {shared} · H numbers{share}", size=SMALL, at="left")
    canvas.box(12, 412, 14, 14, "blue", corner=2)
    canvas.text(32, 419, "query head n", size=SMALL, at="left")
    canvas.box(130, 412, 14, 14, "orange", corner=2)
    canvas.text(150, 419, "it reads key/value head n // G", size=SMALL, at="left")


PICTURES = (
    Picture(
        "masks",
        "Which keys a query sees",
        "Four grids of queries down and keys across. Causal: key s up to t. Window: the last keys up to t. "
        "With fewer queries than keys, aligned top-left query 0 sees only key 0; aligned bottom-right the "
        "last query sees all keys.",
        348,
        masks,
    ),
    Picture(
        "head-groups",
        "Query heads share key/value heads",
        "Eight query heads. In multi-head attention each has a key/value head of its own; in grouped-query "
        "attention four neighbours share one; in multi-query attention all share one.",
        436,
        head_groups,
    ),
)
