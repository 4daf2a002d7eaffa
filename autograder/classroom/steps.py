"""How far a course has got with an assignment, told by what nbgrader's steps leave in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autograder.classroom import course, records
from autograder.classroom.config import EXPORTER
from autograder.classroom.course import Unfit


def graded(root: Path, assignment: str) -> None:
    """Unfit, with what to do next, where the course in `root` has nothing graded of this assignment."""
    config = _config(root)
    has_gradebook = (root / "gradebook.db").is_file()
    if has_gradebook and any(records.load(root, assignment)):
        return
    there = sorted(path.name for path in (root / "source").glob("*") if path.is_dir())
    if assignment not in there:
        raise Unfit(
            f"the course has no assignment {assignment}; in its source/: {', '.join(there) or 'none'}"
        )
    exchange = root / config.Exchange.root / config.CourseDirectory.course_id
    if not has_gradebook or not (root / "release" / assignment).is_dir():
        missing, command = f"what students get of {assignment} is not made yet", "generate_assignment"
    elif any((root / "autograded").glob(f"*/{assignment}")):
        raise Unfit(f"nothing that was graded of {assignment} holds an exercise. Its points: nbgrader export")
    elif any((root / "submitted").glob(f"*/{assignment}")):
        missing, command = f"nothing of {assignment} is graded yet", "autograde"
    elif (exchange / "outbound" / assignment).is_dir():
        missing, command = f"nothing that students handed in of {assignment} is collected yet", "collect"
    else:
        missing, command = f"{assignment} is not released to students yet", "release_assignment"
    where = "" if root.resolve() == Path.cwd() else f", in {root}"
    raise Unfit(f"{missing}. Next{where}: nbgrader {command} {assignment}")


def _config(root: Path) -> Any:
    """The configuration of the course in `root`, as nbgrader would load it."""
    from traitlets.config.loader import PyFileConfigLoader

    path = root / course.CONFIG_FILE
    if not path.is_file():
        why = f"it has no {path.name}" if root.is_dir() else "there is no such folder"
        raise Unfit(f"{root} is no course: {why}. Name one's folder, or make one: grade course init DIR")
    try:
        config = PyFileConfigLoader(path.name, str(root.resolve())).load_config()
    except (Exception, SystemExit) as why:  # whatever an instructor's own Python does
        raise Unfit(f"{path} does not load: {type(why).__name__}: {why}") from None
    if config.Autograde.exporter_class != EXPORTER:
        raise Unfit(
            f"{path} is not that of a course made by grade course init: it does not call configure of "
            "autograder.classroom.config, so that its scores are not ours"
        )
    return config
