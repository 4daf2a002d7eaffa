"""The image keeps the base's GPU stack and takes everything else from the lock file."""

import subprocess
import sys
from pathlib import Path

import pytest

from .documents import TERRAFORM

LOCK = """\
# written by a tool
--index-url ignored
flax==0.12.1
jax==0.10.2 ; python_full_version < '3.12'
    # via flax
jax==0.12.0 ; python_full_version >= '3.12'
jax-cuda12-plugin[with-cuda]==0.12.0
transformer_engine-jax==2.9
nvidia_cudnn_cu12==9.1
rich==15.0.0 \\
    --hash=sha256:00 \\
    --hash=sha256:11
typer[all]==0.29.2 --hash=sha256:22
"""


def fake_package(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def constraints(folder: Path, lock: str) -> list[str]:
    """What the script writes where only the packages in `folder` are installed."""
    (folder / "lock").write_text(lock)
    command = [sys.executable, "-S", str(TERRAFORM / "image/constraints.py"), str(folder / "lock")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(folder)}
    )
    return done.stdout.splitlines()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    fake_package(tmp_path, "jax", "0.11.2.dev20260601+nv")
    fake_package(tmp_path, "transformer_engine_jax", "2.20.2")
    fake_package(tmp_path, "nvidia-cudnn-cu13", "9.19")
    fake_package(tmp_path, "rich", "13.0.0")
    return tmp_path


def test_gpu_stack_stays_and_the_rest_is_locked(base: Path) -> None:
    assert constraints(base, LOCK) == [
        "jax==0.11.2.dev20260601+nv",
        "nvidia-cudnn-cu13==9.19",
        "transformer-engine-jax==2.20.2",
        "flax==0.12.1",
        "jax-cuda12-plugin==0.12.0",
        "nvidia_cudnn_cu12==9.1",
        "rich==15.0.0",
        "typer==0.29.2",
    ]


def test_without_a_gpu_stack_the_lock_file_counts(tmp_path: Path) -> None:
    assert constraints(tmp_path, "jax==0.10.2 ; python_full_version < '3.12'\n") == [
        "jax==0.10.2 ; python_full_version < '3.12'"
    ]
