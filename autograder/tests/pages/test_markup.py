"""Markup that code hosts and the site read alike."""

from __future__ import annotations

import re

import pytest

from autograder.tests.pages.page import Page, course, wrong


def problems(page: Page) -> list[str]:
    found = []
    for token in page.tokens:
        line = (token.map or [0])[0] + 1
        if token.type == "html_block" and re.match(r"<!--.*?-->\s*\S", token.content.split("\n")[0]):
            found.append(f"line {line}: begins with a marker, so that what follows is no markdown")
    return found


@pytest.mark.parametrize("page", course(), ids=lambda page: page.path.name)
def test_markup(page: Page) -> None:
    assert problems(page) == []


def test_a_wrong_page_is_found() -> None:
    assert problems(wrong("It takes\n<!-- = 2 ms -->2 ms<!-- end --> *in all*.")) == [
        "line 2: begins with a marker, so that what follows is no markdown"
    ]
    assert problems(wrong("It takes <!-- = 2 ms -->2 ms<!-- end --> *in all*.")) == []
    assert problems(wrong("# A\n\n<!-- stage -->\nText.\n<!-- end -->")) == []
