"""The arithmetic of SAMME (Zhu et al., 2009): errors, votes and weights, round by round.

In: which rows a tree gets wrong. Out: its vote, and the weights of the next round. The one idea: weights are kept as
logarithms, so that no number of rounds makes one of them infinite, zero or NaN.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.weights import EXACT_WEIGHT_BITS

# In a search the lightest rows count as 2**-(RANGE_BITS + 1) of the heaviest one, at least.
RANGE_BITS = 20
# Binary digits of a weight in a search.
DIGITS = 3
# Whole numbers below this count as repetitions of a row: times what boosting makes of them, they are exact in a search.
MANY = 2 ** (EXACT_WEIGHT_BITS - RANGE_BITS - DIGITS)
# What sums of weights may be off by.
ROUNDING = 1e-9
# Of a weight's logarithm below that of the heaviest one: what exp makes of it is > 0.
LOWEST_LOGARITHM = -700.0
# What votes may be, whatever the learning rate: their sums are finite and > 0.
LEAST_VOTE, MOST_VOTE = 1e-300, 1e300


class Weights:
    """Weights of the rows: those of the user, times what boosting makes of them."""

    def __init__(self, initial: FloatArray) -> None:
        self._logarithms = np.log(initial)

    def values(self) -> FloatArray:
        """All > 0, with a sum of 1."""
        relative = np.exp(np.maximum(self._logarithms - self._logarithms.max(), LOWEST_LOGARITHM))
        return np.asarray(relative / relative.sum())

    def raise_where(self, wrong: NDArray[np.bool_], vote: float) -> None:
        """Make the rows that a tree gets wrong heavier, by its vote."""
        self._logarithms[wrong] += vote


def error_rate(weights: FloatArray, wrong: NDArray[np.bool_]) -> float:
    """Share of the weight of the rows that are wrong: 0 if there are none."""
    return float(weights[wrong].sum() / weights.sum()) if wrong.any() else 0.0


def is_useless(error: float, n_classes: int) -> bool:
    """Whether a tree is no better than chance, but for rounding."""
    return error >= (1 - 1 / n_classes) * (1 - ROUNDING)


def vote_of(error: float, n_classes: int, learning_rate: float) -> float:
    """The weight of a tree's vote: > 0 for the errors of trees that are of use and not perfect."""
    vote = float(learning_rate) * (math.log1p(-error) - math.log(error) + math.log(n_classes - 1))
    return min(max(vote, LEAST_VOTE), MOST_VOTE)


def search_weights(weights: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
    """What rows weigh in a search: few digits, or so many times as often as the user says."""
    if sample_weight is None or not counts_rows(sample_weight):
        return few_digits(weights)
    return sample_weight * few_digits(weights / sample_weight)


def counts_rows(sample_weight: FloatArray) -> bool:
    """Whether positive weights are numbers of repetitions, and not too large ones."""
    return bool(sample_weight.max() < MANY) and bool(np.all(sample_weight == np.floor(sample_weight)))


def few_digits(weights: FloatArray) -> FloatArray:
    """Weights as whole numbers of `DIGITS` binary digits, and zeros after them: so a search has few copies of a row.

    What is halfway between two of them, but for the last bits of a logarithm, is always rounded up.
    """
    fraction, exponent = np.frexp(weights / weights.max())
    digits = np.floor(np.ldexp(fraction, DIGITS) + (0.5 + ROUNDING))
    return np.asarray(np.maximum(np.ldexp(digits, exponent + RANGE_BITS), 2.0 ** (DIGITS - 1)))


def add_vote(decision: FloatArray, predicted: IntArray, vote: float) -> None:
    """Add a tree's vote to the decision function (n, n_classes): for its class, and a little against all others."""
    n_classes = decision.shape[1]
    decision += np.where(np.arange(n_classes) == predicted[:, None], vote, -1 / (n_classes - 1) * vote)


def shares_of(decision: FloatArray) -> FloatArray:
    """Class probabilities of decisions (n, n_classes) that are divided by the sum of the votes, as SAMME has them."""
    n_classes = decision.shape[1]
    exponents = decision / (n_classes - 1)
    shares = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
