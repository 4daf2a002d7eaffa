"""What a child sees of the file system under bubblewrap: the system, this Python, our own code by role."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

LINKED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # links into /usr, or folders of their own
SYSTEM = ("/usr", "/nix/store", "/etc/ld.so.cache", "/etc/alternatives")
SHARED_BYTES = 16 * 2**20


def options(
    shown: Sequence[Path], hidden: Sequence[Path], writable: Path | None, scratch_bytes: int | None
) -> list[str]:
    """Options for bwrap: `shown` read-only over `hidden`, which is empty; `writable` as it is.

    /tmp and /dev/shm are fresh memory, of `scratch_bytes` and 16 MiB; None where this bwrap knows no sizes.
    """
    places = {Path(name): ["--ro-bind", name, name] for name in SYSTEM if Path(name).exists()}
    for name in LINKED:
        if Path(name).is_symlink():
            places[Path(name)] = ["--symlink", str(Path(name).readlink()), name]
        elif Path(name).is_dir():
            places[Path(name)] = ["--ro-bind", name, name]
    for path in _python():
        places.setdefault(path, ["--ro-bind", str(path), str(path)])
    masks = _masks(places, hidden)
    places |= {path: ["--perms", "0755", "--tmpfs", str(path)] for path in masks}
    for path in shown:
        places[path] = ["--ro-bind", str(path), str(path)]
        inside = [mask for mask in hidden if mask != path and mask.is_relative_to(path) and mask.is_dir()]
        places |= {mask: ["--perms", "0755", "--tmpfs", str(mask)] for mask in inside}
        masks += inside
    if writable is not None:
        places[writable] = ["--bind", str(writable), str(writable)]
    places[Path("/proc")] = ["--proc", "/proc"]
    places[Path("/dev")] = ["--dev", "/dev"]
    places[Path("/tmp")] = [*_size(scratch_bytes, scratch_bytes), "--perms", "1777", "--tmpfs", "/tmp"]
    shared = Path("/dev/shm")
    places[shared] = [*_size(scratch_bytes, SHARED_BYTES), "--perms", "1777", "--tmpfs", str(shared)]
    return [*_ordered(places), *_read_only([*masks, Path("/dev"), Path("/")], shown)]


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
        if not any(link.is_relative_to(path) for path in paths):
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


def _size(known: int | None, count: int | None) -> list[str]:
    return [] if known is None else ["--size", str(count)]


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


def _read_only(paths: Sequence[Path], shown: Sequence[Path]) -> list[str]:
    return [word for path in paths if path not in shown for word in ("--remount-ro", str(path))]
