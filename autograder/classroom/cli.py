"""The commands `grade course init` and `grade course report`, for instructors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

app = typer.Typer(help="Make a class's course for nbgrader, and report on it.", no_args_is_help=True)
USAGE = 2


@app.command()
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")]) -> None:
    """Make a ready course: configuration, assignment, exchange, README."""
    from autograder.classroom import course

    try:
        for line in course.init(folder):
            typer.echo(line)
    except course.Unfit as why:
        _refuse("init", why)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The course.")] = Path(),
    assignment: Annotated[str, typer.Option(metavar="NAME", help="The assignment.")] = "attention",
) -> None:
    """Write report.csv and report.html: scores, commonest failures, what waits."""
    from autograder.classroom import course, steps
    from autograder.report.words import count

    try:
        course.need_nbgrader()
        steps.graded(folder, assignment)
    except course.Unfit as why:
        _refuse("report", why)
    from autograder.classroom.report import marks, page

    found = marks.read(folder, assignment)
    try:
        page.table(found, folder / "report.csv")
        page.page(found, folder / "report.html")
    except OSError as why:
        _refuse("report", f"{why.filename} cannot be written: {why.strerror}. Move what is in its way")
    students = count(len(found.totals), "student")
    typer.echo(f"Wrote {folder / 'report.csv'} and {folder / 'report.html'}: {students}.")


def _refuse(command: str, why: object) -> NoReturn:
    typer.echo(f"grade course {command}: {why}", err=True)
    raise typer.Exit(USAGE)
