"""Packed rows in a tree over columns: which leaf each comes to.

In: a tree as the engine gives it, and rows packed 64 columns to a word. Out: leaves, and numbers of rows per node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import _engine
from .._engine import PackedRows, Solution
from .._problem import IntArray
from .shards import DistinctRows, LeftOut

# Rows that are unpacked at once.
_PART = 2**16


@dataclass(frozen=True, eq=False)
class ColumnTree:
    """A tree over packed columns, and the class that each leaf predicts."""

    column: NDArray[np.int64]
    false_child: NDArray[np.int32]
    true_child: NDArray[np.int32]
    predicted: NDArray[np.int64]

    def apply(self, rows: PackedRows) -> IntArray:
        """The leaf of each row."""
        node = np.zeros(len(rows), dtype=np.int64)
        for i in np.flatnonzero(self.column >= 0):  # parents come first
            here = np.flatnonzero(node == i)
            column = int(self.column[i])
            is_true = (rows[here, column // 64] >> np.uint64(column % 64)) & np.uint64(1)
            node[here] = np.where(is_true == 1, self.true_child[i], self.false_child[i])
        return node


def column_tree(solution: Solution, columns: IntArray) -> ColumnTree:
    """The tree of a solution over some of the packed columns, which are numbered by `columns`."""
    inner = solution.column >= 0
    column = np.where(inner, columns[np.where(inner, solution.column, 0)] if len(columns) else -1, -1)
    predicted = np.argmax(solution.class_weight, axis=1)
    return ColumnTree(column, solution.false_child, solution.true_child, predicted)


def count_wrong(left_out: LeftOut, tree: ColumnTree) -> int | None:
    """How many of the rows the tree gets wrong; None: they could not be read."""
    if left_out.rows is None:
        return None
    return int(np.count_nonzero(tree.predicted[tree.apply(left_out.rows)] != left_out.classes))


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


def take_columns(rows: PackedRows, n_columns: int, kept: IntArray) -> PackedRows:
    """The rows with some of the columns."""
    if len(kept) == n_columns:
        return rows
    taken = np.empty((len(rows), -(-len(kept) // 64)), dtype=np.uint64)
    for start in range(0, len(rows), _PART):
        part = np.ascontiguousarray(rows[start : start + _PART])
        flags = np.unpackbits(part.view(np.uint8), axis=1, bitorder="little")[:, kept]
        packed = _engine.pack_booleans(np.ascontiguousarray(flags))
        assert packed is not None
        taken[start : start + _PART] = packed
    return taken
