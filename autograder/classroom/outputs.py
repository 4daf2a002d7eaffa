"""What a notebook keeps of its kernel's output: text and pictures.

A student's HTML or JavaScript would run in the browser of whoever grades, with that person's rights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbformat import NotebookNode, v4

SHOWN = frozenset({"text/plain", "image/png", "image/jpeg"})


def shown(cells: Sequence[NotebookNode]) -> None:
    """Keep texts and pictures of what the kernel sent, and nothing of its form: any code may have sent it."""
    for cell in cells:
        if cell.cell_type == "code":
            count = cell.execution_count
            cell.execution_count = count if isinstance(count, int) else None
            cell.outputs = [*_plain(cell.outputs, cell.execution_count)]


def _plain(outputs: Sequence[Mapping[str, Any]], count: int | None) -> Iterator[NotebookNode]:
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            name = "stderr" if output["name"] == "stderr" else "stdout"
            yield v4.new_output(kind, name=name, text=_text(output["text"]))
        elif kind == "error":
            lines = output["traceback"] if isinstance(output["traceback"], list) else []
            words = {name: _text(output[name]) for name in ("ename", "evalue")}
            yield v4.new_output(kind, **words, traceback=[*map(_text, lines)])
        elif isinstance(output["data"], Mapping):
            data = {name: _text(value) for name, value in output["data"].items() if name in SHOWN}
            counted = {"execution_count": count} if kind == "execute_result" else {}
            yield v4.new_output(kind, data=data, **counted)


def _text(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode()  # a lone surrogate could not be written
