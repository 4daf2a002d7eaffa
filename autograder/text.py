"""Texts of bounded length."""

from __future__ import annotations


def cut(text: str, most: int) -> str:
    """At most so many characters, and "…" at the end of a word where there were more."""
    if len(text) <= most:
        return text
    head = text[:most]
    whole = head if text[most].isspace() else head.rpartition(" ")[0]
    return f"{(whole if len(whole) > most // 2 else head).rstrip()}…"
