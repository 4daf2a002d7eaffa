"""A picture: its name, what it says in words, and its SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from xml.sax.saxutils import escape

import matplotlib

from autograder.pages.pictures import canvas
from autograder.pages.pictures.canvas import Canvas
from autograder.pages.pictures.style import Style

SHOWN = {
    canvas.SANS: "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif",
    canvas.MONO: "Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace",
}
"""Drawn with fonts that matplotlib brings; shown in what a reader's machine has, none of it wider."""


@dataclass(frozen=True)
class Picture:
    """`draw` draws on a canvas of `height` points; `title` and `description` go into the file."""

    name: str
    title: str
    description: str
    height: float
    draw: Callable[[Canvas], None]

    def on_canvas(self, style: Style) -> Canvas:
        drawn = Canvas(self.height, style)
        self.draw(drawn)
        return drawn

    def svg(self, style: Style) -> str:
        """The same text on every machine, for one version of matplotlib."""
        with (
            matplotlib.rc_context({"svg.hashsalt": self.name, "svg.fonttype": "none"}),
            io.StringIO() as file,
        ):
            figure = self.on_canvas(style).figure
            nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(file, format="svg", metadata=nothing)
            drawn = file.getvalue()
        for bundled, shown in SHOWN.items():
            drawn = drawn.replace(f"'{bundled}'", shown)
        words = f"<title>{escape(self.title)}</title>\n <desc>{escape(self.description)}</desc>"
        drawn = re.sub(r"<!DOCTYPE[^>]*>\n", "", drawn)
        return re.sub(r"<svg ([^>]*)>", rf'<svg role="img" \1>\n {words}', drawn, count=1)
