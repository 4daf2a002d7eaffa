"""Running the code of pages: on the CPU, each page in a process and a namespace of its own."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

PRELOADED = ["jax.numpy", "flax.linen", "matplotlib"]
"""Imported once and shared. None of them opens a device: what follows a fork may still choose its own."""


@dataclass(frozen=True)
class Block:
    """Code, and the line of its page that it begins on."""

    line: int
    code: str


@dataclass(frozen=True)
class Ran:
    """What the blocks printed, up to the one that failed; its line and message, if one did."""

    outputs: list[str]
    line: int = 0
    error: str = ""


def run(pages: Mapping[str, Sequence[Block]], root: Path) -> dict[str, Ran]:
    """Each page's blocks in order, in the folder `root`."""
    forks = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if forks else "spawn")
    if forks:
        context.set_forkserver_preload(PRELOADED)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context, max_tasks_per_child=1) as pool:
        running = {page: pool.submit(_run, page, blocks, root) for page, blocks in pages.items() if blocks}
        ran = {page: Ran([]) for page in pages}
        for page, future in running.items():
            try:
                ran[page] = future.result()
            except BrokenProcessPool:
                ran[page] = Ran([], pages[page][0].line, "the process that ran this page, or another, died")
    return ran


def _run(page: str, blocks: Sequence[Block], root: Path) -> Ran:
    import jax

    jax.config.update("jax_platforms", "cpu")  # type: ignore[no-untyped-call]
    os.environ["MPLBACKEND"] = "agg"
    os.chdir(root)
    namespace = {"__name__": "__main__"}
    outputs: list[str] = []
    for block in blocks:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                # Line feeds before it, so that a traceback counts the page's lines.
                exec(compile("\n" * (block.line - 1) + block.code, page, "exec"), namespace)
        except BaseException as error:  # SystemExit as well: nothing that a page does may end the check
            here = [
                frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == page
            ]
            line = error.lineno if isinstance(error, SyntaxError) and error.filename == page else None
            shown = traceback.format_exception_only(error)[-1].strip()
            return Ran(outputs, line or next(iter(here), None) or block.line, shown)
        outputs.append(printed.getvalue())
    return Ran(outputs)
