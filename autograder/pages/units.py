"""Values as they stand in a sentence, each with its unit."""

from __future__ import annotations

from autograder.bench import tables

UNITS = {
    "ms": "ms",
    "device_ms": "ms",
    "percall_ms": "ms",
    "amortised_ms": "ms",
    "tflops": "TFLOP/s",
    "matrix_tflops": "TFLOP/s",
    "gbytes_s": "GB/s",
    "copy_gbytes_s": "GB/s",
    "spread": "share",
    "peak_share": "share",
    "bandwidth_share": "share",
    "error": "share",
    "temp_bytes": "bytes",
    "cache_bytes": "bytes",
    "l2_bytes": "bytes",
    "memory_bytes": "bytes",
    "speedup": "times",
}
"""By column of the measurements; others are plain counts or words."""


def with_unit(value: object, unit: str) -> str:
    """Three significant digits at most and the unit; counts without one in full."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    match unit:
        case "bytes":
            return tables.size(round(value))
        case "share":
            return f"{number(100 * value)} %"
        case "":
            return f"{value:,}" if isinstance(value, int) else number(value)
    return f"{number(value)} {unit}"


def ratio(value: float) -> str:
    """Two significant digits."""
    return f"{number(value, '#.2').rstrip('.')} times"


def number(value: float, digits: str = ".3") -> str:
    """Significant digits, never with an exponent for what is large."""
    short = f"{value:{digits}g}"
    return f"{float(short):,.0f}" if "e+" in short or abs(value) >= 1000 else short
