"""The CSV file of a study's runs: read, repaired, appended to.

In: a path and a Study. Out: the rows by their keys; a line is written as soon as a run ends.
The one idea: the file is its own log. A line that is not whole (a kill, a full disk, an editor) costs that one run, and
the damaged file is kept next to the repaired one.
"""

from __future__ import annotations

import csv
import io
import lzma
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pandas as pd

from .study import FAILED, FINISHED, NO_MEMORY, SKIPPED, TIMEOUT, Row, Study, Task, Value

Key = tuple[str, ...]

STATUSES = {FINISHED, TIMEOUT, SKIPPED, FAILED, NO_MEMORY}


class Busy(Exception):
    """Another command writes to the folder."""


class Damaged(Exception):
    """A table that cannot be read."""


def as_text(value: Value) -> str:
    """Return the field of a CSV line: no line breaks, nothing for None and NaN."""
    return "" if value is None or value != value else " ".join(str(value).split())


def as_key(value: Value) -> str:
    """Return the same text for equal numbers, however they are written."""
    return as_text(int(value) if isinstance(value, float) and value.is_integer() else value)


def as_value(text: str) -> Value:
    """Return the value of a field: an int or a float where it reads as one."""
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Store:
    """The runs of one study, in memory and on disk."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path = path
        self.keys, self.columns = study.keys, study.run_columns
        self.required = [name for name in study.results if name not in (*study.optional, "status", "limit", "message")]
        self.rows: dict[Key, Row] = {}
        self.damage = ""  # what was wrong with the file, in words
        self._stream: TextIO | None = None
        if path.exists():
            self._read()

    def find(self, task: Task) -> Row | None:
        """Return the row of a run, if there is one."""
        return self.rows.get(self._key(task))

    def add(self, row: Row) -> None:
        """Write a row; one with the same key is replaced (in the file, the last one counts)."""
        self.rows[self._key(row)] = row
        if self._stream is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            self._stream = self.path.open("a", encoding="utf-8", newline="")
            if is_new:
                self._stream.write(_line(self.columns))
        self._stream.write(_line(row[name] for name in self.columns))
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def set_aside(self) -> Path | None:
        """Rename the file and start anew; None if there is no file."""
        self.close()
        self.rows = {}
        if not self.path.exists():
            return None
        target = unused(self.path)
        os.replace(self.path, target)
        return target

    def _key(self, task: Task) -> Key:
        return tuple(as_key(task[name]) for name in self.keys)

    def _read(self) -> None:
        content = self.path.read_bytes()
        lines = content.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
        if not lines or _fields(lines[0]) != list(self.columns):
            aside = self.set_aside()
            self.damage = f"{self.path} does not start with the columns of its runs: kept as {aside}, all runs are new"
            return
        parsed = [self._parse(line) for line in lines[1:]]
        good = self._of_one_type([row for row in parsed if row is not None])
        self.rows = {self._key(row): row for row in good}
        if len(good) < len(parsed):
            self._repair(content, len(parsed) - len(good))

    def _repair(self, content: bytes, bad: int) -> None:
        """Keep the damaged file under another name, and write the good rows."""
        aside = unused(self.path)
        aside.write_bytes(content)
        write_table(self.path, self.columns, self.rows.values())
        lines = "1 line is" if bad == 1 else f"{bad} lines are"
        self.damage = f"{lines} damaged in {self.path} (kept as {aside}): made again"

    def _parse(self, line: str) -> Row | None:
        """Return the row of a line; None if it is damaged."""
        fields = _fields(line)
        if fields is None or len(fields) != len(self.columns) or "\ufffd" in line:
            return None
        row = {name: as_value(text) for name, text in zip(self.columns, fields, strict=True)}
        if row["status"] not in STATUSES or not isinstance(row["limit"], int | float | None):
            return None
        return None if row["status"] == FINISHED and any(row[name] is None for name in self.required) else row

    def _of_one_type(self, rows: list[Row]) -> list[Row]:
        """Return the rows without those that have text where others have numbers."""
        numeric = [name for name in self.required if any(isinstance(row[name], int | float) for row in rows)]
        return [row for row in rows if not any(isinstance(row[name], str) for name in numeric)]


def _line(values: Iterable[Value]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(map(as_text, values))
    return buffer.getvalue()


def _fields(line: str) -> list[str] | None:
    """Return the fields of a line that is whole."""
    if not line.endswith("\n"):
        return None
    try:
        return next(csv.reader([line], strict=True), None)
    except csv.Error:
        return None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other commands out of a folder; the lock ends with the process. Windows has no such locks."""
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
    """Return a name in the folder of `path` that no file has: path.1, path.2, ..."""
    number = 1
    while (candidate := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    return candidate


def read_table(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the table of a CSV file with a header; an empty one if there is no file."""
    if not path.is_file():
        return pd.DataFrame(columns=columns)
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            header, *lines = csv.reader(stream, strict=True)
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        raise Damaged(f"{path} is damaged: {error}") from error
    if columns is not None and header != list(columns):
        raise Damaged(f"{path} has other columns than this version writes")
    if any(len(line) != len(header) for line in lines):
        raise Damaged(f"{path} is damaged: lines of different lengths")
    return pd.DataFrame([[as_value(text) for text in line] for line in lines], columns=header)


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write a file, whole or not at all; compressed if its name ends in .xz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_name(f"{path.name}.tmp")
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(whole, "wt", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([as_text(row[name]) for name in columns] for row in rows)
    os.replace(whole, path)


def start_from(kept: Path, path: Path) -> None:
    """Make the file of runs from the runs that are kept, unless it is there or none are."""
    if path.exists() or not kept.is_file():
        return
    content = kept.read_bytes()
    if kept.suffix == ".xz":
        try:
            content = lzma.decompress(content)
        except lzma.LZMAError as error:
            raise Damaged(f"{kept} is damaged: {error}") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
