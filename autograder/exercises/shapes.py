"""Calls whose shapes fit and calls whose shapes do not, with drawn sizes in a drawn order.

A tracer is asked the same of both: the output's type. So neither a list of shapes nor a look at the question
tells which must raise; only the shapes do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from autograder.advice import RETURNS
from autograder.arrays import Spec
from autograder.faults import explain, fitting, refuses, untraced
from autograder.plan import Evidence, Problem, Question
from autograder.wire import Header

NAMES = ("query", "key", "value")
UNMEANT = frozenset({"JAXTypeError", "ConcretizationTypeError"})
"""JAX's words for what cannot be traced; they are TypeErrors too."""


@dataclass(frozen=True)
class Call:
    """Shapes as letters, a size each; `fits` says whether the call must answer, or raise.

    B batch, T and S lengths, U another, N heads, P half as many, M and L heads that do not go together,
    H head size, G another; 1 is 1.
    """

    what: str
    shapes: tuple[str, str, str]
    fits: bool = False
    names: str = ""
    """Letters whose sizes the error must name."""
    key: str = ""
    """The dtype of the key, if not that of the others."""


MISFITS = (
    Call("where key and value differ in length", ("BTNH", "BSNH", "BUNH")),
    Call("where a value of length 1 would broadcast", ("BTNH", "BSNH", "B1NH")),
    Call("where the batch sizes differ", ("BTNH", "1SNH", "1SNH")),
    Call("where the head sizes differ", ("BTNH", "BSNG", "BSNG")),
    Call("where the head size of key and value is 1", ("BTNH", "BSN1", "BSN1")),
    Call("where the query has three axes", ("TNH", "BSNH", "BSNH")),
    Call("where key and value have three axes", ("BTNH", "SNH", "SNH")),
    Call("where key and value have different heads", ("BTNH", "BSNH", "BSPH")),
)
HEADS = Call("where the query heads are no multiple of the key heads", ("BTMH", "BSLH", "BSLH"))
FITS = (
    Call("where T and S differ", ("BTNH", "BSNH", "BSNH"), fits=True),
    Call("where T = S", ("BSNH", "BSNH", "BSNH"), fits=True),
    Call("of batch size 1", ("1TNH", "1SNH", "1SNH"), fits=True),
    Call("of one position and one head", ("B11H", "BS1H", "BS1H"), fits=True),
)
GROUPS = (
    Call("where two query heads share a key head", ("BTNH", "BSPH", "BSPH"), fits=True),
    Call("where all query heads share one", ("BTNH", "BS1H", "BS1H"), fits=True),
)
ALONE = (*MISFITS, HEADS, *FITS, *(replace(call, fits=False) for call in GROUPS))
"""For attention in which no heads are shared."""


@dataclass(frozen=True)
class Shapes:
    """What a function is asked about shapes. `step` is for the tracer; `on` names its device in messages."""

    function: str
    calls: tuple[Call, ...] = (*MISFITS, HEADS, *FITS)
    dtype: str = "float32"
    step: Header = field(default_factory=dict)
    on: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._key(call) for call in self.calls)

    def verdict(self, evidence: Evidence, traced: str = "") -> Problem | None:
        """All calls that were answered wrongly, as one problem; the call `traced` has to succeed first."""
        if traced and (problem := evidence.first((traced,), ())):
            return problem
        wrong = [
            (call, problem) for call in self.calls if (problem := evidence.first((self._key(call),), ()))
        ]
        if len(wrong) < 2:
            return wrong[0][1] if wrong else None
        first = wrong[0][1]
        others = "; ".join(call.what for call, _ in wrong[1:])
        return replace(first, detail=f"{first.detail}. Wrong as well: {others}")

    def questions(self, rng: np.random.Generator) -> list[Question]:
        made = [self._question(call, _sizes(rng)) for call in self.calls]
        return [made[place] for place in rng.permutation(len(made))]

    def _key(self, call: Call) -> str:
        return f"shapes: {self.function}{self.on}, {call.what}"

    def _question(self, call: Call, sizes: dict[str, int]) -> Question:
        dtypes = (self.dtype, call.key or self.dtype, self.dtype)
        specs = [
            Spec(tuple(sizes[letter] for letter in shape), dtype)
            for shape, dtype in zip(call.shapes, dtypes, strict=True)
        ]
        shown = specs if call.key else [list(spec.shape) for spec in specs]
        given = ", ".join(f"{name} {spec}" for name, spec in zip(NAMES, shown, strict=True))
        about = f"{self.function}({given}){self.on}, {call.what}"
        sign = "It is cast to fit." if call.key else "Sizes that do not fit broadcast into an answer."
        named = [sizes[letter] for letter in call.names]
        return Question(
            key=self._key(call),
            about=about,
            step={
                "kind": "shape",
                "function": self.function,
                "args": [spec.to_json() for spec in specs],
                **self.step,
            },
            judge=lambda answer: (
                _answered(answer, about, specs[0]) if call.fits else _raised(answer, about, named, sign)
            ),
        )


def _sizes(rng: np.random.Generator) -> dict[str, int]:
    lengths = (int(size) for size in rng.choice(np.arange(3, 10), 3, replace=False))
    heads = int(rng.choice([4, 6]))
    many, few = ((8, 3), (9, 4), (10, 4), (12, 5))[int(rng.integers(4))]
    size = 8 * int(rng.integers(1, 4))
    return {
        "1": 1,
        "B": int(rng.integers(2, 4)),
        **dict(zip("TSU", lengths, strict=True)),
        **{"N": heads, "P": heads // 2, "M": many, "L": few, "H": size, "G": size + 8},
    }


def _answered(answer: Header, about: str, want: Spec) -> Problem | None:
    if problem := explain(answer, about):
        return replace(problem, next_step=fitting(answer["error"])) if refuses(answer) else problem
    if answer["returned"] == want.to_json():
        return None
    return Problem(f"{about}: expected {want}, got {answer['returned']}", next_step=RETURNS)


def _raised(answer: Header, about: str, named: Sequence[int], sign: str) -> Problem | None:
    """`sign`: what an answer is a sign of."""
    error = answer.get("error")
    if error is None:
        return Problem(
            f"{about}: expected ValueError or TypeError, but it returned an array of shape "
            f"{answer['returned'][0]}",
            sign,
        )
    message = untraced(error["message"])
    if UNMEANT.intersection(error["types"]):  # JAX could not trace the check: no error about shapes
        return explain(answer, about)
    if not {"ValueError", "TypeError"}.intersection(error["types"]):
        came = f"{error['types'][0]}: {message}".removesuffix(": ")
        if "AssertionError" in error["types"]:
            step = "Write if … and raise ValueError(…) in place of assert, which python -O leaves out."
            return Problem(f"{about}: expected ValueError or TypeError, got {came}", next_step=step)
        return Problem(f"{about}: expected ValueError or TypeError, got {came}")
    if all(re.search(rf"\b{size}\b", message) for size in named):
        return None
    wanted = " and ".join(map(str, named))
    return Problem(
        f"{about}: expected an error that names {wanted}, got {message!r}",
        next_step="Put both numbers into the error's message.",
    )
