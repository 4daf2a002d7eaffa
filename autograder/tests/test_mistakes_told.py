"""Each mistake costs the checks that it should, always, and is told once, with words that lead to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder import workspace
from autograder.report.terminal import _groups
from autograder.results import Outcome
from autograder.tests.conftest import Grade, failed

NAIVE, CUDNN, CAUSAL, GROUPED = "naive_attention", "cudnn_attention", "causal_check", "grouped_query"
SCORES = '"BTNH,BSNH->BNTS", query, key, preferred_element_type=jnp.float32) / math.sqrt(H)'
SOFTMAX = "weights = jax.nn.softmax(scores, axis=-1)"
ATTEND = "in_float32 = (array.astype(jnp.float32) for array in (query, key, value))"
LIBRARY = "return jax.nn.dot_product_attention(*in_float32, is_causal=True).astype(query.dtype)"
MASKED = """mask = jnp.arange(key.shape[1]) <= jnp.arange(query.shape[1])[:, None]
    query32, key32, value32 = (array.astype(jnp.float32) for array in (query, key, value))
    scores = jnp.einsum("BTNH,BSNH->BNTS", query32, key32) / query.shape[-1] ** 0.5
    scores = {}
    return jnp.einsum("BNTS,BSNH->BTNH", jax.nn.softmax(scores), value32).astype(query.dtype)"""
LOOP = "        for s in range(t + 1, key.shape[1]):\n"
ENOUGH = "tolerance = max(1e-3, float(jnp.finfo(query.dtype).eps))"
BEFORE = "before = _call(attention, query, key, value)"
BACKWARD = """

@jax.custom_vjp
def _attend(query, key, value):
    return _forward(query, key, value)[0]


def _forward(query, key, value):
    q, k, v = (array.astype(jnp.float32) for array in (query, key, value))
    weights = jax.nn.softmax(jnp.einsum("BTNH,BSNH->BNTS", q, k) / math.sqrt(q.shape[-1]))
    return jnp.einsum("BNTS,BSNH->BTNH", weights, v).astype(query.dtype), (query, key, value, weights)


def _backward(saved, cotangent):
    query, key, value, weights = saved
    q, k, v, g = (array.astype(jnp.float32) for array in (query, key, value, cotangent))
    d_value = jnp.einsum("BNTS,BTNH->BSNH", weights, g)
    d_weights = jnp.einsum("BTNH,BSNH->BNTS", g, v)
    d_scores = weights * (d_weights - (weights * d_weights).sum(-1, keepdims=True)) / math.sqrt(q.shape[-1])
    d_query, d_key = jnp.einsum("BNTS,BSNH->BTNH", d_scores, k), jnp.einsum("BNTS,BTNH->BSNH", d_scores, q)
    return d_query.astype(query.dtype), d_key.astype(key.dtype), d_value.astype(value.dtype)


_attend.defvjp(_forward, _backward)
"""


@dataclass(frozen=True)
class Mutant:
    """A solution with some text changed: the checks that fail and that wait, and what is said.

    One function's mistake is told once; `functions` have it.
    """

    what: str
    exercise: str
    change: tuple[tuple[str, str], ...]
    fails: str
    says: tuple[str, ...] = ()
    waits: str = ""
    functions: int = 1
    more: str = ""

    def source(self) -> str:
        text = (workspace.solutions() / f"{self.exercise}.py").read_text(encoding="utf-8")
        for old, new in self.change:
            assert text.count(old) >= 1, old
            text = text.replace(old, new)
        return text + self.more


def scores(new: str) -> tuple[tuple[str, str], ...]:
    return ((SCORES, f'"BTNH,BSNH->BNTS", {new}'),)


def softmax(new: str) -> tuple[tuple[str, str], ...]:
    return ((SOFTMAX, new),)


def attend(masked: str) -> tuple[tuple[str, str], ...]:
    return ((ATTEND, ""), (LIBRARY, MASKED.format(masked)))


def backward(old: str, new: str) -> Mutant:
    return Mutant(
        f"a backward rule with {new}",
        NAIVE,
        (("    # 2. Compute", "    return _attend(query, key, value)\n    # 2. Compute"),),
        "gradient",
        more=BACKWARD.replace(old, new),
    )


HALF = "half_precision gradient"
EXTREME = "extreme_inputs half_precision gradient"
ALL = "float32 extreme_inputs half_precision gradient"
WIDE = "preferred_element_type=jnp.float32)"
MUTANTS = (
    Mutant(
        "the query is divided in its dtype",
        NAIVE,
        scores(f"query / math.sqrt(H), key, {WIDE}"),
        HALF,
        ("The query is scaled in half precision", "divide the float32 scores"),
    ),
    Mutant(
        "the query is multiplied in its dtype",
        NAIVE,
        scores(f"query * H**-0.5, key, {WIDE}"),
        HALF,
        ("The query is scaled in half precision",),
    ),
    Mutant(
        "products in half precision",
        NAIVE,
        scores("query, key) / math.sqrt(H)"),
        HALF,
        ("rounding to bfloat16",),
    ),
    Mutant(
        "a softmax in half precision",
        NAIVE,
        softmax("weights = jax.nn.softmax(scores.astype(query.dtype), axis=-1)"),
        HALF,
        ("cast back at the end",),
    ),
    Mutant("the weights are cast", NAIVE, softmax(f"{SOFTMAX}.astype(value.dtype)"), ""),
    Mutant(
        "the gradient of grouped heads in half precision is not asked",
        GROUPED,
        ((f"grouped, key, {WIDE} / math.sqrt(H)", f"grouped / math.sqrt(H), key, {WIDE}"),),
        "half_precision",
        ("The query is scaled in half precision",),
    ),
    Mutant(
        "clipped scores",
        NAIVE,
        softmax("weights = jax.nn.softmax(jnp.clip(scores, -30, 30), axis=-1)"),
        EXTREME,
        ("Large scores are clipped", "clip nothing"),
    ),
    Mutant(
        "scores cut off above",
        NAIVE,
        softmax("weights = jax.nn.softmax(jnp.minimum(scores, 80.0), axis=-1)"),
        EXTREME,
        ("Large scores are clipped",),
    ),
    Mutant(
        "one maximum for all",
        NAIVE,
        softmax(
            "raised = jnp.exp(scores - scores.max())\n    weights = raised / raised.sum(-1, keepdims=True)"
        ),
        EXTREME,
        ("One maximum is subtracted for many rows", "own maximum"),
    ),
    Mutant(
        "a maximum for each head",
        NAIVE,
        softmax(
            "raised = jnp.exp(scores - scores.max((2, 3), keepdims=True))\n"
            "    weights = raised / raised.sum(-1, keepdims=True)"
        ),
        EXTREME,
        ("One maximum is subtracted for many rows",),
    ),
    Mutant(
        "no maximum",
        NAIVE,
        softmax("raised = jnp.exp(scores)\n    weights = raised / raised.sum(-1, keepdims=True)"),
        EXTREME,
        ("too large for exp()", "own maximum"),
    ),
    Mutant(
        "another divisor",
        NAIVE,
        scores(f"query, key, {WIDE} / 5"),
        ALL,
        ("divided by 5; √H is 4 here",),
        waits="no_library",
    ),
    Mutant(
        "no divisor",
        NAIVE,
        scores(f"query, key, {WIDE}"),
        ALL,
        ("not divided by √H",),
        waits="no_library",
    ),
    Mutant(
        "a name that is not there",
        NAIVE,
        softmax("weights = jax.nn.softmax(score, axis=-1)"),
        f"{ALL} errors",
        ("name 'score' is not defined",),
        waits="no_library",
    ),
    Mutant(
        "the output in layout (B, N, T, H)",
        NAIVE,
        (("BNTS,BSNH->BTNH", "BNTS,BSNH->BNTH"),),
        f"{ALL} errors",
        ("layout (B, N, T, H)", "jnp.transpose(out, (0, 2, 1, 3))"),
        waits="no_library",
    ),
    Mutant(
        "T and S have to agree",
        NAIVE,
        (
            (
                "    S = key.shape[1]\n",
                "    S = key.shape[1]\n    if S != query.shape[1]:\n        raise ValueError('no')\n",
            ),
        ),
        f"{ALL} errors",
        ("refuses a call that fits the contract", "T and S may differ"),
        waits="no_library",
    ),
    Mutant(
        "an assertion about one head",
        NAIVE,
        (("    S = key.shape[1]\n", "    S = key.shape[1]\n    assert N > 1\n"),),
        "float32 extreme_inputs errors",
        ("refuses a call that fits the contract",),
    ),
    Mutant(
        "a mask of 0 and 1 in bfloat16",
        CAUSAL,
        attend("scores - 1e6 * (1 - mask.astype(jnp.bfloat16))"),
        "",
    ),
    Mutant(
        "a mask of -100",
        CAUSAL,
        attend("jnp.where(mask, scores, -100.0)"),
        "values",
    ),
    Mutant("an additive mask of -100", CAUSAL, attend("scores + jnp.where(mask, 0.0, -100.0)"), "values"),
    Mutant("a mask of -1e4", CAUSAL, attend("jnp.where(mask, scores, -1e4)"), ""),
    Mutant(
        "zero times infinity",
        CAUSAL,
        attend("scores + (1.0 - mask) * -jnp.inf"),
        "values first_last",
        ("0 · ∞ is NaN", "jnp.where(mask, scores, -jnp.inf)"),
        functions=2,
    ),
    Mutant(
        "is_causal stops at T",
        CAUSAL,
        ((LOOP, LOOP.replace("key.shape[1]", "query.shape[1]")),),
        "other_shapes",
        ("the keys after the last query",),
    ),
    Mutant(
        "is_causal changes the last key alone",
        CAUSAL,
        ((LOOP, LOOP.replace("t + 1", "max(t + 1, key.shape[1] - 1)")),),
        "partial_leaks",
        ("one key to one position",),
    ),
    Mutant(
        "is_causal with a loose limit",
        CAUSAL,
        ((ENOUGH, "tolerance = 0.1"),),
        "partial_leaks",
        ("a small leak",),
    ),
    Mutant(
        "is_causal by a gradient",
        CAUSAL,
        ((BEFORE, "return not bool(jnp.any(jax.jacrev(lambda k: attention(query, k, value))(key)))"),),
        "plain_leaks partial_leaks one_way_leaks other_shapes",
        ("has no derivative", "Call it"),
    ),
    backward(
        "d_key.astype(key.dtype), d_value.astype(value.dtype)",
        "d_value.astype(key.dtype), d_key.astype(value.dtype)",
    ),
    backward(" - (weights * d_weights).sum(-1, keepdims=True)", ""),
    backward(") / math.sqrt(q.shape[-1])\n    d_query", ")\n    d_query"),
    Mutant(
        "something is added to the sum of the weights",
        NAIVE,
        softmax(
            "raised = jnp.exp(scores - scores.max(-1, keepdims=True))\n"
            "    weights = raised / (raised.sum(-1, keepdims=True) + 1e-2)"
        ),
        ALL,
        ("its weights add up to less than 1", "add nothing to it"),
        waits="no_library",
    ),
    Mutant(
        "no return",
        NAIVE,
        (("    return output.astype(query.dtype)", "    output.astype(query.dtype)"),),
        f"{ALL} errors",
        ("it returned None", "without a return it gives None"),
        waits="no_library",
    ),
    Mutant(
        "is_causal asks for equality",
        CAUSAL,
        ((ENOUGH, "tolerance = 0.0"),),
        "plain_leaks partial_leaks one_way_leaks other_shapes",
        ("moved by rounding alone", "never for equality"),
    ),
    Mutant(
        "is_causal drops what at[].add returns",
        CAUSAL,
        (
            (
                "changed = jnp.asarray(new_keys, key.dtype), jnp.asarray(new_values, value.dtype)",
                "changed = key, value",
            ),
        ),
        "plain_leaks partial_leaks one_way_leaks other_shapes",
        ("never changes a key or a value", "use what it returns"),
    ),
    Mutant(
        "first_last_difference builds on a causal_attention that is wrong",
        CAUSAL,
        attend("scores"),
        "values first_last",
        ("Every position sees all keys",),
    ),
    Mutant(
        "the absolute value is missing",
        CAUSAL,
        (("jnp.abs(causal - full)", "causal - full"),),
        "first_last",
        ("The absolute value is missing",),
    ),
    Mutant(
        "the platform is called cuda",
        CUDNN,
        (('device.platform != "gpu"', 'device.platform != "cuda"'),),
        "labels turing cudnn_values",
        ("compared with", "Compare the platform with 'gpu'"),
    ),
    Mutant(
        "a platform called cuda is let in beside the one that JAX has",
        CUDNN,
        (('device.platform != "gpu"', 'device.platform != "cuda" and device.platform != "gpu"'),),
        "",
    ),
    Mutant(
        "an except that catches the function's own error",
        CUDNN,
        (
            ("except (NotImplementedError, RuntimeError)", "except Exception"),
            (
                "        try:\n",
                "        try:\n            assert jax.devices()[0].compute_capability < 9.0 or True\n",
            ),
        ),
        "labels cudnn_values",
        ("caught an error of your own code", "catch NotImplementedError and RuntimeError alone"),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_a_mistake_is_told_once(mutant: Mutant, tmp_path: Path, grade: Grade) -> None:
    (tmp_path / f"{mutant.exercise}.py").write_text(mutant.source(), encoding="utf-8")
    result = grade(mutant.exercise, tmp_path)
    found = failed(result)
    assert set(found) == set(mutant.fails.split()), found
    assert {c.id for c in result.checks if c.outcome is Outcome.NOT_STARTED} == set(mutant.waits.split())
    assert len(_groups(found.values())) <= mutant.functions, found
    told = " ".join(f"{check.detail} {check.diagnosis} {check.next_step}" for check in found.values())
    for words in mutant.says:
        assert words in told
