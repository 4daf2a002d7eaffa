"""The command `grade submit`, for students of a class who work in modules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder import catalog, workspace

USAGE = 2


def submit(
    assignment: Annotated[
        Path, typer.Argument(metavar="DIR", help="The assignment, as nbgrader fetched it.")
    ] = Path("attention"),
    folder: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="The folder of the modules to hand in.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="PATH", help="Write a new folder, or a .zip, instead of handing in."),
    ] = None,
    course: Annotated[
        str, typer.Option("--course", metavar="ID", help="nbgrader's name of the course.")
    ] = "",
) -> None:
    """Hand in your modules, in a class that uses nbgrader."""
    from autograder.classroom.delivery import deliver
    from autograder.classroom.handin import Unfit, fill

    try:
        modules = folder or workspace.find(Path.cwd(), [exercise.name for exercise in catalog.EXERCISES])
        made = fill(assignment, modules)
        where = deliver(made, to, course)
    except (Unfit, workspace.NoModules) as why:
        typer.echo(f"grade submit: nothing was handed in.\n{why}", err=True)
        raise typer.Exit(USAGE) from None
    typer.echo(f"{where}, with the modules in {modules}.")
    if made.unanswered:
        typer.echo(f"The question is not answered yet in: {', '.join(made.unanswered)}.")
