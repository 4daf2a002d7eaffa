"""Library attention in a learner's syntax tree: a look that honest code passes, and no lock."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder import lookup

NAMES = frozenset(
    {
        "dot_product_attention",
        "dot_product_attention_weights",
        "MultiHeadDotProductAttention",
        "MultiHeadAttention",
        "SelfAttention",
        "flash_attention",
        "splash_attention",
        "DotProductAttention",
    }
)


def attention(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """What is imported or looked up, and its line; what the file itself defines is no library's."""
    imported, own = lookup.imported(tree), _own(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                parts = (*(getattr(node, "module", None) or "").split("."), *alias.name.split("."))
                if match := NAMES.intersection(parts):
                    yield sorted(match)[0], node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            if isinstance(node.ctx, ast.Load) and (node.attr not in own or lookup.root(node) in imported):
                yield node.attr, node.lineno
        elif isinstance(node, ast.Name) and "*" in imported and node.id in NAMES - own:
            yield node.id, node.lineno


def _own(tree: ast.Module) -> set[str]:
    """All names of functions, classes, variables and attributes that the file gives a value."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found
