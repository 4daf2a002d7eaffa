"""The two palettes of the pictures. Hues derive from Okabe and Ito's, which the colour-blind tell apart.

Query, key, value and output keep their hues through the course: blue, orange, green, purple. No picture
depends on hue alone. Text keeps a contrast of at least 4.5 to 1 (WCAG 2.2, 1.4.3), which a test computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Hue = Literal["grey", "blue", "orange", "green", "purple"]


@dataclass(frozen=True)
class Style:
    """`lines` colour outlines and text, `tints` fill; `suffix` goes into the file's name."""

    suffix: str
    ground: str
    ink: str
    lines: dict[Hue, str]
    tints: dict[Hue, str]


LIGHT = Style(
    suffix="",
    ground="#ffffff",
    ink="#16181a",
    lines={
        "grey": "#5c6166",
        "blue": "#0067a3",
        "orange": "#ab4a00",
        "green": "#00734f",
        "purple": "#96407a",
    },
    tints={
        "grey": "#eceeef",
        "blue": "#d9eaf7",
        "orange": "#fde5d2",
        "green": "#d5f0e5",
        "purple": "#f4deed",
    },
)
DARK = Style(
    suffix="-dark",
    ground="#131416",
    ink="#eceef0",
    lines={
        "grey": "#a4a9ae",
        "blue": "#74bdf2",
        "orange": "#f5a566",
        "green": "#56cca3",
        "purple": "#e6a3cd",
    },
    tints={
        "grey": "#2a2d30",
        "blue": "#16344b",
        "orange": "#4a2d14",
        "green": "#123c2f",
        "purple": "#43283a",
    },
)
STYLES = (LIGHT, DARK)
