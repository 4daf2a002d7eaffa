"""A course from its making to its report: what an instructor is told who takes the steps in another order."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from traitlets.config import Config
from typer.testing import CliRunner

from autograder.catalog import EXERCISES
from autograder.classroom import cli, course, records
from autograder.classroom.collecting import Collect
from autograder.classroom.config import configure
from autograder.classroom.report import figures, marks
from autograder.report.words import count
from autograder.tests import reports

OUTBOUND = "exchange/attention/outbound"
RELEASED = ("gradebook.db", "release/attention", f"{OUTBOUND}/attention")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course as it is made."""
    root = tmp_path_factory.mktemp("class") / "made"
    course.init(root)
    return root


@pytest.fixture
def root(fresh: Path, tmp_path: Path) -> Path:
    """A course of the test's own."""
    return Path(shutil.copytree(fresh, tmp_path / "course"))


def grade_course(*words: str | Path) -> tuple[int, str]:
    """The command's exit status, and all that it says."""
    done = CliRunner().invoke(cli.app, list(map(str, words)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output.strip()


def test_a_course_replaces_nothing(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(course.Unfit, match="is there already"):
        course.init(tmp_path)
    with pytest.raises(course.Unfit, match="is there already"):
        course.init(tmp_path / "mine")
    assert {path.stem for path in (fresh / "source" / "attention").glob("*.ipynb")} == {
        exercise.name for exercise in EXERCISES
    }
    assert fresh.stat().st_mode & 0o777 == 0o700
    assert (fresh / "exchange").stat().st_mode & 0o777 == 0o777


def test_where_nothing_can_be_written_no_course_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "course"
    expected = f"grade course init: {folder} cannot be written: Not a directory. Name another folder"
    assert grade_course("init", folder) == (2, expected)


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (
            (),
            "what students get of attention is not made yet. Next{}: nbgrader generate_assignment attention",
        ),
        (("gradebook.db",), "is not made yet. Next{}: nbgrader generate_assignment attention"),
        (RELEASED[:2], "is not released to students yet. Next{}: nbgrader release_assignment attention"),
        (RELEASED, "handed in of attention is collected yet. Next{}: nbgrader collect attention"),
        ((*RELEASED, "submitted/ada/attention"), "is graded yet. Next{}: nbgrader autograde attention"),
        ((*RELEASED, "autograded/ada/attention"), "holds an exercise. Its points: nbgrader export"),
    ],
)
def test_a_report_names_the_step_that_is_missing(
    there: tuple[str, ...], said: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in there:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch() if name.endswith(".db") else (root / name).mkdir()
    before = {path.name for path in root.iterdir()}
    status, shown = grade_course("report", root)
    assert (status, shown.partition(": ")[0]) == (2, "grade course report")
    assert shown.endswith(said.format(f", in {root}"))
    monkeypatch.chdir(root)
    assert grade_course("report")[1].endswith(said.format(""))
    assert {path.name for path in root.iterdir()} == before


def test_a_released_folder_elsewhere_is_found(root: Path, tmp_path: Path) -> None:
    for path in (
        root / "gradebook.db",
        root / "release" / "attention",
        tmp_path / "x/attention/outbound/attention",
    ):
        path.mkdir(parents=True) if not path.suffix else path.touch()
    with (root / course.CONFIG_FILE).open("a") as file:
        file.write(f"c.Exchange.root = {str(tmp_path / 'x')!r}\n")
    assert grade_course("report", root)[1].endswith("nbgrader collect attention")


def test_what_is_no_course_of_ours_is_said(root: Path, tmp_path: Path) -> None:
    assert (
        "no such folder. Name one's folder, or make one: grade course init DIR"
        in (grade_course("report", tmp_path / "cs")[1])
    )
    assert "is no course: it has no nbgrader_config.py" in grade_course("report", tmp_path)[1]
    shown = grade_course("report", root, "--assignment", "foo")[1]
    assert shown == "grade course report: the course has no assignment foo; in its source/: attention"
    (root / course.CONFIG_FILE).write_text("c = get_config()\n")
    assert "is not that of a course made by grade course init" in grade_course("report", root)[1]
    (root / course.CONFIG_FILE).write_text("raise SystemExit('no')\n")
    assert "nbgrader_config.py does not load: SystemExit: no" in grade_course("report", root)[1]


def test_without_nbgrader_the_commands_say_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "find_spec", lambda name: None)
    for command in ("init", "report"):
        expected = f"grade course {command}: nbgrader is not installed: pip install -e '.[class]'"
        assert grade_course(command, root) == (2, expected)


def test_one_student_is_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "gradebook.db").touch()
    made = reports.report(reports.exercise("naive_attention"))
    records.save(root, records.record("ada", "attention", {}, made, [], unsandboxed=False))
    monkeypatch.setattr(marks, "_totals", lambda url, assignment: [marks.Total("ada", 1.0, 2.0, 0.0, 0.0)])
    for name in ("scores", "checks", "seconds"):
        monkeypatch.setattr(figures, name, lambda of: "")
    assert grade_course("report", root)[1].endswith("report.html: 1 student.")
    assert "<title>attention: 1 student</title>" in (root / "report.html").read_text()
    assert count(2, "student") == "2 students"
    (root / "report.html").unlink()
    (root / "report.html").mkdir()
    status, shown = grade_course("report", root)
    assert status == 2 and "report.html cannot be written: Is a directory. Move what is in its way" in shown


def test_collecting_before_releasing_names_the_next_step(tmp_path: Path) -> None:
    config = Config()
    configure(config, tmp_path)
    where = CourseDirectory(config=config, assignment_id="attention")
    with pytest.raises(ExchangeError, match=r"is not there. Next: nbgrader release_assignment attention$"):
        Collect(coursedir=where, config=config).init_src()
