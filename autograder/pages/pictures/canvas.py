"""A canvas of boxes, arrows and text, in points from the top left: what every picture is drawn with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Outline

from autograder.arrays import Array
from autograder.pages.pictures.style import Hue, Style

WIDTH = 360.0
"""Points. A phone shows it about as wide, so text of `SMALL` and more can be read there."""
SMALL, MEDIUM, LARGE = 12.0, 13.5, 15.0

SANS, MONO = "DejaVu Sans", "DejaVu Sans Mono"

Point = tuple[float, float]
At = Literal["left", "center", "right"]
Fill = bool | Literal["solid"]


class Canvas:
    """`WIDTH` by `height` points, x to the right and y down. A hue of None is the ink."""

    def __init__(self, height: float, style: Style) -> None:
        self.style = style
        self.height = height
        self.figure = Figure(figsize=(WIDTH / 72, height / 72), facecolor=style.ground)
        self._axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self._axes.set_xlim(0, WIDTH)
        self._axes.set_ylim(height, 0)
        self._axes.set_axis_off()

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = MEDIUM,
        hue: Hue | None = None,
        at: At = "center",
        bold: bool = False,
        code: bool = False,
    ) -> None:
        """Lines of text, `y` in their middle and `at` x their left, centre or right."""
        lines = words.replace(" - ", " \N{MINUS SIGN} ").split("\n")
        for number, line in enumerate(lines):
            # Placed by the baseline, so that no font's metrics are in the file.
            baseline = y + 0.36 * size + (number - (len(lines) - 1) / 2) * 1.3 * size
            self._axes.text(
                x,
                baseline,
                line,
                fontsize=size,
                color=self._line(hue),
                horizontalalignment=at,
                verticalalignment="baseline",
                fontweight="bold" if bold else "normal",
                fontfamily=MONO if code else SANS,
                parse_math=False,
            )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        hue: Hue = "grey",
        *,
        fill: Fill = True,
        edge: bool = True,
        dashed: bool = False,
        corner: float = 4.0,
    ) -> None:
        """A rectangle with rounded corners, filled with the hue's tint, its line ("solid"), or not."""
        colour = self._line(hue)
        outline = FancyBboxPatch(
            (x + corner, y + corner),
            width - 2 * corner,
            height - 2 * corner,
            boxstyle=f"round,pad={corner},rounding_size={corner}" if corner else "square,pad=0",
        )
        self._axes.add_patch(outline)
        outline.set(
            facecolor={True: self.style.tints[hue], False: "none", "solid": colour}[fill],
            edgecolor=colour if edge else "none",
            linewidth=1.2,
            linestyle=(0, (4, 3)) if dashed else "solid",
            clip_on=False,
        )

    def cells(self, x: float, y: float, size: float, shades: Array, hue: Hue) -> None:
        """A grid of squares for the entries of `shades`, 0 (the ground) to 1 (the hue's line)."""
        low, high = (np.array(to_rgb(colour)) for colour in (self.style.ground, self.style.lines[hue]))
        rows, columns = shades.shape
        for (row, column), shade in np.ndenumerate(shades):
            x0, y0 = x + column * size, y + row * size
            corners = ((x0, y0), (x0 + size, y0), (x0 + size, y0 + size), (x0, y0 + size))
            self._fill(corners, to_hex(low + (high - low) * float(shade)))
        across = [((x, y + n * size), (x + columns * size, y + n * size)) for n in range(rows + 1)]
        down = [((x + n * size, y), (x + n * size, y + rows * size)) for n in range(columns + 1)]
        self.strokes([*across, *down], hue=hue, width=0.8)

    def line(self, *points: Point, hue: Hue | None = None, width: float = 1.2, dashed: bool = False) -> None:
        """Through the points."""
        codes = [Outline.MOVETO] + [Outline.LINETO] * (len(points) - 1)
        self._stroke(Outline(points, codes), hue, width, dashed)

    def strokes(
        self, segments: Sequence[tuple[Point, Point]], hue: Hue | None = None, width: float = 1.2
    ) -> None:
        """Many separate lines, kept short in the file."""
        points = [point for segment in segments for point in segment]
        self._stroke(Outline(points, [Outline.MOVETO, Outline.LINETO] * len(segments)), hue, width, False)

    def arrow(self, *points: Point, hue: Hue | None = None, width: float = 1.4, dashed: bool = False) -> None:
        """A line through the points with a head at its end. Its last segment runs across or down."""
        (x0, y0), (x1, y1) = points[-2:]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        u, v = (x1 - x0) / length, (y1 - y0) / length
        neck = (x1 - 6 * u, y1 - 6 * v)
        self.line(*points[:-1], neck, hue=hue, width=width, dashed=dashed)
        sides = [(x1 - 7 * u - 3.5 * v, y1 - 7 * v + 3.5 * u), (x1 - 7 * u + 3.5 * v, y1 - 7 * v - 3.5 * u)]
        self.shape((x1, y1), *sides, hue=hue)

    def shape(self, *points: Point, hue: Hue | None = None, tint: bool = False) -> None:
        """A filled polygon without an edge."""
        self._fill(points, self.style.tints[hue] if tint and hue else self._line(hue))

    def _fill(self, points: Sequence[Point], colour: str) -> None:
        outline = Outline([*points, points[0]], closed=True)
        self._axes.add_patch(PathPatch(outline, facecolor=colour, edgecolor="none", clip_on=False))

    def _stroke(self, outline: Outline, hue: Hue | None, width: float, dashed: bool) -> None:
        style = (0, (4, 3)) if dashed else "solid"
        self._axes.add_patch(
            PathPatch(
                outline,
                facecolor="none",
                edgecolor=self._line(hue),
                linewidth=width,
                linestyle=style,
                capstyle="butt",
                clip_on=False,
            )
        )

    def _line(self, hue: Hue | None) -> str:
        return self.style.lines[hue] if hue else self.style.ink
