"""Every letter that stands for something in a page's math and tables stands in the glossary's table."""

from __future__ import annotations

import re

import pytest

from autograder.author import ROOT
from autograder.pages import fences
from autograder.tests.pages.page import MATH, Page, course, read, wrong

GLOSSARY = ROOT / "course" / "glossary.md"
WORDS = re.compile(r"\\(?:text|mathrm|begin|end)\{[^}]*\}|\\[a-zA-Z]+")
ELL = "\N{SCRIPT SMALL L}"
IN_MATH = re.compile(rf"[A-Za-z{ELL}]")
IN_TABLE = re.compile(rf"(?<![\w'.\-/])[B-Zb-z{ELL}](?![\w'-])")
"""A and a are words there; the s of GB/s is a unit."""


def explained(glossary: str) -> set[str]:
    """The letters in the first column of the glossary's table."""
    letters = glossary.partition("## Letters")[2].partition("\n## ")[0]
    return set(
        re.findall(r"\w(?=[,\s])", " ".join(re.findall(r"^\|( [^|-]+ )\|", letters, re.MULTILINE)[1:]))
    )


def symbols(page: Page) -> set[str]:
    code = fences.lines(page.text)
    prose = "\n".join(line for n, line in enumerate(page.text.splitlines(), start=1) if n not in code)
    formulas = [fence.code for fence in fences.find(page.text) if fence.info == "math"]
    formulas += [match[0] for match in MATH.finditer(prose)]
    plain = (WORDS.sub(" ", each.replace(r"\ell", ELL)) for each in formulas)
    found = {letter for each in plain for letter in IN_MATH.findall(each)}
    inside = False
    for token in page.tokens:
        inside = token.type == "table_open" or (inside and token.type != "table_close")
        words = "".join(child.content for child in token.children or () if child.type == "text")
        found |= set(IN_TABLE.findall(words)) if inside else set()
    return found


def problems(page: Page, glossary: str) -> list[str]:
    found = symbols(page)
    missing = [f"{letter} is not in the glossary's table" for letter in sorted(found - explained(glossary))]
    if found and page.path != GLOSSARY and "](glossary.md#letters)" not in page.text:
        missing.append("expected a link to glossary.md#letters")
    return missing


@pytest.mark.parametrize("page", course(), ids=lambda page: page.path.name)
def test_symbols(page: Page) -> None:
    assert problems(page, read(GLOSSARY).text) == []


TABLE = f"| letter | what |\n| --- | --- |\n| T | one |\n| m, {ELL} | two |\n"
LETTERS = f"## Letters\n\n{TABLE}\n## amax\n\n| Z | no |\n"
LINK = "[T](glossary.md#letters)\n\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{LINK}```math\n\\mathrm{{scores}} = \\frac{{T}}{{\\sqrt m}} \\ell\n```\n\n```sh\necho $A $B\n```",
        f"{LINK}It is $T^2$.\n\n| T | a rate, GB/s | the kernel's |\n| --- | --- | --- |\n| m | `D` | H200 |",
        "No symbols at all.",
    ],
)
def test_what_is_right(text: str) -> None:
    assert problems(wrong(text), LETTERS) == []


@pytest.mark.parametrize(
    "text",
    [
        f"{LINK}```math\nT \\cdot D\n```",
        f"{LINK}With $e$ bytes.",
        f"{LINK}| T | D |\n| --- | --- |\n| 1 | 2 |",
        f"{LINK}With $Z$.",
        "It is $T^2$.",
    ],
)
def test_a_wrong_page_is_found(text: str) -> None:
    assert len(problems(wrong(text), LETTERS)) == 1
