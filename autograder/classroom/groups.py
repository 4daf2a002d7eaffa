"""The test cells of a notebook: the checks of one function that wait for the same thing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from autograder.catalog import EXERCISES, Check, Exercise

QUESTION_POINTS = 5
"""Of the question in each notebook that a person grades."""


@dataclass(frozen=True)
class Group:
    """`id` is the test cell's `grade_id`; `needs` is what all its checks wait for, as in `Check`."""

    id: str
    function: str
    needs: str
    checks: tuple[Check, ...]

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)


def groups(exercise: Exercise) -> tuple[Group, ...]:
    """Every check of the exercise in one group, function by function, those that wait after the others."""
    together: dict[tuple[str, str], list[Check]] = {}
    for function in exercise.functions:
        for check in exercise.checks:
            if (check.function or exercise.functions[0]) == function:
                together.setdefault((function, check.needs), []).append(check)
    return tuple(
        Group(f"{'gpu' if needs else 'check'}-{function}", function, needs, tuple(checks))
        for (function, needs), checks in together.items()
    )


def of_function(exercise: Exercise, function: str) -> Exercise:
    """The exercise as if it asked for this function alone."""
    checks = (check for group in groups(exercise) if group.function == function for check in group.checks)
    return replace(exercise, functions=(function,), checks=tuple(checks))


def find(exercise: Exercise, group_id: str) -> Group:
    """The group of this id. ValueError, naming those there are, where it is another's or nobody's."""
    there = {group.id: group for group in groups(exercise)}
    if group_id in there:
        return there[group_id]
    owner = next((each for each in EXERCISES if any(group.id == group_id for group in groups(each))), None)
    where = f"; {group_id!r} is one of {owner.name}" if owner else ""
    raise ValueError(f"{exercise.name} has no checks {group_id!r}; it has {', '.join(there)}{where}")
