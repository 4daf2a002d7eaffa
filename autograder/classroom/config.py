"""The part of nbgrader_config.py that makes a course's scores ours."""

from __future__ import annotations

from typing import Any

from autograder.classroom.notebooks import CODE_STUB

HERE = "autograder.classroom"


def configure(c: Any) -> None:
    """Set in nbgrader's configuration `c` how submissions are read, run and scored."""
    c.ClearSolutions.code_stub = CODE_STUB
    c.Autograde.exporter_class = f"{HERE}.exporter.Submissions"
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
    c.BoundedExecute.timeout = 60
