"""The integer problem that the engine and the reference both solve.

In: the user's parameters and real-valued weights. Out: an `Objective` of integers only. Its one idea: weights, class
weights and the leaf penalty become integers once, here, so that costs add up and tie exactly everywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
ScoreFunction = Callable[[FloatArray, FloatArray], Any]

CRITERIA = ("entropy", "gini", "sqrt", "gain_ratio")

# Real weights become integers of at most this many bits: each is off by at most 2**-21 of the largest one, and those
# below that count as 2**-20 of it.
WEIGHT_BITS = 20
# Integers are taken as they are up to this many bits.
EXACT_WEIGHT_BITS = 30
# The total weight stays below 2**52, so that a double holds every count exactly.
TOTAL_BITS = 52
# A fractional leaf penalty is held to 2**-20 of one row's weight where the total leaves room for it.
PENALTY_BITS = 20
# Rows that are handled at once where a copy is made of them: it stays in the cache, and Ctrl-C does not wait long.
PART = 2**18
# Errors and penalties each stay below 2**59 units of cost, their sums far from the limits of 64 bits.
COST_BITS = 59


@dataclass(frozen=True, eq=False)
class FeatureDraw:
    """A draw of features at every node, of those that can split it: the columns of the others are no candidates."""

    n_features: int  # drawn at a node, at least 1
    of_column: NDArray[np.int32]  # (n_columns,), the feature of each
    seed: int  # below 2**64


@dataclass(frozen=True, eq=False)
class Objective:
    """What is to be minimised, and over which candidates.

    The cost of a leaf is `cost_scale` x (weight of the classes it does not predict) + `leaf_penalty`; a row of class c
    weighs `row_weight[row] * class_weight[c]`.
    """

    k: tuple[int, ...]  # candidates per level, root first; one entry per level of depth
    criterion: str | ScoreFunction
    min_samples_leaf: int
    min_weight_leaf: int  # integer weight, >= 1
    class_weight: IntArray  # (n_classes,), all >= 1
    row_weight: IntArray | None  # (n,), rows that weigh 0 take no part; None: every row weighs 1
    weight_unit: float  # what an integer weight of 1 is in the user's weights
    cost_scale: int
    leaf_penalty: int
    distinct_splits: bool = False  # columns that split a node's rows alike count as one candidate
    leaves_break_ties: bool = False  # the penalty only decides between trees of equal errors
    weighted: bool = False  # costs are sums of weights rather than numbers of rows
    draw: FeatureDraw | None = None

    def user_cost(self, cost: int) -> int | float:
        """An integer cost in the user's weights: an int if there are neither weights nor penalties."""
        if self.leaves_break_ties:
            errors = cost // self.cost_scale
            return errors * self.weight_unit if self.weighted else errors
        return cost * self.weight_unit / self.cost_scale if self.weighted or self.leaf_penalty > 0 else cost

    @property
    def depth(self) -> int:
        """Levels of splits allowed."""
        return len(self.k)

    @property
    def n_classes(self) -> int:
        """Number of classes, present in the rows or not."""
        return len(self.class_weight)


@dataclass(frozen=True)
class WeightScale:
    """How real weights become integers: multiples of `unit`, a fraction of 2**exponent, over a common divisor."""

    exponent: int
    unit: float
    common: int = 1

    def integers(self, weights: FloatArray) -> IntArray:
        """Positive weights as integers, never zero."""
        multiples = np.rint(np.ldexp(weights, -self.exponent) / self.unit)
        return np.maximum(multiples, 1).astype(np.int64) // self.common

    @property
    def weight_unit(self) -> float:
        """What an integer weight of 1 is."""
        return math.ldexp(self.unit * self.common, self.exponent)


@dataclass(frozen=True)
class WeightRange:
    """The smallest and the largest of some positive weights, and which units they may be multiples of."""

    smallest: float
    largest: float

    @property
    def exponent(self) -> int:
        """Weights over 2**exponent are in (0, 1], without rounding: nothing overflows from there on."""
        return max(math.frexp(self.largest)[1], -1000)

    def units(self, bits: int, exact_bits: int) -> list[float]:
        """Candidates, the best first: 1, the smallest weight, a power of two; where the integers are small enough."""
        smallest, largest = (float(np.ldexp(w, -self.exponent)) for w in (self.smallest, self.largest))
        units = (math.ldexp(1.0, -self.exponent), smallest, math.ldexp(1.0, -bits))
        return [unit for unit in units if 0.5 * unit <= smallest and largest < 2**exact_bits * unit]

    def divisor(self, weights: FloatArray, unit: float) -> int:
        """The greatest common divisor of the weights as multiples of `unit`; 0 if they are no multiples."""
        multiples = np.ldexp(weights, -self.exponent) / unit
        rounded = np.rint(multiples)
        if np.all(np.abs(multiples - rounded) <= 1e-9 * rounded):
            return int(np.gcd.reduce(rounded.astype(np.int64)))
        return 0

    def scale(self, divisors: Iterable[tuple[float, int]], bits: int) -> WeightScale:
        """By the first unit that the weights are multiples of; else they are rounded to 2**-bits of the largest."""
        for unit, common in divisors:
            if common > 0:
                return WeightScale(self.exponent, unit, common)
        return WeightScale(self.exponent, float(np.ldexp(self.largest, -self.exponent)) / (2**bits - 1))


def exact_weight_bits(n_rows: int) -> int:
    """How many bits the integer weights of so many rows may have, where they are exact."""
    return min(EXACT_WEIGHT_BITS, TOTAL_BITS - n_rows.bit_length())


def weight_scale(weights: FloatArray, bits: int = WEIGHT_BITS, exact_bits: int = EXACT_WEIGHT_BITS) -> WeightScale:
    """The scale of positive weights.

    Exact for integers, for whole multiples of the smallest weight and for dyadic fractions, as long as the integers
    have at most `exact_bits` bits; otherwise rounded to 2**-bits of the largest weight, and never to zero.
    """
    span = WeightRange(float(weights.min()), float(weights.max()))
    return span.scale(((unit, span.divisor(weights, unit)) for unit in span.units(bits, exact_bits)), bits)


def integer_weights(
    weights: FloatArray, bits: int = WEIGHT_BITS, exact_bits: int = EXACT_WEIGHT_BITS
) -> tuple[IntArray, float]:
    """Positive real weights as (integers, unit) with weights ~ integers * unit, by their `weight_scale`."""
    scale = weight_scale(weights, bits, exact_bits)
    return scale.integers(weights), scale.weight_unit


def balanced_class_weight(class_totals: IntArray, bits: int) -> tuple[IntArray, float]:
    """Integers proportional to 1 / class total, and the unit that makes them n / (n_classes * total).

    Exact when the least common multiple of the totals is small enough; classes without weight get 1.
    """
    present = class_totals > 0
    totals = class_totals[present]
    multiple = 1
    for total in totals.tolist():
        multiple = int(np.lcm(multiple, total, dtype=object))
    weights = np.ones(len(class_totals), dtype=np.int64)
    if multiple // int(totals.min()) < 2**bits:
        weights[present] = [multiple // total for total in totals.tolist()]
        unit = int(totals.sum()) / (len(totals) * multiple)
    else:
        weights[present], unit = integer_weights(totals.sum() / (len(totals) * totals), bits)
    return weights, unit


def threshold_weights(
    classes: NDArray[np.int32] | None, class_weight: FloatArray | str | None, sample_weight: FloatArray | None
) -> FloatArray | None:
    """What rows weigh when thresholds are placed: whole numbers, so that no sum depends on the unit. None: alike."""
    weights = np.ones(0) if sample_weight is None else sample_weight
    if classes is not None and class_weight is not None:
        if isinstance(class_weight, str):
            class_weight = inverse_totals(np.bincount(classes, weights=sample_weight).astype(np.float64))
        weights = class_weight[classes] * (1.0 if sample_weight is None else sample_weight)
    elif sample_weight is None:
        return None
    integers, _ = integer_weights(weights, exact_bits=exact_weight_bits(len(weights)))
    return None if np.all(integers == integers[0]) else integers.astype(np.float64)


def inverse_totals(totals: FloatArray) -> FloatArray:
    """Weights of classes that make all of them weigh the same; 1 for those without weight."""
    return np.divide(1.0, totals, out=np.ones_like(totals), where=totals > 0)


def make_objective(
    classes: NDArray[np.int32],
    n_classes: int,
    *,
    sample_weight: FloatArray | None,
    **wishes: Any,
) -> Objective:
    """The `Objective` of rows that are here; all weights are positive. `wishes`: those of `objective_of_totals`."""
    row_weight, unit = None, 1.0
    if sample_weight is not None:
        row_weight, unit = integer_weights(sample_weight, exact_bits=exact_weight_bits(len(sample_weight)))
        if np.all(row_weight == 1):
            row_weight = None
    totals = _class_totals(classes, row_weight, n_classes)
    rows_weigh = row_weight is not None
    return objective_of_totals(totals, len(classes), row_weight=row_weight, rows_weigh=rows_weigh, unit=unit, **wishes)


def objective_of_totals(
    class_totals: IntArray,
    n_rows: int,
    *,
    k: Sequence[int],
    criterion: str | ScoreFunction,
    min_samples_leaf: int,
    min_weight_fraction_leaf: float,
    leaf_penalty: float | str,
    class_weight: FloatArray | str | None,
    row_weight: IntArray | None,
    rows_weigh: bool,
    unit: float,
    distinct_splits: bool = False,
) -> Objective:
    """The `Objective` of rows with these integer weights per class, of `unit` each; the rows may be somewhere else.

    Arguments are validated by the caller. `row_weight`: of the rows, if they are here and differ in weight.
    """
    n_classes = len(class_totals)
    max_leaves = min(2 ** min(len(k), 60), n_rows)
    leaf_bits = max_leaves.bit_length() if leaf_penalty == "tie" else 0
    spare = max(1, TOTAL_BITS - int(class_totals.sum()).bit_length() - leaf_bits)
    class_weight_, class_unit = np.ones(n_classes, dtype=np.int64), 1.0
    if isinstance(class_weight, str):
        class_weight_, class_unit = balanced_class_weight(class_totals, min(spare, WEIGHT_BITS))
    elif class_weight is not None:
        class_weight_, class_unit = integer_weights(class_weight, min(spare, WEIGHT_BITS), exact_bits=spare)
    total = int(class_totals @ class_weight_)
    cost_scale, penalty = _penalty(leaf_penalty, total, max_leaves)
    weight_unit = unit * class_unit
    if not 0 < weight_unit < math.inf:
        raise ValueError(f"sample_weight times class_weight must be finite and > 0, got {weight_unit} as its unit")
    return Objective(
        k=tuple(k),
        criterion=criterion,
        min_samples_leaf=min_samples_leaf,
        min_weight_leaf=max(1, math.ceil(min_weight_fraction_leaf * total)),
        class_weight=class_weight_,
        row_weight=row_weight,
        weight_unit=weight_unit,
        cost_scale=cost_scale,
        leaf_penalty=penalty,
        distinct_splits=distinct_splits,
        leaves_break_ties=leaf_penalty == "tie",
        weighted=rows_weigh or weight_unit != 1 or bool(np.any(class_weight_ != 1)),
    )


def _class_totals(classes: NDArray[np.int32], row_weight: IntArray | None, n_classes: int) -> IntArray:
    totals = np.zeros(n_classes, dtype=np.int64)
    for start in range(0, len(classes), PART):
        part = slice(start, start + PART)
        weights = None if row_weight is None else row_weight[part]
        totals += np.bincount(classes[part], weights=weights, minlength=n_classes).astype(np.int64)
    return totals


def _penalty(leaf_penalty: float | str, total: int, max_leaves: int) -> tuple[int, int]:
    """(cost_scale, leaf_penalty) in integers. With "tie" all leaves together cost less than one unit of error."""
    if isinstance(leaf_penalty, str):
        if (max_leaves + 1) * total >= 2**COST_BITS:
            raise ValueError(f'leaf_penalty="tie" needs smaller weights or max_depth, got a total of {total}')
        return max_leaves + 1, 1
    penalty = leaf_penalty * total
    if penalty == int(penalty):
        return 1, int(penalty)
    bits = min(PENALTY_BITS, COST_BITS - total.bit_length())
    return 2**bits, max(1, round(penalty * 2**bits))
