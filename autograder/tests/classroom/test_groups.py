"""Groups hold every check once, and never mix what can be graded here with what waits."""

from __future__ import annotations

import pytest

from autograder import catalog
from autograder.classroom import groups

EXERCISES = pytest.mark.parametrize("exercise", catalog.EXERCISES, ids=lambda exercise: str(exercise.name))


@EXERCISES
def test_every_check_is_in_one_group(exercise: catalog.Exercise) -> None:
    made = groups.groups(exercise)
    grouped = [check.id for group in made for check in group.checks]
    assert sorted(grouped) == sorted(check.id for check in exercise.checks)
    assert sum(group.points for group in made) == sum(check.points for check in exercise.checks)
    assert len({group.id for group in made}) == len(made)


@EXERCISES
def test_a_group_waits_as_a_whole_or_not_at_all(exercise: catalog.Exercise) -> None:
    for group in groups.groups(exercise):
        assert {check.needs for check in group.checks} == {group.needs}
        assert group.id == f"{'gpu' if group.needs else 'check'}-{group.function}"


def test_an_exercise_asks_for_one_function_alone() -> None:
    alone = groups.of_function(catalog.EXERCISES[3], "grouped_query_attention")
    assert [group.id for group in groups.groups(alone)] == [
        "check-grouped_query_attention",
        "gpu-grouped_query_attention",
    ]


def test_another_exercises_group_is_refused_by_name() -> None:
    exercise = catalog.EXERCISES[0]
    assert groups.find(exercise, "gpu-naive_attention").points == 4
    with pytest.raises(
        ValueError, match=r"no checks 'check-is_causal'; it has check-naive.* one of causal_check"
    ):
        groups.find(exercise, "check-is_causal")
    with pytest.raises(ValueError, match=r"it has check-naive_attention, gpu-naive_attention$"):
        groups.find(exercise, "float32")
