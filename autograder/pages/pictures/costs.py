"""A picture of what is paid for: what each command of the clean-up leaves."""

from __future__ import annotations

from autograder.pages.pictures.canvas import SMALL, Canvas
from autograder.pages.pictures.picture import Picture
from autograder.pages.pictures.style import Hue

PAID: tuple[tuple[str, Hue], ...] = (("GPU machine", "orange"), ("cluster", "blue"), ("volume", "green"))
AFTER = (
    ("kubectl apply", ("GPU machine", "cluster", "volume")),
    ("kubectl scale … --replicas 0", ("cluster", "volume")),
    ("kubectl delete namespace attention-lab", ("cluster",)),
    ("terraform destroy", ()),
)


def clean_up(canvas: Canvas) -> None:
    """A row a command: filled what is still paid for, dashed what is gone; then the wrong order."""
    for n, (command, left) in enumerate(AFTER):
        _row(canvas, 12 + 76.0 * n, command, left)
    canvas.line((10, 317), (350, 317), hue="grey")
    canvas.text(10, 335, "The wrong order, with the namespace still there:", at="left", size=SMALL)
    _row(canvas, 357, "terraform destroy", ("volume",))


def _row(canvas: Canvas, y: float, command: str, left: tuple[str, ...]) -> None:
    canvas.text(10, y, command, code=True, size=SMALL, at="left")
    for m, (name, hue) in enumerate(PAID):
        x, paid = 10 + 116.0 * m, name in left
        canvas.box(x, y + 14, 108, 34, hue if paid else "grey", fill=paid, dashed=not paid)
        canvas.text(x + 54, y + 31, name if paid else "nothing", size=SMALL, bold=paid)


PICTURES = (
    Picture(
        "clean-up",
        "What is paid for after each command",
        "After kubectl apply the GPU machine, the cluster and the volume are paid for. After kubectl scale "
        "to 0 it is the cluster and the volume, after kubectl delete namespace the cluster, after "
        "terraform destroy nothing. With terraform destroy alone the volume stays.",
        414,
        clean_up,
    ),
)
