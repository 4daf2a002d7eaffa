"""The manifest of the course: its pages, in reading order."""

from __future__ import annotations

from dataclasses import dataclass

CPU = "a laptop"
GPU = "a laptop; an NVIDIA GPU (compute capability 8.0 or later) to repeat the measurements"
FP8 = "a laptop; an NVIDIA GPU (8.9 or later) and TransformerEngine to repeat the measurements"


@dataclass(frozen=True)
class Stage:
    """One page. `name` is its file's in course/, without `.md`; `minutes` are of reading it through.

    `essential` pages make the 60-minute path; `needs` is what running its code takes; `exercise` is a
    number in the catalog.
    """

    name: str
    title: str
    minutes: int
    needs: str
    essential: bool = False
    exercise: int | None = None

    @property
    def file(self) -> str:
        return f"{self.name}.md"

    @property
    def number(self) -> int | None:
        """That of a stage; None for pages beside the way."""
        head = self.name.split("-")[0]
        return int(head) if head.isdigit() else None

    @property
    def heading(self) -> str:
        """The page's first heading, without `# `."""
        return self.title if self.number is None else f"{self.number} · {self.title}"


STAGES = (
    Stage("00-setup", "Set up: laptop, notebook, pod", 10, CPU),
    Stage("01-inputs", "Inputs: axes, dtype, device", 10, CPU),
    Stage("02-naive", "Attention from four basic operations", 10, GPU, essential=True, exercise=1),
    Stage("03-sdpa", "The library's attention, and which kernel ran", 10, GPU, essential=True),
    Stage(
        "04-cudnn", "cuDNN attention with a fallback that does not lie", 10, GPU, essential=True, exercise=2
    ),
    Stage("05-causal", "Causal attention, and a check that finds leaks", 10, GPU, essential=True, exercise=3),
    Stage("06-benchmark", "Host clock and device clock", 10, GPU, essential=True),
    Stage("07-sequence-sweep", "Longer sequences", 10, GPU),
    Stage("08-batch-sweep", "Larger batches", 10, GPU),
    Stage("09-heads", "Grouped-query attention without copies", 10, GPU, essential=True, exercise=4),
    Stage("10-transformer-engine", "TransformerEngine", 10, GPU),
    Stage("11-fp8", "An FP8 gate, and proof that FP8 ran", 10, FP8, exercise=5),
    Stage("12-scale", "Where to go next: tiles, head sizes, two GPUs", 10, GPU),
    Stage("13-clean-up", "Clean up", 5, CPU),
)
BESIDE = (
    Stage("instructors", "For instructors", 0, CPU),
    Stage("glossary", "Glossary", 0, CPU),
)
"""Pages to look things up in, after the stages."""

PAGES = STAGES + BESIDE


def of_exercise(number: int) -> Stage:
    """The stage that an exercise belongs to."""
    return next(stage for stage in STAGES if stage.exercise == number)
