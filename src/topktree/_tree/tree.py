"""A finished tree as flat arrays in the user's units, and everything that follows from them alone.

In: encoded rows, where NaN is missing and a category is its index. Out: leaves, predictions, importances. The arrays
are named and numbered as in scikit-learn's `Tree`: nodes in preorder, "yes" on the left. The one idea: what a node asks
is coded in a few arrays that only `Tree.test` and `code_tests` know; everybody else reads a `NodeTest`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.columns import AT_MOST, EQUALS, IN, IS_MISSING, is_true
from .._data.features import UNSEEN

TREE_LEAF = -1
TREE_UNDEFINED = -2


class NodeTest(NamedTuple):
    """The question that an inner node asks of one feature, in the coding that the Boolean columns have.

    It has an answer for every value: `missing` and `unseen` say yes or no to a missing value and to a category that the
    training data did not have. Where the training data had missing values the answer was learned; in all other cases it
    is the one that more training weight has, yes if they weigh the same.
    """

    feature: int
    kind: int  # AT_MOST, EQUALS, IS_MISSING or IN
    value: float  # threshold (0 of a boolean: is it false?) or index of a category; 0 for IS_MISSING and IN
    missing: bool  # True for IS_MISSING
    unseen: bool  # False for IS_MISSING, and for features that are not categories
    categories: tuple[int, ...] = ()  # the indices of the categories of a set, ascending; empty unless it is IN

    def holds(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for which encoded values of the feature the answer is yes."""
        yes = is_true(values.astype(np.float64, copy=False), self.kind, self.value, self.categories)
        if self.missing and self.kind != IS_MISSING:
            yes |= np.isnan(values)
        if self.unseen:
            yes |= values == UNSEEN
        return yes


@dataclass(frozen=True, eq=False)
class Tree:
    """A fitted tree as read-only arrays with one entry per node.

    A row goes left if the answer to the node's question is yes: if `X[row, feature] <= threshold` or, where a category
    or a set of them is tested, if it has that category or one of the set. A boolean that is false goes left. A
    threshold of NaN asks whether the value is missing. `missing_go_to_left` and `unseen_go_to_left` say where missing
    values go, and categories that the training data did not have: the latter, and missing values of features that had
    none, follow the heavier child.

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
    >>> tree.threshold.tolist(), tree.missing_go_to_left.tolist()
    ([2.0, -2.0, 1.75, -2.0, -2.0], [False, False, True, False, False])
    >>> tree.apply(X[[0, 60, 120]]).tolist(), tree.predict(X[[0, 60, 120]]).tolist()
    ([1, 3, 4], [0, 1, 2])
    """

    children_left: IntArray  # TREE_LEAF at a leaf
    children_right: IntArray
    feature: IntArray  # TREE_UNDEFINED at a leaf
    threshold: FloatArray  # TREE_UNDEFINED at a leaf and where categories are tested; the index of an ordered category
    category: IntArray  # index of the category that goes left; TREE_UNDEFINED where none is tested
    category_set: NDArray[np.bool_]  # (node_count, n): which categories go left where a set is tested; n = 0: nowhere
    missing_go_to_left: NDArray[np.bool_]  # False at a leaf
    unseen_go_to_left: NDArray[np.bool_]  # False at a leaf and where the feature is not a category
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

    def used_features(self) -> list[int]:
        """Return the features that some node tests, ascending."""
        return sorted({f for f in self.feature.tolist() if f != TREE_UNDEFINED})

    def test(self, node: int) -> NodeTest:
        """Return what an inner node asks."""
        f, missing, unseen = int(self.feature[node]), self.missing_go_to_left[node], self.unseen_go_to_left[node]
        kind, value = AT_MOST, float(self.threshold[node])
        if np.isnan(value):
            kind, value = IS_MISSING, 0.0
        elif self.category[node] >= 0:
            kind, value = EQUALS, float(self.category[node])
        categories = tuple(np.flatnonzero(self.category_set[node]).tolist())
        if categories:
            kind, value = IN, 0.0
        return NodeTest(f, kind, value, bool(missing), bool(unseen), categories)

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
            if len(rows) == 0:
                continue
            if self.children_left[node] == TREE_LEAF:
                leaves[rows] = node
                continue
            left = self.test(node).holds(X[rows, self.feature[node]])
            todo.append((int(self.children_left[node]), rows[left]))
            todo.append((int(self.children_right[node]), rows[~left]))
        return leaves

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


def code_tests(tests: Sequence[NodeTest | None]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `Tree` that say what its nodes ask, by name; a leaf has no test."""
    feature, threshold, category, missing, unseen, sets = zip(*map(_code_test, tests), strict=True)
    category_set = np.zeros((len(tests), 1 + max(codes[-1] if codes else -1 for codes in sets)), dtype=bool)
    for node, codes in enumerate(sets):
        if codes:
            category_set[node, list(codes)] = True
    return {
        "feature": np.array(feature, dtype=np.int64),
        "threshold": np.array(threshold, dtype=np.float64),
        "category": np.array(category, dtype=np.int64),
        "category_set": category_set,
        "missing_go_to_left": np.array(missing, dtype=bool),
        "unseen_go_to_left": np.array(unseen, dtype=bool),
    }


def _code_test(test: NodeTest | None) -> tuple[int, float, int, bool, bool, tuple[int, ...]]:
    """Return feature, threshold, category, where missing and unseen values go, and the set."""
    if test is None:
        return TREE_UNDEFINED, TREE_UNDEFINED, TREE_UNDEFINED, False, False, ()
    feature, kind, value, missing, unseen, categories = test
    threshold = value if kind == AT_MOST else math.nan if kind == IS_MISSING else TREE_UNDEFINED
    return feature, threshold, int(value) if kind == EQUALS else TREE_UNDEFINED, missing, unseen, categories


def node_impurity(value: FloatArray, criterion: str) -> FloatArray:
    """Return the impurity of each row of class weights: "gini", "sqrt", or entropy in bits for everything else."""
    shares = value / value.sum(axis=1, keepdims=True)
    if criterion == "gini":
        return np.asarray(1 - (shares**2).sum(axis=1))
    if criterion == "sqrt":
        return np.asarray(np.sqrt(shares * (1 - shares)).sum(axis=1))
    logarithms = np.log2(np.maximum(shares, sys.float_info.min))  # a class without rows adds 0
    return np.asarray(np.maximum(-(shares * logarithms).sum(axis=1), 0.0))
