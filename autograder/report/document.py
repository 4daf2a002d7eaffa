"""A report as a JSON document: written whole or not at all, and read again for its seeds."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from autograder.results import SCHEMA, Report

STDOUT = "-"
MAX_BYTES = 4 * 2**20
SEED = re.compile(r"([0-9a-f]{1,16}(-[0-9a-f]{1,16})?)?")


class Unusable(Exception):
    """A path that a document cannot be written to or read from; the message says which and why."""


def check(target: str) -> None:
    """Unusable where `write` could not write to `target`, found out by trying."""
    if target == STDOUT:
        return
    path = Path(target)
    if path.is_dir():
        raise Unusable(f"{target} is a folder; name a file, or - for standard output")
    try:
        if _special(path):
            path.open("ab").close()
        else:
            trial = _beside(path.resolve())
            trial.open("xb").close()
            trial.unlink()
    except OSError as error:
        raise Unusable(f"{target} cannot be written: {error.strerror or error}") from None


def write(report: Report, target: str) -> None:
    """Write the document. OSError where that fails."""
    text = json.dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    data = text.encode()
    if target == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    path = Path(target)
    if _special(path):
        path.write_bytes(data)
        return
    replace(path.resolve(), data)


def replace(path: Path, data: bytes) -> None:
    """Write a file by one beside it that takes its name, a link's too. OSError where that fails."""
    made = _beside(path)
    try:
        with made.open("xb") as file:
            file.write(data)
        made.replace(path)
    finally:
        with suppress(OSError):
            made.unlink(missing_ok=True)


def provenance(source: Path) -> dict[str, Any]:
    """`seed` and `sha256`, each by exercise, of a written report; Unusable where it is not one."""
    try:
        with source.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Unusable(f"{source} cannot be read: {error.strerror or error}") from None
    try:
        if len(data) > MAX_BYTES:
            raise ValueError("too large")
        document = json.loads(data)
        if document["schema"] != SCHEMA:
            raise ValueError("another schema")
        found: dict[str, dict[str, str]] = {
            part: dict(document["provenance"][part].items()) for part in ("seed", "sha256")
        }
        if not all(SEED.fullmatch(seed) for seed in found["seed"].values()):
            raise ValueError("a seed that is none")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unusable(f"{source} is not a report of schema {SCHEMA}, as grade --json writes it") from None
    return found


def _special(path: Path) -> bool:
    """Whether this is a device or a pipe: written to, never replaced."""
    return path.exists() and not path.is_file()


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")
