"""Errors of a learner's code as problems: what was called, what it raised, where, and what to do.

Each has a next step of its own. A check's hint is about wrong answers, and where there is no answer it would
lead away from the error.
"""

from __future__ import annotations

import re

from autograder.plan import Problem
from autograder.source import Source
from autograder.wire import Header

VALUES_UNKNOWN = (
    "The value of an array was needed while tracing.",
    "Use shapes and dtypes for Python decisions, and jnp.where or lax for decisions on values.",
)
KEPT = (
    "An array of an earlier call was kept and used again.",
    "Keep no arrays in module or global variables.",
)
RETURNS = "Compare with the stub: what it defines, and what the docstring says under Returns."
ARGUMENTS = "Compare with the stub: the function's name and its arguments."
CALLBACK = (
    "calls back into Python (jax.debug.print, jax.debug.callback, jax.pure_callback, io_callback): "
    "a graded function is data and has no Python to call"
)
NO_CALLBACK = "Remove the call; print while you develop, not here."
CAPABILITY = "A CPU device has no compute_capability: ask for the platform first, or use getattr."
MAX_LINE = 80
SMALLER = "Look for an array or a list that is far too large, or that keeps growing."
# JAX names the function that it traces: that is the grader's, in a file that no learner has.
TRACED = "The error occurred while tracing the function program at "
# By what the message says: JAX gives the same type to many mistakes. The first that is found counts.
SAID: dict[str, tuple[str, str]] = {
    "host_callbacks": ("", NO_CALLBACK),
    "leaves for PyTreeDef": KEPT,  # as JAX 0.10 says it when the array reaches jax.export
    "block_until_ready": (
        "",
        "Remove .block_until_ready(): while JAX traces there is no value to wait for. Whoever times waits.",
    ),
    "is not a valid JAX type": (
        "A function under jax.jit returned or took what is no array.",
        "Remove the jax.jit decorator: the grader compiles. Under jit only arrays go in and out.",
    ),
    "F16_F16_F32": (
        "JAX's own attention compiles float16 on GPUs only.",
        "Cast the arrays to float32 first, and the result back at the end; where the exercise asks for your "
        "own steps, write them.",
    ),
    "do(?:es)? not support JVP|cannot be differentiated|[Rr]everse-mode": (
        "It holds an operation that JAX cannot differentiate.",
        "Write it with operations that have gradients: lax.scan or array operations, no lax.while_loop, no "
        "lax.fori_loop whose length is an array, no kernel and no callback.",
    ),
    "cuDNN|fp16/bf16|head dim must|sequence length Q|[Hh]opper arch": (
        "cuDNN's refusal was let out.",
        "Catch NotImplementedError and RuntimeError where you ask for cuDNN; run XLA instead and say why.",
    ),
}
KNOWN: dict[str, tuple[str, str]] = {
    "TooLarge": ("", "Build the array with jnp inside the function, and replace the loop by lax.scan."),
    "NotImplementedError": ("It is not finished.", "Work through the numbered TODOs in the file."),
    "TracerBoolConversionError": VALUES_UNKNOWN,
    "TracerArrayConversionError": VALUES_UNKNOWN,
    "TracerIntegerConversionError": VALUES_UNKNOWN,
    "ConcretizationTypeError": VALUES_UNKNOWN,
    "UnexpectedTracerError": KEPT,
    "SystemExit": ("It called sys.exit.", "Return a value or raise an error; the grader ends the process."),
    "RecursionError": ("It calls itself without an end.", "Look for a function that calls itself."),
    "ModuleNotFoundError": (
        "",
        "Import installed packages only; TransformerEngine in a try inside the function.",
    ),
    "ScopeCollectionNotFound": ("init ran outside autocast, perhaps", "Open it around module.init too."),
    "SyntaxError": ("", "Correct the line and run grade again."),
    "EOFError": (
        "It waited for input, perhaps.",
        "Remove input(): nobody types while it is graded, and all that it needs is in its arguments.",
    ),
    "MemoryError": ("It asked for more memory than it may use.", SMALLER),
}
# By what the sandbox says of the end of a process.
ENDINGS: dict[str, str] = {
    "endless loop|processor time": "Look for a loop or a wait that does not end.",
    "processes": "Start no processes: remove os.fork, subprocess and multiprocessing.",
    "out of memory": SMALLER,
    "killed by signal": "Remove what crashes the process: os.kill, ctypes, a native library.",
    "exited with status": "Remove what ends the process (os._exit, quit): return a value or raise an error.",
    "": "Leave the process's files and pipes alone: use print, and close nothing that you did not open.",
}


def located(answer: Header, source: Source) -> Header:
    """The answer; an error in it with the source line that it names: some of JAX's say nothing else."""
    error = answer.get("error")
    if error is None or error["line"] is None:
        return answer
    line = source.line(error["line"])
    return {**answer, "error": {**error, "source": line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"}}


def untraced(message: str) -> str:
    """A message without JAX's words on the function that it traced."""
    return message.partition(TRACED)[0].rstrip()


def explain(answer: Header, about: str) -> Problem | None:
    """The problem that an answer with an error is, or None for an answer without."""
    error = answer.get("error")
    if error is None:
        return None
    kind, message = error["types"][0], untraced(error["message"])
    if not message.strip() and error.get("source"):
        message = f"`{error['source']}`"
    line = f" at line {error['line']}" if error["line"] else ""
    raised = f"{kind}{line}: {message}".removesuffix(": ")
    diagnosis, next_step = _known(error)
    # One line that raises one type is one mistake, whatever the shapes in the message.
    cause = f"{kind}{line or f': {message}'}"
    if error["where"] == "import":
        return Problem(f"the file does not load: {raised}", diagnosis, next_step, cause=cause)
    if "host_callbacks" in message:  # JAX's words for a program that cannot leave its process
        return Problem(f"{about}: it {CALLBACK}", diagnosis, next_step, cause="callback")
    if kind in ("WrongValue", "TooLarge"):
        return Problem(f"{about}: {message}{line}", diagnosis, next_step, cause=cause)
    return Problem(f"{about}: raised {raised}", diagnosis, next_step, cause=cause)


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
        f"{where} refuses a call that fits its contract: T and S may differ, and so may all sizes. Loosen it."
    )


def ended(reason: str) -> str:
    """The next step where the process ended for this reason."""
    return next(step for pattern, step in ENDINGS.items() if re.search(pattern, reason))


def _known(error: Header) -> tuple[str, str]:
    """A diagnosis ("" where none fits) and the next step."""
    if error["types"][0] == "WrongValue":
        return "", RETURNS
    if error["types"][0] == "AttributeError" and (
        "compute_capability" in (error["message"] or error.get("source", ""))
    ):
        return "", CAPABILITY
    for pattern, known in SAID.items():
        if re.search(pattern, error["message"]):
            return known
    for name in error["types"]:
        if name in KNOWN:
            return KNOWN[name]
    return "", f"Correct the error at line {error['line']} first." if error["line"] else ARGUMENTS
