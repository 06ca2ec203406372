"""Hashes of packed rows: equal for equal rows of one class, wherever they are and in whatever order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._search.engine import PackedRows

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def hash_rows(rows: PackedRows, classes: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A number per row that depends on its columns and its class alone."""
    hashes = _mix(classes.astype(np.uint64))
    for words in rows.T:
        hashes = _mix(hashes ^ words)
    return hashes


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Splitmix64."""
    x = x + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return np.asarray(x ^ (x >> np.uint64(31)))
