"""Common misspellings, by codespell."""

from __future__ import annotations

from pathlib import Path

import codespell_lib
import pytest

from autograder.author import ROOT
from autograder.tests.pages.page import course

WORDS = ["ans", "fo", "te", "nd"]
"""What codespell takes for misspelt, and is a word of the field."""


def misspelt(*paths: Path) -> int:
    """0 where nothing is; codespell prints each word with file and line."""
    names = [str(path) for path in paths]
    return codespell_lib.main("--ignore-words-list", ",".join(WORDS), *names)


def test_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [ROOT / "README.md", ROOT / "course/figures/h200/README.md", *(page.path for page in course())]
    assert misspelt(*paths) == 0, capsys.readouterr().out


def test_a_wrong_page_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.md").write_text("Teh kernel recieves a tensor.\n", encoding="utf-8")
    assert misspelt(tmp_path / "page.md") != 0
    assert capsys.readouterr().out.count("==>") == 2
