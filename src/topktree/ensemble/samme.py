"""The arithmetic of SAMME (Zhu et al., 2009): errors, votes and weights, round by round.

In: which rows a tree misclassifies. Out: its vote, and the weights of the next round. The one idea: weights are kept as
logarithms, so that no number of rounds makes one of them infinite, zero or NaN.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.weights import EXACT_WEIGHT_BITS

# In a search every row counts as at least 2**-(RANGE_BITS + 1) of the heaviest one.
RANGE_BITS = 20
# Binary digits of a weight in a search.
DIGITS = 3
# Integer weights below this count as repeated rows: multiplied by the factors of boosting, they are exact in a search.
MANY = 2 ** (EXACT_WEIGHT_BITS - RANGE_BITS - DIGITS)
# Relative rounding errors of sums of weights are below this.
ROUNDING = 1e-9
# The lowest logarithm of a weight, relative to the heaviest one: its exponential is still > 0.
LOWEST_LOGARITHM = -700.0
# The range of votes, whatever the learning rate: their sums are finite and > 0.
LEAST_VOTE, MOST_VOTE = 1e-300, 1e300


class RowWeights:
    """The weights of the rows: those of the user, times the factors of boosting."""

    def __init__(self, initial: FloatArray) -> None:
        self._logarithms = np.log(initial)

    def values(self) -> FloatArray:
        """Return the weights, all > 0, with a sum of 1."""
        relative = np.exp(np.maximum(self._logarithms - self._logarithms.max(), LOWEST_LOGARITHM))
        return np.asarray(relative / relative.sum())

    def raise_where(self, wrong: NDArray[np.bool_], vote: float) -> None:
        """Make the rows that a tree misclassifies heavier, by its vote."""
        self._logarithms[wrong] += vote


def error_rate(weights: FloatArray, wrong: NDArray[np.bool_]) -> float:
    """Return the share of the weight that is misclassified; exactly 0 if no row is."""
    return float(weights[wrong].sum() / weights.sum())


def is_useless(error: float, n_classes: int) -> bool:
    """Tell whether a tree is no better than chance, except for rounding."""
    return error >= (1 - 1 / n_classes) * (1 - ROUNDING)


def vote_of(error: float, n_classes: int, learning_rate: float) -> float:
    """Return the weight of a tree's vote: > 0 if the tree is better than chance and not perfect."""
    vote = float(learning_rate) * (math.log1p(-error) - math.log(error) + math.log(n_classes - 1))
    return min(max(vote, LEAST_VOTE), MOST_VOTE)


def search_weights(weights: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
    """Return the weights for a search: rounded to few digits, or the user's repetitions times factors of few digits."""
    if sample_weight is None or sample_weight.max() >= MANY or np.any(sample_weight != np.floor(sample_weight)):
        return few_digits(weights)
    return sample_weight * few_digits(weights / sample_weight)


def few_digits(weights: FloatArray) -> FloatArray:
    """Return weights as integers of `DIGITS` binary digits followed by zeros, so that a search rarely copies a row.

    A weight halfway between two of them, up to the last bits of a logarithm, is always rounded up.
    """
    fraction, exponent = np.frexp(weights / weights.max())
    digits = np.floor(np.ldexp(fraction, DIGITS) + (0.5 + ROUNDING))
    return np.asarray(np.maximum(np.ldexp(digits, exponent + RANGE_BITS), 2.0 ** (DIGITS - 1)))


def add_vote(decision: FloatArray, predicted: IntArray, vote: float) -> None:
    """Add a tree's vote to the decision function (n, n_classes): for its class, and a little against all others."""
    n_classes = decision.shape[1]
    decision += np.where(np.arange(n_classes) == predicted[:, None], vote, -1 / (n_classes - 1) * vote)


def shares_of(decision: FloatArray) -> FloatArray:
    """Return SAMME's class probabilities for decisions (n, n_classes) that are divided by the sum of the votes."""
    n_classes = decision.shape[1]
    exponents = decision / (n_classes - 1)
    shares = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
