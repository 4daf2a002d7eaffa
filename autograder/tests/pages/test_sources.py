"""Numbers from elsewhere are those that were read there; to change one, look there again and change both."""

from __future__ import annotations

import re
from collections import defaultdict

from autograder.tests.pages.page import Page, course, wrong

SOURCE = re.compile(r"<!-- source: (.*?) -->(.*?)<!-- end -->", re.DOTALL)
READ = {
    'JAX\'s documentation, "Installation"': {"580", "525"},
    "jax/_src/cudnn/fused_attention_stablehlo.py": {"128", "256"},
    "Hanley and Lippman-Hand": {"0.95"},
    'NVIDIA, "H100 Tensor Core GPU Architecture"': {"132"},
    "NVIDIA H200 datasheet": {"989 TFLOP/s"},
    # Of models: layers, N, K, H; and the tokens of the whole context.
    "Brown et al., arXiv:2005.14165, section 2.1": {"96 | 96 | 96 | 128", "2048"},
    "Gemma Team, arXiv:2403.08295, section 2": {"28 | 16 | 16 | 256", "18 | 8 | 1 | 256", "8192"},
    "Llama Team, arXiv:2407.21783, section 3.2": {"126 | 128 | 8 | 128", "32 | 32 | 8 | 128", "131 072"},
    "Chowdhery et al., arXiv:2204.02311, section 2": {"118 | 48 | 1 | 256", "2048"},
}


def quoted(pages: list[Page]) -> dict[str, set[str]]:
    """Source by source, what the pages quote."""
    found = defaultdict(set)
    for page in pages:
        for source, number in SOURCE.findall(page.text):
            found[source].add(number)
    return found


def test_what_the_pages_quote_was_read() -> None:
    assert quoted(course()) == READ


def test_a_wrong_page_is_found() -> None:
    page = wrong("It has <!-- source: NVIDIA H200 datasheet -->898 TFLOP/s<!-- end -->.")
    assert quoted([page])["NVIDIA H200 datasheet"] - READ["NVIDIA H200 datasheet"] == {"898 TFLOP/s"}
