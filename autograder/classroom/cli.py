"""The commands `grade course init` and `grade course report`, for instructors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
        typer.echo(f"grade course init: {why}", err=True)
        raise typer.Exit(USAGE) from None


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The course.")] = Path(),
    assignment: Annotated[str, typer.Option(metavar="NAME", help="The assignment.")] = "attention",
) -> None:
    """Write report.csv and report.html: scores, commonest failures, what waits."""
    if not (folder / "gradebook.db").is_file():
        typer.echo(f"grade course report: {folder} is no course: it has no gradebook.db", err=True)
        raise typer.Exit(USAGE)
    from autograder.classroom.report import marks, page

    found = marks.read(folder, assignment)
    if not found.marks:
        typer.echo(
            f"grade course report: nothing of {assignment} is graded: run nbgrader autograde", err=True
        )
        raise typer.Exit(USAGE)
    page.table(found, folder / "report.csv")
    page.page(found, folder / "report.html")
    typer.echo(f"Wrote {folder / 'report.csv'} and {folder / 'report.html'}: {len(found.totals)} students.")
