"""Table files: CSV (plain or gzipped), Parquet and Feather, to pandas frames and back.

In: a path, or "-" for standard input and output. Out: a frame with at least one row and distinct column names; a file.
The one idea: an input file's format is recognised by its first bytes, the separator and the decimal sign of CSV by its
values, an output file's format by its name.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Collection
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from .._runtime.files import whole_file
from .files import GZIP_MAGIC, SEPARATORS, STDIN, file_title, read_header, read_stdin, write_file
from .messages import Mistake, say

CSV, PARQUET, FEATHER = "CSV", "Parquet", "Feather"
MAGIC = {b"PAR1": PARQUET, b"ARROW1": FEATHER}
SUFFIXES = {".parquet": PARQUET, ".pq": PARQUET, ".feather": FEATHER}  # others are CSV
HEAD = 8  # bytes that show the format
PART = 2**20  # bytes that are searched at a time


class TableFile:
    """A table file that can be read more than once; standard input is therefore kept in memory."""

    def __init__(self, path: str, sep: str | None = None, decimal: str | None = None) -> None:
        self.title = file_title(path)
        self._sep, self._decimal = sep, decimal  # of CSV; None until they are recognised
        self.unnamed: list[str] = []  # columns that `read` leaves out, by the names that pandas gives them
        self._path = path
        self._content: bytes | None = None
        with self._open() as stream:
            head = stream.read(HEAD)
        self._is_gzip = head.startswith(GZIP_MAGIC)
        self.format = next((name for magic, name in MAGIC.items() if head.startswith(magic)), CSV)
        if self.format == CSV and not self._is_gzip and format_of(Path(path)) != CSV:
            raise Mistake(f"{self.title} is not a {format_of(Path(path))} file")

    def read(self, as_text: Collection[str] = ()) -> pd.DataFrame:
        """Return the table, with the types that pandas finds and without the columns that have no name.

        In CSV the columns of `as_text` are not taken for numbers or booleans.
        """
        frame = self._read_guessing(as_text) if self.format == CSV else self._read_typed()
        if len(frame) == 0:
            what = " after its first line, which names the columns" if self.format == CSV else ""
            raise Mistake(f"{self.title} has no rows{what}")
        return frame.drop(columns=self.unnamed)

    def read_as_written(self) -> pd.DataFrame:
        """Return the table for writing it again: values of CSV stay text."""
        if self.format != CSV:
            return self._read_typed()
        frame = self._read_csv(dtype=str, na_filter=False)
        return frame.rename(columns=dict.fromkeys(self.unnamed, ""))

    def _read_guessing(self, as_text: Collection[str]) -> pd.DataFrame:
        """Return the table of a CSV file; say what was recognised, if that is not commas and decimal points."""
        given = self._sep
        # With low_memory, pandas would guess types part by part and mix numbers and texts in one column.
        options = {"dtype": dict.fromkeys(as_text, str), "low_memory": False}
        frame = self._read_csv(decimal=self._decimal or ".", **options)
        said = []
        if given is None and self._sep != SEPARATORS[0]:
            said.append("separated by tabs" if self._sep == "\t" else f"separated by {self._sep!r}")
        if self._decimal is None and self._sep != "," and _has_commas(frame):
            other = self._read_csv(decimal=",", **options)
            if _numeric(frame) < _numeric(other):  # some columns become numbers, and all numbers stay so
                frame = other
                said.append("decimal commas")
        if said:
            say(f"{self.title}: {', '.join(said)}")
        return frame

    def _open(self) -> BinaryIO:
        """Open the file at its beginning; a pipe is read whole and kept."""
        try:
            if self._content is None and os.path.isfile(self._path):
                return open(self._path, "rb")
            if self._content is None:
                self._content = read_stdin() if self._path == STDIN else Path(self._path).read_bytes()
        except OSError as error:
            raise Mistake(f"{self.title} cannot be read: {error.strerror or error}") from None
        return io.BytesIO(self._content)

    def _read_csv(self, **options: Any) -> pd.DataFrame:
        try:
            with self._open() as raw:
                stream: Any = gzip.GzipFile(fileobj=raw) if self._is_gzip else raw
                if any(b"\0" in part for part in iter(partial(stream.read, PART), b"")):  # pandas would keep it
                    what = "is not a table, it has bytes that are 0"
                    raise Mistake(f"{self.title} {what}: it must be CSV (in UTF-8), Parquet or Feather")
                stream.seek(0)
                text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
                self._sep, names = read_header(text, self._sep)
                text.detach().seek(0)
                with warnings.catch_warnings():
                    warnings.simplefilter("error", pd.errors.ParserWarning)
                    # Otherwise, pandas would take the first values of longer rows for names of the rows.
                    frame = pd.read_csv(stream, sep=self._sep, index_col=False, **options)
        except pd.errors.EmptyDataError:
            raise Mistake(f"{self.title} is empty") from None
        except pd.errors.ParserWarning:
            why = "its rows have more values than its first line has names"
            raise Mistake(f"{self.title} is not a CSV file: {why}") from None
        except UnicodeDecodeError as error:
            byte = f"the byte 0x{error.object[error.start]:02x}"
            raise Mistake(f"{self.title} is not a CSV file in UTF-8, it has {byte}: convert it to UTF-8") from None
        except (pd.errors.ParserError, csv.Error, EOFError, zlib.error) as error:
            why = str(error).removeprefix("Error tokenizing data. ").removeprefix("C error: ")
            raise Mistake(f"{self.title} is not a CSV file: {why}") from None
        except OSError as error:
            raise Mistake(f"{self.title} cannot be read: {error.strerror or error}") from None
        self._check_names([name for name in names if name])
        self.unnamed = [given for given, name in zip(frame.columns, names, strict=False) if not name]
        return frame

    def _read_typed(self) -> pd.DataFrame:
        if find_spec("pyarrow") is None:
            raise Mistake(f"{self.title} is a {self.format} file, which needs pyarrow: pip install 'topktree[cli]'")
        try:
            with self._open() as stream:
                if self.format == FEATHER:
                    from pyarrow.feather import read_table

                    read_table(stream).validate(full=True)  # pyarrow crashes on the values of some damaged files
                    stream.seek(0)
                frame = pd.read_parquet(stream) if self.format == PARQUET else pd.read_feather(stream)
        except (OSError, ValueError, NotImplementedError, KeyError, TypeError) as error:
            raise Mistake(f"{self.title} is not a {self.format} file that can be read: {error}") from None
        frame = frame.reset_index(drop=frame.index.names == [None])  # row names are a column of the file
        frame.columns = [str(name) for name in frame.columns]
        self._check_names(list(frame.columns))
        for name in frame.select_dtypes("category"):
            if frame[name].cat.categories.dtype == bool:
                frame[name] = frame[name].astype("boolean")
        return frame

    def _check_names(self, names: list[str]) -> None:
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise Mistake(f"{self.title} has more than one column named {repeated[0]!r}: names must be different")


def _has_commas(frame: pd.DataFrame) -> bool:
    """Return whether a text has a comma."""
    texts = frame.select_dtypes(exclude=["number", "bool"])
    return any(column.astype(str).str.contains(",", regex=False).any() for _, column in texts.items())


def _numeric(frame: pd.DataFrame) -> set[str]:
    """Return the names of the columns that are numbers."""
    return {name for name, dtype in frame.dtypes.items() if dtype.kind in "iuf"}


def format_of(path: Path | None) -> str:
    """Return the format that a file name stands for; None is standard output."""
    return CSV if path is None else SUFFIXES.get(path.suffix.lower(), CSV)


def write_table(frame: pd.DataFrame, path: Path | None) -> None:
    """Write the table to a file, whole or not at all; None is standard output."""
    if path is not None:
        write_file("-o", path, lambda path: _replace(frame, path))
    elif sys.stdout is None:
        raise Mistake("standard output is closed: -o FILE writes to a file")
    else:
        frame.to_csv(sys.stdout.buffer, index=False, lineterminator="\n")
        sys.stdout.buffer.flush()


def _replace(frame: pd.DataFrame, path: Path) -> None:
    with whole_file(path) as written, open(written, "wb") as stream:
        if format_of(path) == PARQUET:
            frame.to_parquet(stream, index=False)
        elif format_of(path) == FEATHER:
            frame.to_feather(stream)
        else:
            compression = "gzip" if path.suffix.lower() == ".gz" else None
            frame.to_csv(stream, index=False, lineterminator="\n", compression=compression)
