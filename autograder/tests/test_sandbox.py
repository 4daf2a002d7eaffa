"""What a child may see and touch: an attacker that must fail, and an honest child that must not."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import catalog, grading, sandbox
from autograder.sandbox import Limits, Role, mounts, users
from autograder.tests.puppet import HONEST, ask, tree, use

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux")


@pytest.fixture
def contained(monkeypatch: pytest.MonkeyPatch, top: Path) -> Path:
    use(monkeypatch, top, "bubblewrap")
    return top


def test_an_honest_child_answers(confined: str) -> None:
    assert ask(HONEST).value == 42
    assert sandbox.kind() == confined
    assert sandbox.why()


def test_the_environment_is_scrubbed(confined: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "swordfish")
    found = ask("answer(dict(os.environ))").value
    assert isinstance(found, dict)
    assert "SECRET" not in found
    assert found["JAX_PLATFORMS"] == "cpu"


def test_a_temporary_folder_is_its_own_and_goes_with_it(confined: str) -> None:
    code = "import tempfile; p = tempfile.mkdtemp(); open(p + '/x', 'w').write('y'); answer(p)"
    folder = ask(code).value
    assert isinstance(folder, str)
    assert not Path(folder).exists()


@linux
def test_no_environment_of_others_shows(contained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "swordfish")
    code = """
found = ""
for pid in os.listdir("/proc"):
    for name in ("environ", "cmdline"):
        try: found += open(f"/proc/{pid}/{name}").read()
        except OSError: pass
answer([len(found) > 0, "swordfish" in found, os.path.exists("/proc/%d")])
"""
    assert ask(code % os.getpid()).value in ([True, False, False], [True, False, os.getpid() < 20])


@linux
def test_the_judge_of_the_same_user_keeps_its_memory(monkeypatch: pytest.MonkeyPatch, top: Path) -> None:
    use(monkeypatch, top, "none")
    code = """
opened = []
for name in ("mem", "environ", "maps"):
    try: opened.append(open(f"/proc/{os.getppid()}/{name}", "rb").read(1) and name)
    except OSError: pass
answer(opened)
"""
    assert ask(code).value == []


def test_there_is_no_network(contained: Path) -> None:
    code = """
import socket
names = [name for _, name in socket.if_nameindex()]
try: socket.create_connection(("192.0.2.1", 80), 5); answer("connected")
except OSError as error: answer([names, type(error).__name__])
"""
    assert ask(code).value == [["lo"], "OSError"]


def test_nothing_outside_its_folders_can_be_written(contained: Path) -> None:
    code = """
written = []
for folder, _, _ in os.walk("/"):
    if folder.startswith("/proc"): continue
    try: open(folder + "/attack", "w").close(); written.append(folder)
    except OSError: pass
answer(written)
"""
    written = ask(code, Limits(wall_seconds=60)).value
    assert isinstance(written, list)
    assert {"/tmp", "/dev/shm"} <= set(written)
    assert all(place.startswith(("/tmp", "/dev/shm")) for place in written)  # both its own, in memory
    assert not any(place.startswith(str(contained / "autograder" / "tracer")) for place in written)


def test_its_folders_are_of_bounded_size(contained: Path) -> None:
    wrap = sandbox.confinement().bubblewrap
    assert wrap is not None
    code = """
done = 0
try:
    for i in range(100):
        open(f"/tmp/{i}", "wb").write(bytes(2**20)); done += 1
except OSError: pass
answer(done)
"""
    done = ask(code, Limits(file_bytes=8 * 2**20)).value
    assert isinstance(done, int)
    assert 4 <= done <= 8 or not wrap.sized


@linux
def test_it_is_root_in_no_sense(contained: Path) -> None:
    code = """
import ctypes
libc = ctypes.CDLL(None)
def writable(path):
    try: open(path, "w").close(); return True
    except OSError: return False
def changed(call):
    try: call(); return True
    except OSError: return False
status = open("/proc/self/status").read()
answer([0 in os.getresuid(), changed(lambda: os.setuid(0)), writable("/proc/sys/kernel/core_pattern"),
        writable("/proc/sysrq-trigger"), libc.unshare(0x10000000 | 0x20000) == 0,
        "NoNewPrivs:\\t1" in status, "CapEff:\\t0000000000000000" in status,
        "CapBnd:\\t0000000000000000" in status or "CapPrm:\\t0000000000000000" in status])
"""
    found = ask(code).value
    assert isinstance(found, list)
    assert found[:4] == [False] * 4
    assert not found[4] or os.geteuid() == 0, "a user namespace of its own, though --disable-userns is known"
    assert found[5:] == [True] * 3


SEEN = """
found = []
for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys")): continue
    found += [os.path.join(folder, name) for name in names
              if name in ("oracle.py", "naive_attention.py", "pyproject.toml")]
answer([path for path in found if "SECRET" in open(path).read() or "puppet-" in path])
"""


def test_a_tracer_sees_neither_solutions_nor_the_judge(contained: Path) -> None:
    assert ask(SEEN).value == []
    seen = ask(f"answer(sorted(os.listdir({str(contained / 'autograder')!r})))").value
    assert isinstance(seen, list)
    assert {*seen} - {"__pycache__"} == {"arrays.py", "limits.py", "syscalls.py", "tracer", "wire.py"}


def test_a_runner_sees_the_package_without_its_files(contained: Path) -> None:
    assert ask(SEEN, role=Role.RUNNER).value == [str(contained / "autograder" / "oracle.py")]


@pytest.mark.parametrize("installed", [False, True])
@pytest.mark.parametrize("role", [Role.TRACER, Role.RUNNER])
def test_a_checkout_under_a_mounted_folder_stays_hidden(
    role: Role, installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tree() as top:
        use(monkeypatch, top, "bubblewrap")
        (top / "beside").write_text("a neighbour")
        if installed:  # site-packages: what lies beside the package is not ours to hide
            (top / "pyproject.toml").unlink()
            (top / "solutions" / "naive_attention.py").unlink()
        monkeypatch.setattr(mounts, "SYSTEM", (*mounts.SYSTEM, str(top.parent)))
        oracle = [str(top / "autograder" / "oracle.py")] if role is Role.RUNNER else []
        assert ask(SEEN, role=role).value == oracle
        assert ask(f"answer(os.path.exists({str(top / 'beside')!r}))", role=role).value is installed


def test_an_alias_of_a_mounted_folder_hides_as_much(contained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alias = contained.parent.with_name(f"{contained.parent.name}-alias")
    alias.symlink_to(contained.parent)
    try:
        monkeypatch.setattr(mounts, "SYSTEM", (*mounts.SYSTEM, str(alias), str(contained.parent)))
        assert ask(f"answer(os.listdir({str(alias)!r}))").value == ["checkout"]
        assert ask(SEEN).value == []
    finally:
        alias.unlink()


@linux
def test_the_real_tracer_view() -> None:
    """Our own tree, wherever it is installed: JAX works in it, and no judge is in it."""
    wrap = sandbox.confinement().bubblewrap
    if wrap is None:
        pytest.skip(sandbox.why())
    code = """
import json, os, sys, jax, jax.numpy as jnp
assert float(jax.jit(lambda x: jax.nn.softmax(x @ x).sum())(jnp.ones((8, 8)))) == 8
print(json.dumps([os.listdir(sys.argv[1]), os.path.exists(os.path.join(sys.argv[1], "../solutions"))]))
"""
    command = [*sandbox.PYTHON, "-c", code, str(sandbox.PACKAGE)]
    view = sandbox._view(Role.TRACER, None, 2**24)
    whole = wrap.command(command, {}, view, users.fresh() if users.root() else None)
    done = subprocess.run(whole, env={}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names, solutions = json.loads(done.stdout)
    assert set(names) <= {"tracer", "wire.py", "arrays.py", "limits.py", "syscalls.py"}
    assert solutions is False


def test_a_system_of_separate_folders_is_mounted_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "bin").symlink_to("usr/bin")
    monkeypatch.setattr(mounts, "LINKED", [str(tmp_path / name) for name in ("lib", "bin", "lib32")])
    words = " ".join(mounts.View([]).options(sized=False))
    assert f"--ro-bind {tmp_path}/lib {tmp_path}/lib" in words
    assert f"--symlink usr/bin {tmp_path}/bin" in words
    assert "lib32" not in words
    assert "--size" not in words


def test_the_reference_writes_its_folder_and_no_other(confined: str, tmp_path: Path) -> None:
    import asyncio

    async def write() -> list[object]:
        child = await sandbox.start(Role.REFERENCE, writable=tmp_path)
        try:
            found: list[object] = []
            for path in (tmp_path / "kept", Path(__file__).parent / "attack"):
                await child.send(
                    {
                        "code": f"""
try: open({str(path)!r}, "w").close(); answer(True)
except OSError: answer(False)"""
                    }
                )
                found.append((await child.receive())[0]["value"])
            return found
        finally:
            await child.kill()

    kept, attack = asyncio.run(write())
    assert kept is True
    assert (tmp_path / "kept").exists()
    (Path(__file__).parent / "attack").unlink(missing_ok=True)
    assert attack is (confined == "none" and os.access(Path(__file__).parent, os.W_OK))


def test_without_bubblewrap_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    found = sandbox.confinement.__wrapped__()
    assert found.bubblewrap is None
    assert "not installed" in found.why or "needs Linux" in found.why


@linux
def test_a_bubblewrap_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda name: str(broken))
    found = sandbox.confinement.__wrapped__()
    assert found.bubblewrap is None
    assert "No permissions to create" in found.why


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root must be refused")
def test_root_is_refused_without_a_user_that_can_run_python(
    monkeypatch: pytest.MonkeyPatch, top: Path
) -> None:
    monkeypatch.setattr(sandbox, "confinement", lambda: sandbox.Confinement("as the test asks"))
    monkeypatch.setattr(users, "may_run", lambda command: False)
    refused = pytest.raises(
        sandbox.SandboxUnavailable, match="install bubblewrap, or run this as an ordinary"
    )
    with refused:
        ask(HONEST)
    with refused:
        asyncio.run(grading.grade(catalog.EXERCISES, top))


def test_a_child_that_is_not_root_even_alone(confined: str) -> None:
    if sys.platform != "win32":
        assert ask("answer(os.getuid())").value != 0


WINDOWS = """
import sys
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
"""


def test_it_works_without_the_modules_that_windows_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    with tree() as top:
        for main in top.glob("autograder/*/__main__.py"):
            main.write_text(WINDOWS + main.read_text())
        use(monkeypatch, top, "none")
        assert ask(HONEST).value == 42
        code = "import autograder.limits; from autograder import sandbox; sandbox.kind()"
        lines = [*sandbox.PYTHON, "-c", f"{WINDOWS}sys.path.insert(0, {ROOT!r}); {code}"]
        subprocess.run(lines, check=True, timeout=60)


ROOT = str(Path(__file__).resolve().parents[2])


@linux
def test_devices_show_only_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "GPUS", "nul*")
    with_gpu = " ".join(mounts.View([], devices=True).options())
    assert "--dev-bind /dev/null /dev/null" in with_gpu and "--ro-bind /sys /sys" in with_gpu
    without = " ".join(mounts.View([]).options())
    assert "--dev-bind" not in without and "/sys" not in without.split()


def test_a_folder_of_our_name_among_the_packages_is_hidden(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An editable install copies the solutions there."""
    (tmp_path / "autograder" / "_files").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    hidden = sandbox._view(sandbox.Role.TRACER, None, None).hidden
    assert (tmp_path / "autograder").resolve() in hidden
    assert sandbox.PACKAGE not in hidden


@linux
def test_an_interpreter_behind_a_system_link_is_there_already(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A virtual environment may lead to /bin/python3, where /bin is a link that bubblewrap makes itself."""
    (tmp_path / "python").symlink_to("/bin/sh")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert not [path for path in mounts._python() if path.is_relative_to("/bin")]
