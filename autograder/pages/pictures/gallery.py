"""All pictures, and whether the committed files are in step with the code that draws them."""

from __future__ import annotations

from autograder.pages.pictures import attention, costs, grading, heads, machine, memory, numbers, programs
from autograder.pages.pictures.style import STYLES

PICTURES = (
    *attention.PICTURES,
    *heads.PICTURES,
    *memory.PICTURES,
    *numbers.PICTURES,
    *machine.PICTURES,
    *programs.PICTURES,
    *grading.PICTURES,
    *costs.PICTURES,
)


def drawn() -> dict[str, str]:
    """The text of every file, by its name."""
    return {f"{each.name}{style.suffix}.svg": each.svg(style) for each in PICTURES for style in STYLES}
