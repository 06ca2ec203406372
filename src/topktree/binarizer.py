"""Numbers to Boolean columns: `feature > threshold`, packed 64 to a word.

In: a numeric array (n, n_features). Out: packed rows and, for every column, the feature and threshold it stands for.
Thresholds are midpoints between neighbouring distinct values; where there are too many, those at evenly spaced
quantiles of the (weighted) rows are kept, and where quantiles fall together, evenly spaced ones of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._engine import PackedRows, pack_booleans, pack_thresholds
from ._problem import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Columns:
    """What the Boolean columns mean: column j is `X[:, feature[j]] > threshold[j]`, so true goes right."""

    feature: IntArray
    threshold: FloatArray

    def __len__(self) -> int:
        return len(self.feature)


def binarize(
    X: NDArray[Any], max_thresholds: int | None, sample_weight: FloatArray | None
) -> tuple[PackedRows, Columns]:
    """Packed Boolean columns of `X`; every 0/1 column stays one column as it is."""
    if (packed := _pack_binary(X)) is not None:
        return packed, Columns(np.arange(X.shape[1], dtype=np.int64), np.full(X.shape[1], 0.5))
    features = np.ascontiguousarray(X.T, dtype=np.float64)
    thresholds = [find_thresholds(values, max_thresholds, sample_weight) for values in features]
    sizes = [len(t) for t in thresholds]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = Columns(np.repeat(np.arange(len(features), dtype=np.int64), sizes), np.concatenate(thresholds))
    return pack_thresholds(features, columns.threshold, offsets), columns


def find_thresholds(values: FloatArray, max_thresholds: int | None, sample_weight: FloatArray | None) -> FloatArray:
    """At most `max_thresholds` ascending midpoints between neighbouring distinct values; all of them for None."""
    if sample_weight is None:
        ordered = np.sort(values)
        below = np.flatnonzero(ordered[:-1] < ordered[1:])
        weight_below, total = (below + 1).astype(np.float64), float(len(values))
    else:
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        below = np.flatnonzero(ordered[:-1] < ordered[1:])
        cumulated = np.cumsum(sample_weight[order])
        weight_below, total = cumulated[below], float(cumulated[-1])
    if max_thresholds is not None and len(below) > max_thresholds:
        below = below[_spread(weight_below, total, max_thresholds)]
    return _midpoints(ordered[below], ordered[below + 1])


def _spread(weight_below: FloatArray, total: float, n: int) -> IntArray:
    """Ascending indices of `n` of the boundaries, given the weight below each."""
    targets = total * np.arange(1, n + 1) / (n + 1)
    chosen = np.unique(np.minimum(np.searchsorted(weight_below, targets), len(weight_below) - 1))
    rest = np.setdiff1d(np.arange(len(weight_below)), chosen)
    more = rest[np.linspace(0, len(rest) - 1, n - len(chosen)).round().astype(np.int64)]
    return np.sort(np.concatenate([chosen, more]))


def _midpoints(low: FloatArray, high: FloatArray) -> FloatArray:
    """low <= midpoint < high, also where the two are neighbouring floats or their sum overflows."""
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)


def _pack_binary(X: NDArray[Any]) -> PackedRows | None:
    """Packed rows if every value is 0 or 1 (or a bool), else None."""
    if X.dtype in (np.bool_, np.uint8, np.int8):
        return pack_booleans(np.ascontiguousarray(X).view(np.uint8))
    some_rows = X[:: max(1, len(X) // 64)]
    for part in (some_rows, X):
        if not np.all((part == 0) | (part == 1)):
            return None
    return pack_booleans(np.ascontiguousarray(X, dtype=np.uint8))
