"""The doctor: what it finds, what it advises, and that it finds its way without POSIX."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder import catalog, cli, doctor, sandbox

ROOT = Path(__file__).resolve().parent.parent.parent
CPU = {"devices": [["cpu", "cpu", ""]]}
H200 = {"devices": [["gpu", "NVIDIA H200", "9.0"]], "cudnn": 91900}


def examine(*, hide: str = "") -> subprocess.CompletedProcess[str]:
    """The command, in a process where these modules cannot be imported (asyncio's own copies aside)."""
    code = f"import asyncio, sys\nfor name in {hide.split()}: sys.modules[name] = None\n"
    code += "from autograder.cli import app\napp(['doctor'])"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("hide", ["", "resource fcntl pwd grp termios pty"])
def test_doctor_ends_well_and_names_everything(hide: str) -> None:
    done = examine(hide=hide)
    assert done.returncode == 0, done.stderr
    for said in (
        "Python",
        "bytecode",
        "jax 0.",
        "CUDA plugin",
        "cuDNN",
        "Transformer",
        "sandbox",
        "nbgrader",
    ):
        assert said in done.stdout
    for exercise in catalog.EXERCISES:
        assert f"{exercise.number} {exercise.name}" in done.stdout
    assert "16 of 20 points can be graded here" in done.stdout
    assert "4 wait (speed): needs an NVIDIA GPU of compute capability 8.0 or later" in done.stdout
    assert "What waits costs nothing" in done.stdout


def test_a_probe_answers_in_its_last_line() -> None:
    assert doctor._probe("print('noise'); print('{\"a\": 1}')") == ({"a": 1}, "")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("import os; os._exit(7)", "exit status 7"),
        ("print('no JSON')", "exit status 0"),
        ("print(3)", "exit status 0"),
        ("import sys; sys.exit('\\x1b[31mred')", "red"),
    ],
)
def test_a_probe_that_fails_says_why(code: str, why: str) -> None:
    found, failure = doctor._probe(code)
    assert found is None
    assert why in failure and "\x1b" not in failure


def test_a_probe_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PROBE_SECONDS", 0.5)
    assert doctor._probe("while True: pass") == (None, "no answer in 0.5 s")


@pytest.mark.parametrize(
    ("found", "driver", "said", "advised"),
    [
        (CPU, "", "cpu; no NVIDIA driver", ""),
        (CPU, "Tesla T4", "cpu, driver 575.57", "JAX does not see the GPU of this machine: Tesla T4"),
        (
            H200,
            "NVIDIA H200",
            "NVIDIA H200 (gpu, compute capability 9.0), cuDNN 91900 loaded, driver 575.57",
            "",
        ),
    ],
)
def test_devices(
    found: dict[str, object], driver: str, said: str, advised: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_probe", lambda code: (found, "it broke"))
    monkeypatch.setattr(doctor, "_nvidia_smi", lambda field="name": driver if field == "name" else "575.57")
    advice: list[str] = []
    assert doctor._devices(advice) == said
    assert advised in "".join(advice) and bool(advised) == bool(advice)


def test_jax_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_probe", lambda code: (None, "it broke"))
    monkeypatch.setattr(doctor, "_nvidia_smi", lambda: "")
    advice: list[str] = []
    with pytest.raises(doctor.Broken, match="JAX does not run: it broke"):
        doctor._devices(advice)
    assert advice == ["reinstall JAX: pip install --force-reinstall jax jaxlib"]


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_the_driver_names_its_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor._nvidia_smi() == ""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'Tesla T4'\necho 'Tesla P4'\necho 'Tesla T4'\n")
    program.chmod(0o755)
    assert doctor._nvidia_smi() == "Tesla T4, Tesla P4"


def test_bytecode_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_start").mkdir()
    (tmp_path / "slow_start" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(doctor, "COMPILED", ("slow_start", "not_installed_at_all"))
    advice: list[str] = []
    assert doctor._bytecode(advice) == "not compiled: slow_start"
    assert f'-m compileall -q "{tmp_path}"' in advice[0]
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(tmp_path)], check=True)
    assert doctor._bytecode([]) == "compiled"


def test_transformer_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: "")
    advice: list[str] = []
    for driver, advised in (("", False), ("NVIDIA L4", True)):
        monkeypatch.setattr(doctor, "_nvidia_smi", lambda driver=driver: driver)
        assert "a double of it stands in" in doctor._engine(advice)
        assert any("course/00-setup.md" in step for step in advice) is advised
    monkeypatch.setattr(doctor, "_version", lambda name: "2.20")
    for found, said in (
        ({"fp8": ["True", ""]}, "FP8 available"),
        ({"fp8": ["False", "too old"]}, "FP8 not available: too old"),
        (None, "it does not load: undefined symbol"),
    ):
        monkeypatch.setattr(doctor, "_probe", lambda code, found=found: (found, "undefined symbol"))
        advice = []
        assert said in doctor._engine(advice)
        assert bool(advice) is (found is None)


def test_nbgrader_is_advised_only_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: "0.9.5")
    assert doctor._nbgrader() == "nbgrader 0.9.5"
    monkeypatch.setattr(doctor, "_version", lambda name: "")
    assert doctor._nbgrader() == "nbgrader not installed (instructors need it: pip install -e '.[class]')"


def test_a_machine_without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    async def starts() -> None:
        return None

    monkeypatch.setattr(doctor, "_start", starts)
    monkeypatch.setattr(sandbox, "kind", lambda: "none")
    monkeypatch.setattr(sandbox, "why", lambda: "bubblewrap needs Linux")
    monkeypatch.setattr(sys, "platform", "darwin")
    advice: list[str] = []
    assert doctor._sandbox(advice) == "none: bubblewrap needs Linux"
    assert not advice


def test_a_machine_that_may_not_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused() -> None:
        raise sandbox.SandboxUnavailable("install bubblewrap")

    monkeypatch.setattr(doctor, "_start", refused)
    monkeypatch.setattr(doctor, "_probe", lambda code: (CPU, ""))
    done = CliRunner().invoke(cli.app, ["doctor"])
    assert done.exit_code == 1
    assert "no child starts in it: install bubblewrap\n" in done.stdout
    assert "Nothing can be graded here yet." in done.stdout and "can be graded here\n" not in done.stdout
    assert "To do: make a sandbox possible: install bubblewrap\n" in done.stdout
