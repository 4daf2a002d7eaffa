"""A double of TransformerEngine, whose autocast changes what modules inside it compute.

How it changes them is drawn anew for each question and arrives with it, so that only the numbers of the
artifact can show whether `init` and `apply` were inside. The double shares a process with the learner's code:
it hands out no effect, and who searches the process finds one all the same. The names are those of
transformer_engine 2.x.
"""

from __future__ import annotations

import enum
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from typing import Any

NAMES = (
    "transformer_engine",
    "transformer_engine.common",
    "transformer_engine.common.recipe",
    "transformer_engine.jax",
    "transformer_engine.jax.flax",
    "transformer_engine.jax.quantize",
)


@dataclass(frozen=True)
class Effect:
    """`shift` is added to what `init` draws, `gain` multiplies what `apply` computes."""

    shift: float
    gain: float


class Recipe:
    """What a learner's function passes on; its effect is known to the autocast of its question alone."""


_active: list[Effect | None] = []


def active() -> Effect | None:
    """The effect of the innermost autocast that is open and enabled."""
    return _active[-1] if _active else None


class ScalingMode(enum.Enum):
    NO_SCALING = 0
    DELAYED_TENSOR_SCALING = 1
    MXFP8_1D_SCALING = 2
    CURRENT_TENSOR_SCALING = 3


def use(te: dict[str, Any] | None, effect: Effect | None = None) -> Recipe:
    """Make `import transformer_engine` give the double with this `ok` and `reason`, or fail for None.

    Returns the only recipe that its autocast takes; it has this effect.
    """
    given = Recipe()
    if te is None:
        sys.modules.update(dict.fromkeys(NAMES))  # type: ignore[arg-type]
        return given
    modules = {name: types.ModuleType(name) for name in NAMES}
    for name, module in modules.items():
        module.__spec__ = ModuleSpec(name, None)  # importlib.util.find_spec asks for it
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    supported = (te["ok"], te["reason"])

    @contextmanager
    def autocast(
        enabled: bool = False, recipe: Recipe | None = None, mesh_resource: Any = None
    ) -> Iterator[None]:
        if enabled and recipe is not given:
            raise ValueError("autocast(enabled=True) without the recipe that was given")
        _active.append(effect if enabled else None)
        try:
            yield
        finally:
            _active.pop()

    def is_scaling_mode_supported(
        scaling_mode: ScalingMode = ScalingMode.NO_SCALING, gpu_id: int | None = None
    ) -> tuple[bool, str]:
        return (True, "") if scaling_mode is ScalingMode.NO_SCALING else supported

    def is_fp8_available(
        scaling_mode: ScalingMode = ScalingMode.DELAYED_TENSOR_SCALING, gpu_id: int | None = None
    ) -> tuple[bool, str]:
        warnings.warn("use is_scaling_mode_supported", DeprecationWarning, stacklevel=2)
        return is_scaling_mode_supported(scaling_mode, gpu_id)

    def other_recipe(**options: Any) -> Recipe:
        raise TypeError("use the recipe that run_with_fp8 was given")

    quantize = {
        "autocast": autocast,
        "fp8_autocast": autocast,
        "ScalingMode": ScalingMode,
        "is_scaling_mode_supported": is_scaling_mode_supported,
        "is_fp8_available": is_fp8_available,
    }
    modules["transformer_engine.jax.quantize"].__dict__.update(quantize)
    modules["transformer_engine.jax"].__dict__.update(autocast=autocast, fp8_autocast=autocast)
    modules["transformer_engine.common.recipe"].__dict__.update(
        dict.fromkeys(("DelayedScaling", "Float8CurrentScaling", "Recipe"), other_recipe)
    )
    sys.modules.update(modules)
    return given
