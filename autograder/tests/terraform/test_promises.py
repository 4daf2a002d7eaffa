"""Every promise holds for the files as they are, and its check fails for a copy in which it is broken."""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from . import cloud_mutants, cloud_promises, image_mutants, image_promises, pod_mutants, pod_promises
from .documents import Config, Files, manifests, read


class Subject(NamedTuple):
    files: Files
    parse: Callable[[Files], Any]
    mutants: dict[str, list[tuple[str, str, str]]]


PODS = ("deploy/base/*.yaml", "deploy/grader/job.yaml")
SUBJECTS: dict[ModuleType, Subject] = {
    cloud_promises: Subject(read("*.tf"), Config, cloud_mutants.MUTANTS),
    pod_promises: Subject(read(*PODS), manifests, pod_mutants.MUTANTS),
    image_promises: Subject(read("image/Dockerfile*", *PODS), dict, image_mutants.MUTANTS),
}


def is_promise(function: Any) -> bool:
    """Takes what was parsed, and nothing else, and returns faults."""
    signature = inspect.signature(function)
    (first, *others) = signature.parameters.values()
    return (
        first.kind is first.POSITIONAL_OR_KEYWORD and not others and signature.return_annotation == list[str]
    )


PROMISES = [
    (module, name)
    for module in SUBJECTS
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and is_promise(function)
]


def title(value: object) -> str:
    return value.__name__.rpartition(".")[2] if isinstance(value, ModuleType) else str(value)


@pytest.mark.parametrize(("module", "promise"), PROMISES, ids=title)
def test_promise_is_kept(module: ModuleType, promise: str) -> None:
    files, parse, _ = SUBJECTS[module]
    assert getattr(module, promise)(parse(files)) == []


BROKEN = [
    pytest.param(module, promise, mutant, id=f"{title(module)}-{promise}-{number}")
    for module, subject in SUBJECTS.items()
    for promise, mutants in subject.mutants.items()
    for number, mutant in enumerate(mutants)
]


@pytest.mark.parametrize(("module", "promise", "mutant"), BROKEN)
def test_broken_promise_is_found(module: ModuleType, promise: str, mutant: tuple[str, str, str]) -> None:
    files, parse, _ = SUBJECTS[module]
    name, old, new = mutant
    assert old in files[name], "the mutant changes nothing"
    broken = files | {name: files[name].replace(old, new, 1)}
    assert getattr(module, promise)(parse(broken)) != []


@pytest.mark.parametrize(("module", "promise"), PROMISES, ids=title)
def test_promise_has_a_broken_copy(module: ModuleType, promise: str) -> None:
    assert SUBJECTS[module].mutants[promise]
