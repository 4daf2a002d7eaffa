"""What to do about an error of a learner's code: by its message, by its type, and by the code it stands on.

What the code shows comes first: it says which call or condition is meant.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from autograder import lookup, missing, values
from autograder.catalog import EXERCISES, find
from autograder.runner.refusal import KERNEL, RANDOM
from autograder.source import Source
from autograder.wire import Header


def sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


RETURNS = "Compare with the stub: what it defines, and what the docstring says under Returns."
ARGUMENTS = "Compare with the stub: the function's name and its arguments."
ELSEWHERE = "The error comes from a library: look for the call in your file that its message is about."
NO_CALLBACK = "Remove the call; print while you develop, not here."
CAPABILITY = "A CPU device has no compute_capability: ask for the platform first, or use getattr."
SMALLER = "Look for an array or a list that is far too large, or that keeps growing."
ALONE = "Each file is graded alone: copy what you need into {name}.py, and remove the import{at}."
BACKWARD = (
    "The backward rule of a custom_vjp does not fit its function.",
    "The backward rule of custom_vjp must return one cotangent for each argument, of its shape and dtype.",
)
KEPT = (
    "An array of an earlier call was kept and used again.",
    "Keep no arrays in module or global variables.",
)
KERNEL_OF_ITS_OWN = (
    "It brings a kernel of its own (Pallas, Triton, Mosaic), which is native code.",
    KERNEL[1],
)
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
    r"bwd rule\b.*\b(?:must|produced)|^\(ShapedArray\(.*\bShapedArray\(": BACKWARD,
    "VJP fwd rule": ("", "The forward rule of custom_vjp must return a pair: the output, and the residuals."),
    "No VJP defined": ("", "Give the custom_vjp its rules: name.defvjp(forward, backward)."),
    r"[Oo]nly interpret mode|[Pp]allas|\bMosaic\b|\b[Tt]riton\b": KERNEL_OF_ITS_OWN,
    "do(?:es)? not support JVP|cannot be differentiated|[Rr]everse-mode": (
        "It holds an operation that JAX cannot differentiate.",
        "Write it with operations that have gradients: lax.scan or array operations, no lax.while_loop, no "
        "lax.fori_loop whose length is an array, no kernel and no callback.",
    ),
    "arrays are immutable": ("", "Write x = x.at[index].set(y) in place of x[index] = y."),
    "Shapes must be 1D sequences of concrete values": (
        "A size was computed from the values of an array.",
        "Take sizes from shapes, such as query.shape[-1]: those are Python ints while tracing.",
    ),
    r"\w*Tracer\.__format__": (
        "The value of an array was printed into a text while tracing.",
        "Leave the text out, or put shapes and dtypes into it: those are known while tracing.",
    ),
    "cuDNN|fp16/bf16|head dim must|sequence length Q|[Hh]opper arch": (
        "cuDNN's refusal was let out.",
        "Catch NotImplementedError and RuntimeError where you ask for cuDNN; run XLA instead and say why.",
    ),
}
KNOWN: dict[str, tuple[str, str]] = {
    "TooLarge": ("", "Build the array with jnp inside the function, and replace the loop by lax.scan."),
    "NotImplementedError": ("It is not finished.", "Work through the numbered TODOs in the file."),
    **dict.fromkeys(values.KINDS, values.UNKNOWN),
    "UnexpectedTracerError": KEPT,
    "SystemExit": ("It called sys.exit.", "Return a value or raise an error; the grader ends the process."),
    "RecursionError": ("It calls itself without an end.", "Look for a function that calls itself."),
    "ModuleNotFoundError": (
        "",
        "Import installed packages only; TransformerEngine in a try in the function.",
    ),
    "BdbQuit": ("It stopped for a debugger.", "Remove breakpoint(): nobody types while it is graded."),
    "ScopeCollectionNotFound": ("init ran outside autocast, perhaps", "Open it around module.init too."),
    "SyntaxError": ("", "Correct the line and run grade again."),
    "EOFError": (
        "It waited for input, perhaps.",
        "Remove input(): nobody types while it is graded, and all that it needs is in its arguments.",
    ),
    "MemoryError": ("It asked for more memory than it may use.", SMALLER),
}
# By what the tracer says of an answer that is of the wrong kind.
WRONG: dict[str, str] = {
    "^it returned None\\b": "End the function with return and its result: without a return it gives None.",
    "no int of Python$": "Multiply Python's own ints: those of NumPy and JAX have few bits, and overflow.",
}
INSTALLED = frozenset({"flax", "jax", "jaxlib", "ml_dtypes", "numpy", "scipy"})
MODULES = frozenset({exercise.name for exercise in EXERCISES} | {"exercises", "solutions"})
_NAMED = re.compile(r"[Nn]o module named '([\w.]+)'|import of ([\w.]+) halted")
_TREES = re.compile(r"bwd output structure PyTreeDef\((.*)\) for primal input structure PyTreeDef\((.*)\)")


@dataclass(frozen=True)
class Advice:
    """A diagnosis ("" where none fits) and the next step; `message` says in our words what was raised."""

    diagnosis: str
    next_step: str
    message: str = ""


def advise(error: Header, source: Source | None = None) -> Advice:
    """About an error that a tracer described; `source` is the file that raised it."""
    return (source and _of_code(error, source)) or Advice(*_of_words(error), _backward(error["message"]))


def _of_code(error: Header, source: Source) -> Advice | None:
    """What the learner's code shows of this error, if anything."""
    kinds, message, line = set(error["types"]), error["message"], error["line"]
    if error["types"][0] == "WrongValue":
        found = missing.function(message, source)
        return found and Advice("", *found)
    if kinds & {"ImportError", "ModuleNotFoundError"}:
        return _import(message, line, source)
    if "BdbQuit" in kinds:
        return _debugger(source)
    if (known := _of_words(error)) == KERNEL_OF_ITS_OWN or "differentiate" in known[0]:
        brings = any(name.endswith("pallas_call") for name, _ in lookup.calls(source.tree))
        return Advice(*KERNEL_OF_ITS_OWN) if brings else None
    if line is None:
        return None
    valued = kinds & values.KINDS
    if source.name != "fp8_autocast" and (valued or "PRNG" in message):
        for name, _ in lookup.calls(source.tree, line):
            if name.startswith("jax.random."):
                return Advice(sentence(RANDOM[0]), f"Remove {name} at line {line}, and what is drawn by it.")
    if valued or "setting an array element" in message:
        found = values.needed(kinds, message, line, source.tree)
        return found and Advice(*found)
    return None


def draws(source: Source, function: str) -> Advice | None:
    """About jax.random in a function that is traced, or in another that the exercise does not ask for."""
    exercise = find(source.name)
    others = set(exercise.functions if exercise else ()) - {function}
    if source.name == "fp8_autocast":  # there a key is an argument
        return None
    functions = (node for node in source.tree.body if isinstance(node, lookup.Function))
    inside = {id(part) for node in functions if node.name not in others for part in ast.walk(node)}
    for name, call in lookup.calls(source.tree):
        if name.startswith("jax.random.") and id(call) in inside:
            return Advice(sentence(RANDOM[0]), f"Remove {name} at line {call.lineno}.")
    return None


def _of_words(error: Header) -> tuple[str, str]:
    """What its message, its type and its place show."""
    message, line = error["message"], error["line"]
    if error["types"][0] == "WrongValue":
        return "", next((step for pattern, step in WRONG.items() if re.search(pattern, message)), RETURNS)
    if error["types"][0] == "AttributeError" and "compute_capability" in (message or error.get("source", "")):
        return "", CAPABILITY
    for pattern, known in SAID.items():
        if re.search(pattern, message):
            return known
    for name in error["types"]:
        if name in KNOWN:
            return KNOWN[name]
    if line:
        return "", f"Correct the error at line {line} first."
    return "", ARGUMENTS if "TypeError" in error["types"] and "argument" in message else ELSEWHERE


def _import(message: str, line: int | None, source: Source) -> Advice | None:
    at = f" at line {line}" if line else ""
    named = _NAMED.search(message)
    name = (named[1] or named[2]) if named else ""
    root = name.partition(".")[0]
    if MODULES.intersection(name.split(".")) or "relative import" in message:
        return Advice("It imports another exercise.", ALONE.format(name=source.name, at=at))
    if source.name in message:
        return Advice("It imports itself.", f"Remove the import{at}.")
    if not name or root == "transformer_engine":
        return None
    if root in INSTALLED:
        return Advice(
            "", f"Correct the import{at}: {root} has no {name} in the version that is installed here."
        )
    return Advice(
        "",
        f"Remove the import of {root}{at}: it is not installed here. JAX, NumPy, Flax and Python are enough.",
    )


def _debugger(source: Source) -> Advice:
    """A debugger raises where it stops, which may be behind its call."""
    for name, call in lookup.calls(source.tree):
        if name in ("breakpoint", "breakpointhook") or name.endswith(("set_trace", "post_mortem")):
            step = f"Remove {name}() at line {call.lineno}: nobody types while it is graded."
            return Advice("", step, f"it stopped for a debugger at line {call.lineno}")
    return Advice(*KNOWN["BdbQuit"])


def _backward(message: str) -> str:
    """JAX's words on a backward rule in fewer; "" for other messages."""
    if found := _TREES.search(message):
        came, wanted = found[1], found[2].count("*")
        what = {"None": "None", "*": "an array and no tuple"}.get(came, f"a tuple of {came.count('*')}")
        return f"the backward rule of its custom_vjp returned {what}; its function takes {wanted} arguments"
    return ""
