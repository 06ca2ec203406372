"""Real weights as integers, so that sums of weights are exact and ties are ties.

In: positive weights of rows or classes. Out: integers and the unit that one of them stands for. The one idea: where all
weights are multiples of one unit the integers are exact; otherwise they are rounded to a fraction of the largest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrays import FloatArray, IntArray

# Rounded weights are integers of at most this many bits: each is off by at most 2**-21 of the largest weight, and
# smaller weights than that count as 2**-20 of it.
WEIGHT_BITS = 20
# Exact integer weights have at most this many bits.
EXACT_WEIGHT_BITS = 30
# The total weight stays below 2**52, so that a double holds every count exactly.
TOTAL_BITS = 52


@dataclass(frozen=True)
class WeightScale:
    """A rule that turns weights into integers: multiples of `unit` * 2**exponent, divided by `common`."""

    exponent: int
    unit: float
    common: int = 1

    def integers(self, weights: FloatArray) -> IntArray:
        """Return positive weights as integers, none of them zero."""
        multiples = np.rint(np.ldexp(weights, -self.exponent) / self.unit)
        return np.maximum(multiples, 1).astype(np.int64) // self.common

    @property
    def weight_unit(self) -> float:
        """The weight that the integer 1 stands for."""
        return math.ldexp(self.unit * self.common, self.exponent)


@dataclass(frozen=True)
class WeightRange:
    """The smallest and the largest of some positive weights, which decide the units that are tried."""

    smallest: float
    largest: float

    @property
    def exponent(self) -> int:
        """The power of two that scales the weights to (0, 1] without rounding, so that nothing overflows."""
        return max(math.frexp(self.largest)[1], -1000)

    def units(self, bits: int, exact_bits: int) -> list[float]:
        """Return the units to try in order: 1, the smallest weight, a power of two; without those that are too fine."""
        smallest, largest = (float(np.ldexp(w, -self.exponent)) for w in (self.smallest, self.largest))
        units = (math.ldexp(1.0, -self.exponent), smallest, math.ldexp(1.0, -bits))
        return [unit for unit in units if 0.5 * unit <= smallest and largest < 2**exact_bits * unit]

    def divisor(self, weights: FloatArray, unit: float) -> int:
        """Return the greatest common divisor of the weights in multiples of `unit`; 0 if some are not multiples."""
        multiples = np.ldexp(weights, -self.exponent) / unit
        rounded = np.rint(multiples)
        if np.all(np.abs(multiples - rounded) <= 1e-9 * rounded):
            return int(np.gcd.reduce(rounded.astype(np.int64)))
        return 0

    def scale(self, divisors: Iterable[tuple[float, int]], bits: int) -> WeightScale:
        """Return the scale of the first unit with a divisor; without one, round to 2**-bits of the largest weight."""
        for unit, common in divisors:
            if common > 0:
                return WeightScale(self.exponent, unit, common)
        return WeightScale(self.exponent, float(np.ldexp(self.largest, -self.exponent)) / (2**bits - 1))


def exact_weight_bits(n_rows: int) -> int:
    """Return how many bits exact integer weights may have, so that the total of the rows stays below 2**52."""
    return min(EXACT_WEIGHT_BITS, TOTAL_BITS - n_rows.bit_length())


def weight_scale(weights: FloatArray, bits: int = WEIGHT_BITS, exact_bits: int = EXACT_WEIGHT_BITS) -> WeightScale:
    """Return the scale of positive weights.

    It is exact for integers, for multiples of the smallest weight and for dyadic fractions, as long as the integers
    have at most `exact_bits` bits. Otherwise weights are rounded to 2**-bits of the largest, but never to zero.
    """
    span = WeightRange(float(weights.min()), float(weights.max()))
    return span.scale(((unit, span.divisor(weights, unit)) for unit in span.units(bits, exact_bits)), bits)


def integer_weights(
    weights: FloatArray, bits: int = WEIGHT_BITS, exact_bits: int = EXACT_WEIGHT_BITS
) -> tuple[IntArray, float]:
    """Return (integers, unit) for positive weights, by their `weight_scale`: weights are about integers * unit."""
    scale = weight_scale(weights, bits, exact_bits)
    return scale.integers(weights), scale.weight_unit


def balanced_class_weight(class_totals: IntArray, bits: int) -> tuple[IntArray, float]:
    """Return integers proportional to 1 / class total, and the unit that makes them n / (n_classes * total).

    They are exact if the least common multiple of the totals is small enough. Classes without weight get 1.
    """
    present = class_totals > 0
    totals = class_totals[present]
    multiple = math.lcm(*totals.tolist())
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
    """Return the row weights for placing thresholds, as whole numbers so that no sum is rounded; None: all equal."""
    weights = sample_weight
    if classes is not None and class_weight is not None:
        if isinstance(class_weight, str):
            class_weight = inverse_totals(np.bincount(classes, weights=sample_weight).astype(np.float64))
        weights = class_weight[classes] * (1.0 if sample_weight is None else sample_weight)
    if weights is None:
        return None
    integers, _ = integer_weights(weights, exact_bits=exact_weight_bits(len(weights)))
    return None if np.all(integers == integers[0]) else integers.astype(np.float64)


def inverse_totals(totals: FloatArray) -> FloatArray:
    """Return the class weights that give every class the same total; 1 for classes without weight."""
    return np.divide(1.0, totals, out=np.ones_like(totals), where=totals > 0)
