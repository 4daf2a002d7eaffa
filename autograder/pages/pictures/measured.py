"""The committed measurements that pictures show."""

from __future__ import annotations

from typing import Any

from autograder.bench import rows
from autograder.bench.rows import Row
from autograder.pages.pictures.canvas import SMALL, Canvas
from autograder.stubs import ROOT

FOLDER = ROOT / "course" / "figures" / "h200"


def sweep(name: str) -> tuple[list[Row], dict[str, Any]]:
    """Rows and machine of a sweep."""
    return rows.read(FOLDER / f"{name}.json")


def row(name: str, variant: str, T: int, dtype: str = "bfloat16") -> Row:  # noqa: N803
    """The one row of a sweep. ValueError where there is not one."""
    found = [each for each in sweep(name)[0] if (each.variant, each.T, each.dtype) == (variant, T, dtype)]
    if len(found) != 1:
        raise ValueError(f"{name}: expected one row of {variant}, T={T}, {dtype}; got {len(found)}")
    return found[0]


def source(canvas: Canvas, y: float, row: Row) -> None:
    """Two lines of text: sizes, machine, version and day of what was measured."""
    machine = sweep(row.sweep)[1]
    sizes = f"B = {row.B}, N = {row.N}, H = {row.H}, {row.dtype}, {machine['device']}"
    canvas.text(10, y, sizes, size=SMALL, hue="grey", at="left")
    version = f"JAX {machine['versions']['jax']}, cuDNN {machine['cudnn']}, {machine['measured']}"
    canvas.text(10, y + 18, version, size=SMALL, hue="grey", at="left")
