"""A stand-in for the google provider: its schema, and nothing behind it.

Terraform starts this file as a plugin. With it Terraform can check a configuration and mock a plan, and
nothing reaches a cloud.
"""

# mypy: disable-error-code="import-untyped,import-not-found,misc"

import json
from pathlib import Path
from typing import Any

from tf.iface import DataSource, Provider, Resource
from tf.runner import run_provider
from tf.schema import Attribute, Block, NestedBlock, Schema
from tf.types import Bool, List, Map, Number, String, TfType

SCHEMA = json.loads((Path(__file__).parent / "google_schema.json").read_text())
SCALARS: dict[str, TfType] = {"string": String(), "number": Number(), "bool": Bool()}
NESTING = {"list": 2, "set": 3, "single": 1}  # of the plugin protocol; tf itself knows no lists


class AnyBlock(NestedBlock):
    _mode_map = NESTING

    def encode(self, value: Any) -> Any:
        return value

    def decode(self, value: Any) -> Any:
        return value

    def semantically_equal(self, a_decoded: Any, b_decoded: Any) -> bool:
        return bool(a_decoded == b_decoded)


def type_of(written: Any) -> TfType:
    if isinstance(written, str):
        return SCALARS[written]
    outer = {"list": List, "map": Map}[written[0]]
    return outer(type_of(written[1]))


def attributes(described: dict[str, Any]) -> list[Attribute]:
    return [
        Attribute(name, type_of(kind), **{presence: True})
        for name, (kind, presence) in described["attributes"].items()
    ]


def blocks(described: dict[str, Any]) -> list[NestedBlock]:
    return [
        AnyBlock(
            name,
            block["nesting"],
            Block(attributes(block), blocks(block)),
            min_items=0 if block["nesting"] == "single" else block["min"],
            max_items=block.get("max"),
        )
        for name, block in described.get("blocks", {}).items()
    ]


def schema(described: dict[str, Any]) -> Schema:
    return Schema(attributes(described), block_types=blocks(described))


def kind(base: type, name: str, described: dict[str, Any]) -> type:
    """A resource or data source class that has a schema and no behaviour."""
    methods: dict[str, Any] = {
        "get_name": classmethod(lambda cls: name.removeprefix("google_")),
        "get_schema": classmethod(lambda cls: schema(described)),
        "validate": lambda self, diags, type_name, config: None,
        "__init__": lambda self, provider: None,
    }
    made = type(name, (base,), methods)
    made.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    return made


class Google(Provider):
    def get_model_prefix(self) -> str:
        return "google_"

    def full_name(self) -> str:
        return "hashicorp/google"

    def get_provider_schema(self, diags: Any) -> Schema:
        return schema(SCHEMA["provider"])

    def validate_config(self, diags: Any, config: Any) -> None: ...

    def configure_provider(self, diags: Any, config: Any) -> None: ...

    def get_resources(self) -> list[type]:
        return [kind(Resource, name, described) for name, described in SCHEMA["resources"].items()]

    def get_data_sources(self) -> list[type]:
        return [kind(DataSource, name, described) for name, described in SCHEMA["data"].items()]


if __name__ == "__main__":
    run_provider(Google())
