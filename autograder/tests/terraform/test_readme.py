"""The operator's page: its sums add up, its commands name what exists, its overlays build."""

import ast
import operator
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .documents import Config, Document, Files, parsed, read
from .test_manifests import build, problems

README = read("README.md")["README.md"]
TIMES = "\N{MULTIPLICATION SIGN}"
CONFIG = Config(read("*.tf"))
OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def value(node: ast.expr) -> float:
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](value(node.left), value(node.right))
    assert isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    return node.value


def wrong_sums(page: str) -> list[str]:
    """Sums with a result that is not what comes out, rounded as it is."""
    sums = re.findall(rf"([\d.]+(?: [{TIMES}+÷] [\d.]+)+) = ([\d.]*\d)", page)
    assert len(sums) >= 6
    wrong = []
    for left, right in sums:
        expression = ast.parse(left.replace(TIMES, "*").replace("÷", "/"), mode="eval").body
        digits = len(right.partition(".")[2])
        if f"{value(expression):.{digits}f}" != right:
            wrong.append(f"{left} = {value(expression)}, not {right}")
    return wrong


def unknown_names(page: str) -> list[str]:
    """Outputs, files and resource counts on the page that terraform/ does not have."""
    outputs = re.findall(r"terraform output -raw (\w+)", page)
    files = re.findall(r"`([\w./-]+\.(?:tf|example))`", page)
    folders = re.findall(r"(?<=\[)\.\./(?:\.\./)?(base|grader|h100)\b", page)
    variables = re.findall(r"-var (\w+)=", page)
    counts = set(re.findall(r"Resources: (\d+)", page))
    assert outputs and files and folders and variables and counts
    return [
        *(name for name in outputs if name not in CONFIG.named("output")),
        *(name for name in files if not read(name)),
        *(name for name in folders if not read(f"deploy/**/{name}/kustomization.yaml")),
        *(name for name in variables if name not in CONFIG.named("variable")),
        *(count for count in counts if count != str(resources())),
    ]


def resources() -> int:
    """How many resources the defaults make: one each, save those made for each API and each pool."""
    single = sum(len(named) for named in CONFIG.resources.values()) - 2
    apis = CONFIG.of_type("google_project_service")[0]["for_each"].count(".googleapis.com")
    return single + int(apis) + len(CONFIG.named("variable")["gpu_pools"]["default"])


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        (wrong_sums, README.replace("= 2.00 an hour", "= 1.99 an hour")),
        (unknown_names, README.replace("-raw image", "-raw picture")),
        (unknown_names, README.replace("`gpu.tf`", "`gpus.tf`")),
        (unknown_names, README.replace("-var zone", "-var zones")),
        (unknown_names, README.replace("23 added", "22 added")),
    ],
)
def test_page_is_right(fault: Callable[[str], list[str]], broken: str) -> None:
    assert fault(README) == []
    assert broken != README
    assert fault(broken) != []


def test_claims_go_before_destroy() -> None:
    down = README[README.index("## Down") :]
    steps = [
        "kubectl delete namespace",
        "kubectl get persistentvolumes",
        "terraform destroy",
        'eval "$LEFTOVERS"',
    ]
    assert [down.index(step) for step in steps] == sorted(down.index(step) for step in steps)


def test_state_is_kept_where_the_page_makes_a_bucket() -> None:
    (block,) = [block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "backend.tf" in block]
    (settings,) = parsed(block.partition("<<EOF\n")[2].partition("EOF\n")[0])["terraform"]
    bucket = f"gs://{settings['backend'][0]['gcs']['bucket']}"
    assert set(re.findall(r"gs://\S+", block)) == {bucket}
    assert README.index("Destroy complete!") < README.index(f"gcloud storage rm --recursive {bucket}")


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("", "", [".terraform.lock.hcl", "backend.tf"]),
        (".terraform/", ".terraform*", ["backend.tf"]),
        ("*.tfstate*", "", [".terraform.lock.hcl", "backend.tf", "terraform.tfstate"]),
    ],
)
def test_git_keeps_the_lock_file_and_not_the_state(
    old: str, new: str, kept: list[str], tmp_path: Path
) -> None:
    ignored = read(".gitignore")[".gitignore"]
    assert old in ignored
    (tmp_path / ".gitignore").write_text(ignored.replace(old, new))
    names = [".terraform.lock.hcl", "backend.tf", "terraform.tfstate", "terraform.tfvars"]
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    done = subprocess.run(["git", "check-ignore", *names], cwd=tmp_path, capture_output=True, text=True)
    assert [name for name in names if name not in done.stdout.split()] == kept


def run_block(folder: Path, name: str, **environment: str) -> list[Document]:
    """Runs the page's block that writes overlay `name`, less kubectl and terraform, and builds it."""
    blocks = [
        block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "kustomization.yaml" in block
    ]
    (block,) = [block for block in blocks if f"deploy/overlays/{name}" in block or f"NAME={name}" in block]
    script = re.sub(r"^(kubectl|eval) .*\n", "", block, flags=re.MULTILINE)
    subprocess.run(
        ["sh", "-euc", script], cwd=folder, check=True, env={"PATH": "/usr/bin:/bin", **environment}
    )
    return build(folder / "deploy/overlays" / name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files: Files = read("deploy/**/*.yaml")
    for name, text in files.items():
        (tmp_path / "terraform" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "terraform" / name).write_text(text)
    (tmp_path / "exercises").mkdir()
    for module in ("naive_attention.py", "cudnn_attention.py"):
        (tmp_path / "exercises" / module).write_text("answer = 1\n")
    return tmp_path / "terraform"


IMAGE = "us-central1-docker.pkg.dev/my-attention-lab/attention-lab/grader"


def test_jupyter_overlay_of_the_page(folder: Path) -> None:
    documents = run_block(folder, "mine", IMAGE=IMAGE, TAG="0.1.0")
    assert [problems(document) for document in documents] == [""] * len(documents)
    (deployment,) = [document for document in documents if document["kind"] == "Deployment"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == f"{IMAGE}:0.1.0"


def test_submission_overlay_of_the_page(folder: Path) -> None:
    documents = run_block(folder, "s01", IMAGE=IMAGE, TAG="0.1.0")
    assert [problems(document) for document in documents] == [""] * len(documents)
    files, job = sorted(documents, key=lambda document: str(document["kind"]))
    pod = job["spec"]["template"]["spec"]
    assert job["metadata"]["name"] == "grader-s01"
    assert pod["containers"][0]["image"] == f"{IMAGE}:0.1.0"
    mounted = [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
    assert mounted == [files["metadata"]["name"]]  # with the hash of its content: no job sees another's files
    assert re.fullmatch(r"submission-s01-\w+", mounted[0])
    assert sorted(files["data"]) == ["cudnn_attention.py", "naive_attention.py"]
