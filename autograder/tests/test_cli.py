"""The command: what it takes, what it says, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from autograder import catalog, cli, grading, sandbox, workspace
from autograder.catalog import Exercise
from autograder.results import Outcome, Report
from autograder.sandbox import processes
from autograder.tests import reports

ROOT = Path(__file__).resolve().parent.parent.parent
GRADE = [sys.executable, "-m", "autograder"]


class Calls(list[tuple[list[str], Path, Any]]):
    """Stands in for `grading.grade`: remembers its arguments and answers with a given report."""

    report = reports.report(reports.exercise("naive_attention"))

    async def grade(
        self, exercises: Iterable[Exercise], folder: Path, settings: Any = None, progress: Any = None
    ) -> Report:
        self.append(([exercise.name for exercise in exercises], folder, settings))
        return self.report


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    made = Calls()
    monkeypatch.setattr(grading, "grade", made.grade)
    return made


def grade(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli.app, list(words))
    return done.exit_code, done.stdout, done.stderr


def run(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GRADE, *words], capture_output=True, text=True, cwd=ROOT, check=False, **more)


def test_all_exercises_without_a_name(calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "naive_attention.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert grade()[0] == 0
    assert calls[0][:2] == ([exercise.name for exercise in catalog.EXERCISES], Path("exercises"))


def test_a_folder_with_one_module_is_the_one_to_grade(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "grouped_query.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert grade("4")[0] == 0
    assert grade("1")[0] == 0
    assert [folder for _, folder, _ in calls] == [Path(), Path()]


def test_a_folder_without_modules_is_a_usage_error(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = grade("1")
    assert (status, out) == (2, "") and not calls
    assert f"there is no naive_attention.py in {tmp_path} or {tmp_path / 'exercises'}" in err
    assert "--from DIR" in err


@pytest.mark.parametrize("words", [(), ("--json", "-")])
def test_below_the_checkout_the_first_line_says_what_is_graded(
    words: tuple[str, ...], calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.report = reports.report(reports.exercise("naive_attention", reports.failed("errors", 2)))
    monkeypatch.chdir(ROOT / "course")
    _, out, err = grade("1", *words)
    shown = err if words else out
    assert shown.startswith(f"The modules in {ROOT / 'exercises'}:\n")
    assert "Course page: 02-naive.md\n" in shown
    monkeypatch.chdir(ROOT)
    assert "The modules in" not in grade("1")[1]


def test_a_page_is_named_so_that_it_can_be_opened_from_here(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls.report = reports.report(reports.exercise("naive_attention", reports.failed("errors", 2)))
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, ROOT, ROOT / "exercises"):
        monkeypatch.chdir(folder)
        out = grade("1", "--from", str(workspace.solutions()))[1]
        named = next(line for line in out.splitlines() if line.endswith("02-naive.md")).split()[-1]
        assert Path(named).is_file(), out


@pytest.mark.parametrize(
    ("words", "names", "folder"),
    [
        (("naive",), ["naive_attention"], "exercises"),
        (("fp", "cu"), ["cudnn_attention", "fp8_autocast"], "exercises"),
        (("exercises/naive_attention.py",), ["naive_attention"], "exercises"),
        (("solutions/grouped_query.py", "1"), ["naive_attention", "grouped_query"], "solutions"),
        (("./solutions/grouped_query.py", "--from", "solutions"), ["grouped_query"], "solutions"),
        (("naive_attention.py",), ["naive_attention"], "exercises"),
        ((str(ROOT / "solutions" / "grouped_query.py"),), ["grouped_query"], str(ROOT / "solutions")),
    ],
)
def test_exercises_by_path_and_by_the_beginning_of_a_name(
    words: tuple[str, ...], names: list[str], folder: str, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert grade(*words)[0] == 0
    assert calls[0][:2] == (names, Path(folder))


def test_exercises_by_number_and_name_once_and_in_order(calls: Calls) -> None:
    for words in (("4", "cudnn_attention", "2"), ("run", "2", "grouped_query")):
        assert grade(*words)[0] == 0
    assert [names for names, _, _ in calls] == [["cudnn_attention", "grouped_query"]] * 2


def test_options_before_and_after_names(calls: Calls) -> None:
    folder = str(workspace.solutions())
    for words in (("--from", folder, "1"), ("1", "--from", folder)):
        assert grade(*words)[0] == 0
    assert [call[:2] for call in calls] == [(["naive_attention"], Path(folder))] * 2


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.PASSED, 0),
        (Outcome.NOT_GRADED, 0),
        (Outcome.FAILED, 1),
        (Outcome.NOT_STARTED, 1),
        (Outcome.GRADER_ERROR, 3),
    ],
)
def test_the_status_is_the_reports(outcome: Outcome, status: int, calls: Calls) -> None:
    calls.report = reports.report(reports.every("naive_attention", outcome, "detail"))
    assert grade("1")[0] == status


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("7",), "there is no exercise 7; there are: 1 naive_attention, 2 cudnn"),
        (("1", "list"), "there is no exercise list"),
        (("",), "there is no exercise without a name"),
        (("c",), "c is the beginning of 2 cudnn_attention and 3 causal_check; write more"),
        (("solutions",), "solutions is a folder; grade the modules in it with --from solutions"),
        (("README.md",), "there is no exercise README.md; there are: 1 naive"),
        (("autograder/cli.py",), "autograder/cli.py is no module of the course; there are: 1 naive"),
        (("course/naive_attention.py",), "course holds no naive_attention.py. "),
        (("nowhere/naive_attention.py",), "nowhere is not there"),
        (("exercises/naive_attention.py", "--from", "solutions"), "are two folders; grade one after"),
        (("--from", "nowhere"), "--from nowhere is not there"),
        (("--from", "README.md"), "--from README.md is a file"),
        (("1", "--from", "autograder"), "--from autograder holds no naive_attention.py"),
        (("1", "--json", "nowhere/r.json"), "nowhere/r.json cannot be written"),
        (("1", "--json", "autograder"), "autograder is a folder"),
        (("--replay", "nowhere.json"), "nowhere.json cannot be read"),
        (("--replay", "pyproject.toml"), "pyproject.toml is not a report"),
        (("--unknown",), "--unknown"),
        (("list", "1"), "1"),
        (("1", "--from"), "--from"),
    ],
)
def test_usage(words: tuple[str, ...], said: str, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    status, out, err = grade(*words)
    assert (status, out) == (2, "")
    assert said in err
    assert not calls


def test_json_beside_the_terminal_report(calls: Calls, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    status, out, _ = grade("1", "--json", str(target))
    assert status == 0
    assert "All that can be graded" in out
    assert json.loads(target.read_text(encoding="utf-8")) == calls.report.to_json()


def test_json_alone_on_stdout(calls: Calls) -> None:
    status, out, err = grade("1", "--json", "-")
    assert status == 0
    assert json.loads(out) == calls.report.to_json()
    assert "All that can be graded" in err


def test_a_replay_takes_the_seeds_and_exercises_of_a_report(calls: Calls, tmp_path: Path) -> None:
    earlier = reports.report(reports.exercise("grouped_query"), reports.exercise("naive_attention"))
    (tmp_path / "r.json").write_text(json.dumps(earlier.to_json()))
    calls.report = reports.report(reports.exercise("naive_attention"), replay=True)
    calls.report.provenance.sha256["naive_attention"] = "cd" * 32
    status, out, _ = grade("--replay", str(tmp_path / "r.json"))
    assert status == 0
    assert calls[0][0] == ["naive_attention", "grouped_query"]
    assert calls[0][2].seeds == earlier.provenance.seed
    assert "never a grade" in out
    assert "naive_attention.py is not the file that the earlier report graded." in out
    assert grade("1", "--replay", str(tmp_path / "r.json"))[0] == 0
    assert calls[1][0] == ["naive_attention"]


def test_a_grade_is_no_replay(calls: Calls) -> None:
    out = grade("1")[1]
    assert calls[0][2].seeds is None
    assert "replay" not in out and "not the file" not in out


def test_a_fault_of_our_own(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*arguments: Any) -> Report:
        raise OSError("no space left")

    monkeypatch.setattr(grading, "grade", broken)
    status, _, err = grade("1")
    assert status == 3
    assert "OSError: no space left" in err and "our fault, not yours" in err


def test_list_names_exercises_points_and_what_needs_a_gpu() -> None:
    status, out, _ = grade("list")
    assert status == 0
    lines = out.splitlines()
    assert len(lines) == len(catalog.EXERCISES)
    assert (
        lines[0] == "1 naive_attention  Attention from four basic operations (20 points, 4 of them on a GPU)"
    )
    assert lines[2].endswith("(20 points)")


def test_help_names_options_and_commands() -> None:
    status, out, _ = grade("--help")
    assert status == 0
    for said in ("Usage: grade", "--from DIR", "--json FILE", "--replay REPORT", "list", "doctor"):
        assert said in out.replace("root", "grade")


@pytest.mark.parametrize(
    "words", [[], ["1"], ["list"], ["doctor"], ["bench"], ["course", "init"], ["submit"]]
)
def test_help_has_a_short_name_everywhere(words: list[str]) -> None:
    status, out, _ = grade(*words, "-h")
    assert status == 0
    assert out.splitlines()[0].startswith("Usage: ") and "-h, --help" in out


def test_commands_and_exercises_have_different_names() -> None:
    commands = {command.name or command.callback.__name__ for command in cli.app.registered_commands}  # type: ignore[union-attr]
    assert commands >= {"run", "list", "doctor"}
    assert not any(catalog.find(name) for name in commands)


@pytest.mark.parametrize("words", [["--help"], ["list"], ["7"]])
def test_nothing_heavy_is_imported_before_there_is_something_to_grade(words: list[str]) -> None:
    code = "import sys, autograder.cli as c\ntry: c.app(sys.argv[1:])\nfinally: print('|', *sys.modules)"
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    loaded = set(done.stdout.rpartition("|")[2].split())
    assert "typer" in loaded
    assert not loaded & {"jax", "jaxlib", "numpy", "rich", "asyncio", "matplotlib", "ml_dtypes"}


def test_grading_imports_no_jax() -> None:
    code = (
        "import sys, autograder.grading, autograder.doctor, autograder.report.progress\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "autograder.grading" in done.stdout.split()
    assert not {"jax", "jaxlib", "flax"} & set(done.stdout.split())


def test_as_a_module_and_in_a_pipe_without_colours() -> None:
    done = run("1", "--from", str(workspace.exercises()), env={**os.environ, "TERM": "xterm"})
    assert done.returncode == 1, done.stderr
    assert "Not started: fill in the stub" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.skipif(workspace.WINDOWS, reason="a POSIX shell")
@pytest.mark.parametrize(
    ("words", "status"), [("1 --from exercises", 1), ("1 --json -", 1), ("list", 0), ("-h", 0), ("7", 2)]
)
def test_a_reader_that_goes_away_changes_no_status(words: str, status: int) -> None:
    command = f'{{ "{sys.executable}" -m autograder {words}; echo $? >&2; }} | true'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "Traceback" not in done.stderr and "Error" not in done.stderr
    assert done.stderr.splitlines()[-1] == str(status)


@pytest.mark.slow
def test_the_solution_passes_and_its_report_can_be_replayed(tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    done = run("1", "--from", "solutions", "--json", str(report))
    assert done.returncode == 0, done.stdout + done.stderr
    first = json.loads(report.read_text(encoding="utf-8"))
    done = run("--replay", str(report), "--from", "solutions", "--json", "-")
    assert done.returncode == 0, done.stderr
    second = json.loads(done.stdout)
    assert first["provenance"]["seed"] == second["provenance"]["seed"]
    assert second["provenance"]["replay"] and not first["provenance"]["replay"]
    assert "never a grade" in done.stderr
    other = run("4", "--replay", str(report))
    assert "The earlier report holds no grouped_query: its inputs were drawn afresh." in other.stdout


def test_where_no_learner_code_can_run_one_line_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> Report:
        raise sandbox.SandboxUnavailable("install bubblewrap")

    monkeypatch.setattr(grading, "grade", refused)
    assert grade("1", "--from", str(workspace.solutions())) == (2, "", "grade: install bubblewrap\n")


INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
runpy.run_module("autograder", run_name="__main__", alter_sys=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for children in /proc")
@pytest.mark.parametrize("what", ["an endless loop", "all solutions"])
def test_an_interrupt_ends_with_130_and_leaves_no_process(what: str, tmp_path: Path) -> None:
    (tmp_path / "naive_attention.py").write_text("while True: pass\n")
    words = ["1", "--from", str(tmp_path)] if what == "an endless loop" else ["--from", "solutions"]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *words], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while len(processes.family(process.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    family = processes.family(process.pid)
    assert len(family) >= 3
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "Stopped; nothing was graded.\n"
    assert not [pid for pid in family if processes._runs(pid)]
