"""The samples of a forest: the rows that each tree draws, with replacement, and the features.

In: training data, parameters and a seed. Out: a `View` per tree. The one idea: rows are drawn in the order of hashes of
their content, each as often as it weighs, so that neither the order of the rows nor whether a row is there twice or
weighs 2 makes a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.columns import hash_rows, packed
from .._data.training import TrainingData
from .._data.weights import integer_weights
from .._runtime import checks
from .member import View

# Whole-numbered weights count as repeated rows up to this sum; larger weights are not numbers of rows.
MAX_REPEATED = 2**24


@dataclass(frozen=True, eq=False)
class RowSampler:
    """A sampler of rows, with replacement."""

    order: IntArray  # (n,), rows by the hash of their content
    ends: IntArray  # (n,), the end of each row's range of the numbers that are drawn, in that order
    n_draws: int

    def counts(self, random: np.random.RandomState) -> IntArray:
        """Draw a sample and return how often it has each row, (n,)."""
        numbers = random.randint(0, int(self.ends[-1]), size=self.n_draws, dtype=np.int64)
        if self.ends[-1] > len(self.ends):  # rows have more than one number
            numbers = np.searchsorted(self.ends, numbers, side="right")
        counts = np.empty(len(self.order), dtype=np.int64)
        counts[self.order] = np.bincount(numbers, minlength=len(self.order))
        return counts


@dataclass(frozen=True, eq=False)
class Sampler:
    """The draws of all trees of a forest. Tree i always draws the same, however many trees there are."""

    seed: int
    rows: RowSampler | None  # None: every tree sees all rows
    weight: FloatArray | None  # of the rows if none are drawn
    n_tree_features: int | None
    n_node_features: int | None
    column_feature: IntArray

    def view(self, i: int) -> View:
        """Return the view of tree i."""
        _, feature_seed, high, low = self._seeds(i)
        columns, seed = self._columns(feature_seed), high << 32 | low
        if self.rows is None:
            return View(self.weight, None, columns, self.n_node_features, seed)
        return View(None, self.counts(i), columns, self.n_node_features, seed)

    def counts(self, i: int) -> IntArray:
        """Return how often the sample of tree i has each row, if rows are drawn."""
        assert self.rows is not None
        return self.rows.counts(np.random.RandomState(self._seeds(i)[0]))

    def _seeds(self, i: int) -> list[int]:
        return [int(seed) for seed in np.random.SeedSequence([self.seed, i]).generate_state(4)]

    def _columns(self, seed: int) -> NDArray[np.int32] | None:
        """Return the columns of the features that the tree draws, out of those that have any."""
        if self.n_tree_features is None:
            return None
        features = np.unique(self.column_feature)
        if len(features) <= self.n_tree_features:
            return None
        drawn = np.random.RandomState(seed).choice(features, self.n_tree_features, replace=False)
        return np.flatnonzero(np.isin(self.column_feature, drawn)).astype(np.int32)


def row_sampler(data: TrainingData, max_samples: int | float | None) -> RowSampler:
    """Return a sampler by weight: of as many rows as there are, or as whole-numbered weights sum up to."""
    n, weights = len(data.y), data.sample_weight
    numbers, n_rows = np.ones(n, dtype=np.int64), n
    if weights is not None and np.all(weights == np.rint(weights)) and weights.sum() <= MAX_REPEATED:
        numbers, n_rows = weights.astype(np.int64), int(weights.sum())
    elif weights is not None:
        numbers = integer_weights(weights)[0]
    hashes = hash_rows(packed(data.rows), data.y)
    order = np.lexsort((numbers, hashes))  # among equal rows the lighter one first
    return RowSampler(order, np.cumsum(numbers[order]), _n_draws(max_samples, n_rows))


def count_features(max_features: Any, n_all: int) -> int | None:
    """Return how many features are drawn; None: all of them, which is no draw."""
    if max_features is None:
        return None
    if isinstance(max_features, str):
        n = int(np.sqrt(n_all)) if max_features == "sqrt" else int(np.log2(n_all))
    else:
        n = int(max_features) if checks.is_int(max_features) else int(max_features * n_all)
    return None if max(1, n) >= n_all else max(1, n)


def check_samples(name: str, value: Any, most: int | None = None) -> None:
    """Require an int >= 1, a fraction in (0, 1], or None; an int of at most `most` if that is known."""
    if checks.is_int(value):
        good = value >= 1 and (most is None or value <= most)
    else:
        good = value is None or (checks.is_number(value) and 0 < value <= 1)
    if not good:
        allowed = f"an int >= 1{'' if most is None else f' and at most {most}'}, a fraction in (0, 1] or None"
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


def check_max_features(name: str, value: Any, n_features: int | None = None) -> None:
    """Require an int >= 1, a fraction, "sqrt", "log2" or None; at most the number of features if that is known."""
    most = "" if n_features is None else f" and at most the number of features, {n_features}"
    if isinstance(value, str):
        good = value in ("sqrt", "log2")
    elif checks.is_int(value):
        good = value >= 1 and (n_features is None or value <= n_features)
    else:
        good = value is None or (checks.is_number(value) and 0 < value <= 1)
    if not good:
        allowed = f'"sqrt", "log2", an int >= 1{most}, a fraction in (0, 1] or None'
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


def _n_draws(max_samples: int | float | None, n_rows: int) -> int:
    if max_samples is None:
        return n_rows
    return int(max_samples) if checks.is_int(max_samples) else max(1, round(n_rows * max_samples))
