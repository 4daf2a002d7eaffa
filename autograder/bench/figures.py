"""Figures of the sweeps, PNG and SVG, and SVG for dark mode; each says which machine, versions and clock.

They read in grey too.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from autograder.bench.machine import Machine
from autograder.bench.rows import Row
from autograder.bench.theme import DARK, LIGHT, Theme

Value = Callable[[Row], float | None]
Bound = Callable[[Machine], tuple[float, str]]
Panel = Callable[[Axes, Sequence[Row], Machine, Theme], None]

MARKERS = "osD^vPX"
WIDTH, PANEL = 5.2, 3.5
"""Inches. Panels stand in a column: a phone shows it in about as many pixels as it has points."""
TEXT: dict[Any, Any] = {"font.size": 9, "legend.fontsize": 8.5, "figure.titlesize": "medium"}
STYLES = ("-", "--", "-.", ":", (0, (6, 1)), (0, (3, 1, 1, 1)), (0, (1, 2)))


def draw(name: str, rows: Sequence[Row], machine: Machine, folder: Path) -> None:
    """`name`.png, `name`.svg and `name`-dark.svg in `folder`; nothing where there is nothing to draw."""
    if not any(row.ms for row in rows) or (name == "two-gpus" and max(row.devices for row in rows) == 1):
        return
    for theme in (LIGHT, DARK):
        with matplotlib.rc_context({**theme.rc, **TEXT, "svg.hashsalt": name, "svg.fonttype": "none"}):
            figure = _figure(name, rows, machine, theme)
            if theme is LIGHT:
                figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
            figure.savefig(folder / f"{name}{theme.suffix}.svg", metadata={"Date": None, "Creator": None})


def _figure(name: str, rows: Sequence[Row], machine: Machine, theme: Theme) -> Figure:
    title, panels = FIGURES[name]
    height = 0.4 * len(rows) + 1.4 if panels == [BOTH] else PANEL * len(panels) + 0.5
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    column = figure.subplots(len(panels), squeeze=False)[:, 0]
    for axes, panel in zip(column, panels, strict=True):
        panel(axes, rows, machine, theme)
    _align([axes for axes in column if axes.get_yscale() == "log"])
    figure.suptitle("\n".join(textwrap.fill(line, 78) for line in (title, machine.label)))
    return figure


def lines(
    x: str,
    x_label: str,
    y: Value,
    y_label: str,
    log: bool = True,
    name: Callable[[Row], str] = lambda row: row.label,
    only: Callable[[Row], bool] = lambda row: True,
    bound: Bound | None = None,
) -> Panel:
    """A line for each `name` over a column of the rows, or of those that are `only`; and what bounds them."""

    def panel(axes: Axes, rows: Sequence[Row], machine: Machine, theme: Theme) -> None:
        rows = [row for row in rows if only(row)]
        looks = zip(
            itertools.cycle(theme.colours), itertools.cycle(MARKERS), itertools.cycle(STYLES), strict=False
        )
        labels = dict.fromkeys(name(row) for row in rows)
        for label, look in zip(labels, looks, strict=False):
            colour, marker, style = look
            points = [(getattr(row, x), y(row)) for row in rows if name(row) == label]
            points = [(at, value) for at, value in points if value is not None]
            if points:
                axes.plot(
                    *zip(*points, strict=True),
                    color=colour,
                    marker=marker,
                    linestyle=style,
                    markersize=4,
                    linewidth=1.3,
                    label=label,
                )
        if bound is not None:
            height, label = bound(machine)
            axes.axhline(height, color=theme.grey, linewidth=0.8, label=label)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label.format(clock=clock(machine)))
        axes.set_xscale("log", base=2)
        ticks = sorted({getattr(row, x) for row in rows})
        axes.set_xticks(ticks, [str(tick) for tick in ticks], rotation=45 if len(ticks) > 6 else 0)
        axes.minorticks_off()
        if log:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        _finish(axes)

    return panel


def bars(*columns: tuple[Value, str]) -> Panel:
    """A bar for each row and column, the columns named in the legend."""

    def panel(axes: Axes, rows: Sequence[Row], machine: Machine, theme: Theme) -> None:
        rows = [row for row in rows if row.ms]
        height = 0.8 / len(columns)
        for n, (value, label) in enumerate(columns):
            at = [place + n * height for place in range(len(rows))]
            known = [(place, value(row)) for place, row in zip(at, rows, strict=True)]
            drawn = [(place, width) for place, width in known if width is not None]
            if drawn:
                drawing = axes.barh(
                    [place for place, _ in drawn],
                    [width for _, width in drawn],
                    height,
                    color=theme.shades[n],
                    edgecolor=theme.ink,
                    linewidth=0.4,
                    label=label.format(clock=clock(machine)),
                )
                axes.bar_label(drawing, fmt="%.3g", fontsize=8.5, padding=2)
        middle = [place + 0.4 - height / 2 for place in range(len(rows))]
        axes.set_yticks(middle, [row.label for row in rows])
        axes.invert_yaxis()
        axes.set_xlabel("milliseconds a call")
        axes.margins(x=0.1)
        axes.grid(True, axis="x", alpha=0.3)
        axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.1), ncols=len(columns))

    return panel


def refusals(axes: Axes, rows: Sequence[Row], machine: Machine, theme: Theme) -> None:
    """TFLOP/s by head size, and a cross where the size was refused."""
    ran = {row.H: row.tflops for row in rows if row.tflops}
    refused = [row for row in rows if not row.tflops]
    axes.plot([*ran], [*ran.values()], "o-", color=theme.ink, markersize=4, label="ran")
    axes.plot([row.H for row in refused], [0] * len(refused), "x", color=theme.colours[1], label="refused")
    axes.set_xlabel("head size H")
    axes.set_ylabel(f"TFLOP/s by {clock(machine)}")
    axes.set_xticks(range(0, max(row.H for row in rows) + 1, 64))
    axes.set_ylim(bottom=-5)
    _finish(axes)


def _align(logarithmic: Sequence[Axes]) -> None:
    """Times by two clocks get one scale; numbers are written out, more of them where the scale is short."""
    times = [axes.get_ylim() for axes in logarithmic if axes.get_ylabel().startswith("milliseconds")]
    for axes in logarithmic:
        if axes.get_ylabel().startswith("milliseconds"):
            axes.set_ylim(min(low for low, _ in times), max(high for _, high in times))
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,), numticks=12))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


def _finish(axes: Axes) -> None:
    axes.grid(True, alpha=0.3)
    names = len(axes.get_legend_handles_labels()[0])
    if names > 5:  # inside it would hide lines
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=2)
    elif names:
        axes.legend()


def clock(machine: Machine) -> str:
    """The clock that `Row.ms` is by."""
    return "device clock" if machine.gpu else "host's clock, burst of calls"


def _ms(row: Row) -> float | None:
    return row.ms


def _megabytes(row: Row) -> float | None:
    return None if row.temp_bytes is None else max(row.temp_bytes, 1) / 1e6


def _by_length(row: Row) -> str:
    return f"{row.label}, T={row.T}"


def _recipe(row: Row) -> str:
    return row.variant.removeprefix("MultiHeadAttention, ")


def _peak(machine: Machine) -> tuple[float, str]:
    return machine.matrix_tflops, f"measured peak, {machine.matrix.split()[0]} matrix product"


def _bandwidth(machine: Machine) -> tuple[float, str]:
    return machine.copy_gbytes_s, "measured bandwidth, large copy"


def _module(row: Row) -> bool:
    return row.variant.startswith("MultiHeadAttention")


def _cache(row: Row) -> float | None:
    return None if row.cache_bytes is None else row.cache_bytes / 1e6


def _error(row: Row) -> float | None:
    return None if row.error is None else 100 * row.error


def _efficiency(row: Row) -> float | None:
    return None if row.speedup is None else row.speedup / row.devices


HIDDEN = "heads N (hidden size 128 N)"
SPEEDUP = "speed-up over one device\n(host's clock, burst of calls)"
TIME = "milliseconds a call ({clock})"
PERCALL = "milliseconds of one call and its wait\n(host's clock: the host's work is in it)"
MEMORY = "temporary memory, MB"
SHARE = "TFLOP/s ({clock})"
BOTH = bars((_ms, "{clock}"), (lambda row: row.percall_ms, "one call and its wait, host's clock"))
CACHED = "length of the cache S"

FIGURES: dict[str, tuple[str, Sequence[Panel]]] = {
    "default": ("Attention at the size of the exercises: two clocks, two answers", [BOTH]),
    "seq": (
        "Time and memory against length, B=4, N=8, H=64",
        [
            lines("T", "length T", _ms, TIME),
            lines("T", "length T", lambda row: row.percall_ms, PERCALL),
            lines("T", "length T", _megabytes, MEMORY),
        ],
    ),
    "batch": (
        "Time and rate against batch size, N=8, H=64",
        [
            lines("B", "batch size B", _ms, TIME, name=_by_length),
            lines(
                *("B", "batch size B", lambda row: row.tflops, SHARE),
                log=False,
                name=_by_length,
                bound=_peak,
            ),
        ],
    ),
    "heads": (
        "Heads of key and value: MHA (K = N), GQA, MQA (K = 1)",
        [
            lines("K", "key/value heads K", _ms, TIME, log=False),
            lines("K", "key/value heads K", _megabytes, MEMORY),
            lines("K", "key/value heads K", _cache, "KV cache, MB", name=lambda row: "every function"),
        ],
    ),
    "headdim": ("What cuDNN accepts, bfloat16", [refusals]),
    "te": (
        "Causal bfloat16 attention: XLA, cuDNN through JAX, TransformerEngine",
        [
            lines("T", "length T", _ms, TIME),
            lines("T", "length T", lambda row: row.tflops, SHARE, log=False, bound=_peak),
        ],
    ),
    "fp8": (
        "FP8 beside bfloat16, causal, H=128: TransformerEngine's module and JAX's attention call",
        [
            lines("N", HIDDEN, _ms, f"module: {TIME}", name=_recipe, only=_module),
            lines("N", HIDDEN, _error, "module: relative error, %", log=False, name=_recipe, only=_module),
            lines(
                *("T", "length T", _ms, f"attention, N=8: {TIME}"),
                name=_recipe,
                only=lambda row: not _module(row),
            ),
        ],
    ),
    "decode": (
        "Decoding one token (T = 1) against the length of the cache, N=32, K=4, H=128",
        [
            lines("S", CACHED, _ms, TIME),
            lines(
                *("S", CACHED, lambda row: row.gbytes_s, "GB/s of keys and values ({clock})"),
                log=False,
                bound=_bandwidth,
            ),
        ],
    ),
    "two-gpus": (
        "Attention over several devices, by batch or by head",
        [
            lines("devices", "devices", lambda row: row.speedup, SPEEDUP, log=False, name=_by_length),
            lines("devices", "devices", _efficiency, "speed-up / devices", log=False, name=_by_length),
        ],
    ),
}
