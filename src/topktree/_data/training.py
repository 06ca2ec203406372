"""From the user's table to rows that are ready to be searched: read, validate, binarize.

In: a table, labels and weights, and an estimator that says how to read them (`class_weight`, `max_thresholds`,
`categorical_features`). Out: `TrainingData`, which serves any number of searches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_class_weight

from .._runtime.limits import Interruptible, Stop
from .arrays import FloatArray, Rows
from .columns import Columns, by_feature, find_redundant, make_columns, pack, pack_binary
from .features import Feature, encode, learn_features, warn_about_identifiers
from .labels import number_labels, read_labels, read_weights
from .packing import packed
from .table import Table, read_table
from .thresholds import Target, quantile_thresholds
from .weights import threshold_weights

# Rows as a tree reads them, (n, n_features), and their classes.
EncodedRows = tuple[NDArray[Any], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows that are ready to be searched, whatever the k, the depth and the penalty.

    Only rows with weight are among them: the arrays have an entry for each of these. Nobody writes to them.
    """

    rows: Rows  # the bits, (n_rows, n_columns), packed or a byte each
    columns: Columns  # what they mean
    y: NDArray[np.int32]
    sample_weight: FloatArray | None
    class_weight: FloatArray | str | None  # (n_classes,), "balanced" or None
    classes: NDArray[Any]
    features: tuple[Feature, ...]
    table: Table | None  # the rows as the user gave them
    has_weight: NDArray[np.bool_] | None  # which of all rows these are; None: all of them
    left_out: EncodedRows | None  # rows without weight; None: there are none, or a tree cannot read them
    work: Interruptible

    def without_table(self) -> TrainingData:
        """Return the data with packed rows, which belong to nobody else, and no table: it can be sent and shared."""
        return replace(self, rows=packed(self.rows), table=None)

    def for_all_rows(self, values: FloatArray) -> FloatArray:
        """Return values of these rows among those of all rows, with NaN for rows without weight."""
        if self.has_weight is None:
            return values
        everywhere = np.full((len(self.has_weight), *values.shape[1:]), np.nan)
        everywhere[self.has_weight] = values
        return everywhere


def prepare(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: NDArray[Any] | None = None,
    stop: Stop | None = None,
) -> TrainingData:
    """Validate and binarize the data. Sets the estimator's `n_features_in_` and `feature_names_in_`.

    `classes` is given if the rows are a part of others that were read before: `y` may then have only some of them.
    `stop` lets others end the work.
    """
    work = Interruptible(_n_values(X, estimator.max_thresholds), stop)
    labels = work.call(read_labels, y)
    table = _read(estimator, X, work)
    target = work.call(_weigh, labels, sample_weight, estimator.class_weight, table.n_rows, classes)
    return work.call(_make_ready, estimator, table, target, classes is None, work)


def class_weights(class_weight: str | dict[Any, float] | None, classes: NDArray[Any]) -> FloatArray | str | None:
    """Return a dict as one weight per class; None and "balanced" as they are."""
    if isinstance(class_weight, dict):
        return np.asarray(compute_class_weight(class_weight, classes=classes, y=classes), dtype=np.float64)
    return class_weight


def check_classes(present: NDArray[Any]) -> None:
    """Raise unless rows of at least two classes have weight."""
    if len(present) < 2:
        found = ", ".join(repr(label) for label in present.tolist()) or "none"
        raise ValueError(
            "y must have rows of at least two classes with weight (sample_weight times class_weight), "
            f"got {len(present)} class: {found}"
        )


def _n_values(X: ArrayLike, max_thresholds: int | None) -> int:
    """Estimate how many values are to be handled, thresholds included."""
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or not all(isinstance(size, int) for size in shape):
        return 0
    n_thresholds = min(shape[0], 1000) if max_thresholds is None else max_thresholds
    return int(math.prod(shape) * max(1, n_thresholds / 32))


def _read(estimator: BaseEstimator, X: ArrayLike, work: Interruptible) -> Table:
    """Read the table. It sets attributes on a copy of the estimator first: after Ctrl-C it may still be at work."""
    copied = copy(estimator)
    table = work.call(lambda: read_table(copied, X, reset=True))
    for name in ("n_features_in_", "feature_names_in_"):
        estimator.__dict__.pop(name, None)
        if hasattr(copied, name):
            setattr(estimator, name, getattr(copied, name))
    return table


@dataclass(frozen=True, eq=False)
class _Target:
    """The classes and weights of all rows of a table."""

    y: NDArray[np.int32]
    classes: NDArray[Any]
    sample_weight: FloatArray | None
    class_weight: FloatArray | str | None
    has_weight: NDArray[np.bool_] | None  # None: every row has weight


def _weigh(
    labels: NDArray[Any],
    sample_weight: ArrayLike | None,
    class_weight: str | dict[Any, float] | None,
    n_rows: int,
    known: NDArray[Any] | None,
) -> _Target:
    """Assign class indices and find out which rows have weight."""
    classes, y = number_labels(labels, n_rows)
    if known is not None:
        classes, y = known, np.searchsorted(known, classes).astype(np.int32)[y]
    weights = read_weights(sample_weight, n_rows)
    by_class = class_weights(class_weight, classes)
    has_weight = None if weights is None else weights > 0
    if isinstance(by_class, np.ndarray):
        _check_product(float(by_class.max()), n_rows if weights is None else float(weights.sum()))
        has_weight = (by_class[y] > 0) & (True if has_weight is None else has_weight)
        by_class = np.where(by_class > 0, by_class, 1.0)  # classes without rows
    present = np.arange(len(classes))
    if known is not None or has_weight is not None:
        present = np.flatnonzero(np.bincount(y if has_weight is None else y[has_weight]))
    check_classes(classes[present])
    if has_weight is not None and has_weight.all():
        has_weight = None
    return _Target(y, classes, weights, by_class, has_weight)


def _make_ready(
    estimator: BaseEstimator, table: Table, target: _Target, is_whole: bool, work: Interruptible
) -> TrainingData:
    """Set rows without weight apart, learn the features, and binarize. `is_whole`: these are all rows there are."""
    y, weights, has_weight, without_weight = target.y, target.sample_weight, target.has_weight, None
    if has_weight is not None:
        without_weight = table.take(~has_weight), y[~has_weight]
        table, y = table.take(has_weight), y[has_weight]
        weights = None if weights is None else weights[has_weight]
    features = learn_features(table, estimator.categorical_features, getattr(estimator, "feature_names_in_", None))
    if is_whole:
        warn_about_identifiers(features, table.n_rows)
    kept = replace(target, y=y, sample_weight=weights)
    rows, columns = _binarize(table, features, kept, estimator.max_thresholds, work.check)
    left_out = None if without_weight is None else _encode_if_possible(*without_weight, features)
    return TrainingData(
        rows=rows,
        columns=columns,
        y=y,
        sample_weight=weights,
        class_weight=target.class_weight,
        classes=target.classes,
        features=features,
        table=table,
        has_weight=has_weight,
        left_out=left_out,
        work=work,
    )


def _encode_if_possible(table: Table, y: NDArray[np.int32], features: tuple[Feature, ...]) -> EncodedRows | None:
    """Encode rows without weight, which may hold anything. None: they hold what a tree cannot read."""
    try:
        return encode(table, features), y
    except (TypeError, ValueError):
        return None


def _binarize(
    table: Table,
    features: tuple[Feature, ...],
    target: _Target,
    max_thresholds: int | None,
    check: Callable[[], None],
) -> tuple[Rows, Columns]:
    """Return the bits and their columns. A table of nothing but 0 and 1 stays as it is. `check` may end it early."""
    encoded = encode(table, features)
    if (binary := pack_binary(encoded, features)) is not None:
        return binary
    encoded = by_feature(encoded, features)
    classes = Target(target.y, len(target.classes))
    weights = threshold_weights(target.y, target.class_weight, target.sample_weight)

    def thresholds(f: int) -> FloatArray:
        check()
        return quantile_thresholds(encoded[f], max_thresholds, weights, classes)

    columns = make_columns(features, thresholds)
    columns = columns.take(~find_redundant(encoded, columns))
    return pack(encoded, columns), columns


def _check_product(class_weight: float, total: float) -> None:
    """Raise unless a float can hold the largest class weight times the sum of the rows' weights."""
    if class_weight > 0 and not 0 < class_weight * total < math.inf:
        allowed = "sample_weight times class_weight must be finite and > 0"
        raise ValueError(f"{allowed}, got up to {class_weight} and a sum of {total}")
