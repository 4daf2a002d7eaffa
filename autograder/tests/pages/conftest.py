"""The course as a site, built once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autograder.author import ROOT


def build(course: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Warnings are errors."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(course), str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its HTML."""
    made = tmp_path_factory.mktemp("site")
    done = build(ROOT / "course", made)
    assert done.returncode == 0, done.stderr
    return made
