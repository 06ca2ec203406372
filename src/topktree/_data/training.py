"""From the user's table to training data that can be searched: read, validate, binarize.

In: a table, labels and weights, and an estimator that says how to read them (`class_weight`, `max_thresholds`,
`categorical_features`). Out: `TrainingData`, for any number of searches; `SearchedData`, for those of one objective.
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

from .._runtime.interruptible import Interruptible, Stop
from .._search import engine
from .._search.objective import Objective
from .arrays import FloatArray, Rows
from .columns import Columns, by_feature, find_redundant, make_columns, pack, pack_binary
from .features import Feature, encode, learn_features, warn_about_identifiers
from .labels import number_labels, read_labels, read_weights
from .table import Table, read_table
from .thresholds import Target, quantile_thresholds
from .weights import threshold_weights

# A fitted classifier keeps what was searched if it is no larger than this.
KEPT_BYTES = 2**24

# Rows as the tree reads them, (n, n_features), and their classes.
EncodedRows = tuple[NDArray[Any], NDArray[np.int32]]


@dataclass(frozen=True)
class Training:
    """Validated training data: only rows with weight, the others beside them."""

    table: Table
    features: tuple[Feature, ...]
    y: NDArray[np.int32]
    classes: NDArray[Any]
    sample_weight: FloatArray | None
    class_weight: FloatArray | str | None
    left_out: tuple[Table, NDArray[np.int32]] | None  # rows without weight, and their classes
    has_weight: NDArray[np.bool_] | None  # which of all rows these are; None: they are all

    def for_all_rows(self, values: FloatArray) -> FloatArray:
        """Values of the rows with weight among those of all rows, NaN for the others."""
        if self.has_weight is None:
            return values
        everywhere = np.full((len(self.has_weight), *values.shape[1:]), np.nan)
        everywhere[self.has_weight] = values
        return everywhere


@dataclass(frozen=True)
class TrainingData:
    """Training data that is ready to be searched, whatever the k, the depth and the penalty."""

    training: Training
    rows: Rows
    columns: Columns
    work: Interruptible


@dataclass(frozen=True, eq=False)
class SearchedData:
    """What was searched, without the table it came from: enough to search it again under the same objective."""

    rows: Rows
    columns: Columns
    y: NDArray[np.int32]
    objective: Objective
    features: tuple[Feature, ...]
    classes: NDArray[Any]
    left_out: EncodedRows | None  # rows without weight


def prepare(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: NDArray[Any] | None = None,
    stop: Stop | None = None,
) -> TrainingData:
    """Validated and binarized; all that a search needs of the data.

    `classes`: of which `y` may have only some, the rows being a part of others that were read before. `stop`: who else
    may end it.
    """
    work = Interruptible(_n_values(X, estimator.max_thresholds), stop)
    labels = work.call(read_labels, estimator, y)
    table = _read(estimator, X, work)
    training = work.call(_validate, estimator, table, labels, sample_weight, classes)
    rows, columns = work.call(_binarize, training, estimator.max_thresholds, work.check)
    return TrainingData(training, rows, columns, work)


def without_table(data: TrainingData, objective: Objective) -> SearchedData:
    """The data of a search under this objective. Its rows may still be the user's own array."""
    training = data.training
    left_out = encode_left_out(training)
    return SearchedData(data.rows, data.columns, training.y, objective, training.features, training.classes, left_out)


def small_enough_to_keep(data: TrainingData, objective: Objective) -> SearchedData | None:
    """The same with rows that are packed, and nobody else's; None if they are large."""
    n_rows, n_left_out = len(data.rows), 0 if data.training.left_out is None else data.training.left_out[0].n_rows
    n_bytes = 8 * (n_rows * -(-len(data.columns) // 64) + n_left_out * len(data.training.features))
    if n_bytes > KEPT_BYTES:
        return None
    searched = without_table(data, objective)
    return replace(searched, rows=engine.packed(searched.rows))


def encode_left_out(training: Training) -> EncodedRows | None:
    """The rows without weight as the tree reads them. None: there are none, or they hold what it cannot read."""
    if training.left_out is None:
        return None
    rows, classes = training.left_out
    try:
        return encode(rows, training.features), classes
    except (TypeError, ValueError):  # they may hold anything
        return None


def _n_values(X: ArrayLike, max_thresholds: int | None) -> int:
    """About how many values there are to be handled, thresholds included."""
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or not all(isinstance(size, int) for size in shape):
        return 0
    n_thresholds = min(shape[0], 1000) if max_thresholds is None else max_thresholds
    return int(math.prod(shape) * max(1, n_thresholds / 32))


def _read(estimator: BaseEstimator, X: ArrayLike, work: Interruptible) -> Table:
    """The table. What it sets on the estimator it sets on a copy first: after Ctrl-C it may still be at work."""
    copied = copy(estimator)
    table = work.call(lambda: read_table(copied, X, reset=True))
    for name in ("n_features_in_", "feature_names_in_"):
        estimator.__dict__.pop(name, None)
        if hasattr(copied, name):
            setattr(estimator, name, getattr(copied, name))
    return table


def _validate(
    estimator: BaseEstimator,
    table: Table,
    labels: NDArray[Any],
    sample_weight: ArrayLike | None,
    known: NDArray[Any] | None,
) -> Training:
    """The rows that have weight, classes as indices."""
    classes, indices = number_labels(labels, table.n_rows)
    if known is not None:
        classes, indices = known, np.searchsorted(known, classes).astype(np.int32)[indices]
    row_weights = read_weights(sample_weight, table.n_rows)
    class_weight = class_weights(estimator.class_weight, classes)
    has_weight = None if row_weights is None else row_weights > 0
    if isinstance(class_weight, np.ndarray):
        _check_product(float(class_weight.max()), table.n_rows if row_weights is None else float(row_weights.sum()))
        has_weight = (class_weight[indices] > 0) & (True if has_weight is None else has_weight)
        class_weight = np.where(class_weight > 0, class_weight, 1.0)  # of classes without rows
    present = np.arange(len(classes))
    if known is not None or has_weight is not None:
        present = np.flatnonzero(np.bincount(indices if has_weight is None else indices[has_weight]))
    check_classes(classes[present])
    left_out = None
    if has_weight is not None and has_weight.all():
        has_weight = None
    if has_weight is not None:
        left_out = table.take(~has_weight), indices[~has_weight]
        table, indices = table.take(has_weight), indices[has_weight]
        row_weights = None if row_weights is None else row_weights[has_weight]
    names = getattr(estimator, "feature_names_in_", None)
    features = learn_features(table, estimator.categorical_features, names)
    if known is None:
        warn_about_identifiers(features, table.n_rows)
    return Training(table, features, indices, classes, row_weights, class_weight, left_out, has_weight)


def _binarize(training: Training, max_thresholds: int | None, check: Callable[[], None]) -> tuple[Rows, Columns]:
    """Packed Boolean columns; a table of nothing but 0 and 1 stays as it is. `check` may raise, to end it early."""
    encoded = encode(training.table, training.features)
    if (binary := pack_binary(encoded, training.features)) is not None:
        return binary
    encoded = by_feature(encoded, training.features)
    target = Target(training.y, len(training.classes))
    weights = threshold_weights(training.y, training.class_weight, training.sample_weight)

    def thresholds(f: int) -> FloatArray:
        check()
        return quantile_thresholds(encoded[f], max_thresholds, weights, target)

    columns = make_columns(training.features, thresholds)
    columns = columns.take(~find_redundant(encoded, columns))
    return pack(encoded, columns), columns


def _check_product(class_weight: float, total: float) -> None:
    """The largest class weight and the sum of the rows' must have a product that a float can hold."""
    if class_weight > 0 and not 0 < class_weight * total < math.inf:
        allowed = "sample_weight times class_weight must be finite and > 0"
        raise ValueError(f"{allowed}, got up to {class_weight} and a sum of {total}")


def check_classes(present: NDArray[Any]) -> None:
    """There must be rows with weight of two classes."""
    if len(present) < 2:
        found = ", ".join(repr(label) for label in present.tolist()) or "none"
        raise ValueError(
            "y must have rows of at least two classes with weight (sample_weight times class_weight), "
            f"got {len(present)} class: {found}"
        )


def class_weights(class_weight: str | dict[Any, float] | None, classes: NDArray[Any]) -> FloatArray | str | None:
    """A dict as one weight per class; None and "balanced" as they are."""
    if isinstance(class_weight, dict):
        return np.asarray(compute_class_weight(class_weight, classes=classes, y=classes), dtype=np.float64)
    return class_weight
