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
from .._data.labels import check_mask, number_labels, read_labels, read_weights, warn_about_regression
from .._data.thresholds import MAX_CLASSES, Target, merge_rare
from .._data.training import check_classes, class_weights
from .._data.weights import WEIGHT_BITS, WeightRange, WeightScale, exact_weight_bits, inverse_totals
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
    ones, weighs = np.ones(len(indices), dtype=np.int64), weights > 0
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


def _read(y: Any, sample_weight: ArrayLike | None) -> tuple[NDArray[Any], NDArray[np.int32], FloatArray]:
    """Return the distinct labels of a part, the index of each row's label among them, and the weights."""
    labels = read_labels(y)
    check_mask("sample_weight", sample_weight)
    weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
    # scikit-learn refuses weights that are all zero, but other parts may have weight.
    if weights.shape != (len(labels),) or weights.dtype.kind not in "biuf" or weights.any():
        weights = np.asarray(read_weights(weights, len(labels)))
    return *number_labels(labels, len(labels)), weights.astype(np.float64)


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
    """The rules by which the rows of every part are numbered and weighed.

    There are two kinds of weights: those of the objective, and those for placing thresholds, which include the weights
    of the classes. Both become integers by scales that depend on the common divisors of the weights of all rows.
    """

    classes: NDArray[Any]
    class_weight: FloatArray | str | None  # for the objective
    present: BoolArray  # classes whose rows have weight
    n_rows: int  # with weight
    n_left_out: int  # without weight
    threshold_class_weight: FloatArray | None
    ranges: tuple[WeightRange, WeightRange]  # of both kinds
    boundary_class: NDArray[np.int32] | None  # index of each class for placing thresholds; None: its own
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
        classes, weights, keeps = self._number(y, sample_weight)
        left_out = classes[~keeps]
        classes, weights = classes[keeps], weights[keeps]
        threshold_weight = None
        if self.threshold_scale is not None:
            threshold_weight = self.threshold_scale.integers(self._by_class(classes, weights)).astype(np.float64)
        return RowTarget(
            classes,
            None if self.row_scale is None else self.row_scale.integers(weights),
            threshold_weight,
            None if keeps.all() else keeps,
            left_out,
        )

    def boundary_target(self, classes: NDArray[np.int32]) -> Target:
        """Return the classes of rows for placing thresholds, as `Target.of_rows` does where all rows are."""
        if self.boundary_class is None:
            return Target(classes, len(self.classes))
        return Target(self.boundary_class[classes], MAX_CLASSES)

    def part_divisors(self, y: Any, sample_weight: ArrayLike | None) -> IntArray | None:
        """Return the common divisors of a part's weights, see `divisors`; None if it has no weight."""
        if len(y) == 0:
            return None
        classes, weights, keeps = self._number(y, sample_weight)
        return self.divisors(weights[keeps], self._by_class(classes[keeps], weights[keeps])) if keeps.any() else None

    def divisors(self, *kinds: FloatArray) -> IntArray:
        """Return the common divisor of both kinds of weights for every unit of their ranges."""
        pairs = zip(self.ranges, kinds, strict=True)
        divisors = [span.divisor(weights, unit) for span, weights in pairs for unit in self._units(span)]
        return np.array(divisors, dtype=np.int64)

    def finish(self, divisors: IntArray) -> Weighing:
        """Return the weighing with the scales that follow from the divisors of all rows."""
        n_row_units = len(self._units(self.ranges[0]))
        row_scale, _, largest = self._scale(self.ranges[0], divisors[:n_row_units])
        threshold_scale, lightest, heaviest = self._scale(self.ranges[1], divisors[n_row_units:])
        return replace(
            self,
            row_scale=row_scale if largest > 1 else None,
            threshold_scale=threshold_scale if lightest < heaviest else None,
            weight_unit=row_scale.weight_unit,
        )

    def _units(self, span: WeightRange) -> list[float]:
        return span.units(WEIGHT_BITS, exact_weight_bits(self.n_rows))

    def _scale(self, span: WeightRange, divisors: IntArray) -> tuple[WeightScale, int, int]:
        """Return the scale, and the smallest and the largest integer weight."""
        scale = span.scale(zip(self._units(span), divisors.tolist(), strict=True), WEIGHT_BITS)
        smallest, largest = scale.integers(np.array([span.smallest, span.largest])).tolist()
        return scale, smallest, largest

    def _number(self, y: Any, sample_weight: ArrayLike | None) -> tuple[NDArray[np.int32], FloatArray, BoolArray]:
        """Return the classes and weights of the rows of one part, and which rows have weight."""
        labels, indices, weights = _read(y, sample_weight)
        classes = np.searchsorted(self.classes, labels).astype(np.int32)[indices]
        return classes, weights, self.present[classes] & (weights > 0)

    def _by_class(self, classes: NDArray[np.int32], weights: FloatArray) -> FloatArray:
        """Return the weights of rows for placing thresholds, as real numbers."""
        return weights if self.threshold_class_weight is None else self.threshold_class_weight[classes] * weights


def merge_divisors(parts: Sequence[IntArray | None]) -> IntArray | None:
    """Return the common divisors of the rows of all parts: zero for a unit if some part has no multiples of it."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    return np.where(np.any(np.equal(present, 0), axis=0), 0, np.gcd.reduce(present, axis=0))


def start_weighing(summary: TargetSummary | None, class_weight: Any) -> tuple[Weighing, IntArray | None]:
    """Return the weighing, and the divisors that its `finish` needs; None if the parts must be asked for them."""
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
    warn_about_regression(summary.labels, int(summary.n_rows.sum()))
    n_rows = int(summary.n_weighing[weighs].sum())
    n_left_out = int(summary.n_rows.sum()) - n_rows
    for_thresholds = weights
    if isinstance(for_thresholds, str):
        for_thresholds = inverse_totals(np.where(weighs, summary.weight, 0.0))
    smallest, largest = summary.smallest[weighs], summary.largest[weighs]
    factor = 1.0 if for_thresholds is None else for_thresholds[weighs]
    ranges = _range(smallest, largest), _range(factor * smallest, factor * largest)
    boundary_class = merge_rare(summary.n_weighing * weighs) if len(weighs) > MAX_CLASSES else None
    weighing = Weighing(summary.labels, weights, weighs, n_rows, n_left_out, for_thresholds, ranges, boundary_class)
    is_constant = smallest.min() == largest.max()
    return weighing, weighing.divisors(smallest, factor * smallest) if is_constant else None


def _range(smallest: FloatArray, largest: FloatArray) -> WeightRange:
    return WeightRange(float(smallest.min()), float(largest.max()))
