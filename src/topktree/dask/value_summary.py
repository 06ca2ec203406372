"""A numeric feature of rows that are in parts, summarized for placing thresholds.

In: values, classes and weights of some rows. Out: a `ValueSummary`, which merges: ascending values, each with the
weight per class of the rows above the value before it and up to it. With few distinct values it is exact.
Otherwise it has about `MAX_VALUES`, evenly spaced by weight: the weight of the rows up to some value is then
underestimated by at most `error` of the total, and never overestimated. The same parts always give the same summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import class_cells
from .._data.arrays import FloatArray, IntArray
from .._data.thresholds import MAX_CLASSES, Boundaries, Target, choose_thresholds, find_boundaries
from .cluster import sized

# Thinning out misplaces at most one part in this many, which is as fine as the search for class boundaries.
MAX_VALUES = 4096
# The summaries of a part's features have fewer values if they would take more bytes than this: several are merged at a
# time by a worker that may have no more than a gigabyte.
MAX_BYTES = 2**25
# Infinities count as the largest float64, so that thresholds stay finite.
_LARGEST = np.finfo(np.float64).max


@sized
@dataclass(frozen=True, eq=False)
class ValueSummary:
    """The values of one feature on some rows, without missing ones."""

    values: FloatArray  # (n,), ascending and distinct
    weight: FloatArray  # (n, n_classes), whole numbers
    error: float = 0.0  # a fraction of the rows' weight; 0: exact

    def thresholds(self, max_thresholds: int | None) -> FloatArray:
        """Return the thresholds, as `thresholds.quantile_thresholds` does for all rows."""
        below = np.cumsum(self.weight, axis=0)

        def cells(gaps: IntArray) -> FloatArray:
            return np.ascontiguousarray(np.diff(below[[*gaps, -1]], axis=0, prepend=0.0))

        boundaries = Boundaries(self.values, np.arange(len(self.values) - 1), below.sum(axis=1))
        return choose_thresholds(boundaries, max_thresholds, cells)

    def is_binary(self) -> bool:
        """Tell whether all values are 0 or 1."""
        return bool(np.all((self.values == 0) | (self.values == 1)))


def summary_size(max_thresholds: int | None, n_features: int, n_classes: int) -> int | None:
    """Return how many values a summary may have; None: all."""
    if max_thresholds is None:
        return None
    by_bytes = MAX_BYTES // (8 * max(n_features, 1) * min(n_classes, MAX_CLASSES))
    return max(min(MAX_VALUES, by_bytes), 4 * max_thresholds)


def summarize(
    values: FloatArray, target: Target, row_weight: FloatArray | None, max_values: int | None
) -> ValueSummary:
    """Return the summary of rows; NaN is missing. With `max_values` None every value is kept."""
    with np.errstate(invalid="ignore"):
        values = np.clip(values, -_LARGEST, _LARGEST)
    boundaries, error = find_boundaries(values, row_weight), 0.0
    n_present = len(boundaries.ordered)
    last = np.append(boundaries.below, n_present - 1)[:n_present]  # the end of each distinct value
    if max_values is not None and len(last) > max_values:
        cumulated = last + 1.0 if boundaries.cumulated is None else boundaries.cumulated[last]
        last, error = _spread(last, cumulated, max_values), 1 / max_values
    edges = boundaries.ordered[last]
    cells = class_cells(
        values=values, edges=edges[:-1], classes=target.classes, n_classes=target.n_classes, row_weight=row_weight
    )
    return ValueSummary(edges, cells[: len(edges)], error)


def merge(parts: Sequence[ValueSummary], max_values: int | None) -> ValueSummary:
    """Return the summary of the rows of all parts."""
    values = np.concatenate([part.values for part in parts])
    order = np.argsort(values, kind="stable")
    values = values[order]
    error = max(part.error for part in parts)
    last = np.flatnonzero(np.append(values[:-1] < values[1:], True))[: len(values)]
    if max_values is not None and len(last) > max_values:
        total = np.concatenate([part.weight.sum(axis=1) for part in parts])[order]
        last = _spread(last, np.cumsum(total)[last], max_values)
        error += 1 / max_values
    values = values[last]
    weight = np.zeros((len(values), parts[0].weight.shape[1]))
    for part in parts:  # one by one: all of them together would take much memory
        kept = np.searchsorted(values, part.values)
        first = np.flatnonzero(np.diff(kept, prepend=-1))
        if len(first):
            weight[kept[first]] += np.add.reduceat(part.weight, first, axis=0)
    return ValueSummary(values, weight, error)


def _spread(last: IntArray, cumulated: FloatArray, n: int) -> IntArray:
    """Return the ends of distinct values to keep, so that less than one n-th of the weight lies between two of them.

    `cumulated` is the weight of the rows up to each of the values.
    """
    share = np.minimum((cumulated * (n / cumulated[-1])).astype(np.int64), n - 1)
    starts_share = share != np.append(-1, share[:-1])
    ends_share = np.append(share[:-1] != share[1:], True)
    return np.asarray(last[starts_share | ends_share])
