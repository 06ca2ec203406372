"""A finished tree: flat arrays in raw units, and what can be computed from them alone.

Named and numbered as scikit-learn's `Tree`: nodes in preorder. Rows are encoded as `table` does: NaN is missing, a
category is its index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray

TREE_LEAF = -1
TREE_UNDEFINED = -2


@dataclass(frozen=True, eq=False)
class Tree:
    """All arrays have one entry per node and are not to be written to.

    A row goes left if `X[row, feature] <= threshold`, and where a category is tested unless it is that of the row. A
    threshold of infinity parts the missing values, right, from all others.
    """

    children_left: IntArray  # TREE_LEAF at a leaf
    children_right: IntArray
    feature: IntArray  # TREE_UNDEFINED at a leaf
    threshold: FloatArray  # TREE_UNDEFINED at a leaf and where a category is tested
    category: IntArray  # index of the category that goes right; TREE_UNDEFINED where none is tested
    missing_go_to_left: NDArray[np.bool_]  # where a missing value goes; false at a leaf
    value: FloatArray  # (node_count, n_classes): weight of the training rows of each class
    impurity: FloatArray
    n_node_samples: IntArray  # training rows
    weighted_n_node_samples: FloatArray

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.children_left == TREE_LEAF))

    @property
    def max_depth(self) -> int:
        """Splits on the longest path."""
        return int(self.node_depths().max())

    def node_depths(self) -> IntArray:
        """Splits above each node."""
        depths = np.zeros(self.node_count, dtype=np.int64)
        for node in np.flatnonzero(self.children_left != TREE_LEAF):  # preorder: parents come first
            depths[[self.children_left[node], self.children_right[node]]] = depths[node] + 1
        return depths

    def apply(self, X: NDArray[Any]) -> IntArray:
        """The leaf of each row of `X` (n, n_features)."""
        leaves = np.zeros(len(X), dtype=np.int64)
        todo = [(0, np.arange(len(X)))]
        while todo:
            node, rows = todo.pop()
            if self.children_left[node] == TREE_LEAF:
                leaves[rows] = node
                continue
            left = self.goes_left(node, X[rows, self.feature[node]])
            todo.append((int(self.children_left[node]), rows[left]))
            todo.append((int(self.children_right[node]), rows[~left]))
        return leaves

    def predict(self, X: NDArray[Any]) -> IntArray:
        """The index of the heaviest class of each row's leaf; ties go to the first."""
        return np.asarray(np.argmax(self.value, axis=1)[self.apply(X)])

    def shares(self) -> FloatArray:
        """(node_count, n_classes): share of each class in the training weight of a node."""
        return np.asarray(self.value / self.value.sum(axis=1, keepdims=True))

    def goes_left(self, node: int, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of the encoded values of the node's feature go to its left child."""
        if self.category[node] >= 0:
            return np.asarray(values != self.category[node])
        left = np.asarray(values <= self.threshold[node])
        return left | np.isnan(values) if self.missing_go_to_left[node] else left

    def ancestors(self) -> NDArray[np.bool_]:
        """(node_count, node_count): [i, j] says whether node j is on the path from the root to node i, or is it."""
        on_path = np.eye(self.node_count, dtype=bool)
        for node in np.flatnonzero(self.children_left != TREE_LEAF):
            for child in (self.children_left[node], self.children_right[node]):
                on_path[child] |= on_path[node]
        return on_path

    def sums_below(self, per_leaf: FloatArray) -> FloatArray:
        """Per node the sum over the leaves below it, or of the leaf itself, of what each leaf has (node_count, ...)."""
        sums = per_leaf.copy()
        for node in np.flatnonzero(self.children_left != TREE_LEAF)[::-1]:  # preorder: children come last
            sums[node] = sums[self.children_left[node]] + sums[self.children_right[node]]
        return sums

    def feature_importances(self, n_features: int) -> FloatArray:
        """Share of each feature in the total decrease of weighted impurity; all zero for a single leaf."""
        weighted = self.weighted_n_node_samples * self.impurity
        inner = np.flatnonzero(self.children_left != TREE_LEAF)
        decrease = weighted[inner] - weighted[self.children_left[inner]] - weighted[self.children_right[inner]]
        importances = np.zeros(n_features)
        np.add.at(importances, self.feature[inner], np.maximum(decrease, 0))
        total = importances.sum()
        return importances / total if total > 0 else importances


def node_impurity(value: FloatArray, criterion: str) -> FloatArray:
    """Impurity of each row of class weights: "gini", "sqrt", or entropy in bits for everything else."""
    shares = value / value.sum(axis=1, keepdims=True)
    if criterion == "gini":
        return np.asarray(1 - (shares**2).sum(axis=1))
    if criterion == "sqrt":
        return np.asarray(np.sqrt(shares * (1 - shares)).sum(axis=1))
    logarithms = np.log2(shares, where=shares > 0, out=np.zeros_like(shares))
    return np.asarray(np.maximum(-(shares * logarithms).sum(axis=1), 0.0))
