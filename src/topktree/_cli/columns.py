"""The columns of a user's table: their types, classes and weights, and the features that a fitted tree knows.

In: a frame as a file has it, and what the user or a model says about its columns. Out: a `Labelled` table to fit or
test a tree; the features of rows to predict. The one idea: every mistake in the data is found here, before any search,
and is reported in terms of files and columns; the estimators' own messages speak of X and y.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._classifier import TopKTreeClassifier
from .._data.encoding import canonical
from .._data.features import KINDS, Feature, learn_features
from .._data.table import CATEGORY, NUMBER, read_table
from .messages import Mistake, closest, counted, listed, say
from .table_files import TableFile

BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "0.0"), False),
}
DATE = "date"  # a kind for --type: the feature is a number of days
ORDER = "<"  # between the values of an ordered category, which are a kind for --type too
DAY_FIRST = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
MOMENT = re.compile(
    r"(?:(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:[T ](?=\d)|$))?"
    r"(?:(\d{1,2})(:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|[+-]\d\d:?\d\d)?)?"
)
EITHER_FIRST = re.compile(r"\d{1,2}/\d{1,2}/\d{4}( .*)?")  # the day or the month
EPOCH = datetime.datetime(1970, 1, 1)
AS_ASKED, AS_TRAINED = "as --type says", "as in training"
DATED = (datetime.date, datetime.time, datetime.timedelta)
NESTED = (list, dict, tuple, set, np.ndarray)


@dataclass(frozen=True, eq=False)
class Labelled:
    """A table with a class per row, and with weights if a column of weights was named."""

    X: pd.DataFrame
    y: pd.Series
    weights: NDArray[np.float64] | None

    def take(self, rows: NDArray[np.int64]) -> Labelled:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Labelled(self.X.iloc[rows], self.y.iloc[rows], weights)


def read_labelled(
    file: TableFile,
    target: str,
    weight: str | None = None,
    types: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
) -> Labelled:
    """Read the table to fit a tree to; warn about columns that are left out."""
    types = types or {}
    frame = file.read(as_text=[name for name, kind in types.items() if kind != NUMBER])
    _check_column(frame, file.title, "--target", target)
    if weight == target:
        raise Mistake(f"--weight {weight}: that is the target")
    for name in drop:
        _check_column(frame, file.title, "--drop", name)
        if name in (target, weight):
            raise Mistake(f"--drop {name}: that is the {'target' if name == target else 'weight'}")
    for name, kind in types.items():
        _check_column(frame, file.title, "--type", name)
        if name == target and kind not in KINDS:
            raise Mistake(
                f"--type {name}={kind}: that is the target, which must be a {', '.join(KINDS[:-1])} or {KINDS[-1]}"
            )
        frame[name] = _as_kind(frame[name], kind, file.title, AS_ASKED)
    y = read_target(frame[target], file.title)
    _check_classes(y, file.title)
    weights = _read_weights(frame, file.title, weight)
    others = [target, *([weight] if weight else [])]
    X = frame.drop(columns=[*others, *drop])
    empty = [name for name in X.columns if X[name].isna().all()]
    X = X.drop(columns=empty)
    if X.shape[1] == 0:
        raise Mistake(f"{file.title} has no columns to decide by besides {listed(others)}")
    for name in X.columns:
        _check_type(X[name], file.title)
        if name not in types:
            _check_no_dates(X[name], file.title)
    for name in file.unnamed:
        number = int(name.removeprefix("Unnamed: ")) + 1
        say(f"Warning: the column {number} of {file.title} is left out: it has no name.")
    for name in empty:
        say(f"Warning: the column {name!r} is left out: it is empty.")
    return Labelled(X, y, weights)


def read_test(file: TableFile, train: Labelled, target: str, weight: str | None, kind: str | None) -> Labelled:
    """Read test rows from another file, its columns as a tree fitted to `train` will know them."""
    features = learn_features(read_table(TopKTreeClassifier(), train.X, reset=True), "from_dtype", None)
    frame = file.read(as_text=[*known_as_text(features), *([target] if kind not in (None, NUMBER) else [])])
    _check_column(frame, file.title, "--target", target)
    labels = read_target(frame[target], file.title, kind)
    y = _known_labels(labels, file.title, np.unique(train.y.to_numpy()))
    weights = _read_weights(frame, file.title, weight)
    return Labelled(known_features(frame, file.title, features, has_names=True), y, weights)


def _check_column(frame: pd.DataFrame, title: str, option: str, name: str) -> None:
    """Refuse the name of a column that the table does not have."""
    columns = list(frame.columns)
    if name in columns:
        return
    meant = closest(name, columns)
    advice = f" Did you mean {meant!r}?" if meant else ""
    more = " (--sep says how values are separated)" if len(columns) == 1 else ""
    raise Mistake(f"{option} {name}: {title} has no such column.{advice} Its columns: {listed(columns)}{more}")


def read_target(column: pd.Series, title: str, kind: str | None = None) -> pd.Series:
    """Return the classes as numbers, booleans or texts, whatever type the file has; as `kind` if the user says so."""
    what = f"the target {column.name!r} of {title}"
    _check_complete(column, what)
    if isinstance(_example(column), NESTED):
        raise Mistake(f"{what} must be classes, it has lists or the like")
    if kind is not None:
        column = _as_kind(column, kind, title, AS_ASKED)
    if column.dtype.kind in "biuf":
        return column
    if column.dtype.kind in "mM":
        return column.astype(str)
    column = column.astype(object)
    plain = column.infer_objects()
    if plain.dtype.kind in "biuf":
        return plain
    return column.map(lambda value: value if isinstance(value, str) else str(canonical(value)))


def _check_classes(column: pd.Series, title: str) -> None:
    """Refuse a target that has one class only, or that is no classification at all."""
    what = f"the target {column.name!r} of {title} must"
    n_distinct = column.nunique()
    if n_distinct < 2:
        raise Mistake(f"{what} have at least two classes, it is {_text(column.iloc[0])} in every row")
    fractions = column[column % 1 != 0] if column.dtype.kind == "f" else column[:0]
    if len(fractions):
        numbers = f"numbers such as {_text(fractions.iloc[0])}, {n_distinct:,} of them"
        raise Mistake(f"{what} be classes, it has {numbers}: make a column of a few ranges and name that")
    if n_distinct == len(column) > 2:
        values = f"a different value in each of the {len(column):,} rows, such as {_text(column.iloc[0])}"
        raise Mistake(f"{what} be classes, it has {values}: it looks like an identifier or a measurement")


def _read_weights(frame: pd.DataFrame, title: str, name: str | None) -> NDArray[np.float64] | None:
    """Return the weights in a column, if one is named."""
    if name is None:
        return None
    _check_column(frame, title, "--weight", name)
    column, what = frame[name], f"the weights {name!r} of {title}"
    _check_complete(column, what)
    if column.dtype.kind == "b":
        raise Mistake(f"{what} must be numbers, got {_text(column.iloc[0])}")
    weights: NDArray[np.float64] = _as_kind(column, NUMBER, title, "to be weights").to_numpy(dtype=np.float64)
    wrong = weights[~np.isfinite(weights) | (weights < 0)]
    if len(wrong):
        raise Mistake(f"{what} must be finite and not negative, got {wrong[0]:g}")
    return weights


def _check_complete(column: pd.Series, what: str) -> None:
    missing = np.flatnonzero(column.isna())
    if len(missing):
        count = f"{len(missing):,} of {counted(len(column), 'row')} {'has' if len(missing) == 1 else 'have'} none"
        where = f"the first is row {missing[0] + 1:,}"
        raise Mistake(f"{what} must have a value in every row: {count} (empty, NA, null or the like), {where}")


def known_as_text(features: Iterable[Feature]) -> list[str]:
    """Return the columns that a fitted tree does not know as numbers, to be read as text."""
    return [feature.name for feature in features if feature.kind != NUMBER]


def known_features(
    frame: pd.DataFrame, title: str, features: Sequence[Feature], has_names: bool, used: Collection[str] | None = None
) -> pd.DataFrame:
    """Return the features of a fitted tree, in its order and with its types; other columns are ignored.

    A tree fitted without names takes the columns x0, x1, ... or else all columns in their order. If `used` names the
    features that the tree uses, the others are not read: they are missing everywhere.
    """
    names = [feature.name for feature in features]
    used = names if used is None else used
    missing = [name for name in names if name in used and name not in frame.columns]
    if missing and not has_names and frame.shape[1] == len(names):
        frame, missing = frame.set_axis(names, axis=1), []
    if missing:
        which = "the column" if len(missing) == 1 else "the columns"
        raise Mistake(f"{title} lacks {which} {listed(missing)}, which the model needs")
    columns = {}
    for feature in features:
        if feature.name not in used:
            columns[feature.name] = pd.Series(np.nan, index=frame.index, dtype=object)
            continue
        column, kind = frame[feature.name], feature.kind
        if kind == NUMBER and (column.dtype.kind == "M" or days_since_1970(_example(column)) is not None):
            say(f"{title}: the dates of {feature.name!r} are read as days since 1970-01-01")
            kind = DATE
        else:
            _check_type(column, title)
        if kind == CATEGORY:
            columns[feature.name], _ = _matched(column, feature.categories)
        else:
            columns[feature.name] = _as_kind(column, kind, title, AS_TRAINED)
    X = pd.DataFrame(columns, index=frame.index)
    return X if has_names else X.set_axis(range(len(names)), axis=1)


def _known_labels(column: pd.Series, title: str, classes: NDArray[Any]) -> pd.Series:
    """Return the classes of test rows as the labels of the training rows."""
    labels, unseen = _matched(column, classes.tolist())
    if len(unseen):
        allowed = f"classes of the training rows, such as {_text(classes[0])}"
        wrong = f"{_text(unseen.iloc[0])} in {counted(len(unseen), 'row')}"
        raise Mistake(f"the target {column.name!r} of {title} must have {allowed}, got {wrong}")
    return labels.astype(object if classes.dtype.kind in "OU" else classes.dtype)


def _matched(column: pd.Series, known: Sequence[Any]) -> tuple[pd.Series, pd.Series]:
    """Return the column with each value replaced by the known value it stands for, and its values that match none."""
    column = column.astype(object)
    find = _finder(known)
    found = {value: find(value) for value in column.dropna().unique().tolist()}
    strange = [value for value, match in found.items() if match is None]
    unseen = column[column.isin(strange)] if strange else column[:0]
    found |= {value: str(value) for value in strange}  # not a known value either
    return column.map(found.__getitem__, na_action="ignore"), unseen


def _finder(known: Sequence[Any]) -> Callable[[Any], Any]:
    """Return a function that finds the known value for another: 7 in one file may be "7" or 7.0 in the next."""
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


def _as_kind(column: pd.Series, kind: str, title: str, why: str) -> pd.Series:
    """Return the column as numbers, booleans or categories; dates as numbers of days, S<M<L as ordered categories."""
    if ORDER in kind:
        return _as_ordered(column, kind.split(ORDER), title, why)
    if kind == CATEGORY:
        if column.dtype.kind == "b":
            column = column.map(str, na_action="ignore")
        return column.astype("category") if column.dtype.kind in "biufO" else column
    if column.dtype.kind in ("biuf" if kind == NUMBER else "b"):
        return column
    values = column.astype(object)
    if kind == NUMBER:
        dated = column.dtype.kind in "mM"  # pandas would turn dates into numbers
        converted = pd.to_numeric(column.astype(str) if dated else values, errors="coerce")
    else:
        convert = days_since_1970 if kind == DATE else _boolean
        converted = values.map({value: convert(value) for value in values.dropna().unique()})
    odd = np.flatnonzero(converted.isna() & column.notna())
    if len(odd):
        wrong = f"{_text(column.iloc[odd[0]])} in row {odd[0] + 1:,}"
        kinds = "dates such as 2020-01-31" if kind == DATE else f"{kind}s"
        raise Mistake(f"the column {column.name!r} of {title} must hold {kinds}, {why}, got {wrong}")
    return converted.astype(np.float64) if kind == DATE else converted


def _as_ordered(column: pd.Series, order: list[str], title: str, why: str) -> pd.Series:
    values, unseen = _matched(column, order)
    if len(unseen):
        allowed, wrong = listed(order[:-1]), f"{_text(unseen.iloc[0])} in row {unseen.index[0] + 1:,}"
        raise Mistake(f"the column {column.name!r} of {title} must hold {allowed} or {order[-1]}, {why}, got {wrong}")
    return values.astype(pd.CategoricalDtype(order, ordered=True))


def _boolean(value: Any) -> bool | None:
    return BOOLEANS.get(str(value).strip().lower())


def days_since_1970(value: Any) -> float | None:
    """Return the days from 1970-01-01 to a date, or to a text that is one; a time alone is a part of a day.

    A time with an offset becomes UTC. None is returned for everything else.
    """
    if isinstance(value, str):
        match = MOMENT.fullmatch(DAY_FIRST.sub(r"\3-\2-\1", value.strip()))
        if match is None or not match[0]:
            return None
        year, _, month, day, hour, rest, offset = match.groups()
        date, time = f"{year or 1970}-{month or 1:0>2}-{day or 1:0>2}", f"{hour or 0:0>2}{rest or ':00'}{offset or ''}"
        try:
            value = datetime.datetime.fromisoformat(f"{date}T{time}")
        except ValueError:
            return None
    elif isinstance(value, datetime.time):
        value = datetime.datetime.combine(EPOCH, value)
    elif isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time.min)
    if not isinstance(value, datetime.datetime):
        return None
    since = value.replace(tzinfo=None) - EPOCH - (value.utcoffset() or datetime.timedelta(0))
    return since // datetime.timedelta(microseconds=1) / 86_400_000_000


def _check_no_dates(column: pd.Series, title: str) -> None:
    """Refuse text that is dates or times in every row: a category per day is hardly what the user wants."""
    if column.dtype.kind != "O" or isinstance(column.dtype, pd.CategoricalDtype):
        return
    values = column.dropna().unique()
    if not all(days_since_1970(value) is not None or EITHER_FIRST.fullmatch(str(value)) for value in values):
        return
    what, name = f"the column {column.name!r} of {title} has dates or times such as {_text(values[0])}", column.name
    others = f"--type {name}=category keeps the texts, --drop {name} leaves the column out"
    if days_since_1970(values[0]) is None:
        raise Mistake(f"{what}, which do not show what is day and month: write them as 2020-01-31, or {others}")
    raise Mistake(f"{what}: --type {name}=date makes numbers of them (days since 1970-01-01), {others}")


def _check_type(column: pd.Series, title: str) -> None:
    """Refuse values that a tree cannot test, such as the dates and lists of Parquet."""
    if column.dtype.kind in "mM" or isinstance(_example(column), DATED):
        what, advice = "dates or durations", f"make numbers of them (of dates: --type {column.name}=date)"
    elif column.dtype.kind == "c" or isinstance(_example(column), NESTED):
        what, advice = "lists or the like", "make columns of their parts"
    else:
        return
    raise Mistake(f"the column {column.name!r} of {title} has {what}: {advice}, or leave it out: --drop {column.name}")


def _example(column: pd.Series) -> Any:
    """Return a value of a column of Python objects, None for other columns."""
    return next(iter(column.dropna()[:1]), None) if column.dtype.kind == "O" else None


def _text(value: Any) -> str:
    """Return a value roughly as the file has it."""
    return repr(value.item() if isinstance(value, np.generic) else value)
