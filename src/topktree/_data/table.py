"""The user's table as numbers: one row of a float64 matrix per feature.

In: a pandas or polars frame (whatever narwhals reads), a NumPy array or lists. Out: a `Table` of raw columns; the
`Feature`s that training data teaches; the matrix (n_features, n_rows) in which later data is encoded by them. The one
idea: a missing value is NaN, a category its index among the categories seen in training, an unseen one `UNSEEN`,
true is 1; so trees and columns deal with numbers only.
"""

from __future__ import annotations

import datetime
import math
import numbers
import reprlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from .._search.objective import FloatArray

Category = str | int | float

NUMBER = "number"
BOOLEAN = "boolean"
CATEGORY = "category"
KINDS = (NUMBER, BOOLEAN, CATEGORY)

UNSEEN = -1.0
# From here on, a column in which most rows have a category of their own gets a warning.
MANY_CATEGORIES = 1000
# Up to here every integer is a float64, whichever way it is converted.
LARGEST_EXACT_INT = 2.0**53


@dataclass(frozen=True)
class Feature:
    """What training data says of one of its columns."""

    name: str
    kind: str  # one of KINDS
    categories: tuple[Category, ...] = ()  # of a category: numbers in order, then strings in order
    has_missing: bool = False
    has_extreme: bool = False  # infinities, or numbers beyond LARGEST_EXACT_INT


@dataclass(frozen=True, eq=False)
class RawColumn:
    """One column: numbers with NaN for missing, booleans, or objects."""

    values: NDArray[Any]
    kind: str | None  # as its type says; None: objects of any type


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length; or none, and `array` (n_rows, n_features) of only numbers or only booleans."""

    names: tuple[str, ...]
    columns: tuple[RawColumn, ...]
    array: NDArray[Any] | None = None
    n_rows: int = 0

    def take(self, rows: NDArray[np.bool_]) -> Table:
        """The table of the rows where `rows` is true."""
        array = None if self.array is None else self.array[rows]
        columns = tuple(RawColumn(column.values[rows], column.kind) for column in self.columns)
        return Table(self.names, columns, array, int(np.count_nonzero(rows)))

    def split(self) -> Iterable[RawColumn]:
        """The columns, also of an array."""
        if self.array is None:
            return self.columns
        return (_raw_column(self.array[:, i], name) for i, name in enumerate(self.names))


def read_table(estimator: BaseEstimator, X: Any, *, reset: bool) -> Table:
    """The columns of `X`; sets, or checks against, the estimator's `n_features_in_` and `feature_names_in_`."""
    if reset and type(X) is np.ndarray and X.dtype.kind in "biuf" and X.ndim == 2 and X.size > 0:
        # What scikit-learn's validation does of this, without its 0.2 ms, which is most of a small fit.
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        return Table(default_names(X.shape[1]), (), X, len(X))
    if _is_frame(X):
        return _read_frame(estimator, X, reset)
    array = validate_data(estimator, _as_array(X), reset=reset, dtype=None, ensure_all_finite=False)
    names = default_names(array.shape[1])
    if array.dtype.kind in "biuf":
        return Table(names, (), array, len(array))
    return Table(names, tuple(_raw_column(array[:, i], names[i]) for i in range(len(names))), None, len(array))


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Those rows of what the user gave, of the same kind as it."""
    if not _is_frame(X):
        return np.asarray(_as_array(X))[rows]
    if nw.dependencies.is_pandas_like_dataframe(X):
        return X.iloc[rows]
    if nw.dependencies.is_pyarrow_table(X):
        return X.take(rows)  # narwhals does not take names that repeat
    return nw.from_native(X, eager_only=True)[rows].to_native()


def learn_features(table: Table, categorical_features: Any, feature_names: Sequence[str] | None) -> tuple[Feature, ...]:
    """The features of training data."""
    is_category = check_categorical_features(categorical_features, len(table.names), feature_names)
    if table.array is not None and True not in is_category:
        return _array_features(table.names, table.array)
    columns = table.split()
    return tuple(
        _learn_feature(name, column, wanted)
        for name, column, wanted in zip(table.names, columns, is_category, strict=True)
    )


def warn_of_names(features: Sequence[Feature], n_rows: int) -> None:
    """Of features that seem to name the rows."""
    for feature in features:
        n_categories = len(feature.categories)
        if n_categories > max(MANY_CATEGORIES, n_rows / 2):
            warnings.warn(
                f"X has {n_categories} categories in {feature.name!r}, in {n_rows} rows. If these are numbers, make "
                "the column one of numbers; if they only name the rows, leave it out: every category is a column to "
                "search.",
                UserWarning,
                stacklevel=2,
            )


def encode(table: Table, features: Sequence[Feature]) -> NDArray[Any]:
    """The table as numbers, (n_rows, n_features): the array itself where nothing needs to be encoded."""
    kinds = {feature.kind for feature in features}
    if table.array is not None and (kinds == {NUMBER} or (kinds == {BOOLEAN} and _holds_booleans(table.array))):
        return table.array
    encoded = np.empty((len(features), table.n_rows))
    for row, column, feature in zip(encoded, table.split(), features, strict=True):
        row[:] = _codes(column, feature) if feature.kind == CATEGORY else numbers_of(column, feature.name)
        if feature.kind == BOOLEAN:
            _check_booleans(row, feature.name)
    return encoded.T


def check_categorical_features(
    categorical_features: Any, n_features: int, feature_names: Sequence[str] | None
) -> list[bool | None]:
    """Per feature: True or False as asked for, None where its type decides."""
    allowed = '"from_dtype", None, or a list of names, of indices or of one bool per feature'
    message = f"categorical_features must be {allowed}, got {categorical_features!r}"
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(message)
        return [None] * n_features
    if categorical_features is None:
        return [False] * n_features
    try:
        listed = np.asarray(categorical_features)
    except ValueError:
        raise ValueError(message) from None
    if listed.ndim != 1:
        raise ValueError(message)
    if listed.dtype.kind == "b":
        if len(listed) != n_features:
            raise ValueError(f"{message}: {len(listed)} bools for {n_features} features")
        return [bool(wanted) for wanted in listed]
    indices = {_feature_index(entry, n_features, feature_names, message) for entry in listed.tolist()}
    return [i in indices for i in range(n_features)]


def canonical(value: Any) -> Category:
    """What a category is known by: equal numbers are one category, whatever is neither number nor string its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, (Decimal, Fraction)):
        value = float(value)
    if not isinstance(value, (int, float)) or value in (math.inf, -math.inf):
        return str(value)
    return int(value) if isinstance(value, int) or value.is_integer() else value


def is_missing(value: Any) -> bool:
    """None, NaN of any type, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (numbers.Number, np.datetime64, np.timedelta64)) and bool(value != value)


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with .1, .2, ... after those that came before."""
    taken = set(names)
    seen: set[str] = set()
    result = []
    for name in names:
        unique, number = name, 0
        while unique in seen or (number and unique in taken):
            number += 1
            unique = f"{name}.{number}"
        seen.add(unique)
        result.append(unique)
    return tuple(result)


@lru_cache(maxsize=4)
def default_names(n_features: int) -> tuple[str, ...]:
    """Of the features of an array."""
    return tuple(f"x{i}" for i in range(n_features))


@lru_cache(maxsize=4)
def _plain_features(names: tuple[str, ...], kind: str) -> tuple[Feature, ...]:
    """Features without missing or extreme values."""
    return tuple(Feature(name, kind) for name in names)


def _is_frame(X: Any) -> bool:
    return bool(nw.dependencies.is_into_dataframe(X)) or hasattr(X, "collect_schema")


def _read_frame(estimator: BaseEstimator, X: Any, reset: bool) -> Table:
    if not nw.dependencies.is_into_dataframe(X):
        raise TypeError(f"X must be a frame in memory, got {type(X).__name__}: call its collect() first")
    if hasattr(X, "rename_columns"):  # of pyarrow
        X = X.rename_columns(list(unique_names(X.column_names)))
    if nw.dependencies.is_pandas_like_dataframe(X) and len(set(X.columns)) < len(X.columns):
        X = X.copy(deep=False)
        X.columns = unique_names(tuple(map(str, X.columns)))  # scikit-learn and narwhals take no names that repeat
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    frame = nw.from_native(X, eager_only=True)
    if 0 in frame.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {frame.shape}")
    # As scikit-learn does, take the names if they are strings.
    names = tuple(name if isinstance(name, str) else f"x{i}" for i, name in enumerate(frame.columns))
    columns = tuple(_frame_column(series, name) for series, name in zip(frame.iter_columns(), names, strict=True))
    return Table(names, columns, None, frame.shape[0])


def _frame_column(series: Any, name: str) -> RawColumn:
    if isinstance(series.dtype, (nw.Categorical, nw.Enum)):
        return RawColumn(_category_values(series), CATEGORY)
    try:
        values = series.to_numpy()
    except Exception:  # types that NumPy has not, such as integers of 128 bits
        values = _objects(series.to_list())
    if values.ndim != 1:  # of polars' structs and arrays
        raise TypeError(_wrong_type(series.dtype, name, False))
    return _raw_column(values, name)


def _category_values(series: Any) -> NDArray[np.object_]:
    """The categories as they are, also where missing values would make NumPy turn integers into floats."""
    native = series.to_native()
    if not hasattr(native, "cat") or not hasattr(native.cat, "codes"):
        return _objects(series.to_list())
    categories = _objects([*native.cat.categories, None])  # pandas has -1 for missing
    return np.asarray(categories[native.cat.codes.to_numpy()])


def _objects(values: list[Any]) -> NDArray[np.object_]:
    result = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # at once, NumPy would take tuples apart
        result[i] = value
    return result


def _raw_column(values: NDArray[Any], name: str) -> RawColumn:
    kind = values.dtype.kind
    if values.ndim != 1 or kind not in "biufOUST":
        raise TypeError(_wrong_type(values.dtype, name, kind in "mM"))
    if kind in "biuf":
        return RawColumn(values, BOOLEAN if kind == "b" else NUMBER)
    return RawColumn(values.astype(object), None)


def _wrong_type(type_name: Any, name: str, is_date: bool) -> str:
    advice = ": turn dates and durations into numbers" if is_date else ""
    return f"X must have columns of numbers, booleans or categories, got {type_name} in {name!r}{advice}"


def _as_array(X: Any) -> Any:
    """`X` itself, or objects for lists in which numbers stand beside strings."""
    if isinstance(X, (list, tuple)):
        try:
            array = np.asarray(X)
        except ValueError:
            return X  # ragged: scikit-learn's own message says so
        return np.asarray(X, dtype=object) if array.dtype.kind in "US" else array
    return X


def _array_features(names: tuple[str, ...], array: NDArray[Any]) -> tuple[Feature, ...]:
    if array.dtype.itemsize == 1:
        return _plain_features(names, BOOLEAN if array.dtype.kind == "b" else NUMBER)
    has_missing, has_extreme = _missing_and_extreme(array)
    return tuple(
        Feature(name, NUMBER, (), bool(missing), bool(extreme))
        for name, missing, extreme in zip(names, has_missing, has_extreme, strict=True)
    )


def _missing_and_extreme(values: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Per column of numbers (n_rows, ...): is a value missing, is one extreme."""
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = (reduce(values, axis=0).astype(np.float64) for reduce in (np.fmin.reduce, np.fmax.reduce))
        missing = np.isnan(values.sum(axis=0, dtype=np.float64)) if values.dtype.kind == "f" else low != low
    if np.any(missing):  # or infinities of both signs
        missing = np.isnan(values).any(axis=0)
    return missing, (low < -LARGEST_EXACT_INT) | (high > LARGEST_EXACT_INT)


def _learn_feature(name: str, column: RawColumn, wanted: bool | None) -> Feature:
    kind = CATEGORY if wanted else column.kind or kind_of_types(object_types(column.values, name))
    if wanted is False and kind == CATEGORY:
        check_no_category(column, name)
        kind = NUMBER
    if kind == CATEGORY:
        categories, missing = categories_of(column, name)
        return Feature(name, kind, sorted_categories(categories), missing)
    return Feature(name, kind, (), *missing_and_extreme(numbers_of(column, name)))


def check_no_category(column: RawColumn, name: str) -> None:
    """A column that must not be one of categories may have nothing but missing values."""
    example = next((value for value in column.values if not is_missing(value)), None)
    if example is not None:
        raise ValueError(
            f"X must have numbers in {name!r}, which categorical_features leaves out, got {example!r}; list it "
            'there, or leave categorical_features at "from_dtype"'
        )


def categories_of(column: RawColumn, name: str) -> tuple[list[Category], bool]:
    """The categories of a column in the order in which they appear, and whether values are missing."""
    lookup = _CategoryLookup()
    codes = lookup.codes(column.values, name)
    return lookup.categories, bool((codes == _MISSING).any())


def sorted_categories(categories: Iterable[Category]) -> tuple[Category, ...]:
    """Numbers in order, then strings in order."""
    return tuple(sorted(categories, key=lambda c: (isinstance(c, str), c)))


def missing_and_extreme(values: FloatArray) -> tuple[bool, bool]:
    """Of numbers (n_rows,): is one missing, is one extreme."""
    missing, extreme = _missing_and_extreme(values)
    return bool(missing), bool(extreme)


def object_types(values: NDArray[Any], name: str) -> frozenset[str]:
    """What a column of objects holds, of KINDS and other things; beside a string nothing else matters."""
    types = set(map(type, values))
    if str in types:
        return frozenset({CATEGORY})
    types = {type(value) for value in values if not is_missing(value)}
    if types and all(issubclass(t, _DATES) or t.__name__ == "Period" for t in types):
        raise TypeError(_wrong_type(types.pop().__name__, name, True))
    return frozenset(_kind_of_type(t) for t in types)


def _kind_of_type(t: type) -> str:
    if issubclass(t, (bool, np.bool_)):
        return BOOLEAN
    return NUMBER if issubclass(t, (numbers.Number, np.number)) else CATEGORY


def kind_of_types(types: frozenset[str]) -> str:
    """What a column is that holds objects of these types, of KINDS: of nothing, categories."""
    if not types or CATEGORY in types:
        return CATEGORY
    return BOOLEAN if types == {BOOLEAN} else NUMBER


def numbers_of(column: RawColumn, name: str) -> FloatArray:
    """The column as float64."""
    if column.values.dtype != object:
        return column.values.astype(np.float64)
    result = np.empty(len(column.values))
    for i, value in enumerate(column.values):
        try:
            result[i] = np.nan if is_missing(value) else _number(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"X must have numbers in {name!r}, got {reprlib.repr(value)}") from None
    return result


def _check_booleans(values: FloatArray, name: str) -> None:
    if not _holds_booleans(values):
        odd = next(value for value in values.tolist() if not math.isnan(value) and value not in (0, 1))
        raise ValueError(f"X must have booleans in {name!r}, as in fit, got {odd}")


def _holds_booleans(values: NDArray[Any]) -> bool:
    """Nothing but 0, 1 and NaN."""
    return values.dtype == np.bool_ or bool(np.all((values == 0) | (values == 1) | np.isnan(values)))


def _number(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError
    return float(value)


def _codes(column: RawColumn, feature: Feature) -> FloatArray:
    """The column's categories as indices into those of the feature."""
    lookup = _CategoryLookup()
    index = {category: float(i) for i, category in enumerate(feature.categories)}
    codes = lookup.codes(column.values, feature.name)
    renumbered = np.array([np.nan, *(index.get(category, UNSEEN) for category in lookup.categories)])
    return renumbered[codes]


_MISSING = 0
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


class _CategoryLookup(dict[Any, int]):
    """Values to codes: 0 for missing, then 1, 2, ... in the order in which categories first appear."""

    def __init__(self) -> None:
        super().__init__()
        self._code_of: dict[Category, int] = {}

    def __missing__(self, value: Any) -> int:
        if is_missing(value):
            return _MISSING
        code = self._code_of.setdefault(canonical(value), len(self._code_of) + 1)
        if isinstance(value, (str, int, float)):  # of others, equal ones may have different texts
            self[value] = code
        return code

    @property
    def categories(self) -> list[Category]:
        """The category of code 1, 2, ..."""
        return list(self._code_of)

    def codes(self, values: NDArray[Any], name: str) -> NDArray[np.int64]:
        """The code of each value; float64 are looked up once per distinct number."""
        if values.dtype != object:
            distinct, inverse = np.unique(values, return_inverse=True)
            return np.array([self[value] for value in distinct.tolist()], dtype=np.int64)[inverse]
        get: Callable[[Any], int] = self.__getitem__
        try:
            return np.fromiter(map(get, values), dtype=np.int64, count=len(values))
        except TypeError as error:
            raise TypeError(
                f"X must hold numbers and strings in {name!r}: argument must be a string or a number ({error})"
            ) from None


def _feature_index(entry: Any, n_features: int, feature_names: Sequence[str] | None, message: str) -> int:
    if isinstance(entry, str):
        matches = [] if feature_names is None else [i for i, name in enumerate(feature_names) if name == entry]
        if not matches:
            raise ValueError(f"{message}: X has no feature named {entry!r}")
        return matches[0]
    if not isinstance(entry, int) or not -n_features <= entry < n_features:
        raise ValueError(f"{message}: there is no feature {entry!r} among {n_features}")
    return entry % n_features
