"""Thresholds of one numeric feature: where its values are cut.

In: the feature's values (float64, NaN for missing), the weights and classes of the rows. Out: ascending thresholds,
each between two neighbouring distinct values, for tests `value <= threshold`. The one idea: rounding a value to float32
never moves it across a threshold, so that scikit-learn's trees, which compare float32, decide every float64 as we do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import class_cells, split_order
from .arrays import BoolArray, FloatArray, IntArray

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

    def __len__(self) -> int:
        return len(self.below)

    def thresholds(self, chosen: IntArray | slice = slice(None)) -> FloatArray:
        """Return a threshold in each of the chosen gaps."""
        below = self.below[chosen]
        return separators(self.ordered[below], self.ordered[below + 1])

    def is_wide(self, gaps: IntArray) -> BoolArray:
        """Return in which of the gaps there is a float32."""
        below = self.below[gaps]
        return tells_apart(self.ordered[below], self.ordered[below + 1])

    def prefer_wide(self, chosen: IntArray) -> IntArray:
        """Replace each gap that is too narrow for float32 by its nearest wide neighbour, if there is one."""
        taken = set(chosen.tolist())
        for gap in chosen[~self.is_wide(chosen)].tolist():
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
            wanted = np.searchsorted(self.below, len(self.ordered) * share - 1)
        else:
            wanted = np.searchsorted(self.cumulated[self.below], self.cumulated[-1] * share)
        wanted = np.minimum(wanted, len(self) - 1)
        if not (wanted[1:] == wanted[:-1]).any():
            return wanted
        is_chosen = np.zeros(len(self), dtype=bool)
        is_chosen[wanted] = True
        return _fill_up(is_chosen, np.flatnonzero(~is_chosen), n)


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
        ordered = ordered[: np.searchsorted(ordered, np.nan)]  # NaN are sorted last
        cumulated = None
    else:
        present = ~np.isnan(values)
        order = np.argsort(values[present], kind="stable")
        ordered = values[present][order]
        cumulated = np.cumsum(sample_weight[present][order])
    return Boundaries(ordered, np.flatnonzero(ordered[:-1] < ordered[1:]), cumulated)


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
    between_classes = between_classes[~is_chosen[between_classes]]
    is_chosen[between_classes[: n - n // 2]] = True
    if np.count_nonzero(is_chosen) < n:
        return _fill_up(is_chosen, boundaries.spread(n), n)
    return np.flatnonzero(is_chosen)


def _fill_up(is_chosen: BoolArray, spare: IntArray, n: int) -> IntArray:
    """Return the chosen gaps and evenly spaced spare ones that are not among them, `n` in all if there are enough."""
    n_more = n - int(np.count_nonzero(is_chosen))
    if n_more > 0:
        spare = spare[~is_chosen[spare]]
        is_chosen[spare[np.linspace(0, len(spare) - 1, min(n_more, len(spare))).round().astype(np.int64)]] = True
    return np.flatnonzero(is_chosen)


def separators(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return thresholds with low <= threshold < high near the middle, at the edge of a float32 where there is one.

    The float32 is what gets printed, so it lies between the two as well. Where there is none, return the middle.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        middle = low / 2 + high / 2
        middle = np.where((low <= middle) & (middle < high), middle, low)
        below, above = low.astype(np.float32), high.astype(np.float32)
        following, preceding = np.nextafter(below, np.float32(np.inf)), np.nextafter(above, np.float32(-np.inf))
        single = np.clip(middle.astype(np.float32), following, preceding)
        between = tells_apart(low, high)
        for i in np.flatnonzero((following == above) & np.isfinite(below) & np.isfinite(above)):
            if low[i] <= float(_shortest(below[i])):  # neighbouring float32, of which the lower one separates the two
                single[i], between[i] = below[i], True
        # The middle may be an edge by chance, and would be printed as its float32.
        beside = np.where(is_float32_edge(low), np.maximum(np.nextafter(middle, -np.inf), low), low)
        return np.where(between, float32_edge(single), np.where(is_float32_edge(middle), beside, middle))


def tells_apart(low: FloatArray, high: FloatArray) -> BoolArray:
    """Return where a float32 lies strictly between the float32 values that the two round to."""
    with np.errstate(over="ignore"):
        below, above = low.astype(np.float32), high.astype(np.float32)
        return np.asarray(np.isfinite(above) & np.isfinite(below) & (np.nextafter(below, np.float32(np.inf)) < above))


def float32_edge(single: NDArray[np.float32]) -> FloatArray:
    """Return the largest float64 that rounds to each float32."""
    with np.errstate(over="ignore"):
        following = np.nextafter(single, np.float32(np.inf))
        middle = single.astype(np.float64) / 2 + following.astype(np.float64) / 2  # exact
        # The middle rounds to the even one of the two.
        return np.where(middle.astype(np.float32) == single, middle, np.nextafter(middle, -np.inf))


def is_float32_edge(thresholds: FloatArray) -> BoolArray:
    """Return where `float32(value) <= threshold` agrees with `value <= threshold` for every float64 value."""
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32)
    return np.asarray(np.isfinite(single) & (float32_edge(single) == thresholds))


@cache
def binary_threshold() -> float:
    """Return the threshold between 0 and 1, moved to a float32 edge."""
    return float(separators(np.zeros(1), np.ones(1))[0])


def format_number(threshold: float) -> str:
    """Return the shortest text of the threshold, or of its float32 if it is at the edge of one."""
    at_edge = bool(is_float32_edge(np.array([threshold]))[0])
    return _shortest(np.float32(threshold) if at_edge else np.float64(threshold))


def threshold_texts(thresholds: ArrayLike) -> list[str]:
    """Return the text of each threshold of one feature: short, but in full where two would read the same."""
    numbers = np.asarray(thresholds, dtype=np.float64).tolist()
    texts = {number: format_number(number) for number in numbers}
    times = Counter(texts.values())
    return [texts[number] if times[texts[number]] == 1 else repr(number) for number in numbers]


def _shortest(number: Any) -> str:
    if number == 0 or 1e-4 <= abs(number) < 1e16:
        return str(np.format_float_positional(number, unique=True, trim="-"))
    return str(np.format_float_scientific(number, unique=True, trim="-"))
