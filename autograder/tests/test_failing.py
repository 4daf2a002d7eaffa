"""`grade --inputs`: the files of what failed, and what they may not touch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import catalog, cli, workspace
from autograder.arrays import Array
from autograder.exercises import cudnn, naive
from autograder.exercises.attention import Case
from autograder.plan import Evidence, FailedRound, Plan, Problem
from autograder.report import document, failing
from autograder.source import parse
from autograder.submission import Settings

ROOT = Path(__file__).resolve().parent.parent.parent
CAUSAL_GRADIENT = next(run.case for run in cudnn.ON_CPU if run.case.gradient)
ON_A_GPU = next(run.case for run in cudnn.ON_CUDNN if run.case.is_causal and run.case.dtype == "bfloat16")


def failed(exercise: str, case: Case, change: Callable[[Array], Array] = lambda x: x) -> FailedRound:
    """A round whose outputs are `change` of the right ones."""
    given = case.draw(np.random.default_rng(5), "normal")
    outs = [change(np.asarray(x)).astype(given[0].dtype) for x in case.expected(given)]
    return FailedRound(exercise, "float32", case.trace(), "near_ties", given, outs)


def written(folder: Path, round_: FailedRound) -> Any:
    [path] = failing.write(folder, [round_], workspace.solutions())
    assert sorted(each.name for each in folder.iterdir()) == [f"{path.stem}.npz", f"{path.stem}.py"]
    return np.load(path)


def look(script: Path) -> str:
    """What a script prints, run from anywhere."""
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=script.anchor, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exercise", "case", "names", "limit"),
    [
        ("naive_attention", naive.FLOAT32[0], ["output"], 1e-5),
        ("naive_attention", naive.HALVES[0], ["output"], 0.05),
        ("naive_attention", naive.GRADIENTS[0], ["dquery", "dkey", "dvalue"], 1e-4),
        ("cudnn_attention", CAUSAL_GRADIENT, ["dquery", "dkey", "dvalue"], 1e-4),
        ("cudnn_attention", ON_A_GPU, ["output"], 0.05),
    ],
    ids=range(5),
)
def test_the_script_calls_the_function_on_the_inputs(
    exercise: str, case: Case, names: list[str], limit: float, tmp_path: Path
) -> None:
    written(tmp_path, failed(exercise, case))
    [script] = tmp_path.glob("*.py")
    lines = look(script).splitlines()
    assert [line.split()[0] for line in lines] == names
    assert all(float(re.findall(r"by (\S+) at", line)[0]) < limit for line in lines)


def test_the_arrays_are_inputs_what_came_and_what_was_expected(tmp_path: Path) -> None:
    saved = written(tmp_path, failed("naive_attention", naive.HALVES[0], lambda x: 2 * x))
    assert sorted(saved) == ["came_output", "dtype", "expected_output", "key", "query", "value"]
    assert saved["dtype"].item() == "bfloat16" and saved["query"].dtype == np.float32
    assert saved["expected_output"].dtype == np.float64
    assert np.allclose(saved["came_output"], 2 * saved["expected_output"], atol=0.05)
    half = failed("naive_attention", naive.HALVES[2])
    [path] = failing.write(tmp_path, [half], workspace.solutions())
    assert np.load(path)["query"].dtype == np.float16


def test_a_script_says_what_failed_and_where_it_ran(tmp_path: Path) -> None:
    written(tmp_path, failed("cudnn_attention", ON_A_GPU))
    text = (tmp_path / "cudnn_attention_float32.py").read_text(encoding="utf-8")
    assert "on a GPU of compute capability 9.0, near ties inputs\n# The grader stood in for this GPU." in text
    assert "attention_with_fallback(query, key, value, is_causal=True).output" in text


def test_what_the_next_run_writes_replaces_the_last(tmp_path: Path) -> None:
    for _ in range(2):
        failing.check(tmp_path, catalog.EXERCISES)
        written(tmp_path, failed("naive_attention", naive.FLOAT32[0]))
    (tmp_path / "notes.txt").write_text("mine")
    failing.check(tmp_path, catalog.EXERCISES)


@pytest.mark.parametrize("name", ["naive_attention_float32.npz", "naive_attention_float32.py"])
@pytest.mark.parametrize("what", ["a file", "a folder", "a link to a file of ours", "a broken link"])
def test_what_is_not_ours_is_not_replaced(name: str, what: str, tmp_path: Path) -> None:
    target, ours = tmp_path / "in", tmp_path / "ours"
    ours.mkdir()
    target.mkdir()
    written(ours, failed("naive_attention", naive.FLOAT32[0]))
    if what == "a file":
        (target / name).write_text("# mine\n")
    elif what == "a folder":
        (target / name).mkdir()
    else:
        (target / name).symlink_to(ours / name if "ours" in what else tmp_path / "nowhere")
    with pytest.raises(document.Unusable, match=f"{re.escape(name)} is there, and grade did not write it"):
        failing.check(target, catalog.EXERCISES[:1])
    failing.check(target, catalog.EXERCISES[1:])


def test_a_link_that_appears_meanwhile_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for end in ("npz", "py"):
        (tmp_path / "in" / f"naive_attention_float32.{end}").symlink_to(precious)
    written(tmp_path / "in", failed("naive_attention", naive.FLOAT32[0]))
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("target", ["file", "file/in"])
def test_a_folder_that_cannot_be_made_is_a_usage_error_before_anything_is_graded(
    target: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    words = ["1", "--from", str(workspace.exercises()), "--inputs", str(tmp_path / target)]
    done = subprocess.run(
        [sys.executable, "-m", "autograder", *words], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--inputs {tmp_path / target} cannot be written: " in done.stderr


def test_a_full_disk_is_said_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(document, "replace", full)
    said = cli._written(tmp_path, [failed("naive_attention", naive.FLOAT32[0])], tmp_path)
    assert said == f"The failing inputs could not be written to {tmp_path}: {os.strerror(28)}"


def test_only_the_round_that_a_check_failed_by_is_shown() -> None:
    trace = naive.FLOAT32[0].trace()
    evidence = Evidence(parse("naive_attention", b"1"), Plan((trace,)))
    for name in ("normal", "large"):
        given = trace.draw(np.random.default_rng(1), name)
        out = [2 * np.asarray(naive.FLOAT32[0].expected(given)[0], np.float32)]
        evidence.problems[trace.key, name] = Problem(f"{name} inputs")
        evidence.failed[trace.key, name] = trace, given, out
    verdicts = {
        "float32": evidence.problems[trace.key, "normal"],
        "extreme_inputs": evidence.problems[trace.key, "large"],
        "gradient": Problem("it raised"),
        "errors": None,
    }
    found = list(evidence.failed_rounds("naive_attention", verdicts))
    assert [(each.check, each.name) for each in found] == [("float32", "normal"), ("extreme_inputs", "large")]


def test_a_grading_shows_nothing_unless_it_is_asked_to() -> None:
    assert Settings().failed(failed("naive_attention", naive.FLOAT32[0])) is None  # type: ignore[func-returns-value]


@pytest.mark.slow
def test_from_the_command_to_the_script(tmp_path: Path) -> None:
    text = (workspace.solutions() / "naive_attention.py").read_text(encoding="utf-8")
    broken = text.replace("math.sqrt(", "math.sqrt(2 * ")
    assert broken != text
    (tmp_path / "naive_attention.py").write_text(broken, encoding="utf-8")
    words = ["1", "--from", str(tmp_path), "--inputs", str(tmp_path / "new" / "in")]
    done = subprocess.run(
        [sys.executable, "-m", "autograder", *words], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    names = ["float32", "extreme_inputs", "half_precision", "gradient"]
    said = [f"  {tmp_path / 'new' / 'in' / f'naive_attention_{name}.npz'} and .py" for name in names]
    assert done.stdout.splitlines()[-4:] == said
    float32 = tmp_path / "new" / "in" / "naive_attention_float32.py"
    saved = np.load(float32.with_suffix(".npz"))
    off = float(np.abs(saved["came_output"] - saved["expected_output"]).max())
    assert float(re.findall(r"by (\S+) at", look(float32))[0]) == pytest.approx(off, rel=1e-3)
    assert "Furthest off at [b, t, n, h] = [" in done.stdout
