"""The part of nbgrader_config.py that makes a course's scores ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autograder.classroom.notebooks import CODE_STUB

COURSE = "attention"
SECONDS = 60
HERE = "autograder.classroom"
EXPORTER = f"{HERE}.exporter.Submissions"


def configure(c: Any, root: Path) -> None:
    """Set in nbgrader's `c` where the course is, and how submissions are read, run and scored."""
    c.CourseDirectory.course_id = COURSE
    c.CourseDirectory.root = str(root)
    c.Exchange.root = str(root / "exchange")
    c.Exchange.path_includes_course = False
    c.ExchangeFactory.collect = f"{HERE}.collecting.Collect"
    c.ClearSolutions.code_stub = CODE_STUB
    c.Autograde.exporter_class = EXPORTER
    c.Autograde.autograde_preprocessors = [
        f"{HERE}.execution.BoundedExecute",
        f"{HERE}.scores.TrustedScores",
        "nbgrader.preprocessors.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        f"{HERE}.scores.SaveTrustedScores",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.BoundedExecute.timeout = SECONDS
    c.HTMLExporter.filters = {"markdown2html": f"{HERE}.rendering.markdown"}  # of feedback and formgrader
