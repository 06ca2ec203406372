"""Boolean matrices for the benchmarks, made by the rule of the paper's authors.

In: the name of a dataset and a folder of <name>.csv.gz files, the class in the last column.
Out: X, a bool array of shape (rows, columns), and y, the int32 class index of each row.
The one idea: every contestant gets exactly the same matrix, whatever it would make of the raw data itself.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CATEGORICAL = ("nursery", "kr-vs-kp", "tic-tac-toe", "letter-recognition", "connect-4")
NUMERICAL = ("spambase", "telescope", "credit-card", "sensorless-drive-diagnosis")
DATASETS = CATEGORICAL + NUMERICAL

COLUMNS_IN_ALL = 100  # the paper's number: a numerical dataset of m features gets 100 // m + 1 buckets for each

Matrix = NDArray[np.bool_]
Labels = NDArray[np.int32]


class DataMissing(Exception):
    """The folder of datasets, or a file in it, is not there."""


@dataclass(frozen=True)
class Stored:
    """A matrix on disk, for other processes to read."""

    name: str
    rows: int
    columns: int
    X: str  # .npy, bool, (rows, columns)
    y: str  # .npy, int32, (rows,)


def store(name: str, X: Matrix, y: Labels, folder: Path) -> Stored:
    """Write X and y below folder."""
    paths = folder / f"{name}.X.npy", folder / f"{name}.y.npy"
    np.save(paths[0], X)
    np.save(paths[1], y)
    return Stored(name, X.shape[0], X.shape[1], *map(str, paths))


def stored(paths: tuple[str, str]) -> tuple[Matrix, Labels]:
    """Read X and y back."""
    return np.load(paths[0]), np.load(paths[1])


def load(name: str, folder: Path) -> tuple[Matrix, Labels]:
    """The Boolean matrix and the classes of a dataset; rows in file order."""
    raw = read_raw(name, folder)
    features, classes = raw[:, :-1], raw[:, -1]
    columns = one_hot(features) if name in CATEGORICAL else thresholds(features.astype(np.float64))
    y = np.unique(classes, return_inverse=True)[1].astype(np.int32)
    return np.ascontiguousarray(columns), y


def read_raw(name: str, folder: Path) -> NDArray[np.str_]:
    """The fields of <name>.csv.gz as text, shape (rows, features + 1), without the header."""
    if name not in DATASETS:
        raise ValueError(f"name is {name!r}; allowed are {', '.join(DATASETS)}")
    path = folder / f"{name}.csv.gz"
    if not path.is_file():
        raise DataMissing(f"no file {path}: set --data or $TOPKTREE_DATA to the folder of <name>.csv.gz files")
    with gzip.open(path, "rt", newline="") as stream:
        rows = list(csv.reader(stream))
    return np.array(rows[1:])


def one_hot(features: NDArray[np.str_]) -> Matrix:
    """One column "feature = value" per value, values sorted as text, all of them kept."""
    columns = [feature[:, None] == np.unique(feature)[None, :] for feature in features.T]
    return np.hstack(columns)


def thresholds(features: NDArray[np.float64]) -> Matrix:
    """Columns "feature >= threshold", the thresholds being quantiles of the feature's distinct values."""
    buckets = COLUMNS_IN_ALL // features.shape[1] + 1
    columns = []
    for feature in features.T:
        distinct = np.unique(feature)
        if len(distinct) <= 2:
            columns.append(feature[:, None] == 1)
            continue
        b = min(buckets, len(distinct))
        cuts = np.quantile(distinct, np.arange(1, b) / b)
        columns.append(feature[:, None] >= cuts[None, :])
    return np.hstack(columns)
