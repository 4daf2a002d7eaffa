"""Errors of a learner's code as problems: what was called, what it raised, where, and what to do.

Each has a next step of its own. A check's hint is about wrong answers, and where there is no answer it would
lead away from the error.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

from autograder import lookup
from autograder.advice import SMALLER, Advice, advise, draws
from autograder.plan import Problem
from autograder.runner.refusal import LOOPS
from autograder.source import Source
from autograder.text import cut
from autograder.wire import Header

CALLBACK = (
    "calls back into Python (jax.debug.print, jax.debug.callback, jax.pure_callback, io_callback): "
    "a graded function is data and has no Python to call"
)
MAX_LINE = 80
MAX_MESSAGE = 600
# JAX's words on its own pages and on the function that it traces: that is the grader's, in a file that no
# learner has. All that follows is about it too.
NOISE = re.compile(
    r"\s*(?:The error occurred while tracing the function\b"
    r"|The function being traced when the value leaked was\b"
    r"|This concrete value was not available in Python\b"
    r"|This value became a tracer due to\b"
    r"|This \w*Tracer with object id\b"
    r"|To catch the leak earlier\b"
    r"|If trying to convert the data type of a value\b"
    r"|If using `jit`, try using `static_argnums`"
    r"|See https?://(?:docs\.jax\.dev|jax\.readthedocs\.io)).*",
    re.DOTALL,
)
PAGE = re.compile(r"[:,]?\s*<?https?://(?:docs\.jax\.dev|jax\.readthedocs\.io)[^\s>]*>?")
# Files that no learner has: the grader's and installed ones.
PLACE = re.compile(
    r"(?:\s+(?:at|in|on line|from line|from))?\s+\(?(?:[A-Za-z]:)?[\\/][^\s:()]*[\\/]"
    r"(?:autograder|site-packages)[\\/][^\s:()]*(?::\d+)*(?:\s\([^)]*\))?\)?"
)
HALTED = re.compile(r"import of ([\w.]+) halted; None in sys\.modules")
# By what the sandbox says of the end of a process.
ENDLESS = "Look for a loop or a wait that does not end."
ENDINGS: dict[str, str] = {
    "endless loop|processor time": ENDLESS,
    "processes": "Start no processes: remove os.fork, subprocess and multiprocessing.",
    "out of memory": SMALLER,
    "killed by signal": "Remove what crashes the process: os.kill, ctypes, a native library.",
    "exited with status": "Remove what ends the process (os._exit, quit): return a value or raise an error.",
    "": "Leave the process's files and pipes alone: use print, and close nothing that you did not open.",
}


def located(answer: Header, source: Source) -> Header:
    """The answer; an error in it with the source line that it names, and with what the code shows of it."""
    error = answer.get("error")
    if error is None:
        return answer
    line = source.line(error["line"]) if error["line"] else ""
    error = {**error, "source": cut(line, MAX_LINE)}
    with suppress(RecursionError, ValueError):  # code nested too deep to look at, a number too long to print
        error["advice"] = advise(error, source)
    return {**answer, "error": error}


def untraced(message: str) -> str:
    """A message without JAX's words on the function that it traced, and without files of the grader's."""
    message = " ".join(message.split())  # runs of blanks would take these patterns long
    message = HALTED.sub(r"No module named '\1'", message)
    return PLACE.sub("", PAGE.sub("", NOISE.sub("", message))).rstrip()


def explain(answer: Header, about: str) -> Problem | None:
    """The problem that an answer with an error is, or None for an answer without."""
    error = answer.get("error")
    if error is None:
        return None
    advice: Advice = error.get("advice") or advise(error)
    kind, message = error["types"][0], cut(untraced(error["message"]), MAX_MESSAGE)
    if not message.strip() and error.get("source"):
        message = f"`{error['source']}`"
    line = f" at line {error['line']}" if error["line"] else ""
    raised = f"{kind}{line}: {message}".removesuffix(": ")
    if advice.message:
        detail = f"{about}: {advice.message}"
    elif error["where"] == "import":
        detail = f"the file does not load: {raised}"
    elif "host_callbacks" in message:  # JAX's words for a program that cannot leave its process
        detail = f"{about}: it {CALLBACK}"
    elif kind in ("WrongValue", "TooLarge"):
        detail = f"{about}: {message}{line}"
    else:
        detail = f"{about}: raised {raised}"
    # One line that raises one type is one mistake, whatever the shapes in the message.
    cause = f"{kind}{line or f': {message}'}"
    return Problem(detail, advice.diagnosis, advice.next_step, cause=cause)


def refuses(answer: Header) -> bool:
    """Whether the answer is an error that the learner's own file raises: a check of its own."""
    error = answer.get("error") or {}
    source = error.get("source", "")
    return error.get("where") == "call" and (
        "AssertionError" in error["types"] or bool(re.search(r"\braise\b(?! *NotImplementedError)", source))
    )


def fitting(error: Header) -> str:
    """The next step where the learner's own check refuses shapes and dtypes that fit."""
    where = f"The check at line {error['line']}" if error["line"] else "A check of yours"
    return (
        f"{where} refuses a call that fits the contract: T and S may differ, and no size is fixed. Loosen it."
    )


def drawn(problem: Problem, source: Source, function: str) -> Problem:
    """Wrong values of a function that draws random numbers, which nothing else has to explain."""
    advice = draws(source, function)
    return replace(problem, diagnosis=advice.diagnosis, next_step=advice.next_step) if advice else problem


def ended(reason: str, source: Source | None = None) -> str:
    """The next step where the process ended for this reason; `source` where it was tracing this file."""
    step = next(step for pattern, step in ENDINGS.items() if re.search(pattern, reason))
    return unrolled(source, step) if source and step is ENDLESS else step


def unrolled(source: Source, step: str = LOOPS) -> str:
    """The next step for what took too long or grew too large: by a Python loop, where the file has one."""
    line = lookup.loop(source.tree)
    return f"{LOOPS} See the loop at line {line}." if line else step
