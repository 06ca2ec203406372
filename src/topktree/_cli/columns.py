"""Columns of a user's table: types, classes, weights, and the features that a fitted tree knows.

In: a frame as a file has it, and what the user or a model says of its columns. Out: a `Labelled` table to fit or test a
tree; the features of rows to predict. The one idea: what a user can have got wrong is found here, before any search, in
words of files and columns: the estimators' own messages speak of X and y, which a file has not.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray
from .._data.encoding import canonical
from .._data.features import KINDS, Feature
from .._data.table import CATEGORY, NUMBER
from .common import Mistake, closest, counted, listed, say
from .tables import TableFile

if TYPE_CHECKING:
    import pandas as pd

OTHER_SEPARATORS = ";\t|"
WORDS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "0.0"), False),
}
AS_ASKED, AS_TRAINED = "as --type says", "as in training"
DATES = (datetime.date, datetime.time, datetime.timedelta)


@dataclass(frozen=True, eq=False)
class Labelled:
    """A table whose rows have a class each, and weights if a column of them was named."""

    X: pd.DataFrame
    y: pd.Series
    weights: FloatArray | None
    empty: list[str]  # columns without any value, left out of X

    def take(self, rows: NDArray[np.int64]) -> Labelled:
        """Those rows of it."""
        weights = None if self.weights is None else self.weights[rows]
        return Labelled(self.X.iloc[rows], self.y.iloc[rows], weights, self.empty)


@dataclass(frozen=True)
class ColumnOptions:
    """What the user says of the columns of a table."""

    target: str
    weight: str | None = None
    types: Mapping[str, str] | None = None
    drop: Sequence[str] = ()


def parse_types(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """A click callback for --type COLUMN=KIND; a column may have = in its name."""
    types: dict[str, str] = {}
    for text in texts:
        name, _, kind = text.rpartition("=")
        if not name or kind not in KINDS:
            raise Mistake(f"--type {text}: must be COLUMN=KIND, where KIND is {', '.join(KINDS[:-1])} or {KINDS[-1]}")
        if types.setdefault(name, kind) != kind:
            raise Mistake(f"--type {text}: {name} is a {types[name]} already")
    return types


def read_labelled(path: str, options: ColumnOptions) -> Labelled:
    """The table in a file, ready to fit a tree; says which columns are left out."""
    file = TableFile(path)
    types = options.types or {}
    frame = file.read(as_text=[name for name, kind in types.items() if kind != NUMBER])
    for name in options.drop:
        check_column(frame, file.title, "--drop", name)
        if name in (options.target, options.weight):
            raise Mistake(f"--drop {name}: that is the {'target' if name == options.target else 'weight'}")
    for name, kind in types.items():
        check_column(frame, file.title, "--type", name)
        frame[name] = _as_kind(frame[name], kind, file.title, AS_ASKED)
    frame = frame.drop(columns=list(options.drop))
    table = split_table(frame, file.title, options.target, options.weight)
    for name in file.unnamed:
        number = int(name.removeprefix("Unnamed: ")) + 1
        say(f"Warning: the column {number} of {file.title} is left out: it has no name.")
    for name in table.empty:
        say(f"Warning: the column {name!r} is left out: it is empty.")
    return table


def split_table(frame: pd.DataFrame, title: str, target: str, weight: str | None) -> Labelled:
    """Features, classes and weights of a table; columns without any value are no features."""
    check_column(frame, title, "--target", target)
    if weight is not None:
        check_column(frame, title, "--weight", weight)
        if weight == target:
            raise Mistake(f"--weight {weight}: that is the target")
    y = read_target(frame[target], title)
    _check_target(y, title)
    weights = None if weight is None else _read_weights(frame[weight], title)
    X = frame.drop(columns=[target] if weight is None else [target, weight])
    empty = [name for name in X.columns if X[name].isna().all()]
    X = X.drop(columns=empty)
    if X.shape[1] == 0:
        raise Mistake(f"{title} has no columns to decide by beside {listed([target, weight] if weight else [target])}")
    for name in X.columns:
        _check_type(X[name], title)
    return Labelled(X, y, weights, empty)


def check_column(frame: pd.DataFrame, title: str, option: str, name: str) -> None:
    """Refuse the name of a column that is not there."""
    columns = list(frame.columns)
    if name in columns:
        return
    if len(columns) == 1 and any(separator in columns[0] for separator in OTHER_SEPARATORS):
        raise Mistake(f"{title} has only one column, {columns[0]!r}: values must be separated by commas")
    meant = closest(name, columns)
    advice = f" Did you mean {meant!r}?" if meant else ""
    raise Mistake(f"{option} {name}: {title} has no such column.{advice} Its columns: {listed(columns)}")


def known_as_text(features: Iterable[Feature]) -> list[str]:
    """The columns that must not be taken for numbers when a file is read for a fitted tree."""
    return [feature.name for feature in features if feature.kind != NUMBER]


def known_features(frame: pd.DataFrame, title: str, features: Sequence[Feature], has_names: bool) -> pd.DataFrame:
    """The features of a fitted tree, in its order and as it knows them; what else the table has is ignored.

    A tree fitted without names takes the columns x0, x1, ... or else all columns in their order. Says which values
    training did not have.
    """
    names = [feature.name for feature in features]
    missing = [name for name in names if name not in frame.columns]
    if missing and not has_names and frame.shape[1] == len(names):
        frame, missing = frame.set_axis(names, axis=1), []
    if missing:
        which = "the column" if len(missing) == 1 else "the columns"
        raise Mistake(f"{title} lacks {which} {listed(missing)}, which the model needs")
    X = frame[names].copy(deep=False)
    notes = []
    for feature in features:
        _check_type(X[feature.name], title)
        if feature.kind == CATEGORY:
            X[feature.name], unseen = _matched(X[feature.name], feature.categories)
            notes += [_note(unseen, title)] if len(unseen) else []
        else:
            X[feature.name] = _as_kind(X[feature.name], feature.kind, title, AS_TRAINED)
    for note in notes:  # now that there is no mistake
        say(note)
    return X if has_names else X.set_axis(range(len(names)), axis=1)


def known_labels(column: pd.Series, title: str, classes: NDArray[Any]) -> pd.Series:
    """The classes of test rows as the labels that a fitted tree has."""
    what = f"the target {column.name!r} of {title}"
    labels, unseen = _matched(column, classes.tolist())
    if len(unseen):
        raise Mistake(
            f"{what} must have classes of the training rows, such as {_text(classes[0])}, got {_text(unseen.iloc[0])} "
            f"in {counted(len(unseen), 'row')}"
        )
    return labels.astype(object if classes.dtype.kind in "OU" else classes.dtype)


def read_weights(frame: pd.DataFrame, title: str, weight: str | None) -> FloatArray | None:
    """The weights in a column, if one is named."""
    if weight is None:
        return None
    check_column(frame, title, "--weight", weight)
    return _read_weights(frame[weight], title)


def _as_kind(column: pd.Series, kind: str, title: str, why: str) -> pd.Series:
    """The column as one of numbers, booleans or categories."""
    if kind == CATEGORY:
        if column.dtype.kind == "b":
            column = column.map(str, na_action="ignore")
        return column.astype("category") if column.dtype.kind in "biuf" else column
    converted = _to_numbers(column) if kind == NUMBER else _to_booleans(column)
    odd = np.flatnonzero(converted.isna() & column.notna())
    if len(odd):
        raise Mistake(
            f"the column {column.name!r} of {title} must hold {kind}s, {why}, got {_text(column.iloc[odd[0]])} in row "
            f"{odd[0] + 1:,}"
        )
    return converted


def _to_numbers(column: pd.Series) -> pd.Series:
    """Numbers, and missing values for what is none."""
    import pandas as pd

    if column.dtype.kind in "biuf":
        return column
    if column.dtype.kind in "mM":  # dates are no numbers, though pandas has some for them
        return pd.Series(np.nan, index=column.index)
    return pd.to_numeric(column.astype(object), errors="coerce")


def _to_booleans(column: pd.Series) -> pd.Series:
    """True, False, and missing values for what is neither."""
    if column.dtype.kind == "b":
        return column
    return column.astype(object).map(lambda value: WORDS.get(str(value).strip().lower()), na_action="ignore")


def _note(unseen: pd.Series, title: str) -> str:
    return (
        f"Warning: the column {unseen.name!r} of {title} has values that training did not have, such as "
        f"{_text(unseen.iloc[0])}, in {counted(len(unseen), 'row')}: every test for a value is false of them."
    )


def _matched(column: pd.Series, known: Sequence[Any]) -> tuple[pd.Series, pd.Series]:
    """The column with the known values that its own stand for, and those of its own that stand for none."""
    column = column.astype(object)
    find = _finder(known)
    found = {value: find(value) for value in column.dropna().unique().tolist()}
    strange = [value for value, match in found.items() if match is None]
    unseen = column[column.isin(strange)] if strange else column[:0]
    found |= {value: str(value) for value in strange}  # which is no known value either
    return column.map(found.__getitem__, na_action="ignore"), unseen


def _finder(known: Sequence[Any]) -> Callable[[Any], Any]:
    """The known value that equals another, or is written like it: 7 in one file is "7" in the next."""
    by_value = {(isinstance(value, str), value): value for value in known}
    by_text = {str(value): value for value in known}

    def find(value: Any) -> Any:
        plain = canonical(value)
        for key in ((isinstance(plain, str), plain), (True, str(value)), (True, str(plain))):
            if key in by_value:
                return by_value[key]
        if not isinstance(plain, str) or plain in by_text:
            return by_text.get(str(plain))
        try:
            return by_value.get((False, canonical(float(plain))))
        except (ValueError, OverflowError):
            return None

    return find


def _check_type(column: pd.Series, title: str) -> None:
    """Refuse what a tree cannot test: dates, lists and the like, of which Parquet has many."""
    if column.dtype.kind in "mM" or isinstance(_example(column), DATES):
        what, advice = "dates or durations", "make numbers of them"
    elif column.dtype.kind == "c" or _is_nested(column):
        what, advice = "lists or the like", "make columns of their parts"
    else:
        return
    raise Mistake(f"the column {column.name!r} of {title} has {what}: {advice}, or leave it out: --drop {column.name}")


def _example(column: pd.Series) -> Any:
    """A value, of a column that may hold anything."""
    return next(iter(column.dropna()[:1]), None) if column.dtype.kind == "O" else None


def _is_nested(column: pd.Series) -> bool:
    return isinstance(_example(column), (list, dict, tuple, set, np.ndarray))


def read_target(column: pd.Series, title: str, kind: str | None = None) -> pd.Series:
    """The classes of the rows, of which every one has one; as `kind` if the user says so."""
    what = f"the target {column.name!r} of {title}"
    _check_complete(column, what)
    if _is_nested(column):
        raise Mistake(f"{what} must be classes, it has lists or the like")
    return _plain_labels(column if kind is None else _as_kind(column, kind, title, AS_ASKED))


def _check_target(column: pd.Series, title: str) -> None:
    """There are at least two classes, and they are classes."""
    what = f"the target {column.name!r} of {title}"
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


def _plain_labels(column: pd.Series) -> pd.Series:
    """Numbers, booleans or texts, whatever Parquet had them in."""
    if column.dtype.kind in "biuf":
        return column
    if column.dtype.kind in "mM":
        return column.astype(str)
    column = column.astype(object)
    types = set(map(type, column))
    if types == {bool}:
        return column.astype(bool)
    if all(issubclass(t, (int, float, np.number)) for t in types - {bool}) and bool not in types:
        return column.infer_objects()
    return column.map(lambda value: value if isinstance(value, str) else str(canonical(value)))


def _read_weights(column: pd.Series, title: str) -> FloatArray:
    what = f"the weights {column.name!r} of {title}"
    _check_complete(column, what)
    odd = column[~column.map(_is_number)] if column.dtype.kind not in "iuf" else column[:0]
    if len(odd):
        raise Mistake(f"{what} must be numbers, got {_text(odd.iloc[0])}")
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
