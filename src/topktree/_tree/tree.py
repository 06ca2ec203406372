"""A finished tree as flat arrays in the user's units, and everything that follows from them alone.

In: encoded rows, where NaN is missing and a category is its index. Out: leaves, predictions, importances. The arrays
are named and numbered as in scikit-learn's `Tree`: nodes in preorder. The one idea: what a node asks is coded in three
arrays, and `Tree.test` and `code_tests` are the only two functions that know how; everybody else reads a `NodeTest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.columns import AT_MOST, EQUALS, IS_MISSING
from .._data.features import Feature
from .._data.table import BOOLEAN
from .._data.thresholds import binary_threshold

TREE_LEAF = -1
TREE_UNDEFINED = -2


class NodeTest(NamedTuple):
    """The question that an inner node asks of one feature, in the coding that the Boolean columns have."""

    feature: int
    kind: int  # AT_MOST, EQUALS or IS_MISSING
    value: float  # threshold, index of a category, 1 for a boolean; any number for IS_MISSING

    @property
    def yes_goes_left(self) -> bool:
        """True if the rows for which the answer is yes go left; a missing value always goes where "no" goes."""
        return self.kind == AT_MOST


@dataclass(frozen=True, eq=False)
class Tree:
    """A fitted tree as read-only arrays with one entry per node.

    A row goes left if `X[row, feature] <= threshold`. Where a category is tested, it goes left unless it has that
    category. A threshold of infinity sends missing values right and everything else left.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from topktree import TopKTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TopKTreeClassifier(max_depth=2).fit(X, y).tree_
    >>> tree.node_count, tree.n_leaves, tree.max_depth
    (5, 3, 2)
    >>> tree.feature.tolist(), tree.children_left.tolist(), tree.n_node_samples.tolist()
    ([2, -2, 3, -2, -2], [1, -1, 3, -1, -1], [150, 50, 100, 54, 46])
    >>> tree.apply(X[[0, 60, 120]]).tolist(), tree.predict(X[[0, 60, 120]]).tolist()
    ([1, 3, 4], [0, 1, 2])
    """

    children_left: IntArray  # TREE_LEAF at a leaf
    children_right: IntArray
    feature: IntArray  # TREE_UNDEFINED at a leaf
    threshold: FloatArray  # TREE_UNDEFINED at a leaf and where a category is tested
    category: IntArray  # index of the category that goes right; TREE_UNDEFINED where none is tested
    missing_go_to_left: NDArray[np.bool_]  # False at a leaf
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
        return int(np.count_nonzero(self.is_leaf))

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Mask of the leaves, (node_count,)."""
        return np.asarray(self.children_left == TREE_LEAF)

    @property
    def max_depth(self) -> int:
        """Number of splits on the longest path."""
        return int(self.node_depths().max())

    def inner_nodes(self) -> list[int]:
        """Return the nodes that are not leaves, parents before their children."""
        return np.flatnonzero(~self.is_leaf).tolist()

    def test(self, node: int) -> NodeTest:
        """Return what an inner node asks."""
        f = int(self.feature[node])
        if np.isinf(self.threshold[node]):
            return NodeTest(f, IS_MISSING, 0.0)
        if self.category[node] >= 0:
            return NodeTest(f, EQUALS, float(self.category[node]))
        if self.missing_go_to_left[node]:  # only a boolean that is tested for being true
            return NodeTest(f, EQUALS, 1.0)
        return NodeTest(f, AT_MOST, float(self.threshold[node]))

    def node_depths(self) -> IntArray:
        """Return the number of splits above each node."""
        depths = np.zeros(self.node_count, dtype=np.int64)
        for node in self.inner_nodes():
            depths[[self.children_left[node], self.children_right[node]]] = depths[node] + 1
        return depths

    def apply(self, X: NDArray[Any]) -> IntArray:
        """Return the leaf of each row of `X` (n, n_features)."""
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

    def goes_left(self, node: int, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which of the encoded values of the node's feature go to its left child."""
        if self.category[node] >= 0:
            return np.asarray(values != self.category[node])
        left = np.asarray(values <= self.threshold[node])
        return left | np.isnan(values) if self.missing_go_to_left[node] else left

    def predict(self, X: NDArray[Any]) -> IntArray:
        """Return the index of the heaviest class of each row's leaf; ties go to the first."""
        return np.asarray(np.argmax(self.value, axis=1)[self.apply(X)])

    def shares(self) -> FloatArray:
        """Return the share of each class in the training weight of each node, (node_count, n_classes)."""
        return np.asarray(self.value / self.value.sum(axis=1, keepdims=True))

    def paths_to(self, nodes: IntArray) -> list[list[int]]:
        """Return for each of the nodes those on the way from the root down to it, itself included."""
        inner = np.flatnonzero(~self.is_leaf)
        parents = np.zeros(self.node_count, dtype=np.int64)
        parents[self.children_left[inner]] = parents[self.children_right[inner]] = inner
        above, paths = parents.tolist(), []
        for node in nodes.tolist():
            path = [node]
            while path[-1] > 0:
                path.append(above[path[-1]])
            paths.append(path[::-1])
        return paths

    def sums_below(self, per_leaf: FloatArray) -> FloatArray:
        """Return the sum of `per_leaf` (node_count, ...) over the leaves below each node; a leaf is below itself."""
        sums = per_leaf.copy()
        for node in reversed(self.inner_nodes()):
            sums[node] = sums[self.children_left[node]] + sums[self.children_right[node]]
        return sums

    def feature_importances(self, n_features: int) -> FloatArray:
        """Return each feature's share in the total decrease of weighted impurity; all zero for a single leaf."""
        weighted = self.weighted_n_node_samples * self.impurity
        inner = self.inner_nodes()
        decrease = weighted[inner] - weighted[self.children_left[inner]] - weighted[self.children_right[inner]]
        importances = np.zeros(n_features)
        np.add.at(importances, self.feature[inner], np.maximum(decrease, 0))
        total = importances.sum()
        return importances / total if total > 0 else importances


def code_tests(
    feature: IntArray, kind: NDArray[np.uint8], value: FloatArray, features: Sequence[Feature]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `Tree` that say what its nodes ask, by name.

    In: the three parts of a `NodeTest` for each node; `feature` is TREE_UNDEFINED at a leaf.
    """
    is_inner = feature >= 0
    is_equals = is_inner & (kind == EQUALS)
    is_boolean = np.zeros(len(feature), dtype=bool)
    is_boolean[is_equals] = [features[f].kind == BOOLEAN for f in feature[is_equals]]
    is_category, is_at_most = is_equals & ~is_boolean, is_inner & (kind == AT_MOST)
    threshold = np.full(len(feature), float(TREE_UNDEFINED))
    threshold[is_at_most] = value[is_at_most]
    threshold[is_boolean] = binary_threshold()
    threshold[is_inner & (kind == IS_MISSING)] = np.inf
    category = np.full(len(feature), TREE_UNDEFINED, dtype=np.int64)
    category[is_category] = value[is_category]
    return {"feature": feature, "threshold": threshold, "category": category, "missing_go_to_left": is_equals}


def node_impurity(value: FloatArray, criterion: str) -> FloatArray:
    """Return the impurity of each row of class weights: "gini", "sqrt", or entropy in bits for everything else."""
    shares = value / value.sum(axis=1, keepdims=True)
    if criterion == "gini":
        return np.asarray(1 - (shares**2).sum(axis=1))
    if criterion == "sqrt":
        return np.asarray(np.sqrt(shares * (1 - shares)).sum(axis=1))
    logarithms = np.log2(shares, where=shares > 0, out=np.zeros_like(shares))
    return np.asarray(np.maximum(-(shares * logarithms).sum(axis=1), 0.0))
