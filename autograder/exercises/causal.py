"""Exercise 3: causal attention, the first and last position, and a check of black boxes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from autograder import inputs, oracle
from autograder.arrays import Array, Spec
from autograder.exercises.attention import Case
from autograder.exercises.scenarios import SOUND, twins
from autograder.exercises.shapes import ALONE, Shapes
from autograder.faults import explain
from autograder.plan import Evidence, Function, Plan, Problem, Question, Verdicts
from autograder.wire import Header

FUNCTION = "causal_attention"
ROUNDS = ("normal", "loud_future", "shifted", "large", "near_ties", "mixed_heads", "outlier_v")
HALF = ("normal", "rivals", "loud_future", "shifted")
CASES = (
    Case(FUNCTION, (2, 9, 9, 2, 2, 16), rounds=ROUNDS, is_causal=True),
    Case(FUNCTION, (1, 5, 12, 3, 3, 8), rounds=ROUNDS, is_causal=True),
    Case(FUNCTION, (1, 12, 5, 2, 2, 8), rounds=ROUNDS, is_causal=True),
    Case(FUNCTION, (1, 1, 1, 1, 1, 8), is_causal=True),
    Case(FUNCTION, (2, 16, 16, 3, 3, 12), "bfloat16", (*HALF, "far_outlier"), is_causal=True),
    Case(FUNCTION, (2, 9, 10, 4, 4, 12), "float16", HALF, is_causal=True),
    Case(FUNCTION, (2, 6, 6, 2, 2, 8), is_causal=True, gradient=True),
)
SHAPES = Shapes(FUNCTION, ALONE)
DIFFERENCES = (("T = S", 8, 8), ("T < S", 4, 9))
TURNED = ("", " turned")
"""The same numbers with batch rows, heads and sign exchanged: the largest is not in the first of both."""
SOUND_STEP = "Look at outputs t < s alone, and allow for rounding: compare with a limit, never for equality."
UNCHANGED = "It calls the attention function on the inputs as they are, and never changes a key or a value."
CHANGE_IT = (
    "Change key and value at one position s and call it again. key.at[:, s].add(3.0) returns a new array: "
    "use what it returns."
)
MOST = 3.0
"""By how much an entry may be changed."""
CHANGE_STEP = (
    f"Change each entry by {MOST:g} at most, and keep it finite: what more than that moves is no leak."
)
DERIVATIVE = "callbacks do not support"
"""JAX's words where somebody differentiates or linearizes a black box."""
CALL_IT = (
    f"Call it: change key and value at one position s by at most {MOST:g}, call it again, and compare the "
    "outputs at t < s."
)
DIFFERENCE_TOLERANCE = 1e-4
"""Of the largest entry of full attention; two right float32 answers differ by some 1e-6."""

Member = tuple[str, int, int, str]
"""A leak, T, S and the dtype."""

GROUPS: dict[str, tuple[Member, ...]] = {
    "plain_leaks": (
        ("no mask", 7, 7, "float32"),
        ("a transposed mask", 7, 7, "float32"),
        ("a mask that reaches one position too far", 7, 7, "float32"),
    ),
    "partial_leaks": (
        ("a leak late in the sequence", 10, 10, "float32"),
        ("a leak of the last key alone", 6, 6, "float32"),
        ("a leak of one key to one position", 8, 8, "float32"),
        ("a leak of one key to a position in the middle", 8, 8, "float32"),
        ("a small leak in one head", 6, 6, "float32"),
        ("a leak in the first head", 6, 6, "float32"),
        ("a leak in the last head", 6, 6, "float32"),
        ("a leak in the first batch row", 6, 6, "float32"),
        ("a leak in the last batch row", 6, 6, "float32"),
    ),
    "one_way_leaks": (
        ("a leak through the keys alone", 7, 7, "float32"),
        ("a leak through the keys alone, whose weights add up to 1", 7, 7, "float32"),
        ("a leak through the values alone", 7, 7, "float32"),
    ),
    "other_shapes": (
        ("a window that reaches forward", 7, 7, "float32"),
        ("a mask aligned bottom-right, with T < S", 5, 9, "float32"),
        ("a leak of the keys after the last query, with T < S", 4, 7, "float32"),
        ("a mask that reaches one position too far", 9, 5, "float32"),
        ("a mask that reaches one position too far", 7, 7, "bfloat16"),
    ),
}


def plan(rng: np.random.Generator) -> Plan:
    differences = tuple(question for case in DIFFERENCES for question in _differences(rng, *case))
    boxes = [question for group in GROUPS for question in _boxes(rng, group)]
    order = rng.permutation(len(boxes))
    shuffled = tuple(boxes[place] for place in order)
    return Plan(tuple(case.trace() for case in CASES), (*SHAPES.questions(rng), *differences, *shuffled))


def judge(evidence: Evidence) -> Verdicts:
    values = evidence.first(case.key for case in CASES)
    first_last = evidence.first(
        f"difference:{name}{turned}" for name, _, _ in DIFFERENCES for turned in TURNED
    )
    if first_last and values and evidence.source.calls("first_last_difference", FUNCTION):
        first_last = values  # whoever builds on a wrong function corrects that one
    return {
        "values": values,
        "errors": SHAPES.verdict(evidence, CASES[0].key),
        "first_last": first_last,
        **{
            group: evidence.first(_key(group, *member, kind) for member, kind in _kinds(members))
            for group, members in GROUPS.items()
        },
    }


def _kinds(members: Sequence[Member]) -> Iterator[tuple[Member, str]]:
    """The questions of a group: each leak, its sound twin, and as many more as there are kinds of those."""
    for member in members:
        yield from ((member, "leak"), (member, "sound"))
    for more in range(len(members), len(SOUND)):
        yield members[0], f"sound {more}"


def _boxes(rng: np.random.Generator, group: str) -> list[Question]:
    """Every kind of sound function in each group, so that no verdict depends on which were drawn."""
    sound = itertools.cycle(SOUND[place] for place in rng.permutation(len(SOUND)))
    made = []
    for member, kind in _kinds(GROUPS[group]):
        name, t, s, dtype = member
        pair = twins(rng, name, SOUND[0] if kind == "leak" else next(sound), t=t, s=s, dtype=dtype)
        arrays = inputs.draw(rng, *pair.specs, "normal")
        right = kind != "leak"
        about = f"is_causal, asked about {'a sound function' if right else name} (T = {t}, S = {s}, {dtype})"
        function = pair.sound if right else pair.leak
        made.append(_question(_key(group, *member, kind), about, right, arrays, function))
    return made


@dataclass
class Watched:
    """An attention function that remembers how it was called with other arrays than `given`.

    `largest` is the largest change of an entry of key or value. `moved` is how far an output before the first
    changed position moved, as a share of the output's largest entry.
    """

    function: Function
    given: tuple[Array, ...]
    dtype: str
    largest: float = 0.0
    finite: bool = True
    moved: float = 0.0

    @cached_property
    def before(self) -> Array:
        return self.function(*self.given).astype(np.float64)

    def __call__(self, query: Array, key: Array, value: Array) -> Array:
        out = self.function(query, key, value)
        changes = [
            np.abs(came.astype(np.float64) - given.astype(np.float64)).max(axis=(0, 2, 3))
            for given, came in zip(self.given[1:], (key, value), strict=True)
        ]
        change = np.maximum(*changes)
        if not np.isfinite(change).all():
            self.finite = False
        elif change.any() and np.array_equal(query, self.given[0]):
            self.largest = max(self.largest, float(change.max()))
            early = slice(0, int(np.argmax(change > 0)))
            off = np.abs(out[:, early].astype(np.float64) - self.before[:, early])
            moved = float(off.max(initial=0.0) / np.abs(self.before).max())
            self.moved = max(self.moved, moved if np.isfinite(moved) else np.inf)
        return out

    @property
    def rounding(self) -> float:
        return 2.0**-6 if self.dtype == "bfloat16" else 1e-3

    def unseen(self) -> tuple[str, str]:
        """Why a leak was not seen, perhaps, and the next step."""
        if self.finite and self.largest == 0:
            return UNCHANGED, CHANGE_IT
        return "A leak is not seen.", ""

    def false_alarm(self) -> tuple[str, str]:
        """Why a sound function was called a leak, perhaps, and the next step."""
        if not self.finite:
            return "A sound function is called a leak, after a change to NaN or infinity.", CHANGE_STEP
        if self.largest == 0:
            return UNCHANGED, CHANGE_IT
        if 0 < self.moved <= self.rounding:
            return "A sound function is called a leak, where outputs moved by rounding alone.", SOUND_STEP
        if self.moved and self.largest > 1.1 * MOST:  # in bfloat16 a change is rounded
            return f"A sound function is called a leak, after changes by more than {MOST:g}.", CHANGE_STEP
        return "A sound function is called a leak.", SOUND_STEP


def _question(key: str, about: str, right: bool, arrays: tuple[Array, ...], function: Function) -> Question:
    watched = Watched(function, arrays, arrays[0].dtype.name)

    def judge(answer: Header) -> Problem | None:
        if problem := explain(answer, about):
            return _differentiated(problem) if DERIVATIVE in problem.detail else problem
        if answer["value"] is right:
            return None
        if type(answer["value"]) is not bool:
            return Problem(f"{about}: expected True or False, got {answer['value']!r}")
        detail = f"{about}: expected {right}, got {answer['value']}"
        sign, step = watched.false_alarm() if right else watched.unseen()
        return Problem(detail, sign, step, cause=sign if step else "")

    step = {"kind": "black_box", "function": "is_causal"}
    return Question(key, about, step, judge, arrays, watched)


def _differentiated(problem: Problem) -> Problem:
    return replace(
        problem,
        diagnosis="The attention function is differentiated, and a black box has no derivative.",
        next_step=CALL_IT,
        cause="derivative of the black box",
    )


def _key(group: str, name: str, t: int, s: int, dtype: str, kind: str) -> str:
    return f"{group}:{name}:{t}:{s}:{dtype}:{kind}"


def _differences(rng: np.random.Generator, name: str, t: int, s: int) -> tuple[Question, Question]:
    query, key = Spec((2, t, 2, 8), "float32"), Spec((2, s, 2, 8), "float32")
    arrays = inputs.draw(rng, query, key, key, "normal")
    turned = [array[::-1, :, ::-1].copy() for array in arrays]
    turned[2] *= -1
    return _difference(name + TURNED[0], *arrays), _difference(name + TURNED[1], *turned)


def _difference(name: str, *arrays: Array) -> Question:
    full = oracle.attention(*arrays)
    difference = np.abs(oracle.attention(*arrays, is_causal=True) - full)
    signed = oracle.attention(*arrays, is_causal=True) - full
    right = [float(difference[:, place].max()) for place in (0, -1)]
    wrong = (
        ("First and last are exchanged.", right[::-1]),
        ("The absolute value is missing.", [float(signed[:, place].max()) for place in (0, -1)]),
        ("The absolute value is missing.", [float(-signed[:, place].min()) for place in (0, -1)]),
        ("The mean is taken in place of the largest.", [float(difference[:, at].mean()) for at in (0, -1)]),
    )
    limit = DIFFERENCE_TOLERANCE * float(np.abs(full).max())

    def close(came: Sequence[float], wanted: Sequence[float]) -> bool:
        return all(abs(got - want) <= limit for got, want in zip(came, wanted, strict=True))

    about = f"first_last_difference with T = {arrays[0].shape[1]}, S = {arrays[1].shape[1]}"

    def judge(answer: Header) -> Problem | None:
        if problem := explain(answer, about):
            return problem
        came = answer["value"]
        if type(came) is not list or [type(item) for item in came] != [float, float]:
            return Problem(f"{about}: expected two floats (first, last), got {came!r}")
        if close(came, right):
            return None
        diagnosis = next((sign for sign, other in wrong if close(came, other)), "")
        wanted = ", ".join(f"{number:.4g}" for number in right)
        return Problem(
            f"{about}: expected ({wanted}), got ({', '.join(f'{number:.4g}' for number in came)})", diagnosis
        )

    return Question(
        f"difference:{name}", about, {"kind": "call", "function": "first_last_difference"}, judge, arrays
    )
