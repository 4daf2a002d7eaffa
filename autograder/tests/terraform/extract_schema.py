"""Write google_schema.json: what the google provider accepts for the resource types used in terraform/.

The provider itself is a large binary that the tests do not fetch. Its schema also ships, as generated
TypeScript and JavaScript, in the npm package `@cdktf/provider-google`. Run by hand when a resource type
is added:

    npm pack @cdktf/provider-google@16.12.1 && tar xzf cdktf-provider-google-16.12.1.tgz
    python extract_schema.py package > google_schema.json
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDERS = [
    "artifact-registry-repository",
    "artifact-registry-repository-iam-member",
    "billing-budget",
    "compute-network",
    "compute-router",
    "compute-router-nat",
    "compute-subnetwork",
    "container-cluster",
    "container-node-pool",
    "data-google-project",
    "project-iam-member",
    "project-service",
    "provider",
    "service-account",
    "storage-bucket",
    "storage-bucket-iam-member",
]
SCALARS = {"string": "string", "number": "number", "boolean": "bool"}
MEMBER = re.compile(r"#(\w+) [\w#]+\}\s(?:(?!/\*\*).)*?readonly (\w+)(\??): (.+?);\n", re.DOTALL)


def snake(camel: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", camel).lower()


def attribute_type(written: str) -> Any:
    """Terraform's JSON form of a type: `string[]` is ["list", "string"]."""
    written = written.removesuffix(" | cdktf.IResolvable").strip()
    if written in SCALARS:
        return SCALARS[written]
    if written.startswith("Array<boolean"):
        return ["list", "bool"]
    if written.endswith("[]") and written[:-2] in SCALARS:
        return ["list", SCALARS[written[:-2]]]
    if written.startswith("{"):
        value = re.search(r"\]: (\w+)", written)
        assert value, written
        return ["map", SCALARS[value[1]]]
    return None


class Folder:
    """One resource's generated files."""

    def __init__(self, path: Path) -> None:
        files = sorted(path.rglob("*.d.ts"))
        self.types = "".join(file.read_text() for file in files)
        self.script = "".join(file.with_name(file.name.replace(".d.ts", ".js")).read_text() for file in files)
        self.bodies = dict(
            re.findall(r"^export interface (\w+)[^\n]*\{\n(.*?)^\}", self.types, re.DOTALL | re.MULTILINE)
        )

    def is_set(self, owner: str, name: str) -> bool:
        start = self.script.find(f"function {owner[0].lower()}{owner[1:]}ToHclTerraform(")
        if start < 0:  # the resource itself: its attributes stand in the class, the last in its file
            start = self.script.rfind("synthesizeHclAttributes()")
        found = re.search(rf"\b{name}: \{{.*?type: \"(\w+)\"", self.script[start:], re.DOTALL)
        return bool(found and found[1] == "set")

    def block(self, interface: str) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        blocks: dict[str, Any] = {}
        for name, _, optional, written in MEMBER.findall(self.bodies[interface]):
            kind = attribute_type(written)
            if kind is None:
                child = re.match(r"\w+", written)
                assert child, written
                single = "[]" not in written
                nesting = (
                    "single" if name == "timeouts" else "set" if self.is_set(interface, name) else "list"
                )
                blocks[name] = {"nesting": nesting, "min": 0 if optional else 1, **self.block(child[0])}
                if single and nesting != "single":
                    blocks[name]["max"] = 1
            else:
                attributes[name] = [kind, "optional" if optional else "required"]
        return {"attributes": attributes, "blocks": blocks}

    def resource(self) -> tuple[str, dict[str, Any]]:
        resource_type = re.findall(r'tfResourceType = "(\w+)"', self.types)[-1]
        declared = re.search(r"interface (\w+) extends cdktf\.TerraformMetaArguments", self.types)
        schema = self.block(declared[1] if declared else "GoogleProviderConfig")
        own_class = self.types[self.types.rfind("tfResourceType") :]
        for camel, written in re.findall(r"^    get (\w+)\(\): (.+?);", own_class, re.MULTILINE):
            name, kind = snake(camel), attribute_type(written)
            if not camel.endswith("Input") and kind and name not in schema["attributes"]:
                schema["attributes"][name] = [kind, "computed"]
        if resource_type != "google":
            schema["attributes"]["id"] = ["string", "computed"]
        return resource_type, schema


def main(package: Path) -> None:
    schema: dict[str, Any] = {"provider": {}, "resources": {}, "data": {}}
    for folder in FOLDERS:
        name, block = Folder(package / "lib" / folder).resource()
        if folder == "provider":
            schema["provider"] = {
                "attributes": {k: v for k, v in block["attributes"].items() if "endpoint" not in k}
            }
        else:
            schema["data" if folder.startswith("data-") else "resources"][name] = block
    # One resource a line, so that a later version shows as a readable difference.
    text = json.dumps(schema, sort_keys=True, separators=(",", ":"))
    print(re.sub(r'("google_\w+":|"(?:data|provider|resources)":)', r"\n\1", text))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
