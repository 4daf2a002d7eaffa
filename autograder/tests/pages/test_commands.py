"""Every command of ours on a page is one that our command lines accept."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
import typer
from typer.core import TyperGroup

from autograder import cli, selection
from autograder.author import ROOT
from autograder.pages import fences
from autograder.tests.pages.page import Page, course, read, wrong

EXTRA = re.compile(r"\.\[([\w,]+)\]")
OPEN = ("…", "...")
"""Behind the beginning of a command: the rest is not said."""
UNFINISHED = ("MissingParameter", "BadOptionUsage")
"""What a command line says where an argument or an option's value is left out."""
ANY = "N"
"""Where a page speaks of any exercise."""


class Parsed(Exception):
    """The command line was accepted; nothing is run."""


def problems(page: Page) -> list[str]:
    found = []
    for line, words, whole in commands(page):
        try:
            check(words)
        except Exception as why:
            if not whole and type(why).__name__ in UNFINISHED:
                continue
            found.append(f"line {line}: {shlex.join(words)}: {why}")
    return found


def commands(page: Page) -> Iterator[tuple[int, list[str], bool]]:
    """Those in ```sh blocks and behind the ! of a notebook's cell are whole; code spans may name a part."""
    for line, span in page.spans():
        if re.match(r"(grade|python -m autograder\S*)( |$)", span):
            yield line, span.split(), False
    for fence in fences.find(page.text):
        shell = (
            fence.code if fence.info == "sh" else "\n".join(re.findall(r"^!(.*)", fence.code, re.MULTILINE))
        )
        for text in shell.replace("\\\n", " ").splitlines():
            for words in parts(text):
                yield fence.first, words, True


def parts(line: str) -> Iterator[list[str]]:
    """The commands of a line of shell, without variables before them."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for token in [*lexer, ";"]:
        if set(token) <= set("&|;()<>"):
            if words:
                yield words
            words = []
        elif words or not re.match(r"\w+=", token):
            words.append(token)


def check(words: list[str]) -> None:
    """An exception where a command of ours would not accept this; those of others pass."""
    program, *arguments = words
    program = program.rsplit("/", 1)[-1]
    if program == "grade":
        grade(arguments)
    elif re.fullmatch(r"python[\d.]*|py", program) and arguments[:1] == ["-m"]:
        if arguments[1].split(".")[0] == "autograder":
            module(arguments[1], arguments[2:])
    elif program == "pip":
        there = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        named = {extra for each in EXTRA.findall(" ".join(arguments)) for extra in each.split(",")}
        if unknown := named - there["project"]["optional-dependencies"].keys():
            raise ValueError(f"there is no extra {', '.join(unknown)}")


def grade(arguments: list[str]) -> None:
    command = typer.main.get_command(cli.app)
    assert isinstance(command, TyperGroup)
    if arguments[-1:] and arguments[-1] in OPEN:
        if [arguments[0]] != arguments[:-1] or arguments[0] not in command.commands:
            raise ValueError(f"there is no command {' '.join(arguments[:-1])}")
        return
    with command.make_context("grade", list(arguments)) as context:
        name, chosen, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert chosen is not None
        with chosen.make_context(name, rest, parent=context) as inner:
            for exercise in inner.params.get("exercises") or ():
                if exercise != ANY:
                    selection.asked(exercise)


def module(name: str, arguments: list[str]) -> None:
    """Its main, as far as its arguments are parsed."""

    def stop(self: argparse.ArgumentParser, given: Any = None, _: Any = None) -> None:
        _, unknown = self.parse_known_args(arguments)
        if unknown:
            raise ValueError(f"unrecognized arguments: {' '.join(unknown)}")
        raise Parsed

    def fail(self: argparse.ArgumentParser, message: str) -> None:
        raise ValueError(message)

    loaded = importlib.import_module(name)
    if isinstance(getattr(loaded, "typer", None), type(typer)):
        app = typer.Typer(add_completion=False)
        app.command()(loaded.main)
        typer.main.get_command(app).make_context(name, arguments)
        return
    if not hasattr(loaded, "argparse"):
        return
    patched = mock.patch.multiple(argparse.ArgumentParser, parse_args=stop, error=fail)
    with patched, pytest.raises(Parsed):
        loaded.main(arguments)


@pytest.mark.parametrize("page", [*course(), read(ROOT / "README.md")], ids=lambda page: page.path.name)
def test_commands(page: Page) -> None:
    assert problems(page) == []


@pytest.mark.parametrize(
    "text",
    [
        "`grade`, `grade 2`, `grade N`, `grade cudnn_attention`, `grade bench …`, `grade doctor`",
        "`grade bench`, `grade --json`",
        "```sh\nJAX_PLATFORMS=cpu .venv/bin/grade --from solutions 3 && echo done  # a comment\n```",
        "```sh\ngrade bench heads --quick \\\n  --out figures\n```",
        "```\n!grade 1\n```",
        "`python -m autograder.author pages --check`",
        "```sh\npython -m autograder.bench.timing_evidence --out here --minutes 3\nls\n```",
        "```sh\npip install -e '.[gpu,test]'\n```",
    ],
)
def test_what_is_right(text: str) -> None:
    page = wrong(text)
    assert list(commands(page)) and problems(page) == []


@pytest.mark.parametrize(
    "text",
    [
        "`grade 6`",
        "`grade benhc heads`",
        "`grade bench tails`",
        "`grade bench heads --fast`",
        "`grade draw …`",
        "`grade --form solutions`",
        "```sh\ngrade bench\n```",
        "```sh\ncd exercises && grade flash\n```",
        "```\n!grade 9\n```",
        "`python -m autograder.authors stubs`",
        "`python -m autograder.author stub`",
        "`python -m autograder.author pages --chek`",
        "```sh\npython -m autograder.bench.timing_evidence\n```",
        "```sh\npip install '.[gpus]'\n```",
    ],
)
def test_a_wrong_page_is_found(text: str) -> None:
    assert len(problems(wrong(text))) == 1
