"""The colours of the figures: on white, and on the dark ground of the site's dark mode (furo's)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Theme:
    """Lines take `colours` in turn, bars `shades`; `suffix` goes into a file's name."""

    suffix: str
    ground: str
    ink: str
    grey: str
    colours: tuple[str, ...]
    shades: tuple[str, str, str]

    @property
    def rc(self) -> dict[Any, str]:
        """matplotlib's settings that make all that is drawn under them keep to the theme."""
        inked = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
        grounds = ("figure.facecolor", "axes.facecolor", "legend.facecolor", "savefig.facecolor")
        return {**dict.fromkeys(inked, self.ink), **dict.fromkeys(grounds, self.ground)}


# Okabe and Ito's colours, which are told apart by the colour-blind; lighter where the ground is dark.
LIGHT = Theme(
    suffix="",
    ground="#ffffff",
    ink="#000000",
    grey="#777777",
    colours=("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    shades=("#222222", "#bbbbbb", "#777777"),
)
DARK = Theme(
    suffix="-dark",
    ground="#131416",
    ink="#e8e8e8",
    grey="#9a9a9a",
    colours=("#ffffff", "#ff8a3c", "#4aa8e8", "#2fc79b", "#e39ac7", "#f0b429", "#9ad4f5"),
    shades=("#eeeeee", "#666666", "#999999"),
)
