"""A tree over Boolean columns, and the rows that it was found on walked down it.

In: a solution of the engine, and rows as the engine takes them. Out: the leaf of each row, and what it predicts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._engine import Rows, Solution
from ._problem import IntArray


@dataclass(frozen=True, eq=False)
class ColumnTree:
    """A tree over stored columns, and the class that each leaf predicts."""

    column: NDArray[np.int64]
    false_child: NDArray[np.int32]
    true_child: NDArray[np.int32]
    predicted: NDArray[np.int64]

    def apply(self, rows: Rows) -> IntArray:
        """The leaf of each row, packed or in bytes."""
        leaves = np.zeros(len(rows), dtype=np.int64)
        todo = [(0, np.arange(len(rows)))]
        while todo:
            node, here = todo.pop()
            column = int(self.column[node])
            if column < 0:
                leaves[here] = node
                continue
            is_true = _bits(rows, here, column)
            todo.append((int(self.true_child[node]), here[is_true]))
            todo.append((int(self.false_child[node]), here[~is_true]))
        return leaves

    def predict(self, rows: Rows) -> IntArray:
        """The class of each row's leaf."""
        return np.asarray(self.predicted[self.apply(rows)])


def column_tree(solution: Solution, columns: IntArray | NDArray[np.int32] | None = None) -> ColumnTree:
    """The tree of a solution over some of the stored columns, which are numbered by `columns`; None: over all."""
    column = solution.column.astype(np.int64)
    if columns is not None and len(columns):
        column = np.where(column >= 0, columns[np.maximum(column, 0)], -1)
    return ColumnTree(column, solution.false_child, solution.true_child, np.argmax(solution.class_weight, axis=1))


def _bits(rows: Rows, here: IntArray, column: int) -> NDArray[np.bool_]:
    if rows.dtype == np.uint8:
        return np.asarray(rows[here, column] != 0)
    return np.asarray((rows[here, column // 64] >> np.uint64(column % 64)) & np.uint64(1)).astype(bool)
