"""Read the user's table: a pandas or polars frame (whatever narwhals reads), a NumPy array or lists.

In: `X`, and the estimator whose `n_features_in_` and `feature_names_in_` are set or checked. Out: a `Table` of raw
columns. The one idea: values keep the types they came with until a feature says how to encode them (see `features`), so
an array of numbers is never copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from .._runtime.checks import short

NUMBER = "number"
BOOLEAN = "boolean"
CATEGORY = "category"


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The values of one column, (n_rows,): numbers with NaN for missing, booleans, or objects."""

    values: NDArray[Any]
    kind: str | None  # NUMBER, BOOLEAN or CATEGORY if the type says so; None: objects of any type
    order: tuple[Any, ...] | None = None  # the values of an ordered category, lowest first


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length; or none, and `array` (n_rows, n_features) of numbers only or booleans only."""

    names: tuple[str, ...]
    columns: tuple[RawColumn, ...]
    array: NDArray[Any] | None = None
    n_rows: int = 0

    def take(self, rows: NDArray[np.bool_]) -> Table:
        """Return the table of the rows where `rows` is true."""
        array = None if self.array is None else self.array[rows]
        columns = tuple(replace(column, values=column.values[rows]) for column in self.columns)
        return Table(self.names, columns, array, int(np.count_nonzero(rows)))

    def split(self) -> Iterable[RawColumn]:
        """Return the columns, those of an array included."""
        if self.array is None:
            return self.columns
        return (_raw_column(self.array[:, i], name) for i, name in enumerate(self.names))


def read_table(estimator: BaseEstimator, X: Any, *, reset: bool) -> Table:
    """Return `X` as a table; set the estimator's `n_features_in_` and `feature_names_in_`, or check against them."""
    X = _as_array(X)
    if type(X) is np.ndarray and X.dtype.kind in "biuf" and X.ndim == 2 and X.size > 0:
        # The same as scikit-learn's validation without its 0.1 ms, which would be most of a small fit or prediction.
        if reset:
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
        if X.shape[1] == getattr(estimator, "n_features_in_", None) and not hasattr(estimator, "feature_names_in_"):
            return Table(default_names(X.shape[1]), (), X, len(X))
    if nw.dependencies.is_into_dataframe(X):
        return _read_frame(estimator, X, reset)
    if hasattr(X, "collect_schema"):
        raise TypeError(f"X must be a frame in memory, got {type(X).__name__}: call its collect() first")
    array = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    names = default_names(array.shape[1])
    if array.dtype.kind in "biuf":
        return Table(names, (), array, len(array))
    return Table(names, tuple(_raw_column(array[:, i], names[i]) for i in range(len(names))), None, len(array))


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return the rows with these indices, as the same type of table."""
    if not nw.dependencies.is_into_dataframe(X):
        return np.asarray(_as_array(X))[rows]
    if nw.dependencies.is_pandas_like_dataframe(X):
        return X.iloc[rows]
    if nw.dependencies.is_pyarrow_table(X):
        return X.take(rows)  # narwhals refuses repeated names
    return nw.from_native(X, eager_only=True)[rows].to_native()


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, repeated ones with .1, .2, ... appended."""
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
    """Return the names of the features of an array: x0, x1, ..."""
    return tuple(f"x{i}" for i in range(n_features))


def column_type_error(type_name: object, name: str, is_date: bool) -> TypeError:
    """Return the error for a column of a type that no tree can test."""
    advice = ": turn dates and durations into numbers" if is_date else ""
    return TypeError(
        f"X must have columns of numbers, booleans or categories, got {type_name} in {short(name)}{advice}"
    )


def _read_frame(estimator: BaseEstimator, X: Any, reset: bool) -> Table:
    # scikit-learn and narwhals refuse repeated names.
    if nw.dependencies.is_pyarrow_table(X):
        X = X.rename_columns(list(unique_names(X.column_names)))
    if nw.dependencies.is_pandas_like_dataframe(X) and len(set(X.columns)) < len(X.columns):
        X = X.copy(deep=False)
        X.columns = unique_names(tuple(map(str, X.columns)))
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    frame = nw.from_native(X, eager_only=True)
    if 0 in frame.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {frame.shape}")
    # Like scikit-learn, use names only if they are strings.
    names = tuple(name if isinstance(name, str) else f"x{i}" for i, name in enumerate(frame.columns))
    if nw.dependencies.is_pandas_dataframe(X) and _is_array(X.dtypes.tolist()):
        return Table(names, (), X.to_numpy(), len(X))
    columns = tuple(_frame_column(series, name) for series, name in zip(frame.iter_columns(), names, strict=True))
    return Table(names, columns, None, frame.shape[0])


def _is_array(dtypes: list[Any]) -> bool:
    """Tell whether columns of these types are together an array of numbers or of booleans, with the same values."""
    kinds = {dtype.kind if isinstance(dtype, np.dtype) else "" for dtype in dtypes}
    return kinds <= set("iuf") or kinds == {"b"}


def _frame_column(series: Any, name: str) -> RawColumn:
    if isinstance(series.dtype, (nw.Categorical, nw.Enum)):
        native = series.to_native()
        if not hasattr(native, "cat") or not hasattr(native.cat, "codes"):
            order = tuple(series.dtype.categories) if isinstance(series.dtype, nw.Enum) else None
            return RawColumn(_objects(series.to_list()), CATEGORY, order)
        # pandas: look up the codes, -1 for missing; NumPy would turn integers next to missing values into floats.
        categories = _objects([*native.cat.categories, None])
        order = tuple(native.cat.categories) if isinstance(series.dtype, nw.Enum) else None
        return RawColumn(categories[native.cat.codes.to_numpy()], CATEGORY, order)
    try:
        values = series.to_numpy()
    except Exception:  # types that NumPy lacks, such as integers of 128 bits
        values = _objects(series.to_list())
    if values.ndim != 1:  # structs and arrays of polars
        raise column_type_error(series.dtype, name, False)
    return _raw_column(values, name)


def _raw_column(values: NDArray[Any], name: str) -> RawColumn:
    kind = values.dtype.kind
    if values.ndim != 1 or kind not in "biufOUST":
        raise column_type_error(values.dtype, name, kind in "mM")
    if kind in "biuf":
        return RawColumn(values, BOOLEAN if kind == "b" else NUMBER)
    return RawColumn(values.astype(object), None)


def _objects(values: list[Any]) -> NDArray[np.object_]:
    result = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # one by one, because NumPy would turn tuples into a second dimension
        result[i] = value
    return result


def _as_array(X: Any) -> Any:
    """Return lists as an array, of objects if numbers and strings are mixed, and masked entries as missing values.

    Anything else is returned as it is.
    """
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        values = X.data.astype(np.float64 if X.dtype.kind in "iuf" else object)
        values[np.ma.getmaskarray(X)] = np.nan
        return values
    if not isinstance(X, (list, tuple)):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        return X  # ragged lists, for which scikit-learn has an error message
    return np.asarray(X, dtype=object) if array.dtype.kind in "US" else array
