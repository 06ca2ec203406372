"""The data of a measurement as another process gets them: .npy files, or a size of rows to generate.

In: X and y, or a size. Out: a Source, which gives X, bool or float64 (rows, columns), and y, int32 (rows,).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 16  # generated rows at a time: what making them takes must not show in the peak of a fit
NOISE = 0.1  # generated classes that are wrong

Matrix = NDArray[Any]
Labels = NDArray[np.int32]


@dataclass(frozen=True)
class Source:
    """Where a process finds its data: .npy files of X and y, or a number of rows and columns to generate."""

    files: tuple[str, str] | None
    size: tuple[int, int]

    def get(self) -> tuple[Matrix, Labels]:
        """X and y."""
        if self.files is None:
            return generated(*self.size)
        return np.load(self.files[0]), np.load(self.files[1])


def store(name: str, X: Matrix, y: Labels, folder: Path) -> Source:
    """Write X and y below folder."""
    files = str(folder / f"{name}.X.npy"), str(folder / f"{name}.y.npy")
    np.save(files[0], X)
    np.save(files[1], y)
    return Source(files, X.shape)


def generated(n_rows: int, n_columns: int) -> tuple[Matrix, Labels]:
    """Fair coins, and a class that seven of them decide but for the noise."""
    rng = np.random.default_rng(0)
    X = np.empty((n_rows, n_columns), dtype=np.bool_)
    y = np.empty(n_rows, dtype=np.int32)
    for start in range(0, n_rows, CHUNK):
        part = X[start : start + CHUNK]
        part[:] = rng.integers(0, 2, part.shape, dtype=np.bool_)
        a, b, c, d, e, f, g = part.T[:7]
        y[start : start + CHUNK] = ((a & b) | (c & d) | (e & f & g)) ^ (rng.random(len(part)) < NOISE)
    return X, y
