"""The paper's two hard distributions: Parity with a random coordinate, and the monotone one, Tribes with Majority.

In: `h`, `K` and `eps` as in Theorems 2 and 3 of Blanc et al. (2023). Out: labelled samples, or all 2**d points with
their exact probabilities. The one idea: `eps` is held as a fraction, so that the probability of every labelled point is
a whole number over one `denominator`, which samples, weights and accuracies are made from.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ._data.arrays import FloatArray, IntArray
from ._runtime import checks

BoolArray = NDArray[np.bool_]

# exact() lists two rows per point: at this size 8 million rows and about 400 megabytes.
MAX_EXACT_FEATURES = 22
# With it, weights times `denominator` stay in the 30 bits that the engine takes as they are, up to K = 1000.
MAX_EPS_DENOMINATOR = 10**6


def parity(h: int, K: int, eps: float) -> HardDistribution:
    """The distribution of Theorem 2: h + K - 1 uniform bits, of which the first h decide by their parity.

    The label is the parity of the first `h` features with probability `1 - eps`, else a random one of the other `K - 1`
    features. With an impurity criterion and `h >= 2`, Top-k needs depth `h + K - k`; above it is little better than
    guessing.

    Parameters
    ----------
    h : int >= 1
        Features in the parity.
    K : int >= 2
        One more than the other features: the k that needs depth `h` only.
    eps : float in (0, 1)
        Share of labels that a random feature gives. Taken as the nearest fraction with a denominator up to 10**6.

    Returns
    -------
    HardDistribution
        With `sample(n, random_state)`, `exact()` and `n_features`.

    Examples
    --------
    >>> from topktree import hard
    >>> distribution = hard.parity(h=2, K=3, eps=0.1)
    >>> X, y, probability = distribution.exact()
    >>> X.shape, round(probability.sum(), 9), distribution.bayes_accuracy
    ((28, 4), np.float64(1.0), 0.95)
    """
    _check(h, K, eps)
    return _Parity(int(h), int(K), float(eps))


def tribes_majority(h: int, K: int, eps: float) -> HardDistribution:
    """The monotone distribution of Theorem 3: h + K - 1 uniform bits, Tribes of the first h, Majority of the others.

    The label is `tribes_function` of the first `h` features with probability `1 - eps`, else `majority_function` of the
    other `K - 1`. Parameters and result are those of `parity`.

    Examples
    --------
    >>> from topktree import hard
    >>> hard.tribes_majority(h=4, K=4, eps=0.25).n_features
    7
    """
    _check(h, K, eps)
    return _TribesMajority(int(h), int(K), float(eps))


def parity_function(X: BoolArray) -> BoolArray:
    """Whether an odd number of bits is set, for each row of (n, l).

    Examples
    --------
    >>> import numpy as np
    >>> from topktree import hard
    >>> hard.parity_function(np.array([[1, 0, 0], [1, 1, 0]], dtype=bool)).tolist()
    [True, False]
    """
    return np.asarray(np.logical_xor.reduce(X, axis=1))


def majority_function(X: BoolArray) -> BoolArray:
    """Whether at least half of the bits are set, for each row of (n, l).

    Examples
    --------
    >>> import numpy as np
    >>> from topktree import hard
    >>> hard.majority_function(np.array([[1, 0, 0], [1, 1, 0]], dtype=bool)).tolist()
    [False, True]
    """
    return np.asarray(2 * np.count_nonzero(X, axis=1) >= X.shape[1])


def tribes_function(X: BoolArray) -> BoolArray:
    """Whether some tribe, one of the `tribes_size(l)` blocks of bits, is all set, for each row of (n, l).

    Examples
    --------
    >>> import numpy as np
    >>> from topktree import hard
    >>> hard.tribes_function(np.array([[1, 1, 0, 0], [1, 0, 0, 1]], dtype=bool)).tolist()
    [True, True]
    """
    width, count = tribes_size(X.shape[1])
    tribes = X[:, : width * count].reshape(len(X), count, width)
    return np.asarray(np.any(np.all(tribes, axis=2), axis=1))


def tribes_size(length: int) -> tuple[int, int]:
    """(width, count) of the tribes of that many bits; the `length - width * count` last bits are unused.

    The width is the largest w with (1 - 2**-w)**(length / w) <= 1/2. That gets harder to meet as w grows, and w = 1
    always meets it; an odd number's power is no power of two, so there are no ties for w >= 2.

    Examples
    --------
    >>> from topktree import hard
    >>> hard.tribes_size(4), hard.tribes_size(10)
    ((1, 4), (2, 5))
    """
    width = 1
    while -length * math.log1p(-(2.0 ** -(width + 1))) >= (width + 1) * math.log(2.0):
        width += 1
    return width, length // width


@dataclass(frozen=True)
class HardDistribution(ABC):
    """Uniform bits x, labelled by a function of the first h with probability 1 - eps, else by the other K - 1.

    `X` is a bool array (n, n_features), `y` an int64 array (n,) of 0 and 1.

    Examples
    --------
    >>> from topktree import hard
    >>> hard.parity(h=3, K=2, eps=0.1).n_features
    4
    """

    h: int
    K: int
    eps: float

    @property
    def n_features(self) -> int:
        """Number of features, h + K - 1.

        Examples
        --------
        >>> from topktree import hard
        >>> hard.parity(h=3, K=2, eps=0.1).n_features
        4
        """
        return self.h + self.K - 1

    @property
    def fraction(self) -> Fraction:
        """The value of `eps` that is used: the nearest fraction with a denominator of at most 10**6.

        Examples
        --------
        >>> from topktree import hard
        >>> hard.parity(h=3, K=2, eps=0.1).fraction
        Fraction(1, 10)
        """
        return Fraction(self.eps).limit_denominator(MAX_EPS_DENOMINATOR)

    @property
    def denominator(self) -> int:
        """The probability of every labelled point is a whole number over this one.

        `sample_weight * denominator` are therefore whole numbers, which `TopKTreeClassifier` takes without rounding.

        Examples
        --------
        >>> from topktree import hard
        >>> distribution = hard.parity(h=2, K=2, eps=0.1)
        >>> X, y, probability = distribution.exact()
        >>> (probability * distribution.denominator).tolist()[:4]
        [10.0, 9.0, 1.0, 1.0]
        """
        return self.unit << self.n_features

    @property
    @abstractmethod
    def unit(self) -> int:
        """P(y = 1 | x) is a whole number over this one.

        Examples
        --------
        >>> from topktree import hard
        >>> hard.parity(h=3, K=2, eps=0.1).unit
        10
        """

    @abstractmethod
    def _ones(self, X: BoolArray) -> IntArray:
        """P(y = 1 | x) * unit."""

    @abstractmethod
    def _signal(self) -> Fraction:
        """Probability that the function of the first h features is 1."""

    @abstractmethod
    def _noise(self) -> list[tuple[Fraction, Fraction]]:
        """What the other features make of the label: pairs of a probability and P(label = 1)."""

    @property
    def bayes_accuracy(self) -> float:
        """The accuracy of the best classifier there is.

        Examples
        --------
        >>> from topktree import hard
        >>> hard.parity(h=3, K=2, eps=0.1).bayes_accuracy
        0.95
        """
        eps = self.fraction
        accuracy = Fraction(0)
        for label, share in ((0, 1 - self._signal()), (1, self._signal())):
            for probability, ones in self._noise():
                p = (1 - eps) * label + eps * ones
                accuracy += share * probability * max(p, 1 - p)
        return float(accuracy)

    def label_probability(self, X: BoolArray) -> FloatArray:
        """P(y = 1 | x) for each row.

        Examples
        --------
        >>> from topktree import hard
        >>> hard.parity(h=2, K=2, eps=0.1).label_probability([[1, 0, 0], [1, 1, 0]]).tolist()
        [0.9, 0.0]
        """
        X = np.asarray(X, dtype=bool)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X must have the shape (n, {self.n_features}), got {X.shape}")
        return np.asarray(self._ones(X) / self.unit)

    def sample(self, n: int, random_state: Any = None) -> tuple[BoolArray, IntArray]:
        """`n` independent draws: X, y.

        Examples
        --------
        >>> from topktree import hard
        >>> X, y = hard.parity(h=2, K=2, eps=0.1).sample(100, random_state=0)
        >>> X.shape, y.shape
        ((100, 3), (100,))
        """
        checks.check_int("n", n, 1)
        generator = check_random_state(random_state)
        X = generator.randint(0, 2, size=(n, self.n_features), dtype=bool)
        y = generator.randint(0, self.unit, size=n, dtype=np.int64) < self._ones(X)
        return X, y.astype(np.int64)

    def exact(self) -> tuple[BoolArray, IntArray, FloatArray]:
        """All points, each with both labels unless one has probability zero: X, y and their probabilities.

        Examples
        --------
        >>> from topktree import hard
        >>> X, y, probability = hard.parity(h=2, K=2, eps=0.1).exact()
        >>> len(X), probability[0]
        (12, np.float64(0.125))
        """
        d = self.n_features
        if d > MAX_EXACT_FEATURES:
            raise ValueError(
                f"exact() lists 2**d points and needs d = h + K - 1 <= {MAX_EXACT_FEATURES}, "
                f"got d={d} (h={self.h}, K={self.K})"
            )
        points = np.empty((2**d, d), dtype=bool)
        for j in range(d):
            points[:, j] = np.arange(2**d) >> (d - 1 - j) & 1
        ones = self._ones(points)
        weights = np.stack([self.unit - ones, ones], axis=1).ravel()
        kept = np.flatnonzero(weights)
        return points[kept // 2], kept % 2, weights[kept] / self.denominator


class _Parity(HardDistribution):
    @property
    def unit(self) -> int:
        """The denominator of eps for each feature that may give the label."""
        return self.fraction.denominator * (self.K - 1)

    def _ones(self, X: BoolArray) -> IntArray:
        p, q = self.fraction.as_integer_ratio()
        signal = parity_function(X[:, : self.h]).astype(np.int64)
        return np.asarray((q - p) * (self.K - 1) * signal + p * np.count_nonzero(X[:, self.h :], axis=1))

    def _signal(self) -> Fraction:
        return Fraction(1, 2)

    def _noise(self) -> list[tuple[Fraction, Fraction]]:
        m = self.K - 1
        return [(Fraction(math.comb(m, c), 2**m), Fraction(c, m)) for c in range(m + 1)]


class _TribesMajority(HardDistribution):
    @property
    def unit(self) -> int:
        """The denominator of eps."""
        return self.fraction.denominator

    def _ones(self, X: BoolArray) -> IntArray:
        p, q = self.fraction.as_integer_ratio()
        signal = tribes_function(X[:, : self.h]).astype(np.int64)
        return np.asarray((q - p) * signal + p * majority_function(X[:, self.h :]))

    def _signal(self) -> Fraction:
        width, count = tribes_size(self.h)
        return 1 - (1 - Fraction(1, 2**width)) ** count

    def _noise(self) -> list[tuple[Fraction, Fraction]]:
        m = self.K - 1
        one = Fraction(sum(math.comb(m, c) for c in range((m + 1) // 2, m + 1)), 2**m)
        return [(1 - one, Fraction(0)), (one, Fraction(1))]


def _check(h: Any, K: Any, eps: Any) -> None:
    checks.check_int("h", h, 1)
    checks.check_int("K", K, 2)
    smallest = 1 / MAX_EPS_DENOMINATOR
    if not checks.is_number(eps) or not smallest <= eps <= 1 - smallest:
        raise ValueError(f"eps must be a number in (0, 1), from {smallest:g} to 1 - {smallest:g}, got {eps!r}")
