"""Reports against report/schema.json: ours are valid, and each broken one is not."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from autograder import catalog, grading, workspace
from autograder.report import document
from autograder.results import Outcome
from autograder.tests import reports

SCHEMA = json.loads((Path(document.__file__).parent / "schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())

Break = Callable[[dict[str, Any]], Any]
BREAKS: dict[str, Break] = {
    "another schema": lambda d: d.update(schema=2),
    "an extra key": lambda d: d.update(more=1),
    "no provenance": lambda d: d.pop("provenance"),
    "an exercise without checks": lambda d: d["exercises"][0].pop("checks"),
    "an exercise with more": lambda d: d["exercises"][0].update(more=1),
    "negative points": lambda d: d["exercises"][0].update(earned=-1),
    "half a point": lambda d: d["exercises"][0].update(earned=0.5),
    "a check with more": lambda d: d["exercises"][0]["checks"][0].update(more=1),
    "an unknown outcome": lambda d: d["exercises"][0]["checks"][0].update(outcome="skipped"),
    "points for a failure": lambda d: d["exercises"][1]["checks"][0].update(earned=1),
    "a failure without words": lambda d: d["exercises"][1]["checks"][0].update(detail=""),
    "simulated in words": lambda d: d["exercises"][0]["checks"][0].update(simulated="no"),
    "a seed that is none": lambda d: d["provenance"]["seed"].update(naive_attention="12"),
    "a hash that is none": lambda d: d["provenance"]["sha256"].update(naive_attention="12"),
    "an unknown sandbox": lambda d: d["provenance"].update(sandbox="chroot"),
    "negative time": lambda d: d["provenance"].update(seconds=-1),
    "versions without JAX": lambda d: d["provenance"]["versions"].pop("jax"),
}


def test_the_schema_is_one_and_closed() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    objects = [SCHEMA, *(part for part in SCHEMA["$defs"].values() if part["type"] == "object")]
    assert len(objects) == 4
    for part in objects:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


def test_outcomes_are_those_of_the_code() -> None:
    assert SCHEMA["$defs"]["check"]["properties"]["outcome"]["enum"] == list(Outcome)


def test_a_report_with_everything_is_valid() -> None:
    VALIDATOR.validate(reports.everything().to_json())


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_report_is_not(name: str) -> None:
    document = copy.deepcopy(reports.everything().to_json())
    BREAKS[name](document)
    assert not VALIDATOR.is_valid(document)


def test_a_real_report_of_stubs_is_valid() -> None:
    report = asyncio.run(grading.grade(catalog.EXERCISES, workspace.exercises()))
    VALIDATOR.validate(report.to_json())


@pytest.mark.slow
def test_a_real_report_of_a_solution_is_valid() -> None:
    report = asyncio.run(grading.grade(catalog.EXERCISES[:1], workspace.solutions()))
    VALIDATOR.validate(report.to_json())
    assert report.exit_code == 0
