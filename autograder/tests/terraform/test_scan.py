"""A policy scanner finds nothing in terraform/ that is not explained there.

checkov brings another package named hcl2, so it cannot be part of the extra `infra`: it is run from the PATH.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from .documents import TERRAFORM, read
from .test_manifests import build

CHECKOV = shutil.which("checkov")
with_scanner = pytest.mark.skipif(
    not CHECKOV, reason="checkov is not on the PATH (install it in a venv of its own)"
)


def scan(folder: Path) -> dict[str, tuple[int, list[str]]]:
    """By framework: how many checks passed, and which failed."""
    command = f"{CHECKOV} --directory . --config-file .checkov.yaml --skip-download --output json"
    done = subprocess.run(command.split(), capture_output=True, text=True, cwd=folder)
    reports = json.loads(done.stdout)
    assert [report["summary"]["parsing_errors"] for report in reports] == [0] * len(reports)
    return {
        report["check_type"]: (
            report["summary"]["passed"],
            sorted(failed["check_id"] for failed in report["results"]["failed_checks"]),
        )
        for report in reports
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """terraform/ with its manifests as kubectl would send them."""
    copy = Path(
        shutil.copytree(TERRAFORM, tmp_path / "copy", ignore=shutil.ignore_patterns("deploy", ".terraform*"))
    )
    for name in ("base", "grader"):
        (copy / f"{name}.yaml").write_text(yaml.safe_dump_all(build(TERRAFORM / "deploy" / name)))
    return copy


@pytest.mark.slow
@with_scanner
def test_scanner_finds_nothing(folder: Path) -> None:
    found = scan(folder)
    assert found.keys() == {"terraform", "kubernetes", "dockerfile"}
    for framework, (passed, failed) in found.items():
        assert passed > 20 and failed == [], framework


@pytest.mark.slow
@with_scanner
def test_scanner_finds_what_is_wrong(folder: Path) -> None:
    for file, old, new in [
        ("cluster.tf", "enable_shielded_nodes       = true", "enable_shielded_nodes = false"),
        ("grader.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"),
        ("image/Dockerfile", "USER 10001:10001", "USER root"),
    ]:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))
    found = scan(folder)
    assert found["terraform"][1] == ["CKV_GCP_71"]
    assert found["kubernetes"][1] == ["CKV_K8S_22"]
    assert found["dockerfile"][1] == ["CKV_DOCKER_8"]


def test_every_exception_has_its_reason() -> None:
    inline = [line for text in read("*.tf").values() for line in text.splitlines() if "checkov:skip" in line]
    assert inline
    for line in inline:
        assert re.fullmatch(r" +# checkov:skip=CKV2?_GCP_\d+:\w.{20,}", line), line
    general = read(".checkov.yaml")[".checkov.yaml"].splitlines()
    exceptions = [line for line in general if line.lstrip().startswith("-")]
    assert exceptions
    for line in exceptions:
        assert re.fullmatch(r"  - CKV_K8S_\d+ +# \w.{20,}", line), line
