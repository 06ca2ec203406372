"""What the trees of a forest say of rows that their samples do not have.

In: trees one by one, with the weights of their samples and the leaves of all training rows. Out: mean shares per row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._classifier import TopKTreeClassifier
from .._data.arrays import FloatArray, IntArray


class OutOfBag:
    """Sums over trees; rows and classes are those of the training data, without the rows that have no weight."""

    def __init__(self, n_rows: int, n_classes: int) -> None:
        self._shares = np.zeros((n_rows, n_classes))
        self._n_trees = np.zeros(n_rows, dtype=np.int64)

    def add(self, weight: IntArray, tree: TopKTreeClassifier, leaves: IntArray | NDArray[np.int32]) -> None:
        """A tree whose sample has the rows that weigh something."""
        rows = np.flatnonzero(weight == 0)
        self._shares[rows] += tree.tree_.shares()[leaves[rows]]
        self._n_trees[rows] += 1

    def means(self) -> FloatArray:
        """(n_rows, n_classes): NaN where no tree can judge."""
        means = np.full_like(self._shares, np.nan)
        judged = self._n_trees > 0
        means[judged] = self._shares[judged] / self._n_trees[judged, None]
        return means
