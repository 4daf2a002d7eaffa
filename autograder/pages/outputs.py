"""The ```text blocks of a page: what the ```python block before each prints."""

from __future__ import annotations

from autograder.pages import fences
from autograder.pages.execution import Block, Ran
from autograder.pages.fences import Fence
from autograder.pages.places import Problem

RUN, SKIP = "python", "python skip"


def blocks(text: str) -> list[Block]:
    """The code that runs."""
    return [Block(fence.first + 1, fence.code) for fence in _runnable(text)]


def fill(page: str, text: str, ran: Ran) -> tuple[str, list[Problem]]:
    """The text with each block's output in it, and what is wrong with the code."""
    problems = [
        Problem(page, fence.first, f"expected ```{RUN} or ```{SKIP}; got ```{fence.info}")
        for fence in fences.find(text)
        if fence.info.split(" ")[0] in ("python", "py") and fence.info not in (RUN, SKIP)
    ]
    if ran.error:
        problems.append(Problem(page, ran.line, f"this block was to run, and raised {ran.error}"))
    lines = text.splitlines(keepends=True)
    for fence, printed in reversed(list(zip(_runnable(text), ran.outputs, strict=False))):
        if fence.output is not None and fence.output.nested:
            problems.append(
                Problem(page, fence.first, "expected code that prints outside of lists and quotations")
            )
        elif fence.output is not None:
            lines[fence.output.first : fence.output.last - 1] = [
                printed if printed[-1:] in ("", "\n") else printed + "\n"
            ]
            if not printed:
                problems.append(
                    Problem(page, fence.output.first, "expected the block before it to print something")
                )
        elif printed:
            problems.append(
                Problem(
                    page,
                    fence.last,
                    f"expected a ```text block directly below, for the output {printed!r:.80}",
                )
            )
    return "".join(lines), problems


def _runnable(text: str) -> list[Fence]:
    return [fence for fence in fences.find(text) if fence.info == RUN]
