"""Names in code spans are names of something: a file here, a function of ours or of JAX."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Iterator

import jax
import jax.numpy
import numpy
import pytest

from autograder import catalog
from autograder.author import ROOT
from autograder.tests.pages.page import Page, course, wrong

FOLDERS = ("autograder", "course", "exercises", "solutions", "terraform")
ROOTS = {"jax": jax, "jnp": jax.numpy, "np": numpy}
OURS = {each for exercise in catalog.EXERCISES for each in (exercise.name, *exercise.functions)}
CLOSE = 0.85
"""So alike is a name to one of ours that it is meant to be that, and misspelt."""


def problems(page: Page) -> list[str]:
    return [f"line {line}: {why}" for line, span in page.spans() for why in wrong_names(span)]


def wrong_names(span: str) -> Iterator[str]:
    for path in re.findall(rf"(?<![\w/.])(?:{'|'.join(FOLDERS)})/[\w./-]*", span):
        if not (ROOT / path).exists():
            yield f"{path}: there is no such file"
    for dotted in re.findall(r"(?<![\w.])(?:jax|jnp|np|autograder)(?:\.\w+)+", span):
        if not resolves(dotted):
            yield f"{dotted}: there is no such name"
    for name in re.findall(r"(?<![\w.])[a-z]+(?:_\w+)+", span):
        if name not in OURS and (near := difflib.get_close_matches(name, OURS, 1, CLOSE)):
            yield f"{name}: not a name of ours; {near[0]} is"


def resolves(dotted: str) -> bool:
    first, *rest = dotted.split(".")
    found = ROOTS.get(first) or importlib.import_module(first)
    for depth, name in enumerate(rest, start=1):
        if not hasattr(found, name):
            try:
                found = importlib.import_module(".".join([found.__name__, *rest[depth - 1 : depth]]))
            except (ImportError, AttributeError):
                return False
        else:
            found = getattr(found, name)
    return True


@pytest.mark.parametrize("page", course(), ids=lambda page: page.path.name)
def test_names(page: Page) -> None:
    assert problems(page) == []


def test_what_is_right() -> None:
    ours = (
        "`exercises/causal_check.py`, `is_causal(attention, query)`, `autograder.author`, `course/figures/`"
    )
    others = "`jax.nn.dot_product_attention`, `causal_mask`, `jnp.einsum`, `jax.jit(f).lower()`"
    assert problems(wrong(f"{ours}, {others}")) == []


@pytest.mark.parametrize(
    "span",
    [
        "exercises/causal.py",
        "autograder/authors.py",
        "autograder.authors",
        "jax.nn.attention_is_all",
        "naive_atention",
        "attention_with_falback(query)",
    ],
)
def test_a_wrong_page_is_found(span: str) -> None:
    assert len(problems(wrong(f"See `{span}`."))) == 1
