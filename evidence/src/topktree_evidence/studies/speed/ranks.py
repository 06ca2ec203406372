"""Ranks of a tree's columns, to tell ties from errors.

In: a peer's Top-k tree and the data it was fitted on. Out: the last of the ranks that its columns have at their nodes
by topktree's order: entropy gain, equal gains by lower index. At most k: the tree is one of those that topktree chooses
from, so that topktree's cannot be worse. Splits that save no error do not count, since a leaf would work too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from ...splits import Array

EQUAL = 2.0**-32  # bits per row of the data: gains that differ by less tie


def last_rank(tree: Any, X: Array, y: Array) -> int:
    """Return the last rank of a split in a tree of scikit-learn's layout; a row goes left where the column is false."""
    of_class = np.eye(int(y.max()) + 1)[y]
    last, nodes = 0, [(0, np.arange(len(y)))]
    while nodes:
        node, rows = nodes.pop()
        column = int(tree.feature[node])
        if column >= 0 and tree.error[node] < len(rows) - of_class[rows].sum(axis=0).max():
            last = max(last, rank(column, gains(X[rows], of_class[rows]), EQUAL * len(y)))
            side = X[rows, column]
            nodes += [(tree.children_left[node], rows[~side]), (tree.children_right[node], rows[side])]
    return last


def rank(column: int, of_columns: Array, tolerance: float) -> int:
    """Return the rank of a column by its gain; 1 is the best."""
    ahead = of_columns > of_columns[column] + tolerance
    ahead[:column] |= of_columns[:column] >= of_columns[column] - tolerance
    return 1 + int(np.count_nonzero(ahead))


def gains(X: Array, of_class: Array) -> Array:
    """Return the bits gained by each column, (columns,); minus infinity where a side has no row."""
    totals = of_class.sum(axis=0)
    right = X.T.astype(np.float64) @ of_class
    left = totals - right
    gained = information(right) + information(left) - information(totals[None, :])
    return np.where((right.sum(axis=1) > 0) & (left.sum(axis=1) > 0), gained, -np.inf)


def information(counts: Array) -> Array:
    """Return minus the entropy in bits of each row of (n, classes), times its sum."""
    whole = counts.sum(axis=1)
    return np.asarray((xlogy(counts, counts).sum(axis=1) - xlogy(whole, whole)) / np.log(2))
