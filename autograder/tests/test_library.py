"""Which attention is a library's: what is imported or looked up there, and nothing of the file's own."""

from __future__ import annotations

import pytest

from autograder.source import parse

THEIRS = {
    "from jax.nn import *\ndef f(q): return dot_product_attention(q, q, q)": "dot_product_attention",
    "import jax.nn as jnn\nf = jnn.dot_product_attention": "dot_product_attention",
    "from jax import nn\nf = nn.dot_product_attention": "dot_product_attention",
    "from jax.nn import dot_product_attention as attend": "dot_product_attention",
    "import jax\ndef dot_product_attention(q): return jax.nn.dot_product_attention(q, q, q)": (
        "dot_product_attention"
    ),
    "import flax.linen as nn\nclass Block(nn.Module):\n    def setup(self): self.a = nn.SelfAttention(2)": (
        "SelfAttention"
    ),
}
OWN = (
    "class SelfAttention:\n    def __call__(self, q): return q\nf = SelfAttention()",
    "class Own:\n    def SelfAttention(self, q): return q\n    def f(self, q): return self.SelfAttention(q)",
    "class Own:\n    def SelfAttention(self, q): return q\ndef f(q): return Own().SelfAttention(q)",
    "def flash_attention(q): return q\nf = flash_attention",
    "flash_attention = lambda q: q\nf = flash_attention",
    "from jax.nn import *\ndef dot_product_attention(q): return q\nf = dot_product_attention",
    "from jax.nn import *\nf = softmax",
)


@pytest.mark.parametrize("text", THEIRS)
def test_a_librarys(text: str) -> None:
    found = parse("naive_attention", text.encode()).library_attention()
    assert found is not None and found[0] == THEIRS[text]


@pytest.mark.parametrize("text", OWN)
def test_ones_own(text: str) -> None:
    assert parse("naive_attention", text.encode()).library_attention() is None
