"""What packed rows say of a tree over columns.

In: a tree as the engine gives it, and rows packed 64 columns to a word. Out: errors, and numbers of rows per node.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._search.column_tree import ColumnTree
from .._search.engine import Solution
from .shards import DistinctRows, LeftOut


def count_wrong(left_out: LeftOut, tree: ColumnTree) -> int | None:
    """How many of the rows the tree gets wrong; None: they could not be read."""
    if left_out.rows is None:
        return None
    return int(np.count_nonzero(tree.predict(left_out.rows) != left_out.classes))


def add_wrong(parts: list[int | None]) -> int | None:
    """Of all parts."""
    return None if None in parts else sum(part for part in parts if part is not None)


def with_row_numbers(solution: Solution, tree: ColumnTree, rows: DistinctRows) -> Solution:
    """The solution with the numbers of the rows that the distinct ones stand for."""
    leaf = tree.apply(rows.rows)
    n_rows = np.bincount(leaf, rows.n_rows, len(tree.column)).astype(np.int64)
    is_wrong = tree.predicted[leaf] != rows.classes
    for i in np.flatnonzero(tree.column >= 0)[::-1]:
        n_rows[i] = n_rows[tree.false_child[i]] + n_rows[tree.true_child[i]]
    return replace(solution, n_rows=n_rows, n_wrong=int(rows.n_rows[is_wrong].sum()))
