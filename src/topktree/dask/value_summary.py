"""What thresholds need to know of a numeric feature, in a form that parts of the rows can be merged into.

In: values, classes and weights of some rows. Out: a `ValueSummary`: ascending values, each with the weight per class of
the rows up to it that are above the one before. With few distinct values it has them all and is exact. Otherwise it has
at most `MAX_VALUES` or so, evenly spaced by weight; what it says of the rows up to some value is then too little by at
most `error` of all rows, and never too much. Nothing is drawn at random: the same parts give the same summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.packing import class_cells
from .._data.thresholds import Boundaries, choose_thresholds

# Thinning out leaves off at most one part in so many: as fine as the boundaries between classes are sought.
MAX_VALUES = 4096


@dataclass(frozen=True, eq=False)
class ValueSummary:
    """Of one feature on some rows; missing values are left out."""

    values: FloatArray  # (n,), ascending and distinct
    weight: FloatArray  # (n, n_classes), whole numbers
    error: float = 0.0  # a fraction of the rows' weight; 0: exact

    def thresholds(self, max_thresholds: int | None) -> FloatArray:
        """As `thresholds.quantile_thresholds` of the rows."""
        below = np.cumsum(self.weight, axis=0)

        def cells(gaps: IntArray) -> FloatArray:
            return np.ascontiguousarray(np.diff(below[[*gaps, -1]], axis=0, prepend=0.0))

        boundaries = Boundaries(self.values, np.arange(len(self.values) - 1), below.sum(axis=1))
        return choose_thresholds(boundaries, max_thresholds, cells)

    def is_binary(self) -> bool:
        """Whether there is nothing but 0 and 1."""
        return bool(np.all((self.values == 0) | (self.values == 1)))


def summarize(
    values: FloatArray,
    classes: NDArray[np.int32],
    n_classes: int,
    row_weight: FloatArray | None,
    max_values: int | None,
) -> ValueSummary:
    """Of rows; NaN is missing. `max_values` None: every value is kept."""
    with np.errstate(invalid="ignore"):
        values = np.clip(values, -_LARGEST, _LARGEST)
    ordered, position = _order(values, row_weight)
    last = np.flatnonzero(np.append(ordered[:-1] < ordered[1:], True))[: len(ordered)]  # of each distinct value
    is_thin = max_values is not None and len(last) > max_values
    if is_thin:
        last = _spread(last, position, max_values or 1)
    edges = ordered[last]
    cells = class_cells(values=values, edges=edges[:-1], classes=classes, n_classes=n_classes, row_weight=row_weight)
    return ValueSummary(edges, cells[: len(edges)], 1 / (max_values or 1) if is_thin else 0.0)


def merge(parts: Sequence[ValueSummary], max_values: int | None) -> ValueSummary:
    """Of the rows of all parts."""
    values = np.concatenate([part.values for part in parts])
    weight = np.concatenate([part.weight for part in parts])
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    error = max(part.error for part in parts)
    last = np.flatnonzero(np.append(values[:-1] < values[1:], True))[: len(values)]
    if max_values is not None and len(last) > max_values:
        last = _spread(last, np.cumsum(weight.sum(axis=1)), max_values)
        error += 1 / max_values
    first = np.concatenate([[0], last[:-1] + 1]).astype(np.intp)[: len(last)]
    return ValueSummary(values[last], np.add.reduceat(weight, first, axis=0) if len(last) else weight, error)


_LARGEST = np.finfo(np.float64).max


def _order(values: FloatArray, row_weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """The values in order, without NaN, and the weight of the rows up to each."""
    if row_weight is None:
        ordered = np.sort(values)
        ordered = ordered[: np.searchsorted(ordered, np.nan)]  # NaN come last
        return ordered, np.arange(1.0, len(ordered) + 1)
    present = ~np.isnan(values)
    order = np.argsort(values[present], kind="stable")
    return values[present][order], np.cumsum(row_weight[present][order])


def _spread(last: NDArray[np.intp], cumulated: FloatArray, n: int) -> NDArray[np.intp]:
    """Those of the ends of distinct values between which less than one n-th of the weight is left out."""
    share = np.minimum((cumulated[last] * (n / cumulated[-1])).astype(np.int64), n - 1)
    starts_share = share != np.append(-1, share[:-1])
    ends_share = np.append(share[:-1] != share[1:], True)
    return np.asarray(last[starts_share | ends_share])
