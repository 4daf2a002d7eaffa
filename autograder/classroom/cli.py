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
