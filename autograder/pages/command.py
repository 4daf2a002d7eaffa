"""The command `python -m autograder.author pages`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

from autograder.pages import filling
from autograder.pages.places import Problem


def main(root: Path, check: bool) -> int:
    """Fill the pages of `root`/course, or check them. Exit status 1 where one is out of step or wrong."""
    made, problems = filling.filled(root)
    stale = {path: page for path, page in made.items() if page.before != page.after}
    for path, page in stale.items():
        name = path.relative_to(root).as_posix()
        if check:
            lines = page.before.splitlines(), page.after.splitlines()
            diff = difflib.unified_diff(*lines, name, "from the data and the code", n=0, lineterm="")
            print(*diff, "", sep="\n", file=sys.stderr)
        elif path.read_text(encoding="utf-8") != page.before:
            problems.append(Problem(name, 0, "it was edited while its code ran; fill the pages again"))
        else:
            path.write_text(page.after, encoding="utf-8", newline="\n")
            print(f"filled {name}")
    for problem in problems:
        print(problem, file=sys.stderr)
    if check and stale:
        print("Run `python -m autograder.author pages`.", file=sys.stderr)
    return 1 if problems or (check and stale) else 0
