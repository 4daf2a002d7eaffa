"""What TransformerEngine takes to be built and to be loaded: which piece is missing here, by name."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

PAGE = "00-setup.md#transformerengine"
"""In the course."""
SYSTEM = (Path("/usr/include"), Path("/usr/local/include"), Path("/usr/local/cuda/include"))
HEADERS = {"cudnn.h": "nvidia-cudnn-cu13", "nvtx3/nvToolsExt.h": "nvidia-nvtx"}
"""What its build includes, and pip's package for CUDA 13 that brings it."""

FAILURES = {
    "libcudnn_graph": "put pip's nvidia/cudnn/lib first on LD_LIBRARY_PATH before Python starts: an older "
    "cuDNN of the system is found first",
    "cudnnGetExecutionPlanWorkspaceSize": "build it again with the headers of the cuDNN that is loaded: "
    "it was built with those of a newer one",
    "libnccl": "put pip's nvidia/nccl/lib on LD_LIBRARY_PATH before Python starts: libnccl.so.2 is not found",
    "curand": "pip install nvidia-curand",
    "driver version is insufficient": "install a newer NVIDIA driver",
}
"""By a part of what the loader says, the next step."""


def site() -> Path:
    return Path(sysconfig.get_path("purelib"))


def to_build(
    packages: Path, environment: Mapping[str, str] = os.environ, system: tuple[Path, ...] = SYSTEM
) -> Iterator[str]:
    """A step for each piece that a build would stop at; `packages` is the folder of pip's packages."""
    if not any(shutil.which(name, path=environment.get("PATH")) for name in ("c++", "g++", "clang++")):
        yield "install a C++ compiler (Debian and Ubuntu: apt-get install g++)"
    named = [Path(folder) for folder in environment.get("CPATH", "").split(os.pathsep) if folder]
    for header, package in HEADERS.items():
        if any((folder / header).is_file() for folder in (*named, *system)):
            continue
        found = next(iter(sorted(packages.glob(f"nvidia/*/include/{header}"))), None)
        if found is None:
            yield f"pip install {package}  ({header} is nowhere)"
        else:
            folder = str(found).removesuffix(f"/{header}")
            yield f'export CPATH="{folder}:$CPATH"  ({header} lies there, and CPATH does not say so)'


def to_load(failure: str) -> str:
    """The next step after what an import of it said last."""
    return next((step for part, step in FAILURES.items() if part in failure), "build it again")
