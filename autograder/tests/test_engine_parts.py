"""Each piece that TransformerEngine can miss is named, and nothing is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder import engine_parts


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """pip's folder with both headers, and a compiler beside it."""
    for header in ("nvidia/cudnn/include/cudnn.h", "nvidia/cu13/include/nvtx3/nvToolsExt.h"):
        (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / header).touch()
    compiler = tmp_path / "bin" / "g++"
    compiler.parent.mkdir()
    compiler.touch(mode=0o755)
    return tmp_path


def steps(packages: Path, cpath: str) -> list[str]:
    environment = {"PATH": str(packages / "bin"), "CPATH": cpath}
    return list(engine_parts.to_build(packages, environment, ()))


def test_nothing_is_missing(packages: Path) -> None:
    assert steps(packages, f"{packages}/nvidia/cudnn/include:{packages}/nvidia/cu13/include") == []


def test_headers_that_no_variable_names(packages: Path) -> None:
    cudnn, nvtx = steps(packages, "")
    assert cudnn.startswith(f'export CPATH="{packages}/nvidia/cudnn/include:$CPATH"')
    assert nvtx.startswith(f'export CPATH="{packages}/nvidia/cu13/include:$CPATH"')


def test_a_header_that_is_nowhere(packages: Path) -> None:
    (packages / "nvidia/cudnn/include/cudnn.h").unlink()
    assert steps(packages, f"{packages}/nvidia/cu13/include") == [
        "pip install nvidia-cudnn-cu13  (cudnn.h is nowhere)"
    ]


def test_no_compiler(packages: Path) -> None:
    (packages / "bin" / "g++").unlink()
    assert "C++ compiler" in steps(packages, "")[0]


@pytest.mark.parametrize(
    ("failure", "step"),
    [
        ("RuntimeError: curand shared object not found", "nvidia-curand"),
        ("OSError: libnccl.so.2: cannot open shared object file", "nvidia/nccl/lib"),
        ("ImportError: undefined symbol: cudnnGetExecutionPlanWorkspaceSize", "headers"),
        ("ImportError: undefined symbol: x, version libcudnn_graph.so.9", "nvidia/cudnn/lib"),
        ("RuntimeError: CUDA driver version is insufficient for CUDA runtime version", "driver"),
        ("something else", "build it again"),
    ],
)
def test_a_failure_to_load(failure: str, step: str) -> None:
    assert step in engine_parts.to_load(failure)
