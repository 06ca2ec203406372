"""Random trees, and a walk down a tree that goes node by node."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from topktree._tree.tree import TREE_LEAF, TREE_UNDEFINED, Tree, node_impurity


def random_tree(rng: np.random.Generator, n_features: int, max_depth: int) -> Tree:
    """Return a tree of any shape with whole and half thresholds; counts of the nodes add up."""
    left: list[int] = []
    right: list[int] = []
    feature: list[int] = []
    threshold: list[float] = []
    category: list[int] = []
    sets: list[list[int]] = []
    missing_left: list[bool] = []
    unseen_left: list[bool] = []
    value: list[np.ndarray] = []

    def visit(depth: int) -> int:
        node = len(left)
        left.append(TREE_LEAF)
        right.append(TREE_LEAF)
        feature.append(TREE_UNDEFINED)
        threshold.append(float(TREE_UNDEFINED))
        category.append(TREE_UNDEFINED)
        sets.append([])
        missing_left.append(False)
        unseen_left.append(False)
        value.append(rng.integers(1, 10, 3).astype(float))
        if depth < max_depth and rng.random() < 0.8:
            feature[node] = int(rng.integers(n_features))
            threshold[node] = float(rng.integers(-4, 5)) / 2 if rng.random() < 0.9 else np.nan
            missing_left[node] = bool(np.isnan(threshold[node]) or rng.random() < 0.3)
            if rng.random() < 0.3:
                category[node], threshold[node] = int(rng.integers(4)), float(TREE_UNDEFINED)
                if rng.random() < 0.5:
                    category[node], sets[node] = TREE_UNDEFINED, rng.choice(4, rng.integers(1, 4), False).tolist()
                missing_left[node], unseen_left[node] = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
            left[node] = visit(depth + 1)
            right[node] = visit(depth + 1)
            value[node] = value[left[node]] + value[right[node]]
        return node

    visit(0)
    values = np.array(value)
    category_set = np.zeros((len(left), max(map(max, filter(None, sets)), default=-1) + 1), dtype=bool)
    for node, codes in enumerate(sets):
        category_set[node, codes] = True
    return Tree(
        children_left=np.array(left),
        children_right=np.array(right),
        feature=np.array(feature),
        threshold=np.array(threshold),
        category=np.array(category),
        category_set=category_set,
        missing_go_to_left=np.array(missing_left),
        unseen_go_to_left=np.array(unseen_left),
        value=values,
        impurity=node_impurity(values, "gini"),
        n_node_samples=values.sum(axis=1).astype(np.int64),
        weighted_n_node_samples=values.sum(axis=1),
    )


def path(tree: Tree, row: Sequence[float]) -> list[int]:
    """Return the nodes that a row passes through."""
    nodes = [0]
    while tree.children_left[nodes[-1]] != TREE_LEAF:
        node = nodes[-1]
        value = row[tree.feature[node]]
        if math.isnan(value):
            goes_left = tree.missing_go_to_left[node]
        elif tree.category[node] >= 0 or tree.category_set[node].any():
            going_left = {*np.flatnonzero(tree.category_set[node]), tree.category[node]} - {TREE_UNDEFINED}
            goes_left = value in going_left or (math.isinf(value) and tree.unseen_go_to_left[node])
        else:
            goes_left = value <= tree.threshold[node]
        nodes.append(int((tree.children_left if goes_left else tree.children_right)[node]))
    return nodes
