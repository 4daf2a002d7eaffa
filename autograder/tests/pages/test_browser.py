"""The site in a real browser, by day and by night, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.tests.pages import browser

for _package in ("playwright", "axe_playwright_python"):
    pytest.importorskip(_package, reason="needs the extra `course`: pip install -e '.[course]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.executable() is None, reason=f"no browser: none of {browser.NAMES}"),
]


@pytest.fixture(params=[(browser.DESK, "light"), (browser.PHONE, "dark")], ids=["desk", "phone"])
def page(request: pytest.FixtureRequest) -> Iterator[Any]:
    with browser.opened(*request.param) as opened:
        yield opened


def test_every_page(page: Any, site: Path) -> None:
    found = {file.name: browser.problems(page, file) for file in sorted(site.glob("*.html"))}
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_the_keyboard_reaches_search_and_folds(site: Path) -> None:
    with browser.opened(browser.DESK, "light") as page:
        page.goto((site / "02-naive.html").as_uri())
        press_until(page, "document.activeElement.matches('input[name=q]')")
        page.keyboard.type("autocast")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html**")
        page.wait_for_selector("#search-results li a")
        page.goto((site / "02-naive.html").as_uri())
        press_until(page, "document.activeElement.matches('summary')")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.parentElement.open")


def press_until(page: Any, condition: str) -> None:
    """Tab, until what has the focus is what is looked for."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(condition):
            return
    pytest.fail(f"Tab never reaches {condition}")


RIGHT = """<!doctype html><html lang="en"><head><title>One</title></head><body><main><h1>One</h1>
<p>Text</p></main></body></html>"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<p>Text</p>", ""),
        ("<script>console.error('no')</script>", "console: no"),
        ("<script>undefined.x</script>", "error: "),
        ("<img src='https://example.org/a.png' alt='a'>", "request: https://example.org"),
        ("<img src='no-such.png' alt='a'>", "picture does not load"),
        ("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>", "axe image-alt"),
        ("<p style='color: #999; background: #fff'>Text</p>", "axe color-contrast"),
        ("<div style='width: 5000px'>Text</div>", "scrolls sideways"),
        ("<p class='math'>\\(x\\)</p>", "1 formulas were not rendered"),
        (
            "<p class='math'><mjx-container><mjx-merror></mjx-merror></mjx-container></p>",
            "a formula has an error",
        ),
    ],
)
def test_a_wrong_page_is_found(shared: Any, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "page.html"
    file.write_text(RIGHT.replace("<p>Text</p>", text), encoding="utf-8")
    found = browser.problems(shared, file)
    assert any(said in problem for problem in found) if said else found == []


@pytest.fixture(scope="module")
def shared() -> Iterator[Any]:
    with browser.opened(browser.DESK, "light") as opened:
        yield opened
