"""Features as ranks: every threshold takes part in the search, without bits for any of them.

In: the encoded values of a feature. Out: a `RankedFeature`, which the engine takes as it is, or thresholds if these are
few. The one idea: the rank of a row among the distinct values says on which side of every threshold it is, so that
thresholds are made only for the columns that somebody asks about. Categories are ranked by the share of a class in
their rows: then a threshold divides them into two sets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Ranker
from .arrays import FloatArray
from .thresholds import Target, separators

# Features with no more thresholds than this are columns of bits: the grid of the search would have all of them.
FEW_THRESHOLDS = 16
# The rank of a missing value.
MISSING = np.iinfo(np.uint32).max
# Rows that are looked at before whole features are compared.
_SAMPLE = 256


@dataclass(frozen=True, eq=False)
class RankedFeature:
    """A feature whose thresholds are all gaps between its distinct values, or one order of its categories.

    Its columns are those that `make_columns` would make for a tree: a column per threshold, the same ones `or missing`,
    then `is missing`; the latter two only if there are missing values.
    """

    feature: int
    ranks: NDArray[np.uint32]  # (n_rows,), among the distinct values; MISSING
    n_ranks: int
    is_whole: bool  # all values are whole numbers
    values: NDArray[Any]  # (n_rows,), as they are encoded: a view of the user's table
    has_missing: bool
    order: tuple[int, ...] = ()  # the categories in the order of their ranks; empty for numbers
    first: int = 0  # the index of its first column

    @property
    def n_thresholds(self) -> int:
        """The number of gaps between distinct values."""
        return self.n_ranks - 1

    @property
    def n_columns(self) -> int:
        """The number of its columns."""
        return 2 * self.n_thresholds + 1 if self.has_missing else self.n_thresholds

    def categories(self, gap: int) -> tuple[int, ...]:
        """Return the categories below a gap, ascending."""
        return tuple(sorted(self.order[: gap + 2]))  # the first two share rank 0

    def value_at(self, rank: int) -> float:
        """Return the value of a rank; infinities count as the largest float64, and there is no negative zero."""
        value = float(self.values[(self.ranks == rank).argmax()])
        return min(max(value, -sys.float_info.max), sys.float_info.max) + 0.0

    def reading(self, index: int) -> tuple[int, bool]:
        """Return the gap of its column `index` and whether it also holds for missing values; `is missing`: gap -1."""
        second, gap = divmod(index, self.n_thresholds)
        return (-1, False) if second == 2 else (gap, second == 1)


def rank_feature(
    feature: int, values: NDArray[Any], has_missing: bool, ranker: Ranker, ranks: NDArray[np.uint32]
) -> RankedFeature | FloatArray:
    """Rank the encoded values of a feature, into `ranks`; return its thresholds instead if they are few."""
    found = ranker.rank(values=np.asarray(values, dtype=np.float64), ranks=ranks)
    own = RankedFeature(feature, ranks, *found, values, has_missing)
    if own.n_thresholds > FEW_THRESHOLDS:
        return own
    distinct = np.array([own.value_at(rank) for rank in range(own.n_ranks)])
    return separators(distinct[:-1], distinct[1:], own.is_whole)


def rank_categories(
    feature: int, values: NDArray[Any], has_missing: bool, weights: FloatArray | None, target: Target
) -> list[RankedFeature]:
    """Rank the categories of a feature by the share of each class in their weight; of two classes, by the second one.

    For two classes, no set of categories has a lower impurity than the best one below a gap (Breiman, Friedman, Olshen
    and Stone 1984, theorem 4.5). Sets of one category and of all but one repeat a column `colour = red`: so the first
    two categories share a rank, and the last two. Precondition: every category occurs.
    """
    codes = np.where(np.isnan(values), -1, values).astype(np.int64) + 1
    n = int(codes.max())
    if n < 4:
        return []
    cells = np.bincount(codes * target.n_classes + target.classes, weights, (n + 1) * target.n_classes)
    by_class = cells.reshape(n + 1, -1)[1:].T
    by_class = by_class[by_class.any(axis=1)]
    ranked = []
    for own in by_class[1:] if len(by_class) <= 2 else by_class:
        order = np.argsort(own / by_class.sum(axis=0), kind="stable")  # ties: the lower category first
        ranks = np.full(n + 1, MISSING, dtype=np.uint32)
        ranks[order + 1] = np.clip(np.arange(n) - 1, 0, n - 3)
        ranked.append(RankedFeature(feature, ranks[codes], n - 2, True, values, has_missing, tuple(order.tolist())))
    return ranked


def without_repeated(features: Iterable[RankedFeature]) -> list[RankedFeature]:
    """Return the features without those whose ranks are, forwards or backwards, the ranks of an earlier one.

    Only whole features are dropped: a single threshold that splits the rows as that of another feature does remains.
    """
    kept: list[RankedFeature] = []
    alike: dict[Any, list[RankedFeature]] = {}
    for own in features:
        sample = own.ranks[:_SAMPLE]
        key = own.has_missing, own.n_ranks, min(sample.tobytes(), _backwards(own, sample).tobytes())
        earlier = alike.setdefault(key, [])
        if not any(_is_same_order(own, other) for other in earlier):
            earlier.append(own)
            kept.append(own)
    return kept


def _backwards(own: RankedFeature, ranks: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return np.where(ranks == MISSING, ranks, np.uint32(own.n_thresholds) - ranks)


def _is_same_order(own: RankedFeature, other: RankedFeature) -> bool:
    return np.array_equal(own.ranks, other.ranks) or np.array_equal(_backwards(own, own.ranks), other.ranks)
