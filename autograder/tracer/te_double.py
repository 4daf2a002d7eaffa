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
    "transformer_engine.jax.quantize.helper",
    "transformer_engine.jax.sharding",
)
RECIPES = (
    "Recipe",
    "DelayedScaling",
    "Float8CurrentScaling",
    "MXFP8BlockScaling",
    "Float8BlockScaling",
    "NVFP4BlockScaling",
    "CustomRecipe",
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
    NVFP4_1D_SCALING = 4
    NVFP4_2D_SCALING = 5


@dataclass(frozen=True)
class MeshResource:
    dp_resource: str | None = None
    tp_resource: str | None = None
    tpsp_resource: str | None = None
    fsdp_resource: str | None = None
    pp_resource: str | None = None
    cp_resource: str | None = None
    ep_resource: str | None = None


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

    @contextmanager
    def fp8_autocast(
        enabled: bool = False, fp8_recipe: Recipe | None = None, mesh_resource: Any = None
    ) -> Iterator[None]:
        warnings.warn("fp8_autocast is deprecated: use autocast", DeprecationWarning, stacklevel=3)
        with autocast(enabled, fp8_recipe, mesh_resource):
            yield

    def is_scaling_mode_supported(
        scaling_mode: ScalingMode = ScalingMode.NO_SCALING, gpu_id: int | None = None
    ) -> tuple[bool, str]:
        return (True, "") if scaling_mode is ScalingMode.NO_SCALING else supported

    def is_fp8_available(
        scaling_mode: ScalingMode = ScalingMode.DELAYED_TENSOR_SCALING, gpu_id: int | None = None
    ) -> tuple[bool, str]:
        warnings.warn("use is_scaling_mode_supported", DeprecationWarning, stacklevel=2)
        return is_scaling_mode_supported(scaling_mode, gpu_id)

    def is_quantize_recipe_supported(recipe_name: str) -> tuple[bool, str | None]:
        if recipe_name not in RECIPES[1:]:
            raise ValueError(f"Invalid quantization recipe {recipe_name!r}")
        return supported if not supported[0] else (True, None)

    def get_supported_scaling_modes() -> list[ScalingMode]:
        return [mode for mode in ScalingMode if supported[0] and mode is not ScalingMode.NO_SCALING]

    def other_recipe(*values: Any, **options: Any) -> Recipe:
        raise TypeError("use the recipe that run_with_fp8 was given")

    contexts = (autocast, fp8_autocast)
    questions = (
        is_scaling_mode_supported,
        is_fp8_available,
        is_quantize_recipe_supported,
        get_supported_scaling_modes,
    )
    for function in (*contexts, *questions):
        inner = getattr(function, "__wrapped__", function)
        inner.__qualname__ = function.__name__  # errors of Python's name it so
    exports: dict[str, tuple[Any, ...]] = {
        "transformer_engine.jax": (*contexts, MeshResource),
        "transformer_engine.jax.quantize": (*contexts, *questions, ScalingMode),
        "transformer_engine.jax.quantize.helper": (*contexts, *questions, ScalingMode, MeshResource),
        "transformer_engine.jax.sharding": (MeshResource,),
    }
    for name, exported in exports.items():
        modules[name].__dict__.update({item.__name__: item for item in exported})
    modules["transformer_engine.common.recipe"].__dict__.update(dict.fromkeys(RECIPES, other_recipe))
    sys.modules.update(modules)
    return given
