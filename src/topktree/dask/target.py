"""Labels and weights of rows that are in parts.

In: the labels and weights of one part. Out: a `TargetSummary`, which merges; from that of all parts the `Weighing`, by
which every part finds the class indices and integer weights that its rows would have if all rows were in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._data.arrays import BoolArray, FloatArray, IntArray
from .._data.labels import number_labels, read_labels, read_weights
from .._data.training import check_classes, class_weights
from .._data.weights import WEIGHT_BITS, WeightRange, WeightScale, exact_weight_bits, inverse_totals, weight_scale
from .cluster import sized


@sized
@dataclass(frozen=True, eq=False)
class TargetSummary:
    """The classes of some rows, with the sum, the smallest and the largest of their positive weights."""

    labels: NDArray[Any]  # (n_classes,), in order, as all the others
    n_rows: IntArray
    n_weighing: IntArray  # rows with weight
    weight: FloatArray
    smallest: FloatArray
    largest: FloatArray


def summarize_target(y: Any, sample_weight: ArrayLike | None) -> TargetSummary | None:
    """Return the summary of one part; None if it has no rows."""
    if len(y) == 0 and (sample_weight is None or np.shape(sample_weight)[0] == 0):
        return None
    labels, indices, weights = _read(y, sample_weight)
    ones = np.ones(len(indices), dtype=np.int64)
    if weights is None:
        weights = ones.astype(np.float64)
    weighs = weights > 0
    return _combine(labels, indices, ones, ones * weighs, weights, np.where(weighs, weights, np.inf), weights)


def merge_targets(parts: Sequence[TargetSummary | None]) -> TargetSummary | None:
    """Return the summary of the rows of all parts."""
    present = [vars(part).values() for part in parts if part is not None]
    if not present:
        return None
    every, *others = (np.concatenate(field) for field in zip(*present, strict=True))
    return _combine(*number_labels(every, len(every)), *others)


def _combine(labels: NDArray[Any], indices: NDArray[np.int32], *fields: NDArray[Any]) -> TargetSummary:
    """Return the summary of entries whose labels have these indices, given the other fields of each entry."""
    combined = []
    starts = ((np.add, 0), (np.add, 0), (np.add, 0), (np.minimum, np.inf), (np.maximum, 0))
    for values, (function, start) in zip(fields, starts, strict=True):
        result = np.full(len(labels), start, dtype=values.dtype)
        function.at(result, indices, values)
        combined.append(result)
    return TargetSummary(labels, *combined)


def _read(y: Any, sample_weight: ArrayLike | None) -> tuple[NDArray[Any], NDArray[np.int32], FloatArray | None]:
    """Return the distinct labels of a part, the index of each row's label among them, and the weights."""
    labels = read_labels(y)
    weights = None if sample_weight is None else np.asarray(sample_weight)
    # scikit-learn refuses weights that are all zero, but other parts may have weight.
    if weights is None or weights.shape != (len(labels),) or weights.dtype.kind not in "biuf" or weights.any():
        weights = read_weights(weights, len(labels))
    return *number_labels(labels, len(labels)), None if weights is None else weights.astype(np.float64)


@dataclass(frozen=True, eq=False)
class RowTarget:
    """The classes and weights of the rows of one part that have weight."""

    classes: NDArray[np.int32]
    row_weight: IntArray | None  # None: every row weighs 1
    threshold_weight: FloatArray | None  # whole numbers; None: every row weighs the same
    kept: BoolArray | None  # which rows of the part they are; None: all
    left_out: NDArray[np.int32]  # classes of the others


@dataclass(frozen=True, eq=False)
class Weighing:
    """The rules by which the rows of every part are numbered and weighed."""

    classes: NDArray[Any]
    class_weight: FloatArray | str | None  # for the objective
    present: BoolArray  # classes whose rows have weight
    n_rows: int  # with weight
    n_left_out: int  # without weight
    threshold_class_weight: FloatArray | None
    row_scale: WeightScale | None = None  # None: every row weighs 1
    threshold_scale: WeightScale | None = None  # None: every row weighs the same
    weight_unit: float = 1.0  # the weight that an integer row weight of 1 stands for

    @property
    def rows_weigh(self) -> bool:
        """Tell whether rows differ in weight."""
        return self.row_scale is not None

    def read(self, y: Any, sample_weight: ArrayLike | None) -> RowTarget:
        """Return the target of one part."""
        if len(y) == 0:
            none = np.empty(0, dtype=np.int32)
            return RowTarget(none, None, None, None, none)
        classes, weights, keeps = self.number(y, sample_weight)
        left_out = classes[~keeps]
        classes, weights = classes[keeps], None if weights is None else weights[keeps]
        threshold_weight = None
        if self.threshold_scale is not None:
            threshold_weight = self.threshold_scale.integers(self.threshold_weights(classes, weights)).astype(float)
        return RowTarget(
            classes,
            None if self.row_scale is None or weights is None else self.row_scale.integers(weights),
            threshold_weight,
            None if keeps.all() else keeps,
            left_out,
        )

    def number(self, y: Any, sample_weight: ArrayLike | None) -> tuple[NDArray[np.int32], FloatArray | None, BoolArray]:
        """Return the classes and weights of the rows of one part, and which rows have weight."""
        labels, indices, weights = _read(y, sample_weight)
        classes = np.searchsorted(self.classes, labels).astype(np.int32)[indices]
        return classes, weights, self.present[classes] & (True if weights is None else weights > 0)

    def threshold_weights(self, classes: NDArray[np.int32], weights: FloatArray | None) -> FloatArray:
        """Return the weights of rows for placing thresholds, as real numbers."""
        result = np.ones(len(classes)) if weights is None else weights
        return result if self.threshold_class_weight is None else self.threshold_class_weight[classes] * result


# Rows that differ in weight: their scale depends on the common divisors of all weights, which a second pass finds.


@dataclass(frozen=True, eq=False)
class WeightRanges:
    """The ranges of two kinds of weights: those of the objective, and those for placing thresholds."""

    row: WeightRange
    threshold: WeightRange
    bits: int  # that exact integers may have

    def divisors(self, weighing: Weighing, y: Any, sample_weight: ArrayLike | None) -> IntArray | None:
        """Return the common divisor of a part's weights for every unit of both kinds; None if it has no weight."""
        if len(y) == 0:
            return None
        classes, weights, keeps = weighing.number(y, sample_weight)
        if weights is None or not keeps.any():
            return None
        weights = weights[keeps]
        by_class = weighing.threshold_weights(classes[keeps], weights)
        divisors = [self.row.divisor(weights, unit) for unit in self._units(self.row)]
        divisors += [self.threshold.divisor(by_class, unit) for unit in self._units(self.threshold)]
        return np.array(divisors, dtype=np.int64)

    def finish(self, weighing: Weighing, divisors: IntArray) -> Weighing:
        """Return the weighing with the scales that follow from the divisors of all rows."""
        n_row_units = len(self._units(self.row))
        row_scale, _, largest = self._scale(self.row, divisors[:n_row_units])
        threshold_scale, lightest, heaviest = self._scale(self.threshold, divisors[n_row_units:])
        return replace(
            weighing,
            row_scale=row_scale if largest > 1 else None,
            threshold_scale=threshold_scale if lightest < heaviest else None,
            weight_unit=row_scale.weight_unit,
        )

    def _units(self, span: WeightRange) -> list[float]:
        return span.units(WEIGHT_BITS, self.bits)

    def _scale(self, span: WeightRange, divisors: IntArray) -> tuple[WeightScale, int, int]:
        """Return the scale, and the smallest and the largest integer weight."""
        scale = span.scale(zip(self._units(span), divisors.tolist(), strict=True), WEIGHT_BITS)
        smallest, largest = scale.integers(np.array([span.smallest, span.largest])).tolist()
        return scale, smallest, largest


def merge_divisors(parts: Sequence[IntArray | None]) -> IntArray | None:
    """Return the common divisors of the rows of all parts: zero for a unit if some part has no multiples of it."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    return np.where(np.any(np.equal(present, 0), axis=0), 0, np.gcd.reduce(present, axis=0))


def start_weighing(summary: TargetSummary | None, class_weight: Any) -> tuple[Weighing, WeightRanges | None]:
    """Return the weighing; if rows differ in weight also the ranges, whose `finish` completes it."""
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
    n_left_out = int(summary.n_rows.sum()) - n_rows
    for_thresholds = weights
    if isinstance(for_thresholds, str):
        for_thresholds = inverse_totals(np.where(weighs, summary.weight, 0.0))
    weighing = Weighing(summary.labels, weights, weighs, n_rows, n_left_out, for_thresholds)
    factor = 1.0 if for_thresholds is None else for_thresholds[weighs]
    smallest, largest = summary.smallest[weighs], summary.largest[weighs]
    bits = exact_weight_bits(n_rows)
    if smallest.min() < largest.max():
        by_class = _range(factor * smallest, factor * largest)
        return weighing, WeightRanges(_range(smallest, largest), by_class, bits)
    unit = weight_scale(smallest[:1], exact_bits=bits).weight_unit
    scale = weight_scale(factor * smallest, exact_bits=bits)
    by_class_differs = np.ptp(scale.integers(factor * smallest)) > 0
    return replace(weighing, threshold_scale=scale if by_class_differs else None, weight_unit=unit), None


def _range(smallest: FloatArray, largest: FloatArray) -> WeightRange:
    return WeightRange(float(smallest.min()), float(largest.max()))
