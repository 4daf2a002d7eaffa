"""A number with a measured unit stands in a marker: it comes from the data, arithmetic, or a named source."""

from __future__ import annotations

import re

import pytest

from autograder.pages import fences
from autograder.tests.pages.page import MATH, Page, course, wrong

NUMBER = re.compile(r"\d[\d.,]*\s?(?:[num]?s|µs|[kKMGT]i?B(?:/s)?|T?FLOPS?(?:/s)?|TFLOP/s|times|%)(?!\w)")
EXEMPT = (
    re.compile(r"<!-- (?!end -->).*?<!-- end -->", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL),
    MATH,
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"https?://\S+"),
)


def problems(page: Page) -> list[str]:
    code = fences.lines(page.text)
    text = "\n".join(
        "" if number in code else line for number, line in enumerate(page.text.splitlines(), start=1)
    )
    for exempt in EXEMPT:
        text = exempt.sub(lambda match: re.sub(r"[^\n]", "_", match[0]), text)
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {match[0]!r} stands in no marker"
        for match in NUMBER.finditer(text)
    ]


@pytest.mark.parametrize("page", course(), ids=lambda page: page.path.name)
def test_numbers(page: Page) -> None:
    assert problems(page) == []


@pytest.mark.parametrize(
    "text",
    [
        "It takes <!-- seq T=4096: device_ms -->0.286 ms<!-- end -->.",
        "<!-- table seq rows=T: device_ms -->\n| T |\n| --- |\n| 3 ms |\n<!-- end -->",
        "Call it 3 times in code: `3 ms`, $3\\,\\text{ms}$.",
        "```text\n3 ms\n```",
        "Four matrices, 32 heads, T = 4096, 60 minutes, stage 3.",
    ],
)
def test_what_is_right(text: str) -> None:
    assert problems(wrong(text.replace("Call it 3 times", "Call it thrice"))) == []


@pytest.mark.parametrize(
    "number",
    ["0.286 ms", "3 µs", "512 kB", "3.2 GB", "4 TB/s", "834 TFLOP/s", "5.9 times", "37 %", "37%", "60 MiB"],
)
def test_a_wrong_page_is_found(number: str) -> None:
    for text in (f"It takes {number}.", f"| a |\n| --- |\n| {number} |", f"*{number}* <!-- end -->"):
        assert len(problems(wrong(text))) == 1, text
