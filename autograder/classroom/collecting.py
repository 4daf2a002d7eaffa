"""How nbgrader collects: nothing that stands in the exchange ends it, or leads out of there.

The exchange is the students' to write to. nbgrader follows links in it with the instructor's rights: a
notebook that is a link to `source/` would be collected solved, and a page that is a link be released as
feedback.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import ignore_patterns

MAX_FILES = 1000
MAX_DEPTH = 16
FILES = (".ipynb", ".txt", ".html")
"""What nbgrader writes beside: a folder of such a name would be in its way."""
LATE = 600
"""Seconds after its own time of hand-in at which a submission may still change."""


class Unfit(Exception):
    """What stands in the exchange and is no submission of who is named in it."""


class Collect(ExchangeCollect):
    """Copies nothing but files, and only of submissions that are their student's own (`check_owner`)."""

    def init_src(self) -> None:
        """Look for submissions; there can be none before nbgrader has made the place for them."""
        inbound = Path(self.root) / self.coursedir.course_id / "inbound"
        if not inbound.is_dir():
            release = f"nbgrader release_assignment {self.coursedir.assignment_id}"
            self.fail(f"nothing is released to students yet: {inbound} is not there. Next: {release}")
        super().init_src()

    def _path_to_record(self, path: str) -> dict[str, Any]:
        try:
            record: dict[str, Any] = super()._path_to_record(path)
            self._check(record, os.lstat(path))
        except (Unfit, ValueError, OverflowError, OSError) as why:
            self.log.error("%r is left out: %s", path, why)
            return {"username": "", "filename": "", "timestamp": datetime.min}
        return record

    def _check(self, record: dict[str, Any], status: os.stat_result) -> None:
        student, at = record["username"], record["timestamp"].replace(tzinfo=UTC).timestamp()
        if not stat.S_ISDIR(status.st_mode) or student in ("", ".", ".."):
            raise Unfit("it is no folder of a student's")
        if self.check_owner and student != (owner := _name(status.st_uid)):
            raise Unfit(
                f"it is owned by {owner}. If students' names are not those of their accounts on this "
                "machine, write in nbgrader_config.py: c.ExchangeCollect.check_owner = False"
            )
        if status.st_ctime > at + LATE:
            changed = datetime.fromtimestamp(status.st_ctime, UTC)
            self.log.warning("%r was changed after its hand-in, at %s", record["filename"], changed)

    src_records: list[dict[str, Any]]

    def copy_files(self) -> None:
        """What nbgrader does, with the submissions that are some."""
        self.src_records = [record for record in self.src_records if record["username"]]
        super().copy_files()

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy the files of a submission, within nbgrader's limits on sizes."""
        target, left = Path(dest), 1000 * self.coursedir.max_dir_size
        target.mkdir(parents=True, exist_ok=True)
        for number, (name, file) in enumerate(self._files(Path(src))):
            with os.fdopen(file, "rb") as data:
                size = os.fstat(file).st_size
                if size > 1000 * self.coursedir.max_file_size or size > left or number >= MAX_FILES:
                    self.log.error(
                        "%r: too large, or too many files; from %r on they are left out", src, name
                    )
                    break
                left -= size
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(data.read(size))
        # nbgrader takes the time from here, and releases nobody's feedback where one has no secret.
        (target / "timestamp.txt").write_text(Path(src).name.rsplit("+", 3)[2], encoding="utf-8")
        if not (target / "submission_secret.txt").is_file():
            (target / "submission_secret.txt").write_text(secrets.token_hex(64), encoding="utf-8")

    def _files(self, folder: Path) -> Iterator[tuple[str, int]]:
        """Name and descriptor of each file; what it is is asked when it is open, since it may be swapped."""
        ignored = ignore_patterns(self.coursedir.ignore, self.coursedir.include)
        for where, folders, names, at in os.fwalk(folder):  # it follows no link
            skipped = set(ignored(where, [*folders, *names]))
            inside = Path(where).relative_to(folder)
            kept = set(folders) - skipped if len(inside.parts) < MAX_DEPTH else ()
            folders[:] = [name for name in kept if Path(name).suffix not in FILES]
            for name in sorted(set(names) - skipped):
                try:
                    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
                except OSError as why:
                    self.log.error("%r in %r is left out: a link, perhaps (%s)", name, where, why.strerror)
                    continue
                if stat.S_ISREG(os.fstat(file).st_mode):
                    yield str(inside / name), file
                else:
                    os.close(file)
                    self.log.error("%r in %r is left out: it is no file", name, where)


def _name(uid: int) -> str:
    import pwd  # not on Windows

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "nobody known here"
