"""Thresholds of one numeric feature: where its values are cut.

In: the feature's values (float64, NaN for missing), the weights and classes of the rows. Out: ascending thresholds,
each between two neighbouring distinct values, for tests `value <= threshold`. The one idea: a threshold is a number
that a person would write, so that every output can show the very number that decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._core import class_cells, short_decimals, split_order, tell_apart
from .arrays import BoolArray, FloatArray, IntArray
from .features import LARGEST_EXACT_INT

# Gaps that are tried as boundaries between classes: a resolution of 0.1% of the rows.
FINE_BOUNDARIES = 1023
# Classes that boundaries tell apart: with more, the rarest ones count as one, so that the counts between all boundaries
# take 8 MB at most.
MAX_CLASSES = 1024
# A gap that is too narrow for float32 may be replaced by one of this many gaps on each side.
NEIGHBOURS = 64


@dataclass(frozen=True, eq=False)
class Target:
    """The classes of the rows, as indices."""

    classes: NDArray[np.int32]
    n_classes: int

    @classmethod
    def of_rows(cls, classes: NDArray[np.int32], n_classes: int) -> Target:
        """Return the target of rows, whose rarest classes count as one if there are very many."""
        if n_classes <= MAX_CLASSES:
            return cls(classes, n_classes)
        return cls(merge_rare(np.bincount(classes, minlength=n_classes))[classes], MAX_CLASSES)


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The gaps between neighbouring distinct values, ascending, without missing values."""

    ordered: FloatArray  # the values
    below: IntArray  # gap i is between ordered[below[i]] and the value after it
    cumulated: FloatArray | None  # total weight of the rows up to each of the values; None: 1, 2, 3, ...

    @cached_property
    def is_whole(self) -> bool:
        """True if all values are whole numbers."""
        if len(self.ordered) == 0:
            return True
        low, high = self.ordered[[0, -1]].tolist()
        is_exact = low > -LARGEST_EXACT_INT and high < LARGEST_EXACT_INT
        return low.is_integer() and is_exact and bool((self.ordered == np.floor(self.ordered)).all())

    def __len__(self) -> int:
        return len(self.below)

    def thresholds(self, chosen: IntArray | slice = slice(None)) -> FloatArray:
        """Return a threshold in each of the chosen gaps."""
        below = self.below[chosen]
        return separators(self.ordered[below], self.ordered[below + 1], self.is_whole)

    def is_wide(self, gaps: IntArray) -> BoolArray:
        """Return in which of the gaps there is a float32."""
        below = self.below[gaps]
        return tell_apart(low=self.ordered[below], high=self.ordered[below + 1]).view(np.bool_)

    def prefer_wide(self, chosen: IntArray) -> IntArray:
        """Replace each gap that is too narrow for float32 by its nearest wide neighbour, if there is one."""
        narrow = chosen[~self.is_wide(chosen)].tolist()
        if not narrow:
            return chosen
        taken = set(chosen.tolist())
        for gap in narrow:
            near = np.arange(max(0, gap - NEIGHBOURS), min(len(self), gap + NEIGHBOURS + 1))
            free = [other for other in near[self.is_wide(near)].tolist() if other not in taken]
            if free:
                taken.remove(gap)
                taken.add(min(free, key=lambda other: abs(other - gap)))
        return np.array(sorted(taken), dtype=np.int64)

    def spread(self, n: int) -> IntArray:
        """Return at most `n` gaps at evenly spaced quantiles; where these coincide, evenly spaced gaps of the rest."""
        if len(self) <= n:
            return np.arange(len(self))
        share = np.arange(1, n + 1) / (n + 1)
        if self.cumulated is None:
            wanted = self.below.searchsorted(len(self.ordered) * share - 1)
        else:
            wanted = self.cumulated[self.below].searchsorted(self.cumulated[-1] * share)
        wanted = np.minimum(wanted, len(self) - 1)
        if not (wanted[1:] == wanted[:-1]).any():
            return wanted
        is_chosen = np.zeros(len(self), dtype=bool)
        is_chosen[wanted] = True
        return _fill_up(is_chosen, (~is_chosen).nonzero()[0], n)


def merge_rare(n_rows: IntArray) -> NDArray[np.int32]:
    """Return an index below MAX_CLASSES for each class, given the number of its rows: the last for the rarest ones."""
    frequent = np.sort(np.argsort(-n_rows, kind="stable")[: MAX_CLASSES - 1])
    index = np.full(len(n_rows), MAX_CLASSES - 1, dtype=np.int32)
    index[frequent] = np.arange(len(frequent))
    return index


def find_boundaries(values: FloatArray, sample_weight: FloatArray | None) -> Boundaries:
    """Return all gaps between the values."""
    if sample_weight is None:
        ordered = np.sort(values)
        ordered = ordered[: ordered.searchsorted(np.nan)]  # NaN are sorted last
        cumulated = None
    else:
        present = ~np.isnan(values)
        order = np.argsort(values[present], kind="stable")
        ordered = values[present][order]
        cumulated = np.cumsum(sample_weight[present][order])
    return Boundaries(ordered, (ordered[:-1] < ordered[1:]).nonzero()[0], cumulated)


def quantile_thresholds(
    values: FloatArray, max_thresholds: int | None, sample_weight: FloatArray | None, target: Target | None
) -> FloatArray:
    """Return at most `max_thresholds`: half at quantiles, half at the splits of a tree on this feature alone.

    Without classes all are at quantiles. None means one in every gap.
    """
    boundaries = find_boundaries(values, sample_weight)
    if target is None:
        return choose_thresholds(boundaries, max_thresholds, None)

    def cells(gaps: IntArray) -> FloatArray:
        return class_cells(
            values=values,
            edges=boundaries.ordered[boundaries.below[gaps]],
            classes=target.classes,
            n_classes=target.n_classes,
            row_weight=sample_weight,
        )

    return choose_thresholds(boundaries, max_thresholds, cells)


def choose_thresholds(
    boundaries: Boundaries, max_thresholds: int | None, cells: Callable[[IntArray], FloatArray] | None
) -> FloatArray:
    """Choose at most `max_thresholds` gaps and return a threshold in each.

    `cells` returns, for ascending gaps, the weight per class of the rows before, between and after them,
    (n_gaps + 1, n_classes); None: there are no classes.
    """
    if max_thresholds is None or len(boundaries) <= max_thresholds:
        return boundaries.thresholds()
    chosen = boundaries.spread(max_thresholds) if cells is None else _choose(boundaries, max_thresholds, cells)
    return boundaries.thresholds(boundaries.prefer_wide(chosen))


def _choose(boundaries: Boundaries, n: int, cells: Callable[[IntArray], FloatArray]) -> IntArray:
    """Return `n` of the gaps, ascending: half at quantiles, half between classes."""
    is_chosen = np.zeros(len(boundaries), dtype=bool)
    is_chosen[boundaries.spread(n // 2)] = True
    fine = boundaries.spread(FINE_BOUNDARIES)
    between_classes = fine[split_order(cells=cells(fine), n=n)]
    is_chosen[between_classes[~is_chosen[between_classes]][: n - n // 2]] = True
    (chosen,) = is_chosen.nonzero()
    return chosen if len(chosen) == n else _fill_up(is_chosen, boundaries.spread(n), n)


def _fill_up(is_chosen: BoolArray, spare: IntArray, n: int) -> IntArray:
    """Return the chosen gaps and evenly spaced spare ones that are not among them, `n` in all if there are enough."""
    n_more = n - int(np.count_nonzero(is_chosen))
    if n_more > 0:
        spare = spare[~is_chosen[spare]]
        is_chosen[spare[np.linspace(0, len(spare) - 1, min(n_more, len(spare))).round().astype(np.int64)]] = True
    return is_chosen.nonzero()[0]


def separators(low: FloatArray, high: FloatArray, whole: bool) -> FloatArray:
    """Return for each pair of neighbouring values the threshold between them that a person would write.

    Of a whole feature it is the whole number at or just below the middle: low <= threshold < high. Otherwise it is the
    decimal between the two with the fewest places, the one nearest to the middle if there are several. It also tells
    apart the float32 numbers that the two round to, unless they are too close for that.
    """
    if whole:
        return low + np.floor((high - low) / 2)
    result = short_decimals(low=low, high=high)
    for i in np.isnan(result).nonzero()[0]:
        result[i] = _shortest_between(float(low[i]), float(high[i]))
    return result


def _shortest_between(low: float, high: float) -> float:
    """Return the decimal with the fewest digits in low < decimal < high, or `low` if there is no float64 in between."""
    middle = low / 2 + high / 2
    for digits in range(1, 18):
        decimal = float(f"{middle:.{digits - 1}e}")
        if low < decimal < high:
            return decimal
    return low


def is_short(thresholds: FloatArray) -> BoolArray:
    """Return which thresholds have no more digits than a float32 can tell apart."""
    with np.errstate(over="ignore", under="ignore"):
        singles = thresholds.astype(np.float32)
    return np.array([float(str(single)) == t for single, t in zip(singles, thresholds, strict=True)], dtype=bool)


def format_number(number: float) -> str:
    """Return the shortest text that is read as this very float64: whole numbers without a point."""
    if number == 0 or 1e-4 <= abs(number) < 1e16:
        return str(np.format_float_positional(number, unique=True, trim="-"))
    return str(np.format_float_scientific(number, unique=True, trim="-"))
