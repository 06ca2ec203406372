"""What packed rows say of a tree over columns.

In: a tree as the engine gives it, and rows packed 64 columns to a word. Out: errors, and numbers of rows per node.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import _engine
from .._engine import PackedRows, Solution
from .._problem import IntArray
from ..column_tree import ColumnTree
from .shards import DistinctRows, LeftOut

# Rows that are unpacked at once.
_PART = 2**16


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
