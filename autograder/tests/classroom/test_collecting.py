"""The exchange is the students' to write to: what may stand there, and what is collected of it."""

from __future__ import annotations

import logging
import os
import pwd
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import MissingEntry
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from traitlets.config import Config

from autograder.classroom.config import configure

ME = pwd.getpwuid(os.getuid()).pw_name
AT = "2026-11-30 10:00:00.000000 UTC"


class NoDates:
    """A gradebook without a due date; making a real one takes a second."""

    def __init__(self, *where: str) -> None: ...

    def __enter__(self) -> NoDates:
        return self

    def __exit__(self, *failure: object) -> None: ...

    def find_assignment(self, name: str) -> None:
        raise MissingEntry


@pytest.fixture
def inbound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("nbgrader.exchange.default.collect.Gradebook", NoDates)
    folder = tmp_path / "exchange" / "attention" / "inbound"
    folder.mkdir(parents=True)
    (tmp_path / "exchange").chmod(0o777)
    (tmp_path / "secret").write_text("solved")
    return folder


def hand_in(inbound: Path, student: str, at: str = AT, text: str = "mine") -> Path:
    folder = inbound / f"{student}+attention+{at}+x"
    folder.mkdir()
    (folder / "one.ipynb").write_text(text)
    (folder / "timestamp.txt").write_text(at)
    (folder / "submission_secret.txt").write_text("chosen")
    return folder


def collect(root: Path, caplog: pytest.LogCaptureFixture, **options: Any) -> str:
    """Collect as the course's configuration has it; what was said."""
    config = Config()
    configure(config, root)
    config.ExchangeCollect.update(options)
    course = CourseDirectory(config=config, assignment_id="attention")
    exchange = ExchangeFactory(config=config).Collect(
        coursedir=course, authenticator=Authenticator(), config=config
    )
    exchange.log = logging.getLogger("collect")
    caplog.clear()
    with caplog.at_level(logging.INFO, "collect"):
        exchange.start()
    return caplog.text


def test_links_and_pipes_stay_behind(inbound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = hand_in(inbound, ME)
    for name in ("one.ipynb", "timestamp.txt", "submission_secret.txt"):
        (folder / name).unlink()
    for name in ("one.ipynb", "page.html"):
        (folder / name).symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    (folder / "zero").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe")
    for name in ("two.ipynb", "timestamp.txt", "deep/" * 40, "more/there"):
        (folder / name).mkdir(parents=True)
    (folder / "two.ipynb" / "x").write_text("in the way")
    (folder / "deep/" / ("deep/" * 39) / "x").write_text("far")
    (folder / "more/there/answer.csv").write_text("1")
    (folder / "more/__pycache__").mkdir()
    (folder / "more/__pycache__/x.pyc").write_text("1")
    said = collect(tmp_path, caplog)
    course = tmp_path / "submitted" / ME / "attention"
    there = {str(path.relative_to(course)) for path in course.rglob("*") if not path.is_dir()}
    assert there == {"more/there/answer.csv", "timestamp.txt", "submission_secret.txt"}
    assert not any(path.is_symlink() for path in course.rglob("*"))
    assert (course / "timestamp.txt").read_text() == AT
    assert len((course / "submission_secret.txt").read_text()) == 128
    assert all(f"'{name}' in" in said for name in ("one.ipynb", "page.html", "zero", "pipe"))


def test_nobody_hands_in_for_another(inbound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hand_in(inbound, ME)
    hand_in(inbound, "ada")
    said = collect(tmp_path, caplog)
    assert [path.name for path in (tmp_path / "submitted").iterdir()] == [ME]
    assert f"it is owned by {ME}" in said and "c.ExchangeCollect.check_owner = False" in said
    collect(tmp_path, caplog, check_owner=False)
    assert (tmp_path / "submitted" / "ada" / "attention" / "one.ipynb").read_text() == "mine"


def test_what_is_no_submission_ends_nothing(
    inbound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hand_in(inbound, ME)
    hand_in(inbound, ME, "no time at all")
    (inbound / f"{ME}+attention+{AT}+file").write_text("")
    (inbound / f"{ME}+attention+{AT}+link").symlink_to(tmp_path)
    said = collect(tmp_path, caplog)
    assert (tmp_path / "submitted" / ME / "attention" / "one.ipynb").read_text() == "mine"
    assert said.count("is left out") == 3
    assert "was changed after its hand-in" in said  # the test's files are newer than their names


def test_a_newer_one_replaces_and_sizes_are_bounded(
    inbound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(inbound, ME)
    collect(tmp_path, caplog)
    newer = hand_in(inbound, ME, AT.replace("11-30", "12-01"), "newer")
    (newer / "zz").write_bytes(b"")
    os.truncate(newer / "zz", 2**40)
    assert "'zz' on they are left out" in collect(tmp_path, caplog, update=True)
    course = tmp_path / "submitted" / ME / "attention"
    assert (course / "one.ipynb").read_text() == "newer" and not (course / "zz").exists()
