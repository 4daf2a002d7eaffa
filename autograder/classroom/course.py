"""A ready course: nbgrader's configuration, the assignment, an exchange, and a README of five commands."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

from autograder import sandbox
from autograder.classroom import notebooks

CONFIG_FILE = "nbgrader_config.py"
CONFIG = """\
# nbgrader reads this file when it is started in this folder.
from pathlib import Path

try:
    from autograder.classroom.config import configure
except ImportError as missing:  # nbgrader would go on, and believe what notebooks say
    raise SystemExit(f"nbgrader_config.py: {missing}. Start nbgrader where attention-lab is installed.")

c = get_config()  # noqa: F821
configure(c, Path(__file__).resolve().parent)

# Students fetch and submit through this folder. As it stands it is in this one, which nobody else can enter:
# where students have accounts of their own, name one that all of them can reach, with mode 777.
# c.Exchange.root = "/srv/nbgrader/exchange"

# The seconds that the cells of one notebook may run together. Scores do not come from there.
# c.BoundedExecute.timeout = 60

# Only where there is no bubblewrap, and this machine holds nothing that students may not see or change.
# c.Submissions.machine_is_the_sandbox = True
"""

README = """\
# The course `attention`

Start these in this folder, in the environment in which attention-lab and nbgrader are installed.

```sh
nbgrader generate_assignment attention   # 1. make what students get, in release/
nbgrader release_assignment attention    # 2. put it into the exchange
nbgrader collect attention               # 3. take what they handed in; --update for newer submissions
nbgrader autograde attention             # 4. grade it; --force to grade again, as on a machine with a GPU
nbgrader generate_feedback attention     # 5. make what students read
```

`nbgrader release_feedback attention` gives it to them. `nbgrader export` writes grades.csv, and with
`--exporter=autograder.classroom.export.PointsExportPlugin` also the columns earned, possible and waiting.
`grade course report` writes report.csv and report.html: scores by student and check, the commonest failures,
and what waits.

`grades/` keeps each grading's full report. Students must see neither it nor `source/` nor `gradebook.db`.
"""


class Unfit(Exception):
    """A place or an environment in which there is no course, or can be none; says why and what to do."""


def need_nbgrader() -> None:
    """Unfit where nbgrader is not installed."""
    if not find_spec("nbgrader"):
        raise Unfit("nbgrader is not installed: pip install -e '.[class]'")


def init(folder: Path) -> list[str]:
    """Make a course in `folder`; what to know of it, a sentence each. Unfit where that cannot be."""
    need_nbgrader()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Unfit(f"{folder} is there already: name a new folder, or an empty one")
    try:
        _make(folder)
    except OSError as error:
        raise Unfit(
            f"{error.filename or folder} cannot be written: {error.strerror}. Name another folder"
        ) from None
    return [
        f"A course is ready in {folder}: README.md there has the commands.",
        f"Grading on this machine: {sandbox.why()}.",
        *(
            ["nbgrader starts the program alembic: put this environment's bin on the PATH (activate it)."]
            if not shutil.which("alembic")
            else []
        ),
    ]


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)  # solutions and grades: nobody else's
    (folder / CONFIG_FILE).write_text(CONFIG, encoding="utf-8")
    (folder / "README.md").write_text(README, encoding="utf-8")
    exchange = folder / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)  # nbgrader asks for it: students write there
    notebooks.write(folder / "source" / notebooks.ASSIGNMENT)
