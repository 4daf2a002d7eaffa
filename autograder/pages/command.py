"""The command `python -m autograder.author pages`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

from autograder.pages import filling


def main(root: Path, check: bool) -> int:
    """Fill the pages of `root`/course, or check them. Exit status 1 where one is out of step or wrong."""
    made, problems = filling.filled(root)
    stale = {path: text for path, text in made.items() if path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        name = path.relative_to(root).as_posix()
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"filled {name}")
            continue
        old, new = path.read_text(encoding="utf-8").splitlines(), text.splitlines()
        diff = difflib.unified_diff(old, new, name, "from the data and the code", n=0, lineterm="")
        print(*diff, "", sep="\n", file=sys.stderr)
    for problem in problems:
        print(problem, file=sys.stderr)
    if check and stale:
        print("Run `python -m autograder.author pages`.", file=sys.stderr)
    return 1 if problems or (check and stale) else 0
