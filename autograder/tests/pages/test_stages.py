"""The manifest of the course, the catalog of exercises and the files in course/ name the same pages."""

from __future__ import annotations

from collections.abc import Iterable

from autograder import catalog
from autograder.author import ROOT
from autograder.pages import stages

COURSE = ROOT / "course"


def test_stages_are_numbered_in_order() -> None:
    assert [stage.number for stage in stages.STAGES] == list(range(len(stages.STAGES)))
    assert all(page.number is None for page in stages.BESIDE)


def test_every_exercise_has_one_page() -> None:
    numbers = [stage.exercise for stage in stages.PAGES if stage.exercise is not None]
    assert numbers == [exercise.number for exercise in catalog.EXERCISES]
    for exercise in catalog.EXERCISES:
        assert (ROOT / exercise.page).is_file(), exercise.page


def test_the_sixty_minute_path_takes_sixty_minutes() -> None:
    assert sum(stage.minutes for stage in stages.STAGES if stage.essential) == 60


def strays(files: Iterable[str]) -> set[str]:
    """Pages that are not in the manifest, and those of it that are not there."""
    return {*files} ^ {"README.md", *(page.file for page in stages.PAGES)}


def test_every_page_is_in_the_manifest() -> None:
    there = [path.name for path in COURSE.glob("*.md")]
    assert strays(there) == set()
    assert strays([*there[1:], "14-more.md"]) == {there[0], "14-more.md"}
