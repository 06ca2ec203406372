"""Input and output files: names, standard input, the first line of CSV, models, and errors of writing.

In: a path from the user, "-" for standard input or output. Out: its content, or a `Mistake`.
"""

from __future__ import annotations

import csv
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from .messages import Mistake

if TYPE_CHECKING:
    from .. import TopKBoostingClassifier, TopKForestClassifier, TopKTreeClassifier

Model: TypeAlias = "TopKTreeClassifier | TopKForestClassifier | TopKBoostingClassifier"
STDIN = STDOUT = "-"
GZIP_MAGIC = b"\x1f\x8b"
SEPARATORS = ",;\t|"  # of CSV, the likeliest first
SAMPLE = 2**17  # characters that show the separator; the csv module refuses longer values


def file_title(path: str) -> str:
    """Return the name that messages use for an input file."""
    return "standard input" if path == STDIN else path or "''"


def read_stdin() -> bytes:
    """Return all of standard input."""
    if sys.stdin is None:
        raise Mistake("standard input is closed")
    return sys.stdin.buffer.read()


def read_header(text: TextIO, separator: str | None = None) -> tuple[str, list[str]]:
    """Return the separator of a CSV file, found in the beginning of the file unless it is given, and the first line."""
    separator = separator or _find_separator(text.read(SAMPLE))
    text.seek(0)
    return separator, next(_csv_rows(text, separator), [])


def _find_separator(sample: str) -> str:
    """Return the separator with which most rows have as many values as the first, of these the one with most values."""
    best, found = (0, 1), SEPARATORS[0]
    is_cut = len(sample) == SAMPLE
    for separator in SEPARATORS:
        lines: list[list[str]] = []
        try:
            lines += _csv_rows(io.StringIO(sample, newline=""), separator, strict=True)
        except csv.Error as error:  # a quote in the wrong place; or the sample ends within quotes
            if not is_cut or "end of data" not in str(error):
                continue
        header, *rows = lines[:-1] if is_cut and len(lines) > 1 else lines or [[]]
        agreeing = sum(len(row) == len(header) for row in rows)
        if (agreeing or not rows) and len(header) > 1 and (agreeing, len(header)) > best:
            best, found = (agreeing, len(header)), separator
    return found


def _csv_rows(text: TextIO, separator: str, strict: bool = False) -> Iterator[list[str]]:
    """Yield the rows, without blank lines, as pandas does."""
    for row in csv.reader(text, delimiter=separator, strict=strict):
        if len(row) > 1 or "".join(row).strip():
            yield row


def read_model(path: str) -> Model:
    """Return the classifier of a model file."""
    from .. import load  # here, because --help needs this module and not the estimators

    try:
        if path != STDIN:
            return load(path)
        with tempfile.TemporaryDirectory(prefix="topktree-") as folder:
            copy = Path(folder, file_title(STDIN))
            copy.write_bytes(read_stdin())
            return load(copy)
    except OSError as error:
        raise Mistake(f"{file_title(path)} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise Mistake(str(error).replace(str(copy), copy.name) if path == STDIN else str(error)) from None


def check_apart(outputs: dict[str, Path | None], inputs: dict[str, str | None]) -> None:
    """Refuse to overwrite an input, or to write two outputs to one file. Keys are the names of the options."""
    taken = {os.path.realpath(path): name for name, path in inputs.items() if path not in (None, STDIN)}
    for option, path in outputs.items():
        if path is None:
            continue
        real = os.path.realpath(path)
        if real in taken:
            raise Mistake(f"{option} {path}: that is the file of {taken[real]}")
        taken[real] = option


def write_file(option: str, path: Path | None, write: Callable[[Path], Any]) -> None:
    """Call `write` for the file of an option, if it was given, and report its errors as mistakes."""
    if path is None:
        return
    try:
        write(path)
    except (OSError, ImportError, ValueError) as error:  # also a missing package, or labels that no file can hold
        raise Mistake(f"{option} {path}: {getattr(error, 'strerror', None) or error}") from None
