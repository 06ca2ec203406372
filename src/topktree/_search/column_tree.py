"""A tree over Boolean columns, and rows sent down it.

In: a solution of the engine, and rows as the engine takes them. Out: the leaf of each row, and what it predicts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import IntArray, Rows
from . import engine
from .engine import Solution


@dataclass(frozen=True, eq=False)
class ColumnTree:
    """A tree over stored columns, and the class that each leaf predicts."""

    column: NDArray[np.int32]
    false_child: NDArray[np.int32]
    true_child: NDArray[np.int32]
    predicted: NDArray[np.int64]

    def apply(self, rows: Rows) -> NDArray[np.int32]:
        """Return the leaf of each row; the rows are packed or bytes."""
        return engine.walk(
            rows=rows,
            n_columns=rows.shape[1] * (64 if rows.dtype == np.uint64 else 1),
            column=self.column,
            false_child=self.false_child,
            true_child=self.true_child,
        )

    def predict(self, rows: Rows) -> IntArray:
        """Return the class of each row's leaf."""
        return np.asarray(self.predicted[self.apply(rows)])


def column_tree(solution: Solution, columns: IntArray | NDArray[np.int32] | None = None) -> ColumnTree:
    """Return the tree of a solution. `columns` numbers the stored columns that it was searched over; None: all."""
    column = solution.column
    if columns is not None and len(columns):
        column = np.where(column >= 0, columns[np.maximum(column, 0)], -1).astype(np.int32)
    return ColumnTree(column, solution.false_child, solution.true_child, np.argmax(solution.class_weight, axis=1))
