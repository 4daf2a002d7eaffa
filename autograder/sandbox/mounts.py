"""What a child sees of the file system under bubblewrap: the system, this Python, our own code by role."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LINKED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # links into /usr, or folders of their own
SYSTEM = ("/usr", "/nix/store", "/etc/ld.so.cache", "/etc/alternatives")
GPUS = "nvidia*"
SHARED_BYTES = 16 * 2**20


@dataclass(frozen=True)
class View:
    """`shown`, read-only, over `hidden`, which is empty (both real paths); `writable` as it is.

    /tmp and /dev/shm are fresh memory, of `scratch_bytes` (None: unbounded) and 16 MiB. With `devices`, the
    NVIDIA GPUs are in /dev, and what CUDA asks about them is in /sys.
    """

    shown: Sequence[Path]
    hidden: Sequence[Path] = ()
    writable: Path | None = None
    scratch_bytes: int | None = None
    devices: bool = False

    def options(self, sized: bool = True) -> list[str]:
        """The options of bwrap that make it; without sizes for one that knows none."""
        places = _system()
        for path in _python():
            places.setdefault(path, _bind(path))
        masks = _masks(places, self.hidden)
        inside = [path for path in self.hidden if path.is_dir() and set(path.parents) & set(self.shown)]
        places |= {path: ["--perms", "0755", "--tmpfs", str(path)] for path in masks}
        places |= {path: _bind(path) for path in self.shown}
        places |= {path: ["--perms", "0755", "--tmpfs", str(path)] for path in inside}
        if self.writable is not None:
            places[self.writable] = ["--bind", str(self.writable), str(self.writable)]
        places[Path("/proc")] = ["--proc", "/proc"]
        places[Path("/dev")] = ["--dev", "/dev"]
        if self.devices:
            places |= _gpus()
        places[Path("/tmp")] = _memory("/tmp", self.scratch_bytes if sized else None)
        places[Path("/dev/shm")] = _memory("/dev/shm", SHARED_BYTES if sized else None)
        closed = [path for path in dict.fromkeys((*masks, *inside)) if path not in self.shown]
        ends = [word for path in (*closed, "/dev", "/") for word in ("--remount-ro", str(path))]
        return [*_ordered(places), *ends]


def _system() -> dict[Path, list[str]]:
    places = {Path(name): _bind(name) for name in SYSTEM if Path(name).exists()}
    for name in LINKED:
        if Path(name).is_symlink():
            places[Path(name)] = ["--symlink", str(Path(name).readlink()), name]
        elif Path(name).is_dir():
            places[Path(name)] = _bind(name)
    return places


def _gpus() -> dict[Path, list[str]]:
    nodes = [path for path in sorted(Path("/dev").glob(GPUS)) if path.is_char_device()]
    return {Path("/sys"): _bind("/sys"), **{path: ["--dev-bind", str(path), str(path)] for path in nodes}}


def _python() -> list[Path]:
    """What this interpreter is made of, under each name by which it may be asked for."""
    paths: dict[Path, None] = {}
    for prefix in (sys.prefix, sys.base_prefix):
        for name in dict.fromkeys((prefix, os.path.realpath(prefix))):
            # Not the whole prefix: a checkout or a home folder may lie in it.
            for part in ("bin", "lib", "lib64", "pyvenv.cfg"):
                if (Path(name) / part).exists():
                    paths[Path(name) / part] = None
    link = Path(sys.executable)
    while link.is_symlink():  # a chain of links leads from a virtual environment to its interpreter
        link = Path(os.path.normpath(link.parent / link.readlink()))
        # In a folder of LINKED it is there already, or behind a link that bubblewrap makes itself.
        if not any(link.is_relative_to(path) for path in (*paths, *map(Path, LINKED))):
            paths[link] = None
    return list(paths)


def _masks(places: dict[Path, list[str]], hidden: Sequence[Path]) -> list[Path]:
    """Where `hidden` (real paths) would show through a mounted folder, by each of its names."""
    masks: dict[Path, None] = {}
    for place, option in places.items():
        source = Path(os.path.realpath(place))
        for path in hidden:
            if option[0] == "--ro-bind" and path.is_relative_to(source):
                masks[place / path.relative_to(source)] = None
    return list(masks)


def _bind(path: Path | str) -> list[str]:
    return ["--ro-bind", str(path), str(path)]


def _memory(folder: str, count: int | None) -> list[str]:
    return [*([] if count is None else ["--size", str(count)]), "--perms", "1777", "--tmpfs", folder]


def _ordered(places: dict[Path, list[str]]) -> list[str]:
    """Parents before children; folders on the way can be passed by any user."""
    made: set[Path] = {Path("/")}
    result: list[str] = []
    for path in sorted(places):
        for folder in reversed(path.parents):
            if folder not in made and folder not in places:
                result += ["--perms", "0755", "--dir", str(folder)]
            made.add(folder)
        result += places[path]
        made.add(path)
    return result
