"""The command `python -m autograder.author pictures`."""

from __future__ import annotations

import sys
from pathlib import Path

from autograder.pages.pictures import gallery

WHERE = Path("course", "figures")


def main(root: Path, check: bool) -> int:
    """Draw the pictures into `root`/course/figures, or check them. Exit status 1 where one is out of step."""
    drawn = gallery.drawn()
    if check:
        found = differences(root / WHERE, drawn)
        for line in found:
            print((WHERE / line).as_posix(), file=sys.stderr)
        if found:
            print("Run `python -m autograder.author pictures`.", file=sys.stderr)
        return 1 if found else 0
    (root / WHERE).mkdir(parents=True, exist_ok=True)
    for name, text in drawn.items():
        (root / WHERE / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"drew {(WHERE / name).as_posix()}")
    return 0


def differences(folder: Path, drawn: dict[str, str]) -> list[str]:
    """A line for each file that is missing, out of step, or drawn by nothing."""
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
    said = {name: "missing" for name in drawn if name not in there}
    said |= {name: "nothing draws it" for name in there if name not in drawn}
    said |= {
        name: "out of step with its code and data"
        for name in drawn
        if there.get(name) not in (None, drawn[name])
    }
    return [f"{name}: {what}" for name, what in sorted(said.items())]
