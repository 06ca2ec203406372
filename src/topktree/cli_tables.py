"""Tables for the command line: a file read, and taken apart into features, classes and weights.

In: a path, or "-" for standard input, and names of columns. Out: a pandas frame; a `Labelled` table. The one idea: what
a user can have got wrong is a `Mistake`, one line that names the file and the column, and it is found here, before any
search: the estimators' own messages speak of X and y, which a file has not.
"""

from __future__ import annotations

import difflib
import io
import sys
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ._problem import FloatArray

if TYPE_CHECKING:
    import pandas as pd

STDIN = "-"
GZIP_MAGIC = b"\x1f\x8b"
OTHER_SEPARATORS = ";\t|"
MOST_NAMES = 30  # of columns in a message


class Mistake(click.ClickException):
    """What the user can put right: one line on stderr, and exit code 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


@dataclass(frozen=True, eq=False)
class Labelled:
    """A table whose rows have a class each, and weights if a column of them was named."""

    X: pd.DataFrame
    y: pd.Series
    weights: FloatArray | None
    empty: list[str]  # columns without any value, left out of X


def file_title(path: str) -> str:
    """What messages call the file."""
    return "standard input" if path == STDIN else path


def read_table_file(path: str) -> pd.DataFrame:
    """The table in a CSV file, plain or compressed by gzip whatever its name; at least one row."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise Mistake("reading tables needs pandas: pip install 'topktree[cli]'") from None
    title = file_title(path)
    try:
        with _open(path) as stream:
            compression = "gzip" if stream.peek(2)[:2] == GZIP_MAGIC else None
            # low_memory guesses types part by part, and then has numbers and texts in one column.
            frame = pd.read_csv(stream, compression=compression, low_memory=False)
    except pd.errors.EmptyDataError:
        raise Mistake(f"{title} is empty") from None
    except UnicodeDecodeError as error:
        raise Mistake(f"{title} is not a CSV file in UTF-8: {error}") from None
    except (pd.errors.ParserError, EOFError, zlib.error) as error:
        raise Mistake(f"{title} is not a CSV file: {str(error).removeprefix('Error tokenizing data. ')}") from None
    except OSError as error:
        raise Mistake(f"{title} cannot be read: {error.strerror or error}") from None
    _check_shape(frame, title)
    return frame


def _open(path: str) -> io.BufferedReader:
    # All of standard input at once: pandas may go back in what it reads.
    return io.BufferedReader(io.BytesIO(sys.stdin.buffer.read())) if path == STDIN else open(path, "rb")


def _check_shape(frame: pd.DataFrame, title: str) -> None:
    """Refuse what pandas reads in a way that nobody means."""
    if not frame.index.equals(type(frame.index)(range(len(frame)))):
        # It then takes the first values of the rows for their names.
        raise Mistake(f"{title} is not a CSV file: its rows have more values than its first line has names")
    if len(frame) == 0:
        raise Mistake(f"{title} has no rows after its first line, which names the columns")


def split_table(frame: pd.DataFrame, title: str, target: str, weight: str | None) -> Labelled:
    """Features, classes and weights of a table; columns without any value are no features."""
    _check_column(frame, title, "--target", target)
    if weight is not None:
        _check_column(frame, title, "--weight", weight)
        if weight == target:
            raise Mistake(f"--weight {weight}: that is the target")
    _check_target(frame[target], title)
    weights = None if weight is None else _read_weights(frame[weight], title)
    X = frame.drop(columns=[target] if weight is None else [target, weight])
    empty = [name for name in X.columns if X[name].isna().all()]
    X = X.drop(columns=empty)
    if X.shape[1] == 0:
        raise Mistake(f"{title} has no columns to decide by beside {_listed([target, weight] if weight else [target])}")
    return Labelled(X, frame[target], weights, empty)


def closest(name: str, names: Iterable[str]) -> str | None:
    """The one that was probably meant."""
    by_key = {candidate.strip().lower(): candidate for candidate in names}
    found = difflib.get_close_matches(name.strip().lower(), by_key, n=1)
    return by_key[found[0]] if found else None


def _check_column(frame: pd.DataFrame, title: str, option: str, name: str) -> None:
    columns = list(frame.columns)
    if name in columns:
        return
    if len(columns) == 1 and any(separator in columns[0] for separator in OTHER_SEPARATORS):
        raise Mistake(f"{title} has only one column, {columns[0]!r}: values must be separated by commas")
    meant = closest(name, columns)
    advice = f" Did you mean {meant!r}?" if meant else ""
    raise Mistake(f"{option} {name}: {title} has no such column.{advice} Its columns: {_listed(columns)}")


def _check_target(column: pd.Series, title: str) -> None:
    """Every row has a class, there are at least two, and they are classes."""
    what = f"the target {column.name!r} of {title}"
    _check_complete(column, what)
    n_distinct = column.nunique()
    if n_distinct < 2:
        raise Mistake(
            f"{what} must have at least two classes, it is {_text(column.iloc[0])} in all {len(column):,} rows"
        )
    fractions = column[column % 1 != 0] if column.dtype.kind == "f" else column[:0]
    if len(fractions):
        raise Mistake(
            f"{what} must be classes, it has numbers such as {_text(fractions.iloc[0])}, {n_distinct:,} of them: make "
            "a column of a few ranges and name that"
        )
    if n_distinct == len(column) > 2:
        raise Mistake(
            f"{what} must be classes, it has a different value in each of the {len(column):,} rows, such as "
            f"{_text(column.iloc[0])}: it measures or names the rows"
        )


def _read_weights(column: pd.Series, title: str) -> FloatArray:
    what = f"the weights {column.name!r} of {title}"
    if column.dtype.kind not in "iuf":
        numbers = column.map(_is_number)
        odd = column[~numbers & column.notna()]
        raise Mistake(f"{what} must be numbers, got {_text(odd.iloc[0] if len(odd) else column.iloc[0])}")
    _check_complete(column, what)
    weights: FloatArray = column.to_numpy(dtype=np.float64)
    wrong = weights[~np.isfinite(weights) | (weights < 0)]
    if len(wrong):
        raise Mistake(f"{what} must be finite and not negative, got {wrong[0]:g}")
    return weights


def _check_complete(column: pd.Series, what: str) -> None:
    missing = np.flatnonzero(column.isna())
    if len(missing):
        rows = "row has" if len(missing) == 1 else "rows have"
        raise Mistake(
            f"{what} must have a value in every row: {len(missing):,} of {len(column):,} {rows} none (empty, NA, null "
            f"or the like), the first is row {missing[0] + 1:,}"
        )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, (bool, np.bool_))


def _text(value: Any) -> str:
    """As the file has it, or nearly."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(map(str, names[:MOST_NAMES])) + (f" and {more} more" if more > 0 else "")
