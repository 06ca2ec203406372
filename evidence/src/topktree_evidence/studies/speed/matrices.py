"""The data of the benchmarks: Boolean matrices by the rule of the paper's authors, raw numbers, generated rows.

In: the name of a dataset and the folder for `topktree.datasets.load`; or a size.
Out: X, bool (rows, columns) or float64 (rows, features), and y, the int32 class index of each row; rows in file order.
The one idea: every contestant gets exactly the same matrix, whatever it would make of the raw data itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CATEGORICAL = (
    "connect-4",
    "nursery",
    "letter-recognition",
    "car",
    "kr-vs-kp",
    "hiv-1-protease",
    "molecular-biology-splice",
    "monks-1",
    "hayes-roth",
    "tic-tac-toe",
)
FICO = "fico-1000"  # the 1,000 rows that the paper takes
NUMERICAL = (
    "artificial-characters",
    "telescope",
    "spambase",
    "dry-bean",
    "occupancy-estimation",
    "sensorless-drive-diagnosis",
    "ml-prove",
    "avila",
    "taiwanese-bankruptcy",
    "credit-card",
    "electrical-grid-stability",
    FICO,
)
DATASETS = CATEGORICAL + NUMERICAL
ANSWERS = ("stab",)  # a feature of electrical-grid-stability whose sign is the class: left out of raw numbers

MAX_COLUMNS = 100  # the paper's number, for all datasets but FICO

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


def boolean(name: str, folder: Path) -> tuple[Matrix, Labels]:
    """The columns of the paper's authors."""
    from topktree import Binarizer, datasets

    bunch = datasets.load(name, folder)
    X = bunch.data.astype(str).astype(object) if bunch.kind == "categorical" else bunch.data
    binarizer = Binarizer(strategy="paper", max_columns=None if name == FICO else MAX_COLUMNS)
    return np.ascontiguousarray(binarizer.fit(X).transform(X)), classes(bunch.target)


def numbers(name: str, folder: Path) -> tuple[Matrix, Labels]:
    """The features as they are, float64, without one that is the answer."""
    from topktree import datasets

    bunch = datasets.load(name, folder)
    kept = [feature not in ANSWERS for feature in bunch.feature_names]
    return np.ascontiguousarray(bunch.data[:, kept], dtype=np.float64), classes(bunch.target)


def classes(target: NDArray[Any]) -> Labels:
    """Index of each label among the sorted texts of all."""
    return np.unique(target.astype(str), return_inverse=True)[1].astype(np.int32)


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
