"""Flax modules that feel the double's autocast; imported for exercise 5 alone, since Flax takes time."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import flax.traverse_util
import jax
import jax.numpy as jnp
from flax.core import meta

from autograder.tracer import te_double
from autograder.tracer.faults import WrongValue


class Projection(nn.Module):
    """x @ w, with `w` shifted at init and the product multiplied at apply inside an autocast."""

    features: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        effect = te_double.active()

        def initial(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            return jax.random.uniform(key, shape) + (effect.shift if effect else 0.0)

        w = self.param("w", initial, (x.shape[-1], self.features))
        return x @ w * (effect.gain if effect else 1.0)


class Mixer(nn.Module):
    """Two inputs, two projections, and a collection of its own beside the parameters."""

    features: int

    @nn.compact
    def __call__(self, x: jax.Array, y: jax.Array) -> jax.Array:
        effect = te_double.active()
        scale = self.variable("metas", "scale", lambda: jnp.float32(effect.shift if effect else 1.0))
        return Projection(self.features)(x) + scale.value * Projection(self.features)(y)


class Stateless(nn.Module):
    """No variables at all: init gives an empty collection."""

    features: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        effect = te_double.active()
        return jnp.tanh(x) * (effect.gain if effect else 1.0)


MODULES: dict[str, type[nn.Module]] = {"projection": Projection, "mixer": Mixer, "stateless": Stateless}


def program(
    module: types.ModuleType, learner: Callable[..., Any], step: dict[str, Any], paths: dict[str, Any]
) -> Callable[..., Any]:
    """`running` over one of our modules, with a recipe of the double."""
    ours = MODULES[step["module"]](step["features"])
    recipe = te_double.use(step["te"], te_double.Effect(step["shift"], step["gain"]))
    return running(module, learner, step["ok"], ours, recipe, paths)


def running(
    module: types.ModuleType,
    learner: Callable[..., Any],
    ok: bool,
    ours: nn.Module,
    recipe: Any,
    paths: dict[str, Any],
) -> Callable[..., Any]:
    """From a raw key and the inputs to the output and the variables' leaves, in the order of `paths`."""
    support_type = getattr(module, "Support", types.SimpleNamespace)
    reason = None if ok else "no FP8 here"

    def run(key: jax.Array, *inputs: jax.Array) -> Any:
        result = learner(ours, key, inputs, support=support_type(ok=ok, reason=reason), recipe=recipe)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise WrongValue(f"it returned a {type(result).__name__}; expected the pair (output, variables)")
        output, variables = result
        if not isinstance(output, jax.Array):
            raise WrongValue(f"the output is a {type(output).__name__}; expected an array")
        try:
            leaves = flax.traverse_util.flatten_dict(meta.unbox(dict(variables)), sep="/")
        except Exception:
            raise WrongValue("the variables are not what module.init returned") from None
        paths["paths"] = sorted(leaves)
        return (output, *(leaves[path] for path in sorted(leaves)))

    return run
