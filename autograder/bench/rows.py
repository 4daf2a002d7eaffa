"""A row of the measurements, and its CSV and JSON."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.bench import shapes

UNITS = {
    "device_ms": "milliseconds a call, the sum of the kernels' times by CUPTI; the median of several calls",
    "spread": "interquartile range of device_ms over those calls / their median",
    "percall_ms": "milliseconds of one call and waiting for it, by the host's clock; median",
    "amortised_ms": "milliseconds a call in a burst, waiting once at the end, by the host's clock; median",
    "tflops": f"10^12 operations a second by device_ms (amortised_ms on a CPU); operations: {shapes.FLOPS}",
    "peak_share": "of the rate of a large matrix product, machine.matrix, measured in the same run",
    "gbytes_s": f"10^9 bytes a second by the same clock; bytes: {shapes.BYTES}",
    "bandwidth_share": "of the rate of a large copy on this machine, measured in the same run",
    "temp_bytes": "memory_analysis().temp_size_in_bytes of the compiled program",
    "cache_bytes": "keys and values",
    "cudnn": "whether the compiled HLO calls cuDNN's fused attention, from JAX or from TransformerEngine",
    "float8": "whether the compiled HLO holds an f8 type",
    "error": "‖out - reference‖ / ‖reference‖, the reference being the same in bfloat16",
    "speedup": "amortised_ms of one device / this row's; divided by devices, the efficiency",
    "note": "why there is no measurement, or what else to know",
}

SHORT = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "float8_e4m3fn": "f8"}


@dataclass(frozen=True)
class Row:
    """One program at one size. What was not measured is None, and `note` says why."""

    sweep: str
    variant: str
    dtype: str
    causal: bool
    B: int
    T: int
    S: int
    N: int
    K: int
    H: int
    devices: int = 1
    device_ms: float | None = None
    spread: float | None = None
    percall_ms: float | None = None
    amortised_ms: float | None = None
    kernels: int | None = None
    tflops: float | None = None
    peak_share: float | None = None
    gbytes_s: float | None = None
    bandwidth_share: float | None = None
    temp_bytes: int | None = None
    cache_bytes: int | None = None
    cudnn: bool | None = None
    float8: bool | None = None
    error: float | None = None
    speedup: float | None = None
    note: str = ""

    @property
    def label(self) -> str:
        """What ran, without its sizes."""
        return f"{self.variant} {SHORT.get(self.dtype, self.dtype)}{' causal' if self.causal else ''}"

    @property
    def ms(self) -> float | None:
        """The device's clock, or on a CPU the burst's."""
        return self.amortised_ms if self.device_ms is None else self.device_ms


COLUMNS = [field.name for field in dataclasses.fields(Row)]


def write(folder: Path, name: str, rows: Sequence[Row], machine: Mapping[str, Any]) -> None:
    """`name`.csv and `name`.json, the second with where it came from and what the columns mean."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [{key: _short(value) for key, value in dataclasses.asdict(row).items()} for row in rows]
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(records)
    body = ",\n    ".join(json.dumps(record, ensure_ascii=False) for record in records)
    about = json.dumps({"machine": machine, "columns": UNITS}, ensure_ascii=False, indent=2)
    text = f'{about[:-2]},\n  "rows": [\n    {body}\n  ]\n}}\n'
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


def read(path: Path) -> tuple[list[Row], dict[str, Any]]:
    """Rows and machine of a file that `write` wrote."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return [Row(**record) for record in document["rows"]], document["machine"]


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value
