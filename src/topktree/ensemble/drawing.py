"""What the trees of a forest draw: rows, with replacement, and features.

In: training data, the user's wishes and a seed. Out: a `View` per tree. The one idea: rows are drawn in the order of
hashes of their content, each as often as it weighs, so that neither the order of the rows nor whether a row is there
twice or weighs 2 makes a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.packing import hash_rows
from .._data.weights import integer_weights
from .._runtime import checks
from .growing import SharedData, View

# Rows that whole-numbered weights may stand for; weights that are larger are no numbers of rows.
MAX_REPEATED = 2**24


@dataclass(frozen=True, eq=False)
class RowDraw:
    """How the rows of a bootstrap sample are drawn."""

    order: IntArray  # (n,), rows by the hash of their content
    ends: IntArray  # (n,), of each row's range of the numbers that are drawn, in that order
    n_draws: int
    mark: int  # of the rows and their weights, in any order

    def counts(self, random: np.random.RandomState) -> IntArray:
        """How often each row is drawn, (n,)."""
        numbers = random.randint(0, int(self.ends[-1]), size=self.n_draws, dtype=np.int64)
        if self.ends[-1] > len(self.ends):  # rows have more than one number
            numbers = np.searchsorted(self.ends, numbers, side="right")
        counts = np.empty(len(self.order), dtype=np.int64)
        counts[self.order] = np.bincount(numbers, minlength=len(self.order))
        return counts


@dataclass(frozen=True, eq=False)
class Drawing:
    """What every tree of a forest draws. Tree i always draws the same, however many trees there are."""

    seed: int
    rows: RowDraw | None  # None: every tree sees all rows
    weight: FloatArray | None  # of the rows if none are drawn
    n_tree_features: int | None
    n_node_features: int | None
    column_feature: IntArray

    def view(self, i: int) -> View:
        """What tree i sees."""
        _, feature_seed, high, low = self._seeds(i)
        columns, seed = self._columns(feature_seed), high << 32 | low
        if self.rows is None:
            return View(self.weight, None, columns, self.n_node_features, seed)
        return View(None, self.sample(i), columns, self.n_node_features, seed)

    def sample(self, i: int) -> IntArray:
        """How often tree i has each row, if rows are drawn."""
        assert self.rows is not None
        return self.rows.counts(np.random.RandomState(self._seeds(i)[0]))

    def _seeds(self, i: int) -> list[int]:
        return [int(seed) for seed in np.random.SeedSequence([self.seed, i]).generate_state(4)]

    def _columns(self, seed: int) -> NDArray[np.int32] | None:
        """Those of the features that the tree draws, of the ones that have any."""
        if self.n_tree_features is None:
            return None
        features = np.unique(self.column_feature)
        if len(features) <= self.n_tree_features:
            return None
        drawn = np.random.RandomState(seed).choice(features, self.n_tree_features, replace=False)
        return np.flatnonzero(np.isin(self.column_feature, drawn)).astype(np.int32)


def draw_rows(data: SharedData, weights: FloatArray | None, max_samples: int | float | None) -> RowDraw:
    """Rows are drawn by weight: as many as there are, or as whole-numbered weights sum up to."""
    n = len(data.y)
    numbers, n_rows = np.ones(n, dtype=np.int64), n
    if weights is not None and np.all(weights == np.rint(weights)) and weights.sum() <= MAX_REPEATED:
        numbers, n_rows = weights.astype(np.int64), int(weights.sum())
    elif weights is not None:
        numbers = integer_weights(weights)[0]
    hashes = hash_rows(data.rows, data.y)
    order = np.lexsort((numbers, hashes))  # of equal rows the lighter one first
    mark = int((hashes * numbers.astype(np.uint64)).sum(dtype=np.uint64))
    return RowDraw(order, np.cumsum(numbers[order]), n_draws(max_samples, n_rows), mark)


def n_draws(max_samples: int | float | None, n_rows: int) -> int:
    """Rows of a sample."""
    if max_samples is None:
        return n_rows
    return int(max_samples) if checks.is_int(max_samples) else max(1, round(n_rows * max_samples))


def n_features(max_features: Any, n_all: int) -> int | None:
    """Features of a draw; None: all of them, which is no draw."""
    if max_features is None:
        return None
    if isinstance(max_features, str):
        n = int(np.sqrt(n_all)) if max_features == "sqrt" else int(np.log2(n_all))
    else:
        n = int(max_features) if checks.is_int(max_features) else int(max_features * n_all)
    return None if max(1, n) >= n_all else max(1, n)
