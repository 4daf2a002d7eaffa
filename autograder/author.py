"""What authors run: write what is made from other files, or check that it is in step with them.

python -m autograder.author stubs [--check]
python -m autograder.author pages [--check]
python -m autograder.author pictures [--check]
python -m autograder.author notebooks [DIR | --check]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from autograder import stubs
from autograder.classroom import checking as notebooks
from autograder.pages import command as pages
from autograder.pages.pictures import command as pictures

ROOT = stubs.ROOT
COMMANDS = {
    "stubs": (stubs.main, "write exercises/ from solutions/"),
    "pages": (pages.main, "fill course/ with its numbers, tables and outputs"),
    "pictures": (pictures.main, "draw the pictures of course/figures"),
}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m autograder.author", description="Write what is made.")
    commands = made.add_subparsers(dest="command", required=True)
    for name, (_, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        command.add_argument("--check", action="store_true", help="write nothing; exit 1 when out of step")
    command = commands.add_parser(
        "notebooks", help="fill a class's questions with their numbers, list its cells, write its notebooks"
    )
    either = command.add_mutually_exclusive_group()
    either.add_argument(
        "folder", metavar="DIR", nargs="?", type=Path, help="where to write the notebooks too"
    )
    either.add_argument("--check", action="store_true", help="write nothing; exit 1 when something is wrong")
    return made


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Exit status: 0 done or in step, 1 out of step or wrong."""
    options = parser().parse_args(arguments)
    if options.command == "notebooks":
        return notebooks.main(options.check, options.folder)
    return COMMANDS[options.command][0](root, options.check)


if __name__ == "__main__":
    sys.exit(main())
