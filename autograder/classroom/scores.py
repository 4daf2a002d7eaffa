"""Trusted scores: what the gradebook holds for our test cells comes from the source, not from the kernel."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode, v4
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades

from autograder import provenance
from autograder.catalog import Exercise
from autograder.classroom import context, feedback, records
from autograder.classroom.batch import batch
from autograder.classroom.cells import grade_id
from autograder.classroom.groups import Group
from autograder.classroom.source import module_source
from autograder.results import CheckResult, ExerciseResult, Outcome, Report

SCORES = "attention_lab_scores"


class TrustedScores(NbGraderPreprocessor):
    """Grades the notebook's source once, and overwrites our test cells' outputs with score and report.

    Its place is after Execute: whatever the kernel printed there is gone. A notebook that is none of ours
    passes as it is.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        here = context.of(resources)
        exercise, tests = here.trusted.exercise, here.trusted.tests
        if exercise is None:
            return nb, resources
        module = module_source(nb, exercise)
        report = module.located(_graded(exercise, module.text))
        scores = {id_: _score(report, group, points) for id_, (group, points) in tests.items()}
        for cell in nb.cells:
            id_ = grade_id(cell)
            if id_ in scores:
                group, _ = tests[id_]
                cell.outputs = _outputs(feedback.text(report, group, module.notes), scores[id_])
        resources[SCORES] = scores
        notes = (*here.notes, *module.notes)
        new = records.record(here.student, here.assignment, scores, report, notes, here.unsandboxed)
        self._say(records.save(here.root, new))
        return nb, resources

    def _say(self, new: records.Record) -> None:
        who = f"{new.student}, {new.notebook}"
        for note in new.notes:
            self.log.warning("%s: %s", who, note)
        for check in new.report["exercises"][0]["checks"]:
            if check["outcome"] == "grader_error":
                self.log.error("%s: our fault, %s waits: %s", who, check["id"], check["detail"])
        if new.changes:
            self.log.warning("%s: graded again: %s", who, "; ".join(new.changes))
        elif new.gradings > 1:
            self.log.info("%s: graded again: nothing changed", who)


class SaveTrustedScores(SaveAutoGrades):
    """Saves TrustedScores' scores: None while a cell waits, which nbgrader marks for review.

    Other cells are nbgrader's, and a score that it would refuse waits for review too.
    """

    def _add_score(self, cell: NotebookNode, resources: Any) -> None:
        id_ = cell.metadata["nbgrader"]["grade_id"]
        scores = resources.get(SCORES, {})
        if id_ not in scores:
            try:
                return super()._add_score(cell, resources)
            except ValueError as refused:
                self.log.warning(
                    "%s, %s: %s waits for review: %s", self.student_id, self.notebook_id, id_, refused
                )
        grade = self.gradebook.find_grade(id_, self.notebook_id, self.assignment_id, self.student_id)
        grade.auto_score = scores.get(id_)
        grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        self.gradebook.db.commit()


def _graded(exercise: Exercise, text: str) -> Report:
    """The report on a module; where the grader cannot be had at all, one in which everything is its fault."""
    try:
        return batch().grade(exercise, text)
    except Exception as error:
        why = f"the grader failed: {type(error).__name__}: {error}"
        checks = (CheckResult(each.id, Outcome.GRADER_ERROR, each.points, why) for each in exercise.checks)
        where = provenance.of(seeds={}, replay=False, device="", sha256={}, started="", seconds=0.0)
        return Report((ExerciseResult(exercise.name, tuple(checks)),), where)


def _score(report: Report, group: Group, points: float) -> float | None:
    """Of the instructor's points, the share that was earned; None while any of it waits."""
    results = feedback.checks(report, group)
    if any(check.waiting for check in results):
        return None
    return points * sum(check.earned for check in results) / group.points


def _outputs(text: str, score: float | None) -> list[NotebookNode]:
    outputs = [v4.new_output("stream", name="stdout", text=text)]
    if score is not None:
        outputs.append(
            v4.new_output("execute_result", data={"text/plain": f"{score:g}"}, execution_count=None)
        )
    return outputs
