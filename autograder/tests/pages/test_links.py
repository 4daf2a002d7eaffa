"""Links lead somewhere, and pictures are there and say what is to be seen."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from autograder.author import ROOT
from autograder.tests.pages.page import Page, course, read, wrong

HOST = re.compile(r"([a-z0-9-]+\.)+[a-z]{2,}")
ARXIV = re.compile(r"/abs/\d{4}\.\d{4,5}")
LEAST_WORDS = 6
"""Of a picture's alternative text."""
TAGS = ("details", "summary", "br", "sub", "sup", "kbd")


def anchor(heading: str) -> str:
    """As code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def problems(page: Page) -> list[str]:
    found = []
    for line, token in page.inline():
        if token.type == "link_open":
            found += [f"line {line}: {why}" for why in link(page, str(token.attrs["href"]))]
        elif token.type == "image":
            found += [f"line {line}: {why}" for why in image(page, str(token.attrs["src"]), token.content)]
    return found + [
        f"the tag <{tag}> is not one of {', '.join(TAGS)}" for tag in tags(page) if tag not in TAGS
    ]


def link(page: Page, target: str) -> list[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        sound = parts.scheme == "https" and HOST.fullmatch(parts.netloc)
        if not sound or (parts.netloc == "arxiv.org" and not ARXIV.fullmatch(parts.path)):
            return [f"expected a well-formed https address; got {target}"]
        return []
    there = page.path.parent / unquote(parts.path) if parts.path else page.path
    if parts.path and not there.exists():
        return [f"{target}: there is no such file"]
    if not parts.fragment:
        return []
    anchors = [anchor(heading) for heading in (page if there == page.path else read(there)).headings("h")]
    if parts.fragment not in anchors:
        return [f"{target}: there is no such heading; there are {', '.join(anchors)}"]
    return []


def image(page: Page, source: str, alternative: str) -> list[str]:
    found = [] if (page.path.parent / source).is_file() else [f"{source}: there is no such picture"]
    if len(alternative.split()) < LEAST_WORDS:
        found.append(f"{source}: expected alternative text that says what is to be seen; got {alternative!r}")
    return found


def tags(page: Page) -> list[str]:
    html = [token.content for token in page.tokens if token.type == "html_block"]
    html += [token.content for _, token in page.inline() if token.type == "html_inline"]
    without_comments = (re.sub(r"<!--.*?-->", "", each, flags=re.DOTALL) for each in html)
    return [tag for each in without_comments for tag in re.findall(r"</?([a-zA-Z0-9]+)", each)]


@pytest.mark.parametrize(
    "page", [*course(), read(ROOT / "course/figures/h200/README.md")], ids=lambda page: page.path.name
)
def test_links(page: Page) -> None:
    assert problems(page) == []


def test_what_is_right() -> None:
    text = (
        "# A page: b, `c`\n\n[here](#a-page-b-c), [out](https://arxiv.org/abs/1706.03762), [up](../README.md)"
    )
    assert problems(wrong(text)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a](no-such.md)", "no such file"),
        ("[a](#no-such)", "no such heading"),
        ("[a](http://example.org)", "well-formed https"),
        ("[a](https://arxiv.org/abs/1706)", "well-formed https"),
        ("![a picture of four steps from query to output](figures/no-such.svg)", "no such picture"),
        ("![seq](figures/h200/seq.svg)", "alternative text"),
        ('<img src="figures/h200/seq.svg">', "the tag <img>"),
    ],
)
def test_a_wrong_page_is_found(text: str, said: str) -> None:
    assert [said in problem for problem in problems(wrong(text))] == [True]


def test_a_link_into_a_page_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# One\n\n## Two\n", encoding="utf-8")
    assert problems(Page(tmp_path / "page.md", "[a](other.md#two)")) == []
    assert len(problems(Page(tmp_path / "page.md", "[a](other.md#three)"))) == 1
