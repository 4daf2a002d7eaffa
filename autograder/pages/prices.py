"""The prices that terraform/README.md computes, so that a page says no others."""

from __future__ import annotations

import re
from pathlib import Path

from autograder.pages.places import Wrong


def hourly(what: str, folder: Path) -> float:
    """Dollars an hour, from the one line `- …WHAT…: … = PRICE an hour`; `folder` has the measurements."""
    readme = folder.parents[2] / "terraform" / "README.md"
    line = rf"^- [^:\n]*{re.escape(what)}[^:\n]*:[^:\n]*= (\d+\.\d+) an hour"
    found = re.findall(line, readme.read_text(encoding="utf-8"), re.MULTILINE)
    if len(found) != 1:
        raise Wrong(f"expected one line `- …{what}…: … = PRICE an hour` in terraform/README.md; {len(found)}")
    return float(found[0])
