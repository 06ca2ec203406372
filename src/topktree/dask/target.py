"""Labels and weights of rows that are in parts: what the parts say, merged, and what follows for each of them.

In: the labels and weights of one part. Out: a `TargetSummary`, which merges; from that of all parts the `Weighing`, by
which every part finds the class indices and integer weights that it would have among all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.labels import number_labels, read_labels, read_weights
from .._data.training import check_classes, class_weights
from .._data.weights import WEIGHT_BITS, WeightRange, WeightScale, exact_weight_bits, inverse_totals, weight_scale


@dataclass(frozen=True, eq=False)
class TargetSummary:
    """Per class of some rows; of its rows with weight, how many, the sum of the weights, the smallest, the largest."""

    labels: NDArray[Any]  # (n_classes,), in order
    n_rows: IntArray
    n_weighing: IntArray
    weight: FloatArray
    smallest: FloatArray
    largest: FloatArray


def summarize_target(y: Any, sample_weight: ArrayLike | None) -> TargetSummary | None:
    """Of one part; None if it has no rows."""
    if len(y) == 0 and (sample_weight is None or np.shape(sample_weight)[0] == 0):
        return None
    labels, indices, weights = _read(y, sample_weight)
    n = len(labels)
    n_rows = np.bincount(indices, minlength=n)
    if weights is None:
        ones = np.ones(n)
        return TargetSummary(labels, n_rows, n_rows, n_rows.astype(np.float64), ones, ones)
    weighs = weights > 0
    smallest, largest = np.full(n, np.inf), np.zeros(n)
    np.minimum.at(smallest, indices[weighs], weights[weighs])
    np.maximum.at(largest, indices, weights)
    n_weighing = np.bincount(indices[weighs], minlength=n)
    return TargetSummary(
        labels, n_rows, n_weighing, np.bincount(indices, weights, n).astype(np.float64), smallest, largest
    )


def merge_targets(parts: Sequence[TargetSummary | None]) -> TargetSummary | None:
    """Of the rows of all parts."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    every = np.concatenate([part.labels for part in present])
    labels, indices = number_labels(every, len(every))

    def combine(name: str, combine_two: np.ufunc, start: float) -> NDArray[Any]:
        values = np.concatenate([getattr(part, name) for part in present])
        result = np.full(len(labels), start, dtype=values.dtype)
        combine_two.at(result, indices, values)
        return result

    return TargetSummary(
        labels,
        combine("n_rows", np.add, 0),
        combine("n_weighing", np.add, 0),
        combine("weight", np.add, 0),
        combine("smallest", np.minimum, np.inf),
        combine("largest", np.maximum, 0),
    )


def _read(y: Any, sample_weight: ArrayLike | None) -> tuple[NDArray[Any], NDArray[np.int32], FloatArray | None]:
    """Distinct labels, the index of each row's label among them, and weights."""
    labels = read_labels(y)
    return *number_labels(labels, len(labels)), _read_weights(sample_weight, len(labels))


def _read_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Of one part, where all may be zero: scikit-learn refuses that, but other parts may have weight."""
    values = None if sample_weight is None else np.asarray(sample_weight)
    if values is not None and values.shape == (n_rows,) and values.dtype.kind in "biuf" and not values.any():
        return np.zeros(n_rows)
    return read_weights(values, n_rows)


@dataclass(frozen=True, eq=False)
class RowTarget:
    """Of the rows of one part that have weight."""

    classes: NDArray[np.int32]
    row_weight: IntArray | None  # None: every row weighs 1
    threshold_weight: FloatArray | None  # whole numbers; None: every row weighs the same
    kept: NDArray[np.bool_] | None  # which rows of the part they are; None: all
    left_out: NDArray[np.int32]  # classes of the others


@dataclass(frozen=True, eq=False)
class Weighing:
    """How the rows of every part are numbered and weighed."""

    classes: NDArray[Any]
    class_weight: FloatArray | str | None  # for the objective
    present: NDArray[np.bool_]  # classes whose rows have weight
    n_rows: int  # with weight
    n_left_out: int  # without
    threshold_class_weight: FloatArray | None
    row_scale: WeightScale | None = None  # None: every row weighs 1
    threshold_scale: WeightScale | None = None  # None: every row weighs the same
    weight_unit: float = 1.0  # what an integer row weight of 1 is

    @property
    def rows_weigh(self) -> bool:
        """Whether rows have weights of their own."""
        return self.row_scale is not None

    def read(self, y: Any, sample_weight: ArrayLike | None) -> RowTarget:
        """The target of one part that has rows."""
        classes, weights, keeps = self.number(y, sample_weight)
        kept = None if keeps.all() else keeps
        left_out = classes[~keeps]
        if kept is not None:
            classes, weights = classes[kept], None if weights is None else weights[kept]
        return RowTarget(
            classes,
            None if self.row_scale is None or weights is None else self.row_scale.integers(weights),
            self._threshold_weight(classes, weights),
            kept,
            left_out,
        )

    def number(
        self, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[NDArray[np.int32], FloatArray | None, NDArray[np.bool_]]:
        """Of the rows of one part: classes, weights, and which rows have weight."""
        labels, indices, weights = _read(y, sample_weight)
        classes = np.searchsorted(self.classes, labels).astype(np.int32)[indices]
        return classes, weights, self.present[classes] & (True if weights is None else weights > 0)

    def _threshold_weight(self, classes: NDArray[np.int32], weights: FloatArray | None) -> FloatArray | None:
        if self.threshold_scale is None:
            return None
        return self.threshold_scale.integers(self.threshold_weights(classes, weights)).astype(np.float64)

    def threshold_weights(self, classes: NDArray[np.int32], weights: FloatArray | None) -> FloatArray:
        """What rows weigh when thresholds are placed, as real numbers."""
        result = np.ones(len(classes)) if weights is None else weights
        return result if self.threshold_class_weight is None else self.threshold_class_weight[classes] * result


@dataclass(frozen=True, eq=False)
class Ranges:
    """Of the weights of all rows: those of the objective, and those that place thresholds."""

    row: WeightRange
    threshold: WeightRange
    bits: int  # that exact integers may have

    def divisors(self, weighing: Weighing, y: Any, sample_weight: ArrayLike | None) -> IntArray:
        """Of one part, the common divisor for each unit, of both kinds of weights; see `WeightRange`."""
        n_units = len(self._units(self.row)) + len(self._units(self.threshold))
        if len(y) == 0:
            return np.full(n_units, NO_ROWS)
        classes, weights, kept = weighing.number(y, sample_weight)
        assert weights is not None
        both = (
            (self.row, weights[kept]),
            (self.threshold, weighing.threshold_weights(classes[kept], weights[kept])),
        )
        units = [(span, unit, values) for span, values in both for unit in self._units(span)]
        if not kept.any():
            return np.full(n_units, NO_ROWS)
        return np.array([span.divisor(values, unit) for span, unit, values in units], dtype=np.int64)

    def _units(self, span: WeightRange) -> list[float]:
        return span.units(WEIGHT_BITS, self.bits)

    def scales(self, divisors: IntArray) -> tuple[WeightScale, WeightScale]:
        """The scales, given the divisors of all rows."""
        n = len(self._units(self.row))
        return self._scale(self.row, divisors[:n]), self._scale(self.threshold, divisors[n:])

    def _scale(self, span: WeightRange, divisors: IntArray) -> WeightScale:
        return span.scale(zip(self._units(span), divisors.tolist(), strict=True), WEIGHT_BITS)


NO_ROWS = -1  # in place of a divisor


def merge_divisors(parts: Iterable[IntArray]) -> IntArray:
    """Of the rows of all parts: zero where some part is not of multiples."""
    stacked = np.stack([*parts])
    with_rows = ~np.any(stacked == NO_ROWS, axis=1)
    if not with_rows.any():
        return np.asarray(stacked[0])
    stacked = stacked[with_rows]
    return np.where(np.any(stacked == 0, axis=0), 0, np.gcd.reduce(stacked, axis=0))


def start_weighing(
    summary: TargetSummary | None, class_weight: Any, has_row_weight: bool
) -> tuple[Weighing, Ranges | None]:
    """How rows are weighed; and if rows differ in weight, the ranges, with whose divisors `finish_weighing` goes on."""
    if summary is None:
        raise ValueError("X and y must have at least one row, got none in any partition")
    if not np.isfinite(summary.weight.sum()):
        raise ValueError(f"sample_weight must have a finite sum, got weights up to {summary.largest.max()}")
    weights = class_weights(class_weight, summary.labels)
    weighs = summary.n_weighing > 0
    if isinstance(weights, np.ndarray):
        weighs &= weights > 0
        weights = np.where(weights > 0, weights, 1.0)
    check_classes(summary.labels[weighs])
    n_rows = int(summary.n_weighing[weighs].sum())
    for_thresholds = weights
    if isinstance(for_thresholds, str):
        for_thresholds = inverse_totals(np.where(weighs, summary.weight, 0.0))
    n_left_out = int(summary.n_rows.sum()) - n_rows
    weighing = Weighing(summary.labels, weights, weighs, n_rows, n_left_out, for_thresholds)
    factor = 1.0 if for_thresholds is None else for_thresholds[weighs]
    smallest, largest = summary.smallest[weighs], summary.largest[weighs]
    bits = exact_weight_bits(n_rows)
    if smallest.min() < largest.max():
        by_class = _range(factor * smallest, factor * largest)
        return weighing, Ranges(_range(smallest, largest), by_class, bits)
    unit = weight_scale(smallest[:1], exact_bits=bits).weight_unit if has_row_weight else 1.0
    scale = None if np.ptp(factor * smallest) == 0 else weight_scale(factor * smallest, exact_bits=bits)
    return replace(weighing, threshold_scale=scale, weight_unit=unit), None


def finish_weighing(weighing: Weighing, ranges: Ranges, divisors: IntArray) -> Weighing:
    """How rows of different weights are weighed, given the divisors of all of them."""
    row_scale, threshold_scale = ranges.scales(divisors)
    return replace(
        weighing,
        row_scale=row_scale if _ends(ranges.row, row_scale)[1] > 1 else None,
        threshold_scale=threshold_scale if len({*_ends(ranges.threshold, threshold_scale)}) > 1 else None,
        weight_unit=row_scale.weight_unit,
    )


def _ends(span: WeightRange, scale: WeightScale) -> tuple[int, int]:
    """The smallest and the largest of the integers."""
    smallest, largest = scale.integers(np.array([span.smallest, span.largest])).tolist()
    return smallest, largest


def _range(smallest: FloatArray, largest: FloatArray) -> WeightRange:
    return WeightRange(float(smallest.min()), float(largest.max()))
