"""What a real browser has to say about a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

PHONE, DESK = 360, 1280
RULES = ["wcag2a", "wcag2aa"]
"""axe's: contrast, alternative texts, names of controls, what the keyboard reaches."""
NAMES = ("chromium", "chromium-browser", "google-chrome")

UNRENDERED = (
    "[...document.querySelectorAll('.math')].filter(each => !each.querySelector('mjx-container')).length"
)
BROKEN = (
    "[...document.images].filter(each => each.checkVisibility() && !each.naturalWidth).map(each => each.src)"
)
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def executable() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def opened(width: int, theme: Literal["light", "dark"]) -> Iterator[Any]:
    """A Chromium with one empty page, without a network."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        context = chromium.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=theme,
            reduced_motion="reduce",
            offline=True,
        )
        yield context.new_page()
        chromium.close()


def problems(page: Any, file: Path) -> list[str]:
    """Of a file of the site: errors, requests, formulas, pictures, width, and what axe finds."""
    found: list[str] = []

    def console(message: Any) -> None:
        if message.type in ("error", "warning"):
            found.append(f"console: {message.text}")

    def request(sent: Any) -> None:
        if not sent.url.startswith(("file:", "data:", "blob:")):
            found.append(f"request: {sent.url}")

    listeners = {
        "console": console,
        "request": request,
        "pageerror": lambda why: found.append(f"error: {why}"),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.goto(file.as_uri())
    page.evaluate("window.MathJax?.startup?.promise")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    if count := page.evaluate(UNRENDERED):
        found.append(f"{count} formulas were not rendered")
    if page.locator("mjx-merror, [data-mjx-error]").count():
        found.append("a formula has an error")
    found += [f"picture does not load: {source}" for source in page.evaluate(BROKEN)]
    if (pixels := page.evaluate(TOO_WIDE)) > 0:
        found.append(f"scrolls sideways by {pixels} pixels")
    found += accessibility(page)
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    return found


def accessibility(page: Any) -> list[str]:
    """axe's findings, each with the first element that it is about."""
    from axe_playwright_python.sync_playwright import Axe

    answer = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"], "preload": False})
    return [
        f"axe {each['id']}: {each['nodes'][0]['html'][:120]}: {each['nodes'][0]['failureSummary']}"
        for each in answer.response["violations"]
    ]
