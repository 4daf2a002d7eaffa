"""Parses the files of terraform/, from text, so that a test can change the text first."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hcl2
import yaml

TERRAFORM = Path(__file__).parents[3] / "terraform"
Files = dict[str, str]
Document = dict[str, Any]


def read(*patterns: str) -> Files:
    paths = sorted(path for pattern in patterns for path in TERRAFORM.glob(pattern))
    return {str(path.relative_to(TERRAFORM)): path.read_text() for path in paths}


def plain(value: Any) -> Any:
    """What python-hcl2 returns without its marks and the quotes around words."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items() if not key.startswith("__")}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1]
    return value


@cache
def parsed(text: str) -> Document:
    tree: Document = plain(hcl2.loads(text))
    return tree


class Config:
    """All .tf files as one: `resources["google_x"]["name"]`, `variables["name"]` and so on."""

    def __init__(self, files: Files) -> None:
        self.blocks: dict[str, list[Document]] = {}
        for text in files.values():
            for kind, found in parsed(text).items():
                self.blocks.setdefault(kind, []).extend(found)

    def named(self, kind: str) -> Document:
        merged: Document = {}
        for block in self.blocks.get(kind, []):
            for name, body in block.items():
                merged.setdefault(name, {}).update(body)
        return merged

    @property
    def resources(self) -> Document:
        return self.named("resource")

    def of_type(self, resource_type: str) -> list[Document]:
        return list(self.resources.get(resource_type, {}).values())

    @property
    def cluster(self) -> Document:
        (cluster,) = self.of_type("google_container_cluster")
        return cluster

    @property
    def pools(self) -> Document:
        return dict(self.resources["google_container_node_pool"])

    def strings(self) -> Iterator[str]:
        yield from strings(self.blocks)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def get(document: Any, *path: str | int, default: Any = None) -> Any:
    """A value deep inside; Terraform's blocks are lists of one, so a name steps into the first."""
    for step in path:
        if isinstance(document, list) and isinstance(step, str):
            document = document[0] if document else None
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return default
    return document


def manifests(files: Files) -> list[Document]:
    return [document for text in files.values() for document in yaml.safe_load_all(text) if document]


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """(instruction, arguments) of a Dockerfile, without comments and line breaks."""
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    split = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [(name.upper(), rest) for name, rest in split]
