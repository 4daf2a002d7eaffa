"""What the page for instructors says of a student's environment."""

from __future__ import annotations

import subprocess
import sys

from autograder.author import ROOT

WITHOUT_NBGRADER = """
import sys
sys.modules["nbgrader"] = None  # so that importing it fails
import autograder
from autograder.classroom import live, submit
try:
    autograder.check("naive_attention", "check-naive_attention")
except RuntimeError as error:
    print(error)
"""


def test_a_test_cell_needs_the_package_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NBGRADER], capture_output=True, text=True, check=False
    )
    assert "autograder.check works in a notebook" in done.stdout, done.stderr
    text = (ROOT / "course" / "instructors.md").read_text(encoding="utf-8")
    assert "For the test cells the package alone is enough." in text


def test_a_machine_with_the_gradebook_has_bubblewrap() -> None:
    text = " ".join((ROOT / "course" / "instructors.md").read_text(encoding="utf-8").split())
    waiting = text.partition("### What waits for a GPU")[2].partition("## ")[0]
    assert "learner code runs under bubblewrap" in waiting and "grade doctor" in waiting
    assert "machine_is_the_sandbox" not in waiting
    assert "one student's submission and nothing else" in text.partition("machine_is_the_sandbox")[2]
