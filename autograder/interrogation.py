"""The judge's side of a tracer: send a module and steps, take the answers, believe nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder import wire
from autograder.arrays import Array, Spec, pack, unpack
from autograder.plan import Function, Question, Trace
from autograder.runner.client import GraderFault
from autograder.sandbox import Child, ChildEnded, ChildTimeout
from autograder.source import Source
from autograder.wire import Header, WireError

CALL_BUDGET = 6000
"""Calls of one black box; a thorough check of these sizes needs some hundreds."""
SPENT = 100
"""Calls beyond the budget that are still told so."""
MAX_WORDS = 2000
"""Characters of each text in an answer; the tracer cuts them itself, unless somebody else answers for it."""
MAX_FRAME = 4 * 1024 * 1024
"""Bytes of arrays or of a program in one frame; which programs are too large, the runner says."""

KEYS: dict[str, frozenset[str]] = {
    "trace": frozenset({"labels", "outs"}),
    "run_with_fp8": frozenset({"labels", "outs"}),
    "shape": frozenset({"returned"}),
    "call": frozenset({"value"}),
    "black_box": frozenset({"value"}),
    "support": frozenset({"ok", "reason"}),
    "engine_support": frozenset({"ok", "reason"}),
    "engine_run": frozenset({"labels", "outs"}),
    "engine_text": frozenset(),
}
WITH_ARTIFACT = frozenset({"trace", "run_with_fp8", "engine_run", "engine_text"})
ERROR_KEYS = frozenset({"types", "message", "line", "where"})


@dataclass
class Interrogation:
    """Answers by key, artifacts by key; `ended` says at which key the tracer ended early, and why."""

    answers: dict[str, Header] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    ended: tuple[str, str] | None = None
    output: str = ""


async def interrogate(child: Child, source: Source, steps: Sequence[Trace | Question]) -> Interrogation:
    """Ask everything of a fresh tracer, then kill it.

    Raises GraderFault where the tracer ends before it has begun with the learner's module, and nothing for
    what that module does.
    """
    result = Interrogation()
    black_boxes = _black_boxes(steps)
    try:
        await _begin(child, *_request(source, steps))
        for index, step in enumerate(steps):
            result.ended = (step.key, "")
            header, artifact = await _answer(child, index, black_boxes)
            _check(header, step.step["kind"], len(artifact))
            result.answers[step.key] = header
            result.artifacts[step.key] = artifact
        result.ended = None
    except ChildTimeout as ended:
        reason = f"{ended.reason}: an endless loop, perhaps"
        result.ended = (result.ended[0] if result.ended else "", reason)
    except ChildEnded as ended:
        result.ended = (result.ended[0] if result.ended else "", ended.reason)
    except (WireError, ValueError) as error:
        result.ended = (result.ended[0] if result.ended else "", f"it sent no valid answer ({error})")
    finally:
        await child.kill()
    result.output = child.output
    return result


async def _begin(child: Child, header: Header, blob: bytes) -> None:
    """Send the request, and wait until all of ours is imported and none of the learner's has run."""
    try:
        await child.send(header, blob)
        if (await child.receive())[0] == {"ready": True}:
            return
        reason = "it did not say that it was ready"
    except (ChildEnded, WireError) as error:
        reason = str(error)
    raise GraderFault(f"the tracer did not start: {reason}. {child.output[-500:]}")


def _request(source: Source, steps: Sequence[Trace | Question]) -> tuple[Header, bytes]:
    plain: list[Header] = []
    arrays: list[Array] = []
    for step in steps:
        given = step.arrays if isinstance(step, Question) else ()
        plain.append({**step.step, "arrays": [Spec.of(array).to_json() for array in given]})
        arrays += given
    header = {"module": source.name, "size": len(source.data), "steps": plain}
    return header, source.data + pack(arrays)


def _black_boxes(steps: Sequence[Trace | Question]) -> dict[int, _BlackBox]:
    return {
        index: _BlackBox(step.black_box, tuple(map(Spec.of, step.arrays)))
        for index, step in enumerate(steps)
        if isinstance(step, Question) and step.black_box is not None
    }


@dataclass
class _BlackBox:
    function: Function
    specs: tuple[Spec, ...]
    calls: int = 0

    def answer(self, blob: bytes) -> tuple[Header, bytes]:
        """The output's bytes, or why this call is refused."""
        self.calls += 1
        if self.calls > CALL_BUDGET + SPENT:
            raise WireError("it went on calling an attention function whose call budget was spent")
        if self.calls > CALL_BUDGET:
            return {"refused": "the call budget for this attention function is spent"}, b""
        arrays = unpack(blob, self.specs)
        try:
            with np.errstate(all="ignore"):
                return {}, pack([self.function(*arrays)])
        except Exception as error:  # of ours, on arrays of a learner's choice
            return {"refused": f"no answer for these arrays: {type(error).__name__}: {error}"}, b""


async def _answer(child: Child, index: int, black_boxes: Mapping[int, _BlackBox]) -> tuple[Header, bytes]:
    """The next step's frame, after answering the calls of its black box."""
    while True:
        header, blob = await child.receive(wire.MAX_HEADER, MAX_FRAME)
        if set(header) != {"call"}:
            break
        if type(header["call"]) is not int or header["call"] != index or index not in black_boxes:
            raise WireError("a call of an attention function that was not handed over")
        await child.send(*black_boxes[index].answer(blob))
    if type(header.get("step")) is not int or header.pop("step") != index:
        raise WireError(f"expected the answer to step {index}")
    return header, blob


def _check(header: Header, kind: str, artifact_bytes: int) -> None:
    """Exact keys and types, texts of bounded length, and an artifact where there should be one."""
    if not _brief(header):
        raise WireError(f"a text of more than {MAX_WORDS:,} characters")
    if set(header) == {"error"}:
        error = header["error"]
        if type(error) is dict and set(error) == ERROR_KEYS and _well_typed(error) and not artifact_bytes:
            return
    elif set(header) == KEYS[kind]:
        wants_artifact = kind in WITH_ARTIFACT
        outs = header.get("outs", [])
        if (
            type(header.get("labels", {})) is not dict
            or type(outs) is not list
            or not all(map(_is_type, outs))
        ):
            raise WireError("labels and outs of another type")
        if wants_artifact == bool(artifact_bytes):
            return
    raise WireError(f"an answer with the wrong parts for {kind}")


def _well_typed(error: dict[str, Any]) -> bool:
    types = error["types"]
    return (
        type(types) is list
        and 0 < len(types) <= 8
        and all(type(name) is str for name in types)
        and type(error["message"]) is str
        and type(error["where"]) is str
        and (error["line"] is None or type(error["line"]) is int)
    )


def _is_type(out: object) -> bool:
    """Whether it is a shape and a dtype's name."""
    match out:
        case [list(shape), str()]:
            return all(type(size) is int for size in shape)
    return False


def _brief(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_WORDS
    if isinstance(value, dict):
        return all(_brief(part) for pair in value.items() for part in pair)
    return not isinstance(value, list) or all(map(_brief, value))
