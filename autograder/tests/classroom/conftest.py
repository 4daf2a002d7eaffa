"""What needs nbgrader is tested only where the extra `class` is installed."""

from importlib.util import find_spec

collect_ignore = (
    []
    if find_spec("nbgrader")
    else [
        "test_collecting.py",
        "test_execution.py",
        "test_rendering.py",
        "test_round.py",
        "test_submitted.py",
        "test_trust.py",
    ]
)
