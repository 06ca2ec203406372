"""The paper's two hard distributions: Parity with a random coordinate, and the monotone one, Tribes with Majority.

In: `h`, `K` and `eps` as in Theorems 2 and 3 of Blanc et al. (2023). Out: labelled samples, or all 2**d points with
their exact probabilities. The one idea: `eps` is a fraction, so that the probability of every labelled point is a whole
number over one `denominator`, from which samples, weights and accuracies are computed without rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._data.arrays import BoolArray, FloatArray, IntArray
from ._runtime import checks

# exact() returns up to two rows per point: at this size 8 million rows and about 400 megabytes.
MAX_EXACT_FEATURES = 22
# Weights times `denominator` then have at most 30 bits up to K = 1000, so the engine takes them without rounding.
MAX_EPS_DENOMINATOR = 10**6


def parity(h: int, K: int, eps: float) -> HardDistribution:
    """Return the distribution of Theorem 2: h + K - 1 uniform bits, labelled by the parity of the first h.

    The label is the parity of the first `h` features with probability `1 - eps`, else a random one of the other `K - 1`
    features. With an impurity criterion and `h >= 2`, Top-k needs depth `h + K - k`; shallower trees are little better
    than guessing.

    Parameters
    ----------
    h : int >= 1
        Features in the parity.
    K : int >= 2
        One more than the number of other features; with k = K, depth `h` suffices.
    eps : float in (0, 1)
        Share of labels that are a random feature, rounded to the nearest fraction with a denominator up to 10**6.

    Examples
    --------
    >>> from topktree import hard
    >>> X, y, probability = hard.parity(h=2, K=3, eps=0.1).exact()
    >>> X.shape, round(probability.sum(), 9)
    ((28, 4), np.float64(1.0))
    """
    return _make(h, K, eps, monotone=False)


def tribes_majority(h: int, K: int, eps: float) -> HardDistribution:
    """Return the monotone distribution of Theorem 3: uniform bits, Tribes of the first h, Majority of the others.

    The label is `tribes_function` of the first `h` features with probability `1 - eps`, else `majority_function` of the
    other `K - 1`. Parameters are those of `parity`.

    Examples
    --------
    >>> from topktree import hard
    >>> hard.tribes_majority(h=4, K=4, eps=0.25).n_features
    7
    """
    return _make(h, K, eps, monotone=True)


def parity_function(X: BoolArray) -> BoolArray:
    """Return for each row of (n, l) whether an odd number of bits is set.

    Examples
    --------
    >>> import numpy as np
    >>> from topktree import hard
    >>> hard.parity_function(np.array([[1, 0, 0], [1, 1, 0]], dtype=bool)).tolist()
    [True, False]
    """
    return np.asarray(np.logical_xor.reduce(X, axis=1))


def majority_function(X: BoolArray) -> BoolArray:
    """Return for each row of (n, l) whether at least half of the bits are set.

    Examples
    --------
    >>> import numpy as np
    >>> from topktree import hard
    >>> hard.majority_function(np.array([[1, 0, 0], [1, 1, 0]], dtype=bool)).tolist()
    [False, True]
    """
    return np.asarray(2 * np.count_nonzero(X, axis=1) >= X.shape[1])


def tribes_function(X: BoolArray) -> BoolArray:
    """Return for each row of (n, l) whether all bits of some tribe, a block of `tribes_size(l)`, are set.

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
    """Return (width, count) of the tribes of `length` bits; the last `length - width * count` bits are unused.

    The width is the largest w with (1 - 2**-w)**(length / w) <= 1/2. The left side grows with w, and w = 1 always
    satisfies it. A power of an odd number is not a power of two, so equality is impossible for w >= 2.

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
class HardDistribution:
    """Uniform bits x, labelled by a function of the first h with probability 1 - eps, else by the other K - 1.

    `X` is a bool array (n, n_features), `y` an int64 array (n,) of 0 and 1.

    Examples
    --------
    >>> from topktree import hard
    >>> distribution = hard.parity(h=2, K=2, eps=0.1)
    >>> distribution.n_features, distribution.bayes_accuracy
    (3, 0.95)
    >>> X, y, probability = distribution.exact()
    >>> len(X), probability[0]
    (12, np.float64(0.125))
    >>> distribution.fraction, distribution.unit
    (Fraction(1, 10), 10)
    >>> (probability * distribution.denominator).tolist()[:4]
    [10.0, 9.0, 1.0, 1.0]
    >>> distribution.label_probability([[1, 0, 0], [1, 1, 0]]).tolist()
    [0.9, 0.0]
    >>> X, y = distribution.sample(100, random_state=0)
    >>> X.shape, y.shape
    ((100, 3), (100,))
    """

    h: int
    K: int
    eps: float
    monotone: bool = False  # labels by Tribes and Majority instead of by Parity and a random feature

    @property
    def n_features(self) -> int:
        """The number of features, h + K - 1."""
        return self.h + self.K - 1

    @property
    def fraction(self) -> Fraction:
        """The value of `eps` that is used: the nearest fraction with a denominator of at most 10**6."""
        return Fraction(self.eps).limit_denominator(MAX_EPS_DENOMINATOR)

    @property
    def denominator(self) -> int:
        """The common denominator of the probabilities of all labelled points.

        `sample_weight * denominator` are whole numbers, which `TopKTreeClassifier` takes without rounding.
        """
        return self.unit << self.n_features

    @property
    def unit(self) -> int:
        """The common denominator of P(y = 1 | x) for all x."""
        return self.fraction.denominator * (1 if self.monotone else self.K - 1)

    @property
    def bayes_accuracy(self) -> float:
        """The accuracy of the best possible classifier."""
        eps, n_others = self.fraction, self.K - 1
        signal = Fraction(1, 2)  # probability that the function of the first h features is 1
        if self.monotone:
            width, count = tribes_size(self.h)
            signal = 1 - (1 - Fraction(1, 2**width)) ** count
        accuracy = Fraction(0)
        for n_set in range(n_others + 1):
            noise = Fraction(2 * n_set >= n_others) if self.monotone else Fraction(n_set, n_others)
            share = Fraction(math.comb(n_others, n_set), 2**n_others)
            for label, probability in ((0, 1 - signal), (1, signal)):
                p = (1 - eps) * label + eps * noise
                accuracy += share * probability * max(p, 1 - p)
        return float(accuracy)

    def label_probability(self, X: BoolArray) -> FloatArray:
        """Return P(y = 1 | x) for each row."""
        X = np.asarray(X, dtype=bool)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X must have the shape (n, {self.n_features}), got {X.shape}")
        return np.asarray(self._ones(X) / self.unit)

    def sample(self, n: int, random_state: Any = None) -> tuple[BoolArray, IntArray]:
        """Draw `n` independent rows and return X and y."""
        checks.check_int("n", n, 1)
        generator = check_random_state(random_state)
        X = generator.randint(0, 2, size=(n, self.n_features), dtype=bool)
        y = generator.randint(0, self.unit, size=n, dtype=np.int64) < self._ones(X)
        return X, y.astype(np.int64)

    def exact(self) -> tuple[BoolArray, IntArray, FloatArray]:
        """Return X, y and the probability of every labelled point whose probability is not zero."""
        d = self.n_features
        if d > MAX_EXACT_FEATURES:
            allowed = f"d = h + K - 1 <= {MAX_EXACT_FEATURES}"
            raise ValueError(f"exact() lists 2**d points and needs {allowed}, got d={d} (h={self.h}, K={self.K})")
        points = np.empty((2**d, d), dtype=bool)
        for j in range(d):
            points[:, j] = np.arange(2**d) >> (d - 1 - j) & 1
        ones = self._ones(points)
        weights = np.stack([self.unit - ones, ones], axis=1).ravel()
        kept = np.flatnonzero(weights)
        return points[kept // 2], kept % 2, weights[kept] / self.denominator

    def _ones(self, X: BoolArray) -> IntArray:
        """Return P(y = 1 | x) * unit for each row."""
        p, q = self.fraction.as_integer_ratio()
        first, others = X[:, : self.h], X[:, self.h :]
        if self.monotone:
            return np.asarray((q - p) * tribes_function(first) + p * majority_function(others))
        return np.asarray((q - p) * (self.K - 1) * parity_function(first) + p * np.count_nonzero(others, axis=1))


def _make(h: Any, K: Any, eps: Any, monotone: bool) -> HardDistribution:
    checks.check_int("h", h, 1)
    checks.check_int("K", K, 2)
    smallest = 1 / MAX_EPS_DENOMINATOR
    if not checks.is_number(eps) or not smallest <= eps <= 1 - smallest:
        raise ValueError(
            f"eps must be a number in (0, 1), from {smallest:g} to 1 - {smallest:g}, got {checks.short(eps)}"
        )
    return HardDistribution(int(h), int(K), float(eps), monotone)
