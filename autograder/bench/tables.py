"""Rows as a table on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from autograder.bench.machine import Machine
from autograder.bench.rows import SHORT, Row

SIZES = ("B", "T", "S", "N", "K", "H", "devices")
Cell = Callable[[Row], str]


def show(name: str, rows: Sequence[Row], machine: Machine, screen: Console) -> None:
    """A sweep's table: sizes that stay the same in its caption, the others in columns; notes below it."""
    same = [size for size in SIZES if len({getattr(row, size) for row in rows}) == 1]
    hidden = [
        size for size, twin in (("S", "T"), ("K", "N")) if size not in same and _equal(rows, size, twin)
    ]
    fixed = ", ".join(f"{size}={getattr(rows[0], size)}" for size in same if size != "devices")
    table = Table(title=f"{name}: {machine.label}", caption=f"{fixed}. {_about(machine)}")
    table.add_column("function", min_width=min(28, max(len(row.label) for row in rows)))
    cells: list[Cell] = [lambda row: row.label]
    for size in SIZES:
        if size not in (*same, *hidden):
            table.add_column(size, justify="right")
            cells.append(_column(size))
    for heading, cell in _columns(rows, machine):
        table.add_column(heading, justify="right")
        cells.append(cell)
    for row in rows:
        if row.ms is not None:
            table.add_row(*(cell(row) for cell in cells))
    if table.row_count:
        screen.print(table)
    for row in rows:
        if row.note:
            sizes = " ".join(f"{size}={getattr(row, size)}" for size in SIZES if size not in (*same, *hidden))
            screen.print(f"  {row.label} {sizes}: {row.note}", markup=False, highlight=False)
    screen.print()


def _equal(rows: Sequence[Row], size: str, twin: str) -> bool:
    return all(getattr(row, size) == getattr(row, twin) for row in rows)


def size(count: int | None) -> str:
    """Bytes in the unit that keeps the number short."""
    if count is None:
        return ""
    for unit, each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= each:
            return f"{count / each:.3g} {unit}"
    return f"{count} bytes"


def _column(name: str) -> Cell:
    return lambda row: str(getattr(row, name))


def _columns(rows: Sequence[Row], machine: Machine) -> list[tuple[str, Cell]]:
    found: list[tuple[str, Cell]] = []
    dtype = machine.matrix.split()[0]
    if machine.gpu:
        found += [("device ms", lambda row: _number(row.device_ms))]
    found += [
        ("one call ms", lambda row: _number(row.percall_ms)),
        ("burst ms", lambda row: _number(row.amortised_ms)),
        ("TFLOP/s", lambda row: _number(row.tflops)),
        (f"of {SHORT.get(dtype, dtype)} peak", lambda row: _percent(row.peak_share)),
        ("of copy rate", lambda row: _percent(row.bandwidth_share)),
        ("temporary", lambda row: size(row.temp_bytes)),
    ]
    if machine.gpu:
        found += [("cuDNN ran", lambda row: _yes(row.cudnn))]
    if any(row.cache_bytes for row in rows):
        found += [("KV cache", lambda row: size(row.cache_bytes))]
    if any(row.error is not None for row in rows):
        found += [("FP8 in it", lambda row: _yes(row.float8)), ("error", lambda row: _percent(row.error))]
    if any(row.speedup is not None for row in rows):
        found += [
            ("speed-up", lambda row: _number(row.speedup)),
            ("efficiency", lambda row: _percent(row.speedup and row.speedup / row.devices)),
        ]
    return found


def _about(machine: Machine) -> str:
    clock = "device ms: the kernels' own time (CUPTI)" if machine.gpu else "no device clock on a CPU"
    return (
        f"{clock}; one call ms: with the wait for it; burst ms: many calls, one wait. "
        f"Measured peak {machine.matrix_tflops:.3g} TFLOP/s ({machine.matrix}), "
        f"copy {machine.copy_gbytes_s:.4g} GB/s."
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.3g} %"


def _yes(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"
