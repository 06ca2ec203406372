"""The user's Dask collections as parts: delayed tables, labels and weights of the same rows.

In: a DataFrame or an Array of rows, and labels and weights as Series or Arrays. Out: `Parts`. Nothing is computed here;
what is known about the partitions in advance is checked here, the rest when they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask._task_spec import Alias
from dask.delayed import Delayed

from .._data.table import unique_names
from .._runtime.checks import short


@dataclass(frozen=True, eq=False)
class Parts:
    """The delayed partitions of the rows, with what is known about their features."""

    triples: list[tuple[Any, Any, Any]]  # the X, y and sample_weight of some rows; the weight is None if there are none
    names: tuple[str, ...] | None  # None: the features have no names, or names that are not strings
    n_features: int


def make_parts(X: Any, y: Any, sample_weight: Any) -> Parts:
    """Return the collections as parts."""
    names, n_features = feature_names(X)
    tables = table_parts(X)
    labels = _column_parts("y", y, X, len(tables))
    weights = [None] * len(tables)
    if sample_weight is not None:
        weights = _column_parts("sample_weight", sample_weight, X, len(tables))
    return Parts(list(zip(tables, labels, weights, strict=True)), names, n_features)


def feature_names(X: Any) -> tuple[tuple[str, ...] | None, int]:
    """Return the names of the features, if they are strings as scikit-learn wants them, and their number."""
    if not isinstance(X, dd.DataFrame | da.Array):
        raise TypeError(
            f"X must be a Dask DataFrame or Array, got {type(X).__name__}; TopKTreeClassifier takes data in memory"
        )
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X must have 2 dimensions, got {X.ndim}")
        if np.isnan(X.shape[1]):
            raise ValueError(
                "X must have a known number of columns, got an Array whose shape is not known: see "
                "its compute_chunk_sizes()"
            )
        return None, int(X.shape[1])
    columns = list(X.columns)
    if len(set(columns)) < len(columns):
        columns = list(unique_names(tuple(map(str, columns))))  # as `read_table` does with every partition
    strings = [isinstance(name, str) for name in columns]
    if any(strings) and not all(strings):
        raise TypeError(f"X must have columns that are all named by strings, or none of them, got {short(columns)}")
    return (tuple(columns) if columns and all(strings) else None), len(columns)


def table_parts(X: Any) -> list[Any]:
    """Return the partitions of the rows, each with all columns."""
    if isinstance(X, dd.DataFrame):
        return _frame_parts(X)
    return list((X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})).to_delayed().ravel())


def _frame_parts(frame: Any) -> list[Any]:
    """Return the partitions as they are: the full optimizer merges those of Parquet files, of y more than of X."""
    parts = frame.simplify().to_delayed(optimize_graph=False)
    # Aliases of `from_delayed(..., verify_meta=False)` have other keys than in the graph: Dask's optimizer would fail.
    graph = {key: task if task.key == key else Alias(key, task.key) for key, task in dict(parts[0].dask).items()}
    return [Delayed(part.key, graph) for part in parts]


def _column_parts(name: str, column: Any, X: Any, n_parts: int) -> list[Any]:
    if isinstance(column, dd.DataFrame) and len(column.columns) == 1:
        column = column[column.columns[0]]
    if isinstance(column, dd.Series):
        parts = _frame_parts(column)
    elif isinstance(column, da.Array):
        parts = list(_aligned(name, column, X).to_delayed().ravel())
    else:
        raise TypeError(
            f"{name} must be a Dask Series or Array, as X is a Dask collection, got {type(column).__name__}"
        )
    if len(parts) != n_parts:
        raise ValueError(
            f"{name} must have the partitions of X, {n_parts} of them with the same rows, got {len(parts)} partitions"
        )
    return parts


def _aligned(name: str, column: da.Array, X: Any) -> da.Array:
    """Return the array with the chunks of X, where these are known."""
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got {column.ndim}")
    if not isinstance(X, da.Array) or column.chunks[0] == X.chunks[0]:
        return column
    if np.isnan([*column.shape, X.shape[0]]).any():
        return column
    if column.shape[0] != X.shape[0]:
        raise ValueError(f"{name} must have as many rows as X, {X.shape[0]}, got {column.shape[0]}")
    return column.rechunk((X.chunks[0],))
