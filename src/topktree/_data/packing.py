"""Rows as bits: the border between the data and the compiled core, and hashes of packed rows.

In: features, flags or packed rows. Out: packed rows, hashes and counts. Nothing else in `_data` imports the core.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._core import class_cells, hash_columns, pack_booleans, pack_features, pack_flags, split_order
from .arrays import PackedRows, Rows

__all__ = ["class_cells", "hash_columns", "hash_rows", "pack_booleans", "pack_features", "packed", "split_order"]


def packed(rows: Rows) -> PackedRows:
    """Return the rows packed; bytes must be 0 or 1."""
    return rows.view(np.uint64) if rows.dtype == np.uint64 else pack_flags(rows.view(np.uint8))


def hash_rows(rows: PackedRows, classes: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a hash per row that depends on the row's columns and class only."""
    hashes = _splitmix64(classes.astype(np.uint64))
    for words in rows.T:
        hashes = _splitmix64(hashes ^ words)
    return hashes


def _splitmix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
