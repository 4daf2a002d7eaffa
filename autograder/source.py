"""A learner's file as text: read with care, and looked at without being run."""

from __future__ import annotations

import ast
import codecs
import hashlib
import io
import os
import re
import stat
import tokenize
import warnings
from dataclasses import dataclass
from pathlib import Path

from autograder import library, workspace

MAX_BYTES = 64 * 1024
MAX_PARTS = 100
MAX_NAME = 200
MAX_NESTING = 200
SAVE = "save the file as UTF-8"
_PATH = re.compile(r"(?:\.[\s\\]*\w{1,80}[\s\\]*)" + f"{{{MAX_PARTS}}}")


class Unreadable(Exception):
    """The file cannot be graded; the message says what was expected, what came and where."""

    def __init__(self, message: str, next_step: str = "Correct the file and run grade again.") -> None:
        super().__init__(message)
        self.next_step = next_step


@dataclass(frozen=True)
class Source:
    """A module's bytes and syntax tree."""

    name: str
    data: bytes
    tree: ast.Module

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def function(self, name: str) -> ast.FunctionDef | None:
        """The last top-level definition of this name: the one that Python would keep."""
        found = [node for node in self.tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        return found[-1] if found else None

    def calls(self, caller: str, name: str) -> bool:
        """Whether a function of the file calls this name."""
        function = self.function(caller)
        return function is not None and any(
            isinstance(node, ast.Call) and getattr(node.func, "id", "") == name for node in ast.walk(function)
        )

    def jit_line(self, name: str) -> int | None:
        """The line of a decorator of this function that holds `jit`: jit, jax.jit, partial(jax.jit, …)."""
        function = self.function(name)
        for decorator in function.decorator_list if function else ():
            if any(
                "jit" in (getattr(node, "id", ""), getattr(node, "attr", "")) for node in ast.walk(decorator)
            ):
                return decorator.lineno
        return None

    def line(self, number: int) -> str:
        """A line of the file by its number from 1, without its margins; "" where there is none."""
        lines = re.split(r"\r\n?|\n", self.data.decode("utf-8-sig", errors="replace"))
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def library_attention(self) -> tuple[str, int] | None:
        """The first library attention that is imported or looked up, and its line."""
        return next(library.attention(self.tree), None)


def bounded(text: str) -> None:
    """ValueError for a dotted name so long that nobody means it: Python takes a gigabyte to read an import of
    64 kB."""
    if _PATH.search(text):
        raise ValueError(f"a name in it has more than {MAX_PARTS} parts")


def read(folder: Path, name: str) -> Source:
    """Read and parse `name`.py of a folder; Unreadable where it is not a small Python file in there."""
    path = folder / f"{name}.py"
    if not os.path.lexists(path):
        raise Unreadable(f"{path} does not exist", workspace.recovery(folder, name))
    data = _read_file(folder, path)
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        raise Unreadable(f"{path} is empty", workspace.recovery(folder, name))
    return parse(name, data)


def parse(name: str, data: bytes) -> Source:
    """Parse a module's bytes; Unreadable with the line where they are not Python."""
    _utf8(name, data)
    try:
        # Another coding may take minutes to decode; and what is read here must be what will run.
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding not in ("utf-8", "utf-8-sig"):
            raise Unreadable(f"{name}.py is declared to be {encoding!r}; remove that line, and {SAVE}")
        bounded(data.decode(errors="replace"))
        with warnings.catch_warnings():  # theirs, on a screen of ours
            warnings.simplefilter("ignore")
            tree = ast.parse(data, f"{name}.py")
        if strange := _strange(tree):
            raise Unreadable(f"{name}.py {strange}; no solution needs that")
        return Source(name, data, tree)
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.lineno else "the file"
        raise Unreadable(f"{name}.py is not valid Python: {where}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"{name}.py cannot be parsed: {error or type(error).__name__}") from None


BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # begins with the one of UTF-16
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def _utf8(name: str, data: bytes) -> None:
    """Unreadable, with the byte and its line, where a file is saved in another encoding."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            shown = " ".join(f"{byte:02X}" for byte in mark)
            raise Unreadable(f"{name}.py begins with the bytes {shown}, which mark {encoding}; {SAVE}")
    if b"\0" in data:
        line = _line_at(data, data.index(b"\0"))
        raise Unreadable(f"{name}.py holds a null byte at line {line}, as UTF-16 does; {SAVE}")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        byte, line = data[error.start], _line_at(data, error.start)
        meant = bytes([byte]).decode("cp1252", errors="ignore")
        letter = f" ({meant} in Windows-1252)" if meant.isprintable() and meant else ""
        why = f"holds the byte 0x{byte:02X}{letter} at line {line}, which is no UTF-8"
        raise Unreadable(f"{name}.py {why}; {SAVE}") from None


def _line_at(data: bytes, place: int) -> int:
    return len(re.findall(rb"\r\n?|\n", data[:place])) + 1


def _strange(tree: ast.Module) -> str:
    """What nobody writes and takes long to look at: names that are too long, nesting that is too deep."""
    nodes: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    while nodes:
        node, depth, line = nodes.pop()
        line = getattr(node, "lineno", line)
        if depth > MAX_NESTING:
            return f"nests deeper than {MAX_NESTING} levels at line {line}"
        for field in ("id", "attr", "name", "asname", "module", "arg"):
            text = getattr(node, field, None)
            if isinstance(text, str) and len(text) > MAX_NAME:
                return f"holds a name of more than {MAX_NAME} characters at line {line}"
        nodes += [(child, depth + 1, line) for child in ast.iter_child_nodes(node)]
    return ""


def same_code(one: ast.FunctionDef | None, other: ast.FunctionDef | None) -> bool:
    """Whether two functions have the same syntax tree, docstrings aside."""
    return one is not None and other is not None and _dump(one) == _dump(other)


def _read_file(folder: Path, path: Path) -> bytes:
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise Unreadable(f"{path} cannot be followed: {error}") from None
    if not real.is_relative_to(folder.resolve()):
        raise Unreadable(f"{path} is a link that leaves its folder; put the file itself there")
    if real.is_dir():
        raise Unreadable(f"{path} is a folder; expected a Python file")
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        descriptor = os.open(real, flags)
    except OSError as error:
        raise Unreadable(f"{path} is not readable: {error.strerror}; expected a Python file") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable(f"{path} is not a regular file; expected a Python file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Unreadable(f"{path} has more than {MAX_BYTES // 1024} kB; a solution needs a few")
    return data


def _dump(function: ast.FunctionDef) -> str:
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    bare = ast.FunctionDef(
        name=function.name,
        args=function.args,
        body=body,
        decorator_list=function.decorator_list,
        returns=function.returns,
        type_comment=None,
    )
    try:
        return ast.dump(bare)
    except (RecursionError, ValueError):  # too deep, or a number too long to print: no stub has either
        return ""
