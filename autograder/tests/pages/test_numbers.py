"""A number stands in a marker, so that it comes from the data, arithmetic, a constant or a named source.

Those that need none are told by their form. A size of a measurement, such as T = 4096, has to be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from xml.etree import ElementTree

import pytest

from autograder.bench import sweeps
from autograder.bench.rows import Row
from autograder.classroom import questions
from autograder.pages import fences
from autograder.pages.pictures import measured
from autograder.tests.pages.page import MATH, Page, course, read, wrong

UNIT = r"(?:[num]?s|µs|[kKMGT]i?B(?:/s)?|T?FLOPS?(?:/s)?|TFLOP/s|times|%)(?!\w)"
FRACTION = re.compile(
    r"\b(?:an?|one|two|three|four|five|six|seven|eight|nine)[ -]"
    r"(?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|hundredth|thousandth)s?\b"
)
DIGITS = r"\d{1,3}(?:[ ,]\d{3})+(?!\d)|\d+"
NUMBER = re.compile(
    rf"(?<![\w.,])(?:\d[\d.,]*\s?{UNIT}|\d+\.\d+|\d{{1,3}}(?:[ ,]\d{{3}})+(?!\d)|\d{{3,}})|{FRACTION.pattern}"
)
"""With a unit, a decimal point, three digits or more, or a fraction in words. H200 and 2B are names."""

EXEMPT = (
    re.compile(r"<!-- (?!end -->).*?<!-- end -->", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL),
    MATH,
    re.compile(r"!\[[^\]]*\]\([^)]*\)"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"https?://\S+"),
)
VERSION = r"\d+(?:\.\d+){1,2}"
VERSIONS = rf"{VERSION}(?:(?:,? (?:and|or|to) |, ){VERSION})*"
FORMS = (
    re.compile(r"\b20\d\d-\d\d-\d\d\b"),
    re.compile(r"arXiv:\d{4}\.\d{4,5}\b"),
    re.compile(r"(?:\(|, |\bin |ICFP )(?:19[5-9]|20[0-3])\d(?=[),.:;\n]|$)|\bin 20[0-3]\d\b"),  # a year
    re.compile(rf"\b(?:sections?|JAX|TransformerEngine|TE|cuDNN|CUDA|Python) {VERSIONS}"),
    re.compile(rf"(?<![\d.])(?:[78]\.[0569]|(?:9|1[0-2])\.0)(?!\.?\d|\s?{UNIT})"),  # a compute capability
    re.compile(r"\b(?:issue|request|JAMA) \d+"),
    re.compile(r"\b(?:GPT-3|Llama 3\.1|Llama|Gemma|PaLM) \d+B\b"),
)
QUESTION = re.compile(r"\*\*Predict:\*\*.*?(?=\n\n|\Z)", re.DOTALL)
"""It may offer fractions to choose from."""
SIZES = re.compile(r"\(([BTSNKH](?:, [BTSNKH])+)\)\s=\s\((\d+(?:, \d+)+)\)")
SIZE = re.compile(
    rf"\b((?:[BTSNKH]\s=\s)+|hidden )((?:{DIGITS})(?:(?:,? (?:and|or|to) |, | … )(?:{DIGITS}))*)"
)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+\.svg)\)")


def problems(page: Page) -> list[str]:
    code = fences.lines(page.text)
    lines = page.text.splitlines()
    text = "\n".join("" if number in code else line for number, line in enumerate(lines, start=1))
    found = [f"{number!r} is not in the picture {name}" for name, number in undrawn(page, text)]
    for exempt in EXEMPT:
        text = exempt.sub(blank, text)
    text = SIZES.sub(without_measured_row, text)
    text = SIZE.sub(without_measured, text)
    text = QUESTION.sub(lambda match: FRACTION.sub(blank, match[0]), text)
    for form in FORMS:
        text = form.sub(blank, text)
    return found + [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {match[0]!r} stands in no marker"
        for match in NUMBER.finditer(text)
    ]


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "¤", match[0])


def undrawn(page: Page, text: str) -> Iterator[tuple[str, str]]:
    """Numbers of an alternative text that do not stand in the picture."""
    for alternative, name in PICTURE.findall(text):
        file = page.path.parent / name
        if file.is_file():
            words = " ".join(ElementTree.parse(file).getroot().itertext())
            numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)?", SIZE.sub(without_measured, alternative))
            yield from (
                (name, each) for each in numbers if not re.search(rf"(?<![\d.]){each}(?!\.?\d)", words)
            )


def without_measured(match: re.Match[str]) -> str:
    """Without the sizes that the data have: T = 4096, T = 128 and 1024, hidden 2048."""
    there = sizes(match[1][0])

    def without(number: re.Match[str]) -> str:
        return blank(number) if int(re.sub(r"\D", "", number[0])) in there else number[0]

    return match[1] + re.sub(DIGITS, without, match[2])


@cache
def sizes(letter: str) -> set[int]:
    """Those of the committed measurements by this letter; h for the hidden size."""
    if letter == "h":
        return {row.N * row.H for row in everything() if row.sweep == "fp8"}
    return {getattr(row, letter) for row in everything()}


def without_measured_row(match: re.Match[str]) -> str:
    """Without (B, T, N, H) = (4, 4096, 8, 64), if a row has all of these sizes."""
    wanted = dict(zip(match[1].split(", "), map(int, match[2].split(", ")), strict=True))
    there = any(all(getattr(row, letter) == size for letter, size in wanted.items()) for row in everything())
    return blank(match) if there else match[0]


@cache
def everything() -> list[Row]:
    return [row for name in sweeps.SWEEPS for row in measured.sweep(name)[0]]


@pytest.mark.parametrize("page", [*course(), read(questions.FILE)], ids=lambda page: page.path.name)
def test_numbers(page: Page) -> None:
    assert problems(page) == []


@pytest.mark.parametrize(
    "text",
    [
        "It takes <!-- seq T=4096: device_ms -->0.286 ms<!-- end -->.",
        "<!-- table seq rows=T: device_ms -->\n| T |\n| --- |\n| 3 ms |\n<!-- end -->",
        "Call it thrice in code: `3 ms`, $3\\,\\text{ms}$.",
        "```text\n3 ms\n```",
        "Four matrices, 32 heads, T = 4096, 60 minutes, stage 3, the third, half of it.",
        "At T = 128 and 1024, T = S = 4096, S = 65 536, hidden 2048, (B, T, N, H) = (4, 4096, 8, 64).",
        "On 2026-11-30, by Dao (2023, arXiv:2307.08691, sections 3.1 and 3.2.1), on an H200.",
        "JAX 0.10, 0.11 or 0.12, on a GPU of 8.9 or later; Llama 3.1 405B; issue 22546.",
        "**Predict:** is it\na third or four fifths?\n\nThat.",
        "[a](https://arxiv.org/abs/2307.08691), ![reaches 448](figures/fp8-lines.svg)",
    ],
)
def test_what_is_right(text: str) -> None:
    assert problems(wrong(text)) == []


@pytest.mark.parametrize(
    "number",
    [
        *(
            "0.286 ms",
            "3 µs",
            "512 kB",
            "3.2 GB",
            "4 TB/s",
            "834 TFLOP/s",
            "5.9 times",
            "37 %",
            "37%",
            "60 MiB",
        ),
        *("0.887 dollars", "232", "0.0128", "0.950", "a third", "four fifths", "57,344", "131 072"),
        *(
            "T = 4095",
            "hidden 1023",
            "hidden 2024",
            "(B, T, N, H) = (4, 4096, 9, 64)",
            "2049",
            "9.0 ms",
            "arXiv 2307.08691",
        ),
    ],
)
def test_a_wrong_page_is_found(number: str) -> None:
    for text in (f"It takes {number}.", f"| a |\n| --- |\n| {number} |", f"*{number}* <!-- end -->"):
        assert len(problems(wrong(text))) == 1, text


def test_a_wrong_alternative_text_is_found() -> None:
    assert len(problems(wrong("![reaches 449](figures/fp8-lines.svg)"))) == 1
