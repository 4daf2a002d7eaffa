"""Which folder is graded, and how a module that is lost comes back: in a checkout, and with a wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from autograder import workspace
from autograder.source import Unreadable, read

STUB = "def naive_attention(query, key, value):\n    raise NotImplementedError\n"
NAIVE = ["naive_attention"]
posix = pytest.mark.skipif(workspace.WINDOWS, reason="runs the command in a POSIX shell")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout, the current folder: its package is the one that runs."""
    root = tmp_path / "attention lab"
    (root / "exercises").mkdir(parents=True)
    (root / "course").mkdir()
    (root / "exercises" / "naive_attention.py").write_text(STUB)
    monkeypatch.setattr(workspace, "PACKAGE", root / "autograder")
    monkeypatch.setattr(workspace, "ROOT", root)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's own folder, the current one."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package installed from a wheel."""
    package = tmp_path / "site-packages" / "autograder"
    (package / "_files" / "exercises").mkdir(parents=True)
    (package / "_files" / "exercises" / "naive_attention.py").write_text(STUB)
    monkeypatch.setattr(workspace, "PACKAGE", package)
    monkeypatch.setattr(workspace, "ROOT", package.parent)
    return package


def commit(root: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *words], cwd=root, check=True)


def lost(folder: Path, content: str | None) -> str:
    """What is said of a module that is empty, or deleted (None)."""
    module = folder / "naive_attention.py"
    module.unlink(missing_ok=True)
    if content is not None:
        module.write_text(content, encoding="utf-8")
    with pytest.raises(Unreadable) as caught:
        read(folder, "naive_attention")
    assert ("does not exist" if content is None else "is empty") in str(caught.value)
    return caught.value.next_step


def follow(step: str) -> None:
    """Do what a message says, in the current folder."""
    command = re.search(r": ((git|cp) .*)", step)
    assert command, step
    subprocess.run(command[1], shell=True, check=True)


@posix
@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
@pytest.mark.parametrize("content", [None, "", " \n\t\n", "\ufeff"])
@pytest.mark.parametrize("start", [".", "exercises", "course", ".."])
def test_a_lost_module_of_a_checkout_comes_back_by_git(
    content: str | None, start: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(checkout)
    monkeypatch.chdir(checkout / start)
    step = lost(checkout / "exercises", content)
    assert "git" in step and "checkout -- " in step
    follow(step)
    assert (checkout / "exercises" / "naive_attention.py").read_text() == STUB


def test_in_the_checkout_the_command_is_short(checkout: Path) -> None:
    (checkout / ".git").mkdir()
    step = workspace.recovery(Path("exercises"), "naive_attention")
    assert step == "Bring the stub back: git checkout -- exercises/naive_attention.py"


def test_a_checkout_without_git_names_no_command(checkout: Path) -> None:
    assert "fresh copy" in workspace.recovery(checkout / "exercises", "naive_attention")


@posix
@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("kind", ["checkout", "wheel"])
def test_a_lost_module_elsewhere_is_copied_again(
    content: str | None, kind: str, request: pytest.FixtureRequest, work: Path
) -> None:
    request.getfixturevalue(kind)
    follow(lost(work, content))
    assert (work / "naive_attention.py").read_text() == STUB


@posix
@pytest.mark.parametrize("kind", ["checkout", "wheel"])
def test_a_folder_without_modules_says_how_to_get_them(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request.getfixturevalue(kind)
    work = request.getfixturevalue("work")
    with pytest.raises(workspace.NoModules) as caught:
        workspace.find(work, NAIVE)
    said = str(caught.value)
    assert f"no naive_attention.py in {work} or {work / 'exercises'}" in said and "--from DIR" in said
    follow(said)
    assert workspace.find(work, NAIVE) == work / "exercises"


def test_everywhere_in_a_checkout_its_exercises_are_meant(checkout: Path) -> None:
    for start in (checkout, checkout / "course"):
        assert workspace.find(start, NAIVE) == checkout / "exercises"


def test_a_wheel_is_no_checkout(wheel: Path) -> None:
    with pytest.raises(workspace.NoModules):
        workspace.find(wheel.parent, NAIVE)


def test_a_folder_with_other_modules_of_the_course_is_the_learners(checkout: Path, work: Path) -> None:
    (work / "grouped_query.py").write_text("")
    assert workspace.find(work, NAIVE) == work
    (work / "exercises").mkdir()
    (work / "exercises" / "naive_attention.py").write_text("")
    assert workspace.find(work, NAIVE) == work / "exercises"


def test_a_named_folder_holds_what_is_asked(checkout: Path) -> None:
    folder = checkout / "course"
    with pytest.raises(workspace.NoModules, match=r"course holds no naive_attention\.py\. Copy the stub: "):
        workspace.named(folder, NAIVE, "course")
