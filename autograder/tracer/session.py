"""One request: a module's source and the steps to take with it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax

from autograder.arrays import Spec, unpack
from autograder.tracer import doubles, steps, te_double
from autograder.tracer.blackbox import BlackBox
from autograder.tracer.faults import describe
from autograder.wire import Header

Ask = Callable[[Header, bytes], tuple[Header, bytes]]


class Session:
    """JAX is imported and its backend opened before the learner's module can change its configuration.

    On a CPU, doubles stand in for a GPU and for TransformerEngine. A process that was given a GPU has the
    real ones, and knows the steps that need them.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._kinds = steps.KINDS
        self._doubles = jax.devices()[0].platform == "cpu"
        if self._doubles:
            doubles.install()
            te_double.use(None)
        else:
            from autograder.tracer import engine

            self._kinds = engine.KINDS

    def answers(self, request: Header, blob: bytes) -> Iterator[tuple[Header, bytes]]:
        """Yield a frame a step; where the module does not load, every step gets that error."""
        name, size = request["module"], request["size"]
        try:
            module = load(name, blob[:size])
        except BaseException as error:
            failure = {"error": describe(error, name, "import")}
            yield from (({"step": index, **failure}, b"") for index in range(len(request["steps"])))
            return
        position = size
        for index, step in enumerate(request["steps"]):
            specs = [Spec.from_json(spec) for spec in step.get("arrays", [])]
            end = position + sum(spec.nbytes for spec in specs)
            arrays = unpack(blob[position:end], specs)
            position = end
            yield self._answer(index, step, arrays, module)

    def _answer(
        self, index: int, step: dict[str, Any], arrays: list[Any], module: types.ModuleType
    ) -> tuple[Header, bytes]:
        try:
            if self._doubles:
                doubles.use(step.get("device"))
                te_double.use(step.get("te"))
            if step["kind"] == "black_box":
                black_box = BlackBox(self._ask, index, [Spec.of(array) for array in arrays])
                answer, artifact = steps.ask_with_black_box(module, step, black_box, arrays), b""
            else:
                answer, artifact = self._kinds[step["kind"]](module, step, arrays)
        except BaseException as error:
            return {"step": index, "error": describe(error, module.__name__, "call")}, b""
        return {"step": index, **answer}, artifact


def load(name: str, source: bytes) -> types.ModuleType:
    """Run the source as module `name`, registered first: dataclasses look their module up."""
    module = types.ModuleType(name)
    module.__file__ = f"{name}.py"
    sys.modules[name] = module
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    return module
