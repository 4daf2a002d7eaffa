"""The terminal report and the JSON document, on hand-made reports."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import pytest

from autograder import catalog
from autograder.report import document, plain, progress, terminal
from autograder.results import CheckResult, ExerciseResult, Outcome, Report
from autograder.tests import reports

FOLDER = Path("exercises")


def text(report: Report, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding)
    screen = terminal.console(stream)
    screen.width = width
    terminal.show(report, screen, FOLDER)
    stream.flush()
    return raw.getvalue().decode(encoding)


def one_line(shown: str) -> str:
    return re.sub(r"\s+", " ", shown)


def test_the_report_says_all_of_it() -> None:
    shown = one_line(text(reports.everything()))
    for said in (
        "1 naive_attention: Attention from four basic operations",
        "11 earned, 4 waiting, 5 open of 20 points",
        "Passed: float32, extreme_inputs, gradient, no_library",
        "Failed: half_precision (3 points): values in bfloat16 and float16",
        "the largest, 0.8125, is at [1, 4, 0, 11]: got 0.25, expected 1.0625",
        "Looks like: softmax in bfloat16",
        "Next: Compute scores and softmax in float32.",
        "4 points wait for an NVIDIA GPU of compute capability 8.0 or later (speed)",
        "It printed (the last 16 of 40 lines):",
        "Course page: course/02-naive.md",
        "Not started: fill in the stub in " + str(FOLDER / "causal_check.py"),
        "Not started: kv_cache_bytes (2 points) in " + str(FOLDER / "grouped_query.py"),
        "Passed: ran_fp8; simulated: capability, transformer_engine, autocast",
        "Our fault, not yours: delayed_scale, quantize could not be judged",
        "the grader failed: OSError: no space left",
        "38 earned, 15 waiting, 47 open of 100 points",
        "10 checks failed, 8 checks not started.",
        "No sandbox: your code ran under resource limits alone.",
        "This was a replay, never a grade",
        "3.2 s on CPU (x86_64), JAX 0.12.0",
    ):
        assert said in shown


def test_one_problem_of_many_checks_is_said_once_with_the_first_ones_hint() -> None:
    shown = text(reports.everything())
    assert shown.count("the file does not load: NameError") == 1
    assert re.search(r"Failed: xla_values, errors, labels[^(]*\(20 points\)\n", shown)


def test_learner_text_is_never_markup_and_stays_in_its_place() -> None:
    shown = text(reports.everything(), width=100)
    assert f"    {reports.HOSTILE}\n" in shown
    assert f"    │ line 39 {reports.HOSTILE}\n" in shown
    assert "line 23" not in shown


def test_long_text_is_capped() -> None:
    shown = text(
        reports.report(reports.exercise("causal_check", reports.failed("values", 4, "word " * 2000)))
    )
    assert shown.count("word") < 250
    assert "    …\n" in shown


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_line_is_wider_than_the_terminal_or_ends_in_spaces(width: int) -> None:
    for line in text(reports.everything(), width).splitlines():
        assert len(line) <= width
        assert line == line.rstrip()


def test_a_path_stays_whole_where_it_is_wider_than_the_terminal() -> None:
    screen = terminal.console(io.StringIO())
    screen.width = 40
    course = Path("/") / "a folder" / ("long" * 20)
    terminal.show(reports.everything(), screen, Path("/") / ("deep" * 20), course)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert f"/{'long' * 20}/02-naive.md\n" in shown.replace("\\", "/")
    assert f"/{'deep' * 20}/causal_check.py\n" in shown.replace("\\", "/")


def test_not_a_terminal_means_no_escape_codes() -> None:
    assert "\x1b" not in text(reports.everything())


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_what_an_encoding_cannot_carry_becomes_ascii(encoding: str) -> None:
    shown = text(reports.everything(), encoding=encoding)
    assert "###########~~~~" in shown
    assert "| line 39" in shown
    assert "?" not in shown


def test_plain_streams_replace_unknown_characters_and_pass_on_other_errors() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    plain.safe(stream)
    stream.write("T ≠ S, 漢")
    stream.flush()
    assert stream.buffer.getvalue() == b"T != S, ?"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", plain.HANDLER)


def test_everything_passed() -> None:
    shown = text(reports.report(reports.exercise("naive_attention")))
    assert "All that can be graded on this machine passed." in shown
    for absent in ("Failed", "Course page", "fault", "sandbox", "replay", "Total"):
        assert absent not in shown


def test_what_was_printed_is_shown_also_where_all_passed() -> None:
    shown = text(reports.report(reports.exercise("naive_attention", output="the shape is (2, 7)\n")))
    assert "  It printed:\n    │ the shape is (2, 7)\n" in shown
    assert "All that can be graded on this machine passed." in shown
    assert "It printed" not in text(reports.report(reports.exercise("naive_attention", output=" \n")))


@pytest.mark.parametrize("shown", ["JitTracer(float32[2,7])", "Traced<float32[2,7]>with<DynamicJaxprTrace>"])
def test_a_printed_tracer_is_explained_once(shown: str) -> None:
    said = "A print in a traced function shows a tracer"
    printed = one_line(text(reports.report(reports.exercise("naive_attention", output=f"{shown}\n" * 3))))
    assert printed.count(said) == 1
    assert said not in text(reports.report(reports.exercise("naive_attention", output="Tracer\n")))


def test_nothing_can_be_graded() -> None:
    shown = text(reports.report(reports.every("naive_attention", Outcome.NOT_GRADED, "needs a GPU")))
    assert "20 points wait for a GPU" in shown
    assert "Nothing of this can be graded on this machine." in shown
    assert "passed" not in shown


def test_our_own_fault_is_no_failure_of_the_learner() -> None:
    shown = text(
        reports.report(reports.every("naive_attention", Outcome.GRADER_ERROR, "the grader failed: x"))
    )
    assert shown.count("the grader failed: x") == 1
    assert "our fault, not yours" in shown
    assert "Failed" not in shown and "passed" not in shown


def test_an_exercise_that_the_catalog_does_not_know_is_shown_by_name() -> None:
    checks = (
        CheckResult("odd", Outcome.FAILED, 1, "no"),
        CheckResult("even", Outcome.NOT_STARTED, 1, "stub"),
    )
    assert "Failed: odd (1 point)" in text(reports.report(ExerciseResult("elsewhere", checks)))


def test_progress_only_where_somebody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    stream = io.StringIO()
    with progress.shown(catalog.EXERCISES, stream) as say:
        say(catalog.EXERCISES[0], "tracing", None)
    assert stream.getvalue() == ""


def test_progress_names_the_stage_and_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    with progress.shown(catalog.EXERCISES[:2], stream) as say:
        say(catalog.EXERCISES[0], "done", reports.exercise("naive_attention"))
        say(catalog.EXERCISES[1], "tracing", None)
    shown = stream.getvalue()
    assert "1 naive_attention  16 of 20 points" in shown
    assert re.search(r"2 cudnn_attention  tracing +(\x1b\S*)?\d+ s", shown)


def test_a_document_is_written_whole_and_with_the_usual_rights(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    document.check(str(target))
    assert target.read_text() == "old"
    document.write(reports.everything(), str(target))
    assert json.loads(target.read_text(encoding="utf-8")) == reports.everything().to_json()
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    (tmp_path / "other").write_text("")
    assert target.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_document_goes_through_a_link_and_into_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real" / "report.json")
    document.write(reports.everything(), str(link))
    assert link.is_symlink() and (tmp_path / "real" / "report.json").is_file()
    document.check(os.devnull)
    document.write(reports.everything(), os.devnull)
    assert not Path(os.devnull).is_file()


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for target in (tmp_path, tmp_path / "nowhere" / "r.json", tmp_path / "file" / "r.json"):
        with pytest.raises(document.Unusable, match=re.escape(str(target))):
            document.check(str(target))


def test_seeds_come_back_from_a_document(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    document.write(reports.everything(), str(target))
    found = document.provenance(target)
    assert found["seed"] == reports.everything().provenance.seed
    assert found["sha256"] == reports.everything().provenance.sha256


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"3",
        b"{}",
        b'{"schema": 2, "provenance": {"seed": {}, "sha256": {}}}',
        b'{"schema": 1, "provenance": {"seed": [], "sha256": {}}}',
        b'{"schema": 1, "provenance": {"seed": {"naive_attention": "zz"}, "sha256": {}}}',
        b'{"schema": 1, "provenance": {"seed": {"naive_attention": 3}, "sha256": {}}}',
        b"[" * 200_000,
        b" " * (document.MAX_BYTES + 1),
    ],
    ids=range(11),
)
def test_what_is_no_report_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(content)
    with pytest.raises(document.Unusable, match="is not a report of schema 1"):
        document.provenance(tmp_path / "r.json")
    with pytest.raises(document.Unusable, match="cannot be read"):
        document.provenance(tmp_path / "missing.json")
