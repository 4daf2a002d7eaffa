"""What nbgrader calls a cell, in a notebook of whatever form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def grade_id(cell: Mapping[str, Any]) -> str:
    """The cell's `grade_id`; "" where it has none that is a text."""
    metadata = cell.get("metadata")
    ours = metadata.get("nbgrader") if isinstance(metadata, Mapping) else None
    id_ = ours.get("grade_id") if isinstance(ours, Mapping) else None
    return id_ if isinstance(id_, str) else ""
