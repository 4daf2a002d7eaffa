"""The command `grade`: parses, calls, returns an exit status.

0: all that can be graded here passed; 1: something failed or is not started; 2: usage; 3: the grader's own
fault. Nothing heavier than Typer is imported before it is known that there is something to grade.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from autograder import catalog, selection, workspace
from autograder.bench import cli as bench
from autograder.classroom import cli as course
from autograder.classroom.submit import submit
from autograder.report import document, plain

if TYPE_CHECKING:
    from autograder.plan import FailedRound

DEFAULT = "run"
USAGE, FAULT, INTERRUPTED = 2, 3, 130
HELP = ["-h", "--help"]
REFUSED = (document.Unusable, selection.Unclear, workspace.NoModules)


class DefaultCommand(TyperGroup):
    """A group that takes what names no command as the arguments of `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *HELP):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.commands[DEFAULT].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


app = typer.Typer(
    cls=DefaultCommand,
    context_settings={"help_option_names": HELP},
    help="Grade exercises on attention, all of them or those you name by number, module or path.",
    subcommand_metavar="[EXERCISE]... | COMMAND",
    options_metavar="[OPTIONS]",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command(DEFAULT)
def run(
    exercises: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXERCISE", help="Number, module (its beginning will do) or path; all without one."
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="The folder of the modules to grade.")
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the report there too; - for stdout.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="REPORT", help="Use a report's seeds again; never a grade."),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option("--inputs", metavar="DIR", help="Write the inputs of what failed there, and a script."),
    ] = None,
) -> None:
    """Grade exercises; what `grade` does without a command."""
    try:
        raise typer.Exit(_run(exercises or (), folder, json, replay, inputs))
    except REFUSED as why:
        typer.echo(f"grade: {why}", err=True)
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        typer.echo("Stopped; nothing was graded.", err=True)
        raise typer.Exit(INTERRUPTED) from None


@app.command("list")
def list_exercises() -> None:
    """Name the exercises and their points."""
    for exercise in catalog.EXERCISES:
        points = sum(check.points for check in exercise.checks)
        waiting = sum(check.points for check in exercise.checks if check.needs)
        on_gpu = f", {waiting} of them on a GPU" if waiting else ""
        typer.echo(f"{exercise.number} {exercise.name:<16} {exercise.title} ({points} points{on_gpu})")


@app.command()
def doctor() -> None:
    """Say what this machine can grade, and what to install.

    The exit status is 1 where it can grade nothing.
    """
    from autograder import doctor

    if not doctor.examine(typer.echo):
        raise typer.Exit(1)


app.command()(bench.bench)
app.add_typer(course.app, name="course")
app.command()(submit)


def main() -> None:
    sys.stdout = plain.unread(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        plain.safe(stream)
    app(prog_name="grade")


def _run(
    names: Sequence[str], folder: Path | None, json: str | None, replay: Path | None, inputs: Path | None
) -> int:
    earlier = document.provenance(replay) if replay else None
    if earlier and not names:
        names = [name for name in earlier["seed"] if catalog.find(name)]
    selected = selection.select(names, folder)
    if json is not None:
        document.check(json)
    if inputs is not None:
        from autograder.report import failing

        failing.check(inputs, selected.exercises)
    if selected.elsewhere:
        typer.echo(f"The modules in {selected.folder}:\n", err=json == document.STDOUT)
    try:
        return _grade(selected, json, earlier, inputs)
    except Exception:
        import traceback

        traceback.print_exc()
        message = (
            "The grader itself failed: our fault, not yours. Run grade doctor, and report it with this text."
        )
        typer.echo(f"\n{message}", err=True)
        return FAULT


def _grade(
    selected: selection.Selection, json: str | None, earlier: dict[str, Any] | None, inputs: Path | None
) -> int:
    import asyncio

    from autograder import grading, sandbox
    from autograder.report import progress, terminal
    from autograder.submission import Settings

    rounds: list[FailedRound] = []
    settings = Settings(seeds=earlier["seed"] if earlier else None, failed=rounds.append)
    try:
        with progress.shown(selected.exercises, sys.stderr) as say:
            report = asyncio.run(grading.grade(selected.exercises, selected.folder, settings, say))
    except sandbox.SandboxUnavailable as why:
        typer.echo(f"grade: {why}", err=True)
        return USAGE
    if json is not None:
        document.write(report, json)
    screen = terminal.console(sys.stderr if json == document.STDOUT else sys.stdout)
    terminal.show(report, screen, selected.folder, workspace.short(workspace.course()))
    for name, sha256 in report.provenance.sha256.items():
        if earlier and name not in earlier["seed"]:
            screen.print(f"The earlier report holds no {name}: its inputs were drawn afresh.")
        elif earlier and earlier["sha256"].get(name) != sha256:
            screen.print(f"{name}.py is not the file that the earlier report graded.")
    if inputs is not None:
        screen.print(_written(inputs, rounds, selected.folder), soft_wrap=True)
    return report.exit_code


def _written(inputs: Path, rounds: Sequence[FailedRound], modules: Path) -> str:
    """Write what failed, when no learner code runs any more; what to say of it."""
    from autograder.report import failing

    try:
        files = [f"\n  {path} and .py" for path in failing.write(inputs, rounds, modules)]
    except OSError as error:
        return f"The failing inputs could not be written to {inputs}: {error.strerror or error}"
    if not files:
        return f"No check failed by its outputs: nothing was written to {inputs}"
    return f"Failing inputs, each with a script that calls your function on them:{''.join(files)}"
