"""Errors of a learner's code as problems: what was called, what it raised, where, and what to do."""

from __future__ import annotations

from autograder.plan import Problem
from autograder.wire import Header

VALUES_UNKNOWN = (
    "The value of an array was needed while tracing.",
    "Use shapes and dtypes for Python decisions, and jnp.where or lax for decisions on values.",
)
RETURNS = "Compare with the stub: what it defines, and what the docstring says under Returns."
CALLBACK = (
    "calls back into Python (jax.debug.print, jax.debug.callback, jax.pure_callback, io_callback): "
    "a graded function is data and has no Python to call"
)
KNOWN: dict[str, tuple[str, str]] = {
    "NotImplementedError": ("It is not finished.", "Work through the numbered TODOs in the file."),
    "TracerBoolConversionError": VALUES_UNKNOWN,
    "TracerArrayConversionError": VALUES_UNKNOWN,
    "TracerIntegerConversionError": VALUES_UNKNOWN,
    "ConcretizationTypeError": VALUES_UNKNOWN,
    "UnexpectedTracerError": (
        "An array of an earlier call was kept and used again.",
        "Keep no arrays in module or global variables.",
    ),
    "SystemExit": ("It called sys.exit.", "Return a value or raise an error; the grader ends the process."),
    "RecursionError": ("It calls itself without an end.", "Look for a function that calls itself."),
    "ModuleNotFoundError": (
        "",
        "Import installed packages only; TransformerEngine in a try inside the function.",
    ),
    "ScopeCollectionNotFound": ("init ran outside autocast, perhaps", "Open it around module.init too."),
    "SyntaxError": ("", "Correct the line and run grade again."),
}


def explain(answer: Header, about: str) -> Problem | None:
    """The problem that an answer with an error is, or None for an answer without."""
    error = answer.get("error")
    if error is None:
        return None
    kind, message = error["types"][0], error["message"]
    line = f" at line {error['line']}" if error["line"] else ""
    raised = f"{kind}{line}: {message}".removesuffix(": ")
    diagnosis, next_step = next((KNOWN[name] for name in error["types"] if name in KNOWN), ("", ""))
    if "host_callbacks" in message:  # JAX's words for a program that cannot leave its process
        next_step = "Remove the call; print while you develop, not here."
        return Problem(f"{about}: it {CALLBACK}", next_step=next_step)
    if "leaves for PyTreeDef" in message:  # as JAX 0.10 says it when the array reaches jax.export
        return Problem(f"{about}: raised {kind}{line}: {message}", *KNOWN["UnexpectedTracerError"])
    if kind == "WrongValue":
        return Problem(f"{about}: {message}{line}", next_step=RETURNS)
    if error["where"] == "import":
        return Problem(f"the file does not load: {raised}", diagnosis, next_step)
    return Problem(f"{about}: raised {raised}", diagnosis, next_step)
