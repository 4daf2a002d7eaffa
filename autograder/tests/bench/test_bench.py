"""`grade bench`: rows, files, tables and figures of made-up measurements, and small real ones."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import flax.linen as nn
import jax
import jax.numpy as jnp
import pytest
from rich.console import Console
from typer.testing import CliRunner

from autograder import cli
from autograder.bench import figures, measurement, page, precision, rows, sweeps, tables, theme
from autograder.bench.cli import What
from autograder.bench.machine import Machine
from autograder.bench.rows import Row
from autograder.bench.shapes import Shape
from autograder.bench.variants import attention
from autograder.bench.workload import Built
from autograder.tests.gpu import gpu

__all__ = ["gpu"]

MACHINE = Machine(
    device="NVIDIA Example",
    devices=1,
    capability="9.0",
    driver="1.2",
    cudnn="9.19.0",
    versions={"jax": "0.11.2"},
    l2_bytes=60 << 20,
    memory_bytes=1 << 37,
    matrix_tflops=800.0,
    matrix="bfloat16 product",
    copy_gbytes_s=4300.0,
    measured="2026-11-30",
    clock="CUPTI",
)
CPU = dataclasses.replace(MACHINE, device="CPU (x86_64, 2 cores)", clock="wall", memory_bytes=0)
TINY = Shape.square(1, 16, 2, 8)
GPU, QUICK = sweeps.Scope(gpu=True, quick=False), sweeps.Scope(gpu=True, quick=True)


def made_up(name: str) -> list[Row]:
    """A sweep's rows as they might come out, every fifth refused."""
    found = []
    for n, workload in enumerate(sweeps.workloads(name, GPU)):
        row = Row(
            *(name, workload.variant, workload.dtype, workload.causal),
            **dataclasses.asdict(workload.shape),
            devices=1 + n % 2 if name == "two-gpus" else 1,
            cache_bytes=workload.cache_bytes,
        )
        ms = 1e-3 * workload.flops / 1e9 + 0.01
        measured = {"device_ms": ms, "percall_ms": ms + 0.05, "amortised_ms": ms + 0.02, "tflops": 1 / ms}
        measured |= {"peak_share": 0.5, "gbytes_s": 10.0, "bandwidth_share": 0.1, "temp_bytes": 512}
        note = {"note": "refused: NotImplementedError: H"} if n % 5 == 4 else {}
        found.append(dataclasses.replace(row, **(note or measured)))
    return found


def test_the_command_names_every_sweep() -> None:
    assert [each.value for each in What] == [*sweeps.SWEEPS, "all", "draw"]
    assert sweeps.SWEEPS.keys() == figures.FIGURES.keys()


def test_operations_and_bytes() -> None:
    shape = Shape(B=2, T=3, S=5, N=4, K=2, H=8)
    assert shape.flops(causal=False) == 2 * (2 * 2 * 4 * 3 * 5 * 8)
    assert shape.flops(causal=True) == shape.flops(causal=False) / 2
    assert shape.least_bytes("bfloat16") == 2 * (2 * (2 * 3 * 4 * 8) + 2 * (2 * 5 * 2 * 8))
    assert shape.cache_bytes("float32") == 4 * 2 * (2 * 5 * 2 * 8)


@pytest.mark.parametrize("name", sweeps.SWEEPS)
def test_a_sweep_is_less_when_quick_and_small_on_a_cpu(name: str) -> None:
    full, quick = (sweeps.workloads(name, scope) for scope in (GPU, QUICK))
    assert 0 < len(quick) <= len(full)
    assert all(workload.sweep == name and workload.flops > 0 for workload in full)
    small = sweeps.workloads(name, sweeps.Scope(gpu=False, quick=False))
    assert max(workload.flops for workload in small) < 2e9


@pytest.mark.parametrize("name", sweeps.SWEEPS)
def test_rows_become_files_and_figures(name: str, tmp_path: Path) -> None:
    found = made_up(name)
    rows.write(tmp_path, name, found, MACHINE.to_json())
    again, about = rows.read(tmp_path / f"{name}.json")
    assert len(again) == len(found) and Machine.from_json(about) == MACHINE
    assert again[0].device_ms is not None and found[0].device_ms is not None
    assert math.isclose(again[0].device_ms, found[0].device_ms, rel_tol=1e-4)
    header, *lines = (tmp_path / f"{name}.csv").read_text().splitlines()
    assert header.split(",") == rows.COLUMNS and len(lines) == len(found)
    done = CliRunner().invoke(cli.app, ["bench", "draw", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    drawn = (tmp_path / f"{name}.svg").read_text()
    assert "NVIDIA Example" in drawn and "cuDNN 9.19.0" in drawn
    dark = (tmp_path / f"{name}-dark.svg").read_text()
    (width,) = re.findall(r'viewBox="0 0 ([\d.]+) ', drawn)
    sizes = {float(size) for size in re.findall(r"font[-a-z]*: ([\d.]+)px", drawn)}
    assert sizes and min(sizes) * 358 / float(width) > 8, "on a phone 390 pixels wide, less its margins"
    assert "NVIDIA Example" in dark and theme.DARK.ground in dark and theme.DARK.ground not in drawn
    assert theme.LIGHT.ink in drawn and theme.LIGHT.ink not in dark, "black is not to be seen on dark"
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    figures.draw(name, again, MACHINE, tmp_path)
    assert (tmp_path / f"{name}.svg").read_text() == drawn, "drawn twice, it must be the same file"


def test_of_one_device_there_is_no_figure_of_several(tmp_path: Path) -> None:
    figures.draw(
        "two-gpus", [dataclasses.replace(row, devices=1) for row in made_up("two-gpus")], CPU, tmp_path
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", sweeps.SWEEPS)
def test_tables_hold_both_clocks_and_every_note(name: str) -> None:
    screen = Console(record=True, width=200, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    tables.show(name, made_up(name), MACHINE, screen)
    screen.file.close()
    text = screen.export_text()
    assert "device ms" in text and "one call ms" in text and "of bf16 peak" in text
    assert text.count("refused: NotImplementedError") == sum(bool(row.note) for row in made_up(name))


def test_per_call_times_are_drawn_only_where_it_is_said() -> None:
    assert "host's clock" in figures.PERCALL


def test_a_measured_row() -> None:
    row = measurement.measure(attention("default", "naive", TINY, "float32"), CPU, measurement.QUICK)
    assert row.note == "" and row.device_ms is None
    assert row.percall_ms and row.amortised_ms and row.tflops and row.peak_share
    assert (row.cudnn, row.float8) == (False, False) and row.temp_bytes is not None


def test_a_refusal_is_a_row() -> None:
    def fails() -> Built:
        raise NotImplementedError("head size\nof 100")

    row = measurement.measure(attention("x", "cuDNN", TINY, build=fails), CPU, measurement.QUICK)
    assert row.note == "refused: NotImplementedError: head size of 100" and row.ms is None


def test_a_warning_is_not_a_refusal() -> None:
    def warns() -> Built:
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return Built(lambda q, k, v: q + k + v)

    row = measurement.measure(attention("x", "x", TINY, build=warns), CPU, measurement.QUICK)
    assert row.note == "" and row.ms


def test_slow_programs_run_less_often() -> None:
    assert measurement.FULL.bearable(0.1) == measurement.FULL
    assert measurement.FULL.bearable(10) == measurement.Effort(16, 2)
    assert measurement.FULL.bearable(40) == measurement.Effort(10, 1)
    assert measurement.FULL.bearable(1e4) == measurement.Effort(4, 1)


@pytest.mark.parametrize("name", sorted(sweeps.SWEEPS.keys() - {"batch"}))
def test_any_beginning_of_a_sweep_spans_its_sizes(name: str) -> None:
    whole = sweeps.workloads(name, GPU)
    order = sweeps.coarse_first(whole)
    assert len(order) == len(whole) and {id(each) for each in order} == {id(each) for each in whole}
    shapes = list(dict.fromkeys(each.shape for each in order))
    assert shapes[: 2 if len(shapes) > 1 else 1] == list(dict.fromkeys((whole[0].shape, whole[-1].shape)))


def test_any_beginning_of_the_batch_sweep_spans_each_length() -> None:
    order = dict.fromkeys(each.shape for each in sweeps.coarse_first(sweeps.workloads("batch", GPU)))
    sizes = [(shape.T, shape.B) for shape in order]
    assert sizes[:6] == [(256, 1), (4096, 1), (256, 256), (4096, 256), (256, 32), (4096, 32)]


def test_who_calls_cudnn() -> None:
    calls = ("__cudnn$fmhaSoftmax", "__cudnn$fmhaSoftmaxF8", "te_fused_attn_forward_ffi")
    assert all(measurement.CUDNN.search(call) for call in calls)
    assert not measurement.CUDNN.search("__cublas$gemm te_gemm_v2_ffi")


EVIDENCE = {
    "what": "against itself",
    "size": "cuDNN",
    "limit": 1.1,
    "trials": 3,
    "answers": {"faster": 2, "undecided": 1},
    "ratio 1 %, 50 %, 99 %": [0.99, 1.0, 1.01],
    "interval width 50 %, 99 %": [0.002, 0.003],
    "seconds 50 %, 99 %": [0.25, 0.4],
    "reasons": {},
}


def test_the_tables_of_a_readme_come_from_the_data(tmp_path: Path) -> None:
    rows.write(tmp_path, "seq", made_up("seq"), MACHINE.to_json())
    readme = tmp_path / "README.md"
    text = "".join(f"<!-- {name} -->\nold\n<!-- end -->\nkept\n" for name in page.TABLES)
    readme.write_text(text, encoding="utf-8")
    page.fill(tmp_path)
    filled = readme.read_text(encoding="utf-8")
    assert "NVIDIA Example (compute capability 9.0" in filled and "| 64 | naive bf16 | 0." in filled
    assert filled.count("old") == 1 and filled.count("kept") == 3, "of the evidence there is no data yet"
    (tmp_path / "evidence.json").write_text(json.dumps({"experiments": [EVIDENCE]}), encoding="utf-8")
    page.fill(tmp_path)
    filled = readme.read_text(encoding="utf-8")
    assert "| against itself | cuDNN | 3 | 2 | 0 | 1 | 0 | 1 | 0.002 | 0.25 |" in filled
    page.fill(tmp_path)
    assert readme.read_text(encoding="utf-8") == filled


def test_running_out_of_memory_is_a_row_and_spares_the_larger_ones() -> None:
    def fails() -> Built:
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate")

    row = measurement.measure(attention("batch", "naive", TINY, build=fails), CPU, measurement.QUICK)
    assert row.note == measurement.OUT_OF_MEMORY
    larger = attention("batch", "naive", dataclasses.replace(TINY, B=2))
    assert measurement.hopeless(larger, [row])
    assert not measurement.hopeless(attention("batch", "XLA", larger.shape), [row])


def test_an_absent_engine_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformer_engine", None)
    for workload in (attention("te", "TE", TINY), precision.module_workload("DelayedScaling", 1, 8, 128)):
        assert "not installed: " in measurement.measure(workload, CPU, measurement.QUICK).note


class Recorded:
    """A stand-in for TransformerEngine's module: one product, scaled by a variable under autocast."""

    enabled = False

    @classmethod
    @contextlib.contextmanager
    def autocast(cls, enabled: bool, recipe: Any) -> Iterator[None]:
        cls.enabled = enabled
        yield
        cls.enabled = False


class Module(nn.Module):
    head_dim: int
    num_attention_heads: int
    attn_mask_type: str
    input_layernorm: bool
    dtype: Any
    transpose_batch_sequence: bool

    @nn.compact
    def __call__(self, x: jax.Array, y: jax.Array, deterministic: bool) -> tuple[jax.Array, None]:
        assert deterministic and x is y
        size = self.head_dim * self.num_attention_heads
        kernel = nn.with_partitioning(nn.initializers.lecun_normal(), (None, None))
        weights: Any = self.param("kernel", kernel, (size, size), self.dtype)
        out = x @ weights
        if Recorded.enabled:
            out *= self.variable("fp8_metas", "scale", lambda: jnp.full((), 0.5)).value.astype(out.dtype)
        return out, None


def test_the_module_is_compared_with_itself_without_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    recipes = SimpleNamespace(DelayedScaling=object, Float8CurrentScaling=object)
    monkeypatch.setitem(sys.modules, "transformer_engine", ModuleType("transformer_engine"))
    monkeypatch.setitem(sys.modules, "transformer_engine.jax", cast("ModuleType", Recorded))
    inner = SimpleNamespace(MultiHeadAttention=Module)
    monkeypatch.setitem(sys.modules, "transformer_engine.jax.flax", cast("ModuleType", inner))
    monkeypatch.setitem(
        sys.modules, "transformer_engine.common", cast("ModuleType", SimpleNamespace(recipe=recipes))
    )
    monkeypatch.setattr(sys.modules["transformer_engine"], "jax", Recorded, raising=False)
    precision._plain_module.cache_clear()
    found = [
        measurement.measure(precision.module_workload(recipe, 1, 8, 128), CPU, measurement.QUICK)
        for recipe in precision.RECIPES
    ]
    precision._plain_module.cache_clear()
    assert all(row.note == "hidden 128" and row.ms for row in found), found
    assert found[0].error is None and found[1].error == found[3].error == pytest.approx(0.5, abs=0.01)
    assert found[2].error != found[1].error, "two steps of the gradient have changed the scale"


def test_the_command_measures_writes_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from autograder.bench import machine

    monkeypatch.setattr(machine, "measured", lambda: CPU)
    variants = [("naive", "float32"), ("cuDNN", "float32")]
    tiny = [attention("seq", name, TINY, dtype) for name, dtype in variants]
    monkeypatch.setitem(sweeps.SWEEPS, "seq", lambda scope: iter(tiny))
    done = CliRunner().invoke(cli.app, ["bench", "seq", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "no device clock on a CPU" in done.output and "refused" in done.output
    assert {path.name for path in tmp_path.iterdir()} == {
        *("seq.csv", "seq.json", "seq.png", "seq.svg", "seq-dark.svg")
    }
    assert len(json.loads((tmp_path / "seq.json").read_text())["rows"]) == 2


def test_without_time_a_sweep_measures_its_first_size_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autograder.bench import machine

    monkeypatch.setattr(machine, "measured", lambda: CPU)
    command = ["bench", "seq", "--minutes", "0", "--out", str(tmp_path)]
    done = CliRunner().invoke(cli.app, command)
    assert done.exit_code == 0 and "seq: 1 of 12 in time" in done.output, done.output
    assert len(json.loads((tmp_path / "seq.json").read_text())["rows"]) == 1


def test_draw_needs_a_folder() -> None:
    assert CliRunner().invoke(cli.app, ["bench", "draw"]).exit_code == 2


def test_help_needs_no_jax() -> None:
    code = (
        "import sys; from autograder import cli; from autograder.bench import cli; "
        "sys.exit(bool({'jax', 'numpy', 'matplotlib'} & sys.modules.keys()))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(cli.__file__).parent.parent)


@pytest.mark.slow
def test_two_devices_of_a_cpu() -> None:
    code = """
from autograder.bench import machine, measurement, sharding
from autograder.bench.shapes import Shape
from autograder.tests.bench.test_bench import CPU
for workload in sharding.workloads("XLA", Shape.square(2, 32, 2, 8), "float32"):
    print(measurement.measure(workload, CPU, measurement.QUICK))
"""
    flags = "--xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=Path(cli.__file__).parent.parent,
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4 and all("note=''" in line for line in lines), done.stdout
    assert sum("devices=2" in line for line in lines) == 2


@pytest.fixture
def here(gpu: None) -> Machine:
    from autograder.bench import machine

    return machine.measured()


@pytest.mark.gpu
def test_on_a_gpu_the_peaks_are_plausible(here: Machine) -> None:
    assert here.gpu and here.cudnn and here.driver and here.capability
    assert 10 < here.matrix_tflops < 5000 and 100 < here.copy_gbytes_s < 20000


@pytest.mark.gpu
def test_on_a_gpu_rows_have_all_that_they_promise(here: Machine) -> None:
    shape = Shape.square(4, 2048, 8, 64)
    fused = measurement.measure(attention("seq", "cuDNN", shape), here, measurement.FULL)
    plain = measurement.measure(attention("seq", "naive", shape), here, measurement.FULL)
    assert fused.cudnn and not plain.cudnn and not fused.note + plain.note, (fused, plain)
    assert fused.device_ms and plain.device_ms and fused.percall_ms
    assert fused.device_ms < plain.device_ms and fused.device_ms < fused.percall_ms
    assert fused.peak_share and 0.05 < fused.peak_share < 1.05
    assert plain.temp_bytes and fused.temp_bytes is not None and fused.temp_bytes < plain.temp_bytes / 100


@pytest.mark.gpu
def test_on_a_gpu_what_cudnn_refuses_is_a_row(here: Machine) -> None:
    for dtype, size in (("float32", 64), ("bfloat16", 100)):
        workload = attention("headdim", "cuDNN", Shape.square(1, 64, 2, size), dtype)
        assert measurement.measure(workload, here, measurement.QUICK).note.startswith("refused: ")


@pytest.mark.gpu
def test_on_a_gpu_what_does_not_fit_is_a_row_and_the_next_one_runs(here: Machine) -> None:
    big = attention("batch", "naive", Shape.square(64, 32768, 8, 64))
    assert measurement.measure(big, here, measurement.QUICK).note.startswith("out of memory")
    assert measurement.measure(attention("batch", "naive", TINY), here, measurement.QUICK).device_ms


@pytest.mark.gpu
def test_on_a_gpu_the_module_computes_in_fp8(here: Machine) -> None:
    pytest.importorskip("transformer_engine.jax", exc_type=ImportError)
    found = {
        recipe: measurement.measure(precision.module_workload(recipe, 2, 512, 1024), here, measurement.QUICK)
        for recipe in precision.RECIPES
    }
    assert not any("refused" in row.note for row in found.values()), found
    assert [row.float8 for row in found.values()] == [False, True, True, True]
    first, filled = found["DelayedScaling, first call"].error, found["DelayedScaling"].error
    assert first and filled and filled < first and filled < 0.15


@pytest.mark.gpu
def test_on_a_gpu_jax_has_an_fp8_attention_call(here: Machine) -> None:
    found = [measurement.measure(each, here, measurement.QUICK) for each in precision.calls(2, 2048, 8)]
    assert not any(row.note for row in found), found
    assert [row.float8 for row in found] == [False, True, True]
    assert found[2].error and found[2].error < 0.15
