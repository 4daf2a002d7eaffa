"""From what the Dockerfile copies, and no more, the package can be built."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from .documents import TERRAFORM, Files, read
from .image_promises import arguments

pytest.importorskip("hatchling", reason="the package is built with what the extra `infra` brings")
FILES = read("image/Dockerfile*")


def pattern(line: str) -> re.Pattern[str]:
    """A line of a .dockerignore: what it names, and all that lies within."""
    anything = re.escape(line.lstrip("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
    return re.compile(rf"{anything}(/.*)?")


def seen(name: str, ignored: str) -> bool:
    """Whether the build gets the file: the last line that names it decides."""
    lines = [line for line in ignored.split() if pattern(line).fullmatch(name)]
    return not lines or lines[-1].startswith("!")


def copied(files: Files, folder: Path) -> Path:
    """The folder, with what the Dockerfile copies of the repository before it installs the package."""
    top = TERRAFORM.parent
    for instruction in arguments(files, "COPY"):
        *sources, target = instruction.split()
        for source in sources:
            path = top / source
            for file in (each for each in (path, *path.rglob("*")) if each.is_file()):
                place = folder / target / (file.relative_to(path) if path.is_dir() else file.name)
                if seen(str(file.relative_to(top)), files["image/Dockerfile.dockerignore"]):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, place)
    return folder


def build(folder: Path) -> tuple[int, str]:
    """What pip does, without its environment: exit status and everything printed."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_package_is_built_from_what_is_copied(tmp_path: Path) -> None:
    folder = copied(FILES, tmp_path)
    assert build(folder)[0] == 0
    (wheel,) = (folder / "dist").glob("*.whl")
    names = set(ZipFile(wheel).namelist())
    for file in ("course/README.md", "exercises/naive_attention.py", "solutions/naive_attention.py"):
        assert f"autograder/_files/{file}" in names
    assert "autograder/cli.py" in names
    assert not [name for name in names if "/tests/" in name or "__pycache__" in name]


@pytest.mark.parametrize(
    ("file", "old", "missing"),
    [
        ("image/Dockerfile", "COPY course course\n", "Forced include not found"),
        ("image/Dockerfile", "COPY solutions solutions\n", "Forced include not found"),
        ("image/Dockerfile", " README.md", "Readme file does not exist"),
        ("image/Dockerfile.dockerignore", "!course\n", "Forced include not found"),
    ],
)
def test_package_is_not_built_without(file: str, old: str, missing: str, tmp_path: Path) -> None:
    assert old in FILES[file]
    status, output = build(copied(FILES | {file: FILES[file].replace(old, "")}, tmp_path))
    assert status != 0 and missing in output
