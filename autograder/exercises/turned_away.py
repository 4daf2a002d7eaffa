"""Why a submission turned away a call that cuDNN serves: by the calls it let through, and by its reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from autograder.exercises.attention import Case
from autograder.plan import Problem
from autograder.wire import Header

RULE = re.compile("(lowering|translation) rule|block_until_ready", re.IGNORECASE)
"""What is missing to those who compile or run the call to find out, where there is no GPU."""
ASK = (
    "Ask for cuDNN wherever the docstring says that it serves: dtype, head size and device decide, and no "
    "length, mask or number of heads."
)
DECIDE = "Compile or run nothing to find out: decide from dtype, head size, device, and what tracing raises."
BY_NAME = "Names are drawn at random here: decide by capability."
PLATFORM = "Compare the platform with 'gpu': so JAX calls an NVIDIA GPU."
OWN_ERROR = re.compile(
    r"not supported between instances of|object has no attribute '(?!compute_capability)|is not defined$"
    r"|could not convert string|invalid literal for|positional argument|unexpected keyword"
)
"""Python's words on mistakes in code, which no refusal of cuDNN's holds."""
WORDS = {
    "dtype": r"dtype|precision|float16",
    "head": r"head.?(?:size|dim)|head \d|\bh\b|multiple of",
    "groups": r"\bheads\b|group|\bn\b|\bk\b",
    "lengths": r"length|sequence|\bt\b|\bs\b",
    "causal": r"causal|mask",
}
"""By what a call is turned away for, how a reason says so, in lower case."""


Call = tuple[Case, Header]
"""A case, and the device that was drawn for it."""


def next_step(call: Call, reason: str, served: Sequence[Call]) -> str:
    """What to change; `served` are the calls that were let through."""
    if RULE.search(reason):
        return DECIDE
    (case, device), said = call, reason.lower()
    named = {fact for fact, words in WORDS.items() if re.search(words, said)}
    own = _facts(call)
    new = {fact for fact, value in own.items() if all(value != _facts(other)[fact] for other in served)}
    capability, least = device["compute_capability"], "9.0" if case.sizes[-1] > 128 else "8.0"
    by_number = "capability" in said or (capability in said and not named)
    compares = by_number or (capability in said and least in said and capability != least)
    found = new - {"capability"} if served else named
    if len(found) > 1:
        found &= named
    if len(found) == 1 and not (compares and "capability" in new and capability != least):
        return _let_through(found.pop(), case, capability)
    if device["device_kind"].lower() in said:
        return BY_NAME
    # A reason may name the least, 8.0, on a device that has it.
    if "platform" in said and (capability == least or capability not in said):
        return PLATFORM
    if compares or (served and new == {"capability"}):
        return f"{least} is enough, and this GPU has {capability}: let it through. Compare them as numbers."
    return PLATFORM if "cuda" in said else ASK


def names_cuda(tree: ast.Module) -> bool:
    """Whether the code compares a platform with "cuda", which no platform of JAX is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
            texts = {part.value for part in parts if isinstance(part, ast.Constant)}
            asked = {getattr(part, "attr", "") for part in parts}
            if "cuda" in texts and "gpu" not in texts and asked & {"platform", "default_backend"}:
                return True
    return False


def by_code(problem: Problem, tree: ast.Module, reason: object) -> Problem:
    """The problem of a GPU that was turned away, told by a mistake that code or reason show, if any."""
    if names_cuda(tree):
        sign = 'The platform is compared with "cuda".'
        return replace(problem, diagnosis=sign, next_step=PLATFORM, cause="the platform's name")
    if type(reason) is str and OWN_ERROR.search(reason):
        sign = "An except caught an error of your own code, and made it the reason."
        step = "Correct that error, and catch NotImplementedError and RuntimeError alone."
        return replace(problem, diagnosis=sign, next_step=step, cause="own error as a reason")
    return problem


def _facts(call: Call) -> dict[str, object]:
    case, device = call
    _, t, s, n, k, h = case.sizes
    return {
        "capability": device["compute_capability"],
        "dtype": case.dtype,
        "head": h,
        "groups": n // k,
        "lengths": t == s,
        "causal": case.is_causal,
    }


def _let_through(fact: str, case: Case, capability: str) -> str:
    _, t, s, n, k, h = case.sizes
    if fact == "dtype":
        return f"cuDNN takes float16 and bfloat16: let {case.dtype} through."
    if fact == "head" and h > 128:
        has = f"this GPU has {capability}"
        return f"cuDNN takes head size {h} from compute capability 9.0 on, and {has}: let it through there."
    return {
        "head": f"cuDNN takes every head size that is a multiple of 8, up to 128: let {h} through.",
        "groups": f"cuDNN takes query heads that share key/value heads: let N = {n}, K = {k} through.",
        "lengths": f"cuDNN takes any lengths: let T = {t}, S = {s} through.",
        "causal": "cuDNN takes causal calls: pass is_causal on to it.",
    }[fact]
