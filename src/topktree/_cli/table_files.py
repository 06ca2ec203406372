"""Table files: CSV, plain or compressed by gzip, Parquet and Feather, to pandas frames and back.

In: a path, or "-" for standard input and output. Out: a frame with a row at least and different names of columns; a
file. The one idea: what a file is its first bytes say, whatever its name; what a file to be written shall be, its name.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from .._runtime.files import whole_file
from .messages import Mistake, check_output, write_file

if TYPE_CHECKING:
    import pandas as pd

STDIN = STDOUT = "-"
CSV, PARQUET, FEATHER = "CSV", "Parquet", "Feather"
GZIP_MAGIC = b"\x1f\x8b"
MAGIC = {b"PAR1": PARQUET, b"ARROW1": FEATHER}
SUFFIXES = {".csv": CSV, ".csv.gz": CSV, ".parquet": PARQUET, ".pq": PARQUET, ".feather": FEATHER}
HEAD = 4096  # bytes that are looked at


def file_title(path: str) -> str:
    """What messages call the file."""
    return "standard input" if path == STDIN else path


class TableFile:
    """A table file that can be read more than once, which is why standard input is kept."""

    def __init__(self, path: str) -> None:
        self.title = file_title(path)
        self._path = path
        self._content: bytes | None = None
        self.unnamed: list[str] = []  # columns that `read` leaves out
        with self._reading() as stream:
            head = stream.read(HEAD)
        self._is_gzip = head.startswith(GZIP_MAGIC)
        self.format = next((name for magic, name in MAGIC.items() if head.startswith(magic)), CSV)
        if self.format == CSV and not self._is_gzip:
            self._check_text(head)

    def read(self, as_text: Collection[str] = ()) -> pd.DataFrame:
        """The table, its types as pandas finds them; without the columns that have no name, often numbers of rows.

        In CSV the columns of `as_text` are not taken for numbers or booleans.
        """
        # low_memory guesses types part by part, and then has numbers and texts in one column.
        options = {"dtype": dict.fromkeys(as_text, str), "low_memory": False}
        frame = self._read_csv(**options) if self.format == CSV else self._read_typed()
        if len(frame) == 0:
            what = " after its first line, which names the columns" if self.format == CSV else ""
            raise Mistake(f"{self.title} has no rows{what}")
        return frame.drop(columns=self.unnamed)

    def read_as_written(self) -> pd.DataFrame:
        """The table to be written again: of CSV every value as the text that it is."""
        if self.format != CSV:
            return self._read_typed()
        frame = self._read_csv(dtype=str, na_filter=False)
        return frame.rename(columns=dict.fromkeys(self.unnamed, ""))

    def _check_text(self, head: bytes) -> None:
        suffix = _suffix(Path(self._path))
        if suffix in SUFFIXES and SUFFIXES[suffix] != CSV:
            raise Mistake(f"{self.title} is not a {SUFFIXES[suffix]} file")
        if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16 has a message of its own
            raise Mistake(f"{self.title} is not a table: it must be CSV (in UTF-8), Parquet or Feather")

    def _reading(self) -> BinaryIO:
        """The file from its beginning; what cannot be read twice is read whole."""
        if self._content is not None:
            return io.BytesIO(self._content)
        try:
            if os.path.isfile(self._path):
                return open(self._path, "rb")
            self._content = read_stdin() if self._path == STDIN else Path(self._path).read_bytes()
        except OSError as error:
            raise Mistake(f"{self.title} cannot be read: {error.strerror or error}") from None
        return io.BytesIO(self._content)

    def _read_csv(self, **options: Any) -> pd.DataFrame:
        pandas = _import_pandas()
        options["compression"] = "gzip" if self._is_gzip else None
        try:
            with self._reading() as stream:
                names = pandas.read_csv(stream, header=None, nrows=1, **options | {"dtype": str, "na_filter": False})
                stream.seek(0)
                frame = pandas.read_csv(stream, **options)
        except pandas.errors.EmptyDataError:
            raise Mistake(f"{self.title} is empty") from None
        except UnicodeDecodeError as error:
            raise Mistake(f"{self.title} is not a CSV file in UTF-8: {error}") from None
        except (pandas.errors.ParserError, EOFError, zlib.error) as error:
            raise Mistake(
                f"{self.title} is not a CSV file: {str(error).removeprefix('Error tokenizing data. ')}"
            ) from None
        except OSError as error:
            raise Mistake(f"{self.title} cannot be read: {error.strerror or error}") from None
        self._check_names([name for name in names.iloc[0] if name])
        self.unnamed = [given for given, name in zip(frame.columns, names.iloc[0], strict=False) if not name]
        if not frame.index.equals(type(frame.index)(range(len(frame)))):
            # It then takes the first values of the rows for their names.
            raise Mistake(f"{self.title} is not a CSV file: its rows have more values than its first line has names")
        return frame

    def _read_typed(self) -> pd.DataFrame:
        pandas = _import_pandas()
        if find_spec("pyarrow") is None:
            raise Mistake(f"{self.title} is a {self.format} file, which needs pyarrow: pip install 'topktree[cli]'")
        try:
            with self._reading() as stream:
                frame = pandas.read_parquet(stream) if self.format == PARQUET else pandas.read_feather(stream)
        except (OSError, ValueError, NotImplementedError) as error:
            raise Mistake(f"{self.title} is not a {self.format} file that can be read: {error}") from None
        # A frame that had names of rows gets them back as such, but they are a column of the file.
        frame = frame.reset_index(drop=frame.index.names == [None])
        frame.columns = [str(name) for name in frame.columns]
        self._check_names(list(frame.columns))
        for name in frame.select_dtypes("category"):
            if frame[name].cat.categories.dtype == bool:
                frame[name] = frame[name].astype("boolean")
        return frame

    def _check_names(self, names: list[str]) -> None:
        repeated = [name for i, name in enumerate(names) if name in names[:i]]
        if repeated:
            raise Mistake(f"{self.title} has more than one column named {repeated[0]!r}: names must be different")


def read_stdin() -> bytes:
    """All of standard input."""
    if sys.stdin is None:
        raise Mistake("standard input is closed")
    return sys.stdin.buffer.read()


def check_table_output(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """A click callback: a table file that can probably be written, or standard output."""
    if path is None or str(path) == STDOUT:
        return None
    suffix = _suffix(path)
    option = f"{parameter.opts[0]} {path}"
    if suffix not in SUFFIXES:
        *names, last = SUFFIXES
        raise Mistake(f"{option}: the name must end in {', '.join(names)} or {last}")
    if SUFFIXES[suffix] != CSV and find_spec("pyarrow") is None:
        raise Mistake(f"{option}: {SUFFIXES[suffix]} files need pyarrow: pip install 'topktree[cli]'")
    return check_output(context, parameter, path)


def is_csv(path: Path | None) -> bool:
    """Whether the table will be written as CSV."""
    return path is None or SUFFIXES[_suffix(path)] == CSV


def write_table(frame: pd.DataFrame, path: Path | None) -> None:
    """Write the file, whole or not at all; None is standard output, as CSV."""
    if path is None:
        if sys.stdout is None:
            raise Mistake("standard output is closed: -o writes to a file")
        stream = sys.stdout.buffer
        frame.to_csv(stream, index=False, lineterminator="\n")
        stream.flush()
        return
    write_file("-o", path, lambda: _replace(frame, path))


def _replace(frame: pd.DataFrame, path: Path) -> None:
    with whole_file(path) as partial, open(partial, "wb") as stream:
        _write(frame, stream, _suffix(path))


def _write(frame: pd.DataFrame, stream: BinaryIO, suffix: str) -> None:
    if SUFFIXES[suffix] == PARQUET:
        frame.to_parquet(stream, index=False)
    elif SUFFIXES[suffix] == FEATHER:
        frame.to_feather(stream)
    elif suffix.endswith(".gz"):
        with gzip.open(stream, "wb") as packed:
            frame.to_csv(packed, index=False, lineterminator="\n")
    else:
        frame.to_csv(stream, index=False, lineterminator="\n")


def _suffix(path: Path) -> str:
    """`.parquet`, `.csv.gz`."""
    name = path.name.lower()
    return ".csv.gz" if name.endswith(".csv.gz") else Path(name).suffix


def _import_pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise Mistake("reading tables needs pandas: pip install 'topktree[cli]'") from None
    return pandas
