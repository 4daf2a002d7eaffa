"""What a learner reads of mistakes made end to end: what it is, where, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder import workspace
from autograder.tests.conftest import Grade, failed


@dataclass(frozen=True)
class Told:
    """A solution with these texts replaced; the check that fails, and what its message holds."""

    module: str
    changes: tuple[tuple[str, str], ...]
    check: str
    says: str
    step: str


def _run(body: str) -> tuple[tuple[str, str], ...]:
    """`run_with_fp8` with another beginning."""
    start = "    context = nullcontext()\n    if support.ok:\n        import transformer_engine.jax as te\n"
    return ((f"{start}\n        context = te.autocast(enabled=True, recipe=recipe)\n", body),)


SCORES = 'scores = jnp.einsum("BTNH,BSNH->BNTS", query, key, preferred_element_type=jnp.float32)'
CUDNN = '    if device.platform != "gpu":\n'
CASES = {
    "numpy": Told(
        "naive_attention",
        (
            (SCORES, 'scores = np.einsum("BTNH,BSNH->BNTS", query, key)'),
            ("import jax\n", "import jax\nimport numpy as np\n"),
        ),
        "gradient",
        "NumPy's np.einsum asks for the value of an array",
        "Write jnp in place of np at line ",
    ),
    "value_decides": Told(
        "naive_attention",
        (
            (
                SCORES,
                f"{SCORES}\n    if jnp.max(scores) > 80:\n        scores = scores - 80\n    scores = scores",
            ),
        ),
        "gradient",
        "`if jnp.max(scores) > 80:` asks for the value",
        "Write jnp.where(condition, one, other) in place of the if at line ",
    ),
    "renamed": Told(
        "naive_attention",
        (("def naive_attention(", "def naive_attn("),),
        "float32",
        "naive_attention.py defines naive_attn and no naive_attention",
        "Rename naive_attn at line ",
    ),
    "another_exercise": Told(
        "naive_attention",
        (("import jax\n", "import jax\nfrom cudnn_attention import AttentionRun\n"),),
        "float32",
        "No module named 'cudnn_attention'",
        "Each file is graded alone: copy what you need into naive_attention.py, and remove",
    ),
    "debugger": Told(
        "naive_attention",
        ((SCORES, f"breakpoint()\n    {SCORES}"),),
        "float32",
        "it stopped for a debugger at line ",
        "Remove breakpoint() at line ",
    ),
    "random": Told(
        "naive_attention",
        ((SCORES, f"{SCORES} * jax.random.uniform(jax.random.key(0))"),),
        "float32",
        "It draws random numbers (jax.random, dropout): attention is a function of its inputs alone.",
        "Remove jax.random.uniform at line ",
    ),
    "float_bytes": Told(
        "grouped_query",
        (("head_dim * jnp.dtype(dtype).itemsize", "head_dim * jnp.finfo(dtype).bits / 8"),),
        "kv_cache_bytes",
        "It is a float.",
        "Write // in place of /",
    ),
    "numpy_int": Told(
        "grouped_query",
        (("head_dim * jnp.dtype(dtype).itemsize", "jnp.int32(head_dim) * jnp.dtype(dtype).itemsize"),),
        "kv_cache_bytes",
        "no int of Python",
        "Multiply Python's own ints",
    ),
    "support_itself": Told(
        "fp8_autocast",
        _run(
            "    context = nullcontext()\n    if support:\n        import transformer_engine.jax as te\n\n"
            "        context = te.autocast(enabled=True, recipe=recipe)\n"
        ),
        "autocast",
        "The condition is support itself: an object, which is always true.",
        "Write support.ok in place of support at line ",
    ),
    "engine_always_imported": Told(
        "fp8_autocast",
        _run(
            "    import transformer_engine.jax as te\n\n    context = nullcontext()\n    if support.ok:\n"
            "        context = te.autocast(enabled=True, recipe=recipe)\n"
        ),
        "autocast",
        "No module named 'transformer_engine.jax'",
        "Import TransformerEngine only where support.ok is True",
    ),
    "value_decides_a_scale": Told(
        "fp8_autocast",
        (("    usable = (amax > 0)", "    if amax > 0:\n        return new_scale\n    usable = (amax > 0)"),),
        "delayed_scale",
        "`if amax > 0:` asks for the value of an array",
        "Write jnp.where(condition, one, other)",
    ),
    "256_forgotten": Told(
        "cudnn_attention",
        (
            (
                CUDNN,
                f"    if head > 128:\n        return f'{{dtype}} head {{head}}'\n{CUDNN}",
            ),
            ("dtype: jnp.dtype) ->", "dtype: jnp.dtype, head: int) ->"),
            ("query.dtype)\n", "query.dtype, query.shape[-1])\n"),
        ),
        "labels",
        "expected backend='cudnn', got 'xla'",
        "cuDNN takes head size 256 from compute capability 9.0 on, and this GPU has 9.0",
    ),
    "causal_turned_away": Told(
        "cudnn_attention",
        (
            (
                "    if reason is None:\n        try:",
                "    if is_causal:\n        reason = 'not today'\n    if reason is None:\n        try:",
            ),
        ),
        "labels",
        "the reason it gave: 'not today'",
        "cuDNN takes causal calls: pass is_causal on to it.",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_told(name: str, tmp_path: Path, grade: Grade) -> None:
    case = CASES[name]
    found = failed(grade(case.module, _changed(tmp_path, case.module, case.changes)))[case.check]
    said = f"{found.detail} {found.diagnosis}"
    assert case.says in said and found.next_step.startswith(case.step), found
    assert not re.search(r"steps\.py|site-packages|docs\.jax", said)


def _changed(folder: Path, module: str, changes: tuple[tuple[str, str], ...]) -> Path:
    text = (workspace.solutions() / f"{module}.py").read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", ["enabled=True, fp8_recipe=recipe", "True, recipe", "True, fp8_recipe=recipe"]
)
def test_the_old_autocast_is_taken_as_transformer_engine_takes_it(
    call: str, tmp_path: Path, grade: Grade
) -> None:
    changes = (("te.autocast(enabled=True, recipe=recipe)", f"te.fp8_autocast({call})"),)
    text = (workspace.solutions() / "fp8_autocast.py").read_text(encoding="utf-8")
    head, function, rest = text.partition("    # 1. Choose the context")
    (tmp_path / "fp8_autocast.py").write_text(head + function + rest.replace(*changes[0]), encoding="utf-8")
    assert failed(grade("fp8_autocast", tmp_path)) == {}


ENCODINGS = {
    "cp1252": "holds the byte 0xFC (ü in Windows-1252) at line 2, which is no UTF-8; save the file as UTF-8",
    "utf-16": "mark UTF-16; save the file as UTF-8",
    "utf-16-le": "holds a null byte at line 1, as UTF-16 does; save the file as UTF-8",
    "utf-32": "mark UTF-32; save the file as UTF-8",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_another_encoding_is_named_by_byte_and_line(encoding: str, tmp_path: Path, grade: Grade) -> None:
    (tmp_path / "naive_attention.py").write_bytes("x = 1\n# Grüße\n".encode(encoding))
    for check in failed(grade("naive_attention", tmp_path)).values():
        assert ENCODINGS[encoding] in check.detail
