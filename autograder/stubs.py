"""Stubs: `exercises/`, made from `solutions/`. The command `python -m autograder.author stubs`.

A solution marks what a learner has to write, and numbers the comment before it:

    # 1. Check the shapes.
    # --- solution
    ...
    # --- end

In the stub the comment reads `# TODO 1: Check the shapes.`, the marked lines are gone, and one
`raise NotImplementedError` stands in the place of a function's last region. A region that is not indented
(a helper of the solution's own) goes without a trace.
"""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "# --- solution", "# --- end"


def stub(source: str) -> str:
    """The stub of a solution's source. ValueError, with the line, where the marks do not pair up."""
    lines: list[str] = []
    function = ""
    last_region: dict[str, tuple[int, str]] = {}  # function -> where its last region stood
    opened = 0
    for number, line in enumerate(source.splitlines(), start=1):
        mark = line.strip()
        if mark in (BEGIN, END) and (mark == BEGIN) == bool(opened):
            raise ValueError(f"line {number}: unexpected {mark!r}")
        if mark == BEGIN:
            opened = number
            if indent := line[: line.index("#")]:
                last_region[function] = (len(lines), f'{indent}raise NotImplementedError("TODO: {function}")')
        elif mark == END:
            opened = 0
        elif not opened:
            if match := re.match(r"def (\w+)", line):
                function = match[1]
            lines.append(re.sub(r"^( *)# (\d+)\. ", r"\1# TODO \2: ", line))
    if opened:
        raise ValueError(f"line {opened}: {BEGIN!r} is never closed")
    for position, statement in reversed(last_region.values()):
        lines.insert(position, statement)
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines).rstrip() + "\n")


def stubs(root: Path = ROOT) -> dict[Path, str]:
    """What each file in `root`/exercises should hold, from `root`/solutions."""
    made = {}
    for path in sorted((root / "solutions").glob("*.py")):
        try:
            made[root / "exercises" / path.name] = stub(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path.relative_to(root)}: {error}") from error
    return made


def differences(root: Path = ROOT) -> list[str]:
    """One paragraph for each stub that is missing, stale or has no solution; empty when all are in step."""
    made = stubs(root)
    found = []
    for path in sorted({*made, *(root / "exercises").glob("*.py")}):
        name = path.relative_to(root).as_posix()
        if path not in made:
            found.append(f"{name}: has no solution of that name")
        elif not path.exists():
            found.append(f"{name}: missing")
        elif (there := path.read_text(encoding="utf-8")) != made[path]:
            old, new = there.splitlines(), made[path].splitlines()
            diff = difflib.unified_diff(old, new, name, "from its solution", n=1, lineterm="")
            found.append("\n".join([f"{name}: out of step with its solution", *diff]))
    return found


def main(root: Path, check: bool) -> int:
    """Write the stubs of `root`, or check them. Exit status 1 where one is out of step or wrong."""
    try:
        if check:
            if found := differences(root):
                print(*found, "Run `python -m autograder.author stubs`.", sep="\n\n", file=sys.stderr)
            return 1 if found else 0
        for path, text in stubs(root).items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {path.relative_to(root).as_posix()}")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
