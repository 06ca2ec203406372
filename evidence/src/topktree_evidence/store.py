"""The CSV file of an experiment's runs: read, mended, added to.

In: a path, the names of its columns and which of them are keys. Out: the rows by their keys; a line is written as
soon as a run ends.
The one idea: the file is its own log. A line that is not whole (a kill, a full disk, an editor) costs that one run, and
what was there is kept beside it.
"""

from __future__ import annotations

import csv
import io
import lzma
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from topktree_evidence.study import BOOKKEEPING, FAILED, FINISHED, SKIPPED, TIMEOUT, Row, Task, Value

Key = tuple[str, ...]

STATUSES = {FINISHED, TIMEOUT, SKIPPED, FAILED}


class Busy(Exception):
    """Another command writes to the folder."""


class Damaged(Exception):
    """A table that cannot be read."""


def as_text(value: Value) -> str:
    """A field of a CSV line: no line breaks, nothing for None."""
    return "" if value is None else " ".join(str(value).split())


def as_key(value: Value) -> str:
    """The same for equal numbers, however they are written."""
    return as_text(int(value) if isinstance(value, float) and value.is_integer() else value)


def as_value(text: str) -> Value:
    """The value of a field: an int or a float where it reads as one."""
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Store:
    """The runs of one experiment, in memory and on disk."""

    def __init__(self, path: Path, keys: Sequence[str], columns: Sequence[str]) -> None:
        self.path = path
        self.keys = tuple(keys)
        self.columns = tuple(columns)
        self.results = tuple(name for name in columns if name not in (*keys, *BOOKKEEPING))
        self.rows: dict[Key, Row] = {}
        self.damage = ""  # what was wrong with the file, in words
        self._stream: TextIO | None = None
        if path.exists():
            self._read()

    def key(self, task: Task) -> Key:
        """What a run is known by."""
        return tuple(as_key(task[name]) for name in self.keys)

    def find(self, task: Task) -> Row | None:
        """The row of a run, if there is one."""
        return self.rows.get(self.key(task))

    def add(self, row: Row) -> None:
        """Write a row; one with the same key is replaced (in the file, the last one counts)."""
        self.rows[self.key(row)] = row
        if self._stream is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            self._stream = self.path.open("a", encoding="utf-8", newline="")
            if is_new:
                self._stream.write(self._line(dict(zip(self.columns, self.columns, strict=True))))
        self._stream.write(self._line(row))
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def set_aside(self) -> Path | None:
        """Start anew: the file gets another name; None if there is none."""
        self.close()
        self.rows = {}
        if not self.path.exists():
            return None
        target = unused(self.path)
        os.replace(self.path, target)
        return target

    def _line(self, row: Row) -> str:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerow([as_text(row[name]) for name in self.columns])
        return buffer.getvalue()

    def _read(self) -> None:
        content = self.path.read_bytes()
        lines = content.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
        header = self._fields(lines[0]) if lines else None
        if header != list(self.columns):
            aside = self.set_aside()
            self.damage = (
                f"the first line of {self.path} is not that of its runs: kept as {aside}, all runs are made again"
            )
            return
        parsed = [self._parse(line) for line in lines[1:]]
        good = self._of_one_type([row for row in parsed if row is not None])
        self.rows = {self.key(row): row for row in good}
        if len(good) < len(parsed):
            self._mend(content, len(parsed) - len(good))

    def _mend(self, content: bytes, bad: int) -> None:
        """Keep the damaged file beside, write the good rows."""
        aside = unused(self.path)
        aside.write_bytes(content)
        rows = list(self.rows.values())
        whole = self.path.with_suffix(".tmp")
        header: Row = dict(zip(self.columns, self.columns, strict=True))
        whole.write_text("".join(map(self._line, [header, *rows])), encoding="utf-8", newline="")
        os.replace(whole, self.path)
        lines = "1 line is" if bad == 1 else f"{bad} lines are"
        self.damage = f"{lines} damaged in {self.path} (kept as {aside}): made again"

    @staticmethod
    def _fields(line: str) -> list[str] | None:
        """The fields of a whole line."""
        if not line.endswith("\n"):
            return None
        try:
            return next(csv.reader([line], strict=True), None)
        except csv.Error:
            return None

    def _parse(self, line: str) -> Row | None:
        """The row of a line; None if it is damaged."""
        fields = self._fields(line)
        if fields is None or len(fields) != len(self.columns) or "\ufffd" in line:
            return None
        row = {name: as_value(text) for name, text in zip(self.columns, fields, strict=True)}
        if row["status"] not in STATUSES or not isinstance(row["limit"], int | float | None):
            return None
        return None if row["status"] == FINISHED and any(row[name] is None for name in self.results) else row

    def _of_one_type(self, rows: list[Row]) -> list[Row]:
        """The rows without text where others have numbers."""
        numeric = [name for name in self.results if any(isinstance(row[name], int | float) for row in rows)]
        return [row for row in rows if not any(isinstance(row[name], str) for name in numeric)]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other commands out of a folder; the lock goes with the process. Not on Windows, which has no such locks."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with (folder / ".lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"another command is writing to {folder}") from None
        yield


def unused(path: Path) -> Path:
    """A name beside `path` that no file has: path.1, path.2, ..."""
    number = 1
    while (candidate := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    return candidate


def read_table(path: Path, columns: Sequence[str] | None = None) -> list[Row]:
    """The rows of a CSV file with a header; none if it is not there."""
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            header, *lines = csv.reader(stream, strict=True)
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        raise Damaged(f"{path} is damaged: {error}") from error
    if columns is not None and header != list(columns):
        raise Damaged(f"{path} has other columns than this version writes")
    if any(len(line) != len(header) for line in lines):
        raise Damaged(f"{path} is damaged: lines of different lengths")
    return [{name: as_value(text) for name, text in zip(header, line, strict=True)} for line in lines]


def unpack(packed: Path, path: Path) -> None:
    """Make the file that was packed, unless it is there or nothing was."""
    if path.exists() or not packed.is_file():
        return
    try:
        content = lzma.decompress(packed.read_bytes())
    except lzma.LZMAError as error:
        raise Damaged(f"{packed} is damaged: {error}") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Write a file, whole or not at all; packed if its name ends in .xz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_name(f"{path.name}.tmp")
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(whole, "wt", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([as_text(row[name]) for name in columns] for row in rows)
    os.replace(whole, path)
