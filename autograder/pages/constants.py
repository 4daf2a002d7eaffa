"""Numbers that the package itself goes by: `constant autograder.runner.ratio.CONFIDENCE`."""

from __future__ import annotations

import importlib

from autograder.pages.places import Wrong


def answer(name: str) -> str:
    """The number of this full name, or the two of a range. Wrong where there is none."""
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        raise Wrong(f"expected a constant's full name, such as autograder.catalog.NAME; got {name}") from None
    values = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(value, (int, float)) for value in values):
        raise Wrong(f"expected a number, or a range; {name} is {found!r:.80}")
    return " to ".join(f"{value:,.6g}" for value in values)
