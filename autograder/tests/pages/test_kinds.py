"""Every kind of inputs that a message can name is explained on the page of exercise 1."""

from __future__ import annotations

import re

from autograder import inputs, workspace


def test_kinds() -> None:
    page = (workspace.course() / "02-naive.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([a-z ]+)` \|", page, re.MULTILINE)
    assert {name.replace("_", " ") for name in inputs.CHANGES} <= set(explained)
