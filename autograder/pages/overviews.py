"""What pages say about the course as a whole: a page's header, the list of stages, the 60-minute path."""

from __future__ import annotations

from autograder import catalog
from autograder.pages import markdown, stages
from autograder.pages.places import Wrong
from autograder.pages.stages import Stage

PATH = "[60-minute path](README.md#the-60-minute-path)"


def header(file: str) -> str:
    """One paragraph under a stage's title."""
    stage = next((stage for stage in stages.PAGES if stage.file == file), None)
    if stage is None:
        raise Wrong(f"expected a page of autograder/pages/stages.py; {file} is none")
    if stage.number is None:
        return "Beside the stages. [Back to the course](README.md)"
    facts = [f"Stage {stage.number} of {stages.STAGES[-1].number}", f"{stage.minutes} minutes"]
    facts += [f"on the {PATH}"] if stage.essential else []
    lines = [f"{' · '.join(facts)}\\", f"Needs {stage.needs}."]
    if exercise := next((each for each in catalog.EXERCISES if each.number == stage.exercise), None):
        file = f"exercises/{exercise.name}.py"
        lines[-1] += "\\"
        lines.append(f"Exercise {exercise.number}: write `{file}`, then run `grade {exercise.number}`.")
    return "\n".join(lines)


def overview() -> str:
    """All stages as a table."""
    return markdown.table(["Stage", "Minutes", "Exercise"], map(_row, stages.STAGES))


def path() -> str:
    """The stages of the 60-minute path as a numbered list."""
    essential = [stage for stage in stages.STAGES if stage.essential]
    return "\n".join(f"{n}. [{stage.title}]({stage.file})" for n, stage in enumerate(essential, start=1))


def _row(stage: Stage) -> list[object]:
    exercise = "" if stage.exercise is None else f"`grade {stage.exercise}`"
    return [f"[{stage.heading}]({stage.file})", stage.minutes, exercise]
