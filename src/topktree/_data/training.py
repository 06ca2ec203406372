"""From the user's table to rows that are ready to be searched: read, validate, binarize.

In: a table, labels and weights, and an estimator that says how to read them (`class_weight`, `max_thresholds`,
`categorical_features`). Out: `TrainingData`, which serves any number of searches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_class_weight

from .._core import Ranker
from .._runtime.checks import short
from .._runtime.limits import Interruptible, Stop
from .._runtime.parallel import count_threads
from .arrays import BoolArray, FloatArray, Rows
from .columns import IS_MISSING, Columns, by_feature, find_redundant, make_columns, pack, pack_binary, packed
from .features import Feature, encode, learn_features, warn_about_categories
from .labels import number_labels, read_labels, read_weights, warn_about_regression
from .ranks import RankedFeature, rank_categories, rank_feature, without_repeated
from .table import CATEGORY, Table, read_table
from .thresholds import FINE_BOUNDARIES, Target, quantile_thresholds
from .weights import threshold_weights

# A label that is no number takes as long as this many numbers.
PER_LABEL = 20
# To rank a number takes as long as to cut it at this many thresholds.
AS_RANKS = 128

# Rows as a tree reads them, (n, n_features), and their classes.
EncodedRows = tuple[NDArray[Any], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows that are ready to be searched, whatever the k, the depth and the penalty.

    Only rows with weight are among them: the arrays have an entry for each of these. They are never written to.
    """

    rows: Rows  # the bits, (n_rows, columns.n_bits), packed or a byte each
    columns: Columns  # what they mean, and the ranks of features without bits
    y: NDArray[np.int32]
    sample_weight: FloatArray | None
    class_weight: FloatArray | str | None  # (n_classes,), "balanced" or None
    classes: NDArray[Any]
    features: tuple[Feature, ...]
    has_weight: BoolArray | None  # which of all rows these are; None: all of them
    left_out: EncodedRows | None  # rows without weight; None: there are none, or a tree cannot read them
    work: Interruptible

    def packed(self) -> TrainingData:
        """Return the data with packed rows, never the user's own array: it can be sent and shared."""
        return replace(self, rows=packed(self.rows))

    def for_all_rows(self, values: FloatArray) -> FloatArray:
        """Return values of these rows as values of all rows, with NaN for rows without weight."""
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

    `classes` is given if the rows are part of a table that was read before: `y` may then lack some of them.
    `stop` lets the caller end the work.
    """
    work = Interruptible(_n_values(X, y, estimator), stop)
    labels = work.call(read_labels, y, work.check)
    table = _read(estimator, X, work)
    numbered = work.call(number_labels, labels, table.n_rows, work.check)
    work.expect(len(numbered[0]) * FINE_BOUNDARIES)  # the cells in which classes are counted, feature by feature
    return work.call(_make_ready, estimator, table, numbered, sample_weight, classes, work)


def class_weights(class_weight: str | dict[Any, float] | None, classes: NDArray[Any]) -> FloatArray | str | None:
    """Return a dict as one weight per class; None and "balanced" as they are."""
    if isinstance(class_weight, dict):
        return np.asarray(compute_class_weight(class_weight, classes=classes, y=classes), dtype=np.float64)
    return class_weight


def check_classes(present: NDArray[Any]) -> None:
    """Raise unless rows of at least two classes have weight."""
    if len(present) < 2:
        found = ", ".join(map(short, present.tolist())) or "none"
        raise ValueError(
            "y must have rows of at least two classes with weight (sample_weight times class_weight), "
            f"got {len(present)} class: {found}"
        )


def _n_values(X: Any, y: Any, estimator: BaseEstimator) -> int:
    """Estimate how many numbers could be processed in the time that it takes to read and cut the table, at worst."""
    n_labels = len(y) * PER_LABEL if hasattr(y, "__len__") and not _holds_numbers(y) else 0
    is_list = isinstance(X, list) and len(X) > 0 and isinstance(X[0], list)
    shape: tuple[Any, ...] = (len(X), len(X[0])) if is_list else getattr(X, "shape", ())
    if len(shape) != 2 or not all(isinstance(size, int) for size in shape):
        return n_labels
    has_categories = not _holds_numbers(X) or not isinstance(estimator.categorical_features, str | None)
    has_every_column = has_categories or (estimator.max_thresholds is None and callable(estimator.criterion))
    # There may be as many columns as rows: one for every category, or for every distinct number.
    n_columns = shape[0] if has_every_column else estimator.max_thresholds or AS_RANKS
    return max(n_labels, int(math.prod(shape) * max(1, n_columns / 32)))


def _holds_numbers(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "biuf"


def _read(estimator: BaseEstimator, X: ArrayLike, work: Interruptible) -> Table:
    """Read the table. Attributes are first set on a copy of the estimator: after Ctrl-C this may still be running."""
    copied = copy(estimator)
    table = work.call(lambda: read_table(copied, X, reset=True))
    for name in ("n_features_in_", "feature_names_in_"):
        estimator.__dict__.pop(name, None)
        if hasattr(copied, name):
            setattr(estimator, name, getattr(copied, name))
    return table


def _make_ready(
    estimator: BaseEstimator,
    table: Table,
    numbered: tuple[NDArray[Any], NDArray[np.int32]],
    sample_weight: ArrayLike | None,
    known: NDArray[Any] | None,
    work: Interruptible,
) -> TrainingData:
    """Set rows without weight apart, learn the features, and binarize."""
    classes, y = numbered
    if known is not None:
        classes, y = known, np.searchsorted(known, classes).astype(np.int32)[y]
    weights = read_weights(sample_weight, table.n_rows)
    by_class = class_weights(estimator.class_weight, classes)
    has_weight = _with_weight(y, weights, by_class)
    if isinstance(by_class, np.ndarray):
        by_class = np.where(by_class > 0, by_class, 1.0)  # classes without rows
    without_weight = None
    if has_weight is not None:
        without_weight = table.take(~has_weight), y[~has_weight]
        table, y = table.take(has_weight), y[has_weight]
        weights = None if weights is None else weights[has_weight]
    is_part = known is not None or has_weight is not None
    check_classes(classes[np.bincount(y, minlength=len(classes)) > 0] if is_part else classes)
    features = learn_features(table, estimator.categorical_features, getattr(estimator, "feature_names_in_", None))
    if known is None:
        warn_about_regression(classes, len(numbered[1]))
        warn_about_categories(features, table.n_rows)
    left_out = None
    if without_weight is not None:
        with suppress(TypeError, ValueError):  # rows without weight may hold what a tree cannot read
            left_out = encode(without_weight[0], features), without_weight[1]
    encoded = encode(table, features)
    bits = pack_binary(encoded, features)  # a table of nothing but 0 and 1 stays as it is
    if bits is None:
        target = threshold_weights(y, by_class, weights), Target.of_rows(y, len(classes))
        if estimator.max_thresholds is None and not callable(estimator.criterion):
            bits = _rank_and_pack(encoded, features, *target, count_threads(estimator.n_jobs), work.check)
        else:  # a criterion of the user's own sees the class counts of every column
            values = by_feature(encoded, features)
            bits = _cut_and_pack(values, features, estimator.max_thresholds, *target, work.check)
    return TrainingData(*bits, y, weights, by_class, classes, features, has_weight, left_out, work)


def _with_weight(
    y: NDArray[np.int32], weights: FloatArray | None, by_class: FloatArray | str | None
) -> BoolArray | None:
    """Return which rows have weight; None: all of them. A float must hold the products of the weights."""
    has_weight = None if weights is None else weights > 0
    if isinstance(by_class, np.ndarray):
        largest, total = float(by_class.max()), len(y) if weights is None else float(weights.sum())
        if largest > 0 and not 0 < largest * total < math.inf:
            allowed = "sample_weight times class_weight must be finite and > 0"
            raise ValueError(f"{allowed}, got up to {largest} and a sum of {total}")
        has_weight = (by_class[y] > 0) & (True if has_weight is None else has_weight)
    return None if has_weight is None or has_weight.all() else has_weight


def _cut_and_pack(
    encoded: FloatArray,
    features: tuple[Feature, ...],
    max_thresholds: int | None,
    weights: FloatArray | None,
    target: Target,
    check: Callable[[], None],
) -> tuple[Rows, Columns]:
    """Cut the numbers at thresholds; return the bits and their columns. `check` may end it early."""

    def thresholds(f: int) -> FloatArray:
        check()
        return quantile_thresholds(encoded[f], max_thresholds, weights, target)

    columns = make_columns(features, thresholds, for_tree=True)
    columns = columns.take(~find_redundant(encoded, columns))
    return pack(encoded, columns), columns


def _rank_and_pack(
    encoded: NDArray[Any],
    features: tuple[Feature, ...],
    weights: FloatArray | None,
    target: Target,
    n_threads: int,
    check: Callable[[], None],
) -> tuple[Rows, Columns]:
    """Rank the features that have thresholds; return the bits of those with few and all others, and all columns.

    Categories have both: bits, and sets by their ranks. Redundant columns of bits are dropped as always; of ranked
    features, only those that repeat all of another one.
    """
    found = _rank(encoded, features, weights, target, n_threads, check)
    orders = chain.from_iterable(own if isinstance(own, list) else [own] for own in found)
    ranked = without_repeated(own for own in orders if isinstance(own, RankedFeature))
    others = [f for f, own in enumerate(found) if not isinstance(own, RankedFeature)]
    own_features = [features[f] for f in others]
    values = np.empty((len(others), len(encoded)))
    for own, f in zip(values, others, strict=True):
        own[:] = encoded[:, f]
    values = by_feature(values.T, own_features)
    columns = make_columns(own_features, lambda i: np.asarray(found[others[i]]), for_tree=True)
    of_all = np.array(others, dtype=np.int64)  # the index of each of these features among all
    has_ranks = np.isin(of_all[columns.feature], [own.feature for own in ranked])
    repeated = has_ranks & (columns.test == IS_MISSING)  # ranks have this column, too
    columns = columns.take(~find_redundant(values, columns) & ~repeated)
    rows = pack(values, columns)
    return rows, replace(columns, feature=of_all[columns.feature]).joined(ranked)


def _rank(
    encoded: NDArray[Any],
    features: tuple[Feature, ...],
    weights: FloatArray | None,
    target: Target,
    n_threads: int,
    check: Callable[[], None],
) -> list[RankedFeature | FloatArray | list[RankedFeature]]:
    """Return the ranks or the few thresholds of each feature, or the orders of its categories if it has some."""
    # What is not written to takes no memory. In arrays of their own, ranks would lie between gaps in the memory.
    ranks = np.empty((len(features), len(encoded)), dtype=np.uint32)
    # A ranker takes 24 bytes per row. This many take no more memory than the search, which needs 16 per value.
    n_threads = min(n_threads, max(1, 2 * len(features) // 3))
    rankers = [Ranker() for _ in range(n_threads)]

    def rank(f: int) -> RankedFeature | FloatArray | list[RankedFeature]:
        check()
        own = f, encoded[:, f], features[f].has_missing
        if features[f].has_thresholds:
            ranker = rankers.pop()
            found = rank_feature(*own, ranker, ranks[f])
            rankers.append(ranker)
            return found
        return rank_categories(*own, weights, target) if features[f].kind == CATEGORY else []

    with ThreadPoolExecutor(n_threads) as pool:
        return list((map if n_threads == 1 else pool.map)(rank, range(len(features))))
