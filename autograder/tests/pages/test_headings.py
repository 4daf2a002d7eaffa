"""Every stage's page has its title, its header and its sections, in the same order everywhere."""

from __future__ import annotations

import pytest

from autograder.pages import stages
from autograder.tests.pages.page import Page, course, wrong

SECTIONS = (
    "You will be able to",
    "The idea",
    "The formula",
    "Run it",
    "Predict, then measure",
    "The exercise",
    "What is often said",
    "Read on",
)
OPTIONAL = {"The exercise", "What is often said"}
WITHOUT = {"00-setup.md": {"The formula"}}
"""By page, what of the rest it has no use for: nothing is computed while one installs."""


def problems(page: Page) -> list[str]:
    stage = next((stage for stage in stages.PAGES if stage.file == page.path.name), None)
    found = []
    titles = page.headings("h1")
    if len(titles) != 1:
        found.append(f"expected one title; got {titles}")
    if stage is None:
        return found
    if titles[:1] != [stage.heading]:
        found.append(f"expected the title {stage.heading!r} as in stages.py; got {titles}")
    if page.text.splitlines()[2:3] != ["<!-- stage -->"]:
        found.append("expected the block <!-- stage --> directly under the title")
    if stage.number is None:
        return found
    sections = page.headings("h2")
    if sections != [section for section in SECTIONS if section in sections]:
        found.append(f"expected sections of {SECTIONS} in this order; got {sections}")
    needed = {*SECTIONS} - OPTIONAL - WITHOUT.get(stage.file, set())
    needed |= {"The exercise"} if stage.exercise else set()
    found += [f"expected a section {section!r}" for section in SECTIONS if section in needed - {*sections}]
    if stage.exercise and f"grade {stage.exercise}" not in under(page, "The exercise"):
        found.append(f"expected `grade {stage.exercise}` under The exercise")
    if "The formula" in sections and "```math\n" not in under(page, "The formula"):
        found.append("expected a block of math under The formula")
    if "![" not in under(page, "The idea"):
        found.append("expected a picture under The idea")
    aims = under(page, "You will be able to")
    if not 2 <= (bullets := aims.count("\n- ")) <= 4:
        found.append(f"expected 2 to 4 aims; got {bullets}")
    predictions = under(page, "Predict, then measure")
    if "Predict, then measure" in sections and not (
        predictions.count("**Predict:**")
        == predictions.count("<details>")
        == predictions.count("</details>")
        > 0
    ):
        found.append("expected a fold <details>…</details> for each **Predict:**")
    return found


def under(page: Page, section: str) -> str:
    """The section's text."""
    return page.text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("page", course(), ids=lambda page: page.path.name)
def test_headings(page: Page) -> None:
    assert problems(page) == []


RIGHT = """# 13 · Clean up

<!-- stage -->
<!-- end -->

## You will be able to

- one
- two

## The idea

![A picture](a.svg)

## The formula

```math
1
```

## Run it

## Predict, then measure

**Predict:** what?

<details><summary>Measured</summary>

That.

</details>

## Read on
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# 13 · Clean up", "# 3 · Clean up", "expected the title '13 · Clean up'"),
        ("<!-- stage -->\n<!-- end -->\n", "", "expected the block <!-- stage -->"),
        ("## The idea", "## Ideas", "expected a section 'The idea'"),
        ("## Read on", "## Read on\n## The idea", "in this order"),
        ("## The formula\n", "", "expected a section 'The formula'"),
        ("```math", "```text", "expected a block of math"),
        ("![A picture](a.svg)", "", "expected a picture"),
        ("- two\n", "", "expected 2 to 4 aims; got 1"),
        ("</details>", "", "expected a fold"),
    ],
)
def test_a_wrong_page_is_found(old: str, new: str, said: str) -> None:
    assert problems(wrong(RIGHT, "13-clean-up.md")) == []
    assert any(said in problem for problem in problems(wrong(RIGHT.replace(old, new), "13-clean-up.md")))


def test_an_exercise_has_its_section() -> None:
    page = wrong(RIGHT.replace("13 · Clean up", stages.of_exercise(1).heading), stages.of_exercise(1).file)
    assert "expected a section 'The exercise'" in problems(page)
