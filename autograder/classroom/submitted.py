"""A handed-in notebook, in whatever state it is, made into one that nbgrader can grade.

Texts are the student's; which cells there are, their ids, kinds and points are the gradebook's. Nothing else
of the file is kept: no output, no metadata.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, v4

from autograder.classroom.cells import grade_id
from autograder.classroom.gradebook import TrustedCell, TrustedNotebook

MAX_FILE = 100 * 2**20
MAX_PARTS = 2_000_000
"""Lists and objects in a file: of "[]" alone, one would take fifty times its size in memory."""
MAX_CELL = 256 * 2**10
MAX_CELLS = 1000
MAX_PICTURES = 8 * 2**20
KEPT = "what you wrote in it is not lost: it is graded as a cell of your own"


class Broken(Exception):
    """A file that holds no notebook; the message says why."""


@dataclass(frozen=True)
class Mended:
    """A notebook fit for nbgrader, and what was mended in it, a sentence each, to the student."""

    notebook: NotebookNode
    notes: tuple[str, ...]


def read(path: Path, trusted: TrustedNotebook) -> Mended:
    """The notebook in this file; as it was handed out, with a note, where the file holds none."""
    try:
        cells = _cells(_load(path))
    except Broken as why:
        return Mended(_notebook(_mend([], trusted, [])), (f"{why}; nothing in it could be graded",))
    notes: list[str] = []
    return Mended(_notebook(_mend(cells, trusted, notes)), tuple(notes))


def _load(path: Path) -> Any:
    name = path.name
    if not os.path.lexists(path):
        raise Broken(f"{name} is missing from your submission: hand it in under this very name")
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise Broken(f"{name} is not a file: hand in the notebook itself")
    if status.st_size > MAX_FILE:
        raise Broken(f"{name} has more than {MAX_FILE // 2**20} MB: clear its outputs and save it again")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Broken(f"{name} cannot be read ({error.strerror})") from None
    if not data.strip():
        raise Broken(f"{name} is empty: save it again in JupyterLab, and hand it in again")
    if data.count(b"[") + data.count(b"{") > MAX_PARTS:
        raise Broken(
            f"{name} holds more than {MAX_PARTS} lists and objects: clear its outputs and save it again"
        )
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        again = "open it in JupyterLab; if that cannot, take a new copy and paste your cells into it"
        raise Broken(f"{name} is not a notebook (it is not valid JSON): {again}") from None


def _cells(document: Any) -> list[dict[str, Any]]:
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list) or not cells:
        raise Broken("the file has no cells of a notebook of format 4: save it again in JupyterLab")
    return [cell for cell in cells if isinstance(cell, dict)]


def _mend(cells: Sequence[dict[str, Any]], trusted: TrustedNotebook, notes: list[str]) -> list[NotebookNode]:
    """The student's cells in their order, each id on one of them, and those missing back in their place."""
    known = {cell.id: cell for cell in trusted.cells}
    if len(cells) > MAX_CELLS:
        notes.append(f"the notebook has {len(cells)} cells; those after the first {MAX_CELLS} were left out")
    made: list[tuple[str, NotebookNode]] = []
    taken: set[str] = set()
    for cell in reversed(cells[:MAX_CELLS]):  # of two with one id the last counts, as it does in Python
        id_ = grade_id(cell)
        ours = known.get(id_)
        if ours and id_ in taken:
            notes.append(f"there are two cells {id_!r}: the last one keeps the id; {KEPT}")
            ours = None
        elif id_ and not ours:
            notes.append(f"no cell of this notebook is called {id_[:80]!r}; {KEPT}")
        if ours:
            taken.add(id_)
            made.append((id_, _known(ours, _text(cell, notes), cell)))
        else:
            made.append(("", _own(cell, notes)))
    made.reverse()
    notes.reverse()
    missing = [cell for cell in trusted.cells if cell.id not in taken]
    for cell in missing:  # each behind the cell before it, which is there by now
        before = trusted.cells.index(cell) - 1
        place = [id_ for id_, _ in made].index(trusted.cells[before].id) + 1 if before >= 0 else 0
        made.insert(place, (cell.id, _known(cell, cell.source, {})))
    if missing and cells:
        there = ", ".join(repr(cell.id) for cell in missing)
        notes.append(f"cells were missing, and were put back as they were handed out: {there}")
    return [node for _, node in made]


def _known(ours: TrustedCell, text: str, cell: dict[str, Any]) -> NotebookNode:
    node = _node(ours.cell_type, ours.source if ours.locked else text, cell)
    node.metadata["nbgrader"] = ours.metadata
    return node


def _own(cell: dict[str, Any], notes: list[str]) -> NotebookNode:
    return _node(str(cell.get("cell_type")), _text(cell, notes), cell)


def _node(cell_type: str, text: str, cell: dict[str, Any]) -> NotebookNode:
    if cell_type == "code":
        return v4.new_code_cell(text)
    if cell_type != "markdown":
        return v4.new_raw_cell(text)
    node = v4.new_markdown_cell(text)
    if pictures := dict(_pictures(cell.get("attachments"))):
        node["attachments"] = pictures
    return node


def _pictures(attachments: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """Pictures in an answer, which a person will grade."""
    left = MAX_PICTURES
    for name, bundle in attachments.items() if isinstance(attachments, dict) else ():
        for kind, data in bundle.items() if isinstance(bundle, dict) else ():
            if (
                isinstance(data, str)
                and kind in ("image/png", "image/jpeg", "image/gif", "image/svg+xml")
                and len(data) <= left
            ):
                left -= len(data)
                yield str(name), {kind: data}


def _text(cell: dict[str, Any], notes: list[str]) -> str:
    source = cell.get("source")
    text = "".join(map(str, source)) if isinstance(source, list) else str(source or "")
    if len(text) > MAX_CELL:
        notes.append(f"a cell has more than {MAX_CELL // 1024} kB of text and was emptied")
        return ""
    return text.encode("utf-8", "replace").decode()  # a lone surrogate could not be written


def _notebook(cells: Sequence[NotebookNode]) -> NotebookNode:
    return v4.new_notebook(cells=list(cells))
