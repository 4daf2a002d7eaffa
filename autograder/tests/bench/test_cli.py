"""`grade bench`: what it is told before it measures or draws."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder import cli
from autograder.bench import machine


def said(*words: str | Path) -> str:
    """Why the command refuses, on one line."""
    done = CliRunner().invoke(cli.app, ["bench", *map(str, words)])
    assert done.exit_code == 2, done.output
    return " ".join(done.stderr.split())


def test_where_nothing_can_be_kept_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "measured", lambda: pytest.fail("it measured"))
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "made"
    shown = said("seq", "--quick", "--out", folder)
    assert f"--out {folder} cannot be written: Not a directory; nothing was done." in shown


def test_draw_says_what_it_expected(tmp_path: Path) -> None:
    expected = "draw needs --out DIR with the JSON that grade bench seq --out DIR writes"
    assert f"{expected}; got no --out" in said("draw")
    (tmp_path / "mine.json").write_text("{}")
    for folder in (tmp_path, tmp_path / "none"):
        assert f"{expected}; got {folder}, which holds none of seq.json, default.json," in said(
            "draw", "--out", folder
        )
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_it_says_of_what_it_drew(tmp_path: Path) -> None:
    (tmp_path / "evidence.json").write_text("{}")
    done = CliRunner().invoke(cli.app, ["bench", "draw", "--out", str(tmp_path)])
    assert (done.exit_code, done.output) == (0, f"The figures and tables in {tmp_path} are of evidence.\n")
    (tmp_path / "seq.json").write_text("{}")
    shown = said("draw", "--out", tmp_path)
    assert "seq.json is not what grade bench writes (KeyError: 'rows'); measure it again" in shown
