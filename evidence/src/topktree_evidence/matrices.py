"""The paper's datasets in file order, for the studies that measure speed and thresholds.

In: the name of a dataset and the folder for `topktree.datasets.load`. Out: X, bool (rows, columns) with the columns of
the paper's authors, or float64 (rows, features); and y, the int32 class index of each row.
The one idea: every solver gets exactly the same matrix, whatever it would make of the raw data itself.
"""

from __future__ import annotations

import numpy as np

from topktree import datasets

from .splits import Array, paper_columns

ABSENT = "miniboone"  # too large to be measured often
CATEGORICAL, NUMERICAL = (
    tuple(name for name, record in datasets.PAPER.items() if record.kind == kind and name != ABSENT)
    for kind in ("categorical", "numerical")
)
ANSWERS = ("stab",)  # a feature of electrical-grid-stability whose sign is the class: left out of raw numbers


def boolean(name: str, data_home: str | None) -> tuple[Array, Array]:
    """Return the columns of the paper's authors."""
    bunch = datasets.load(name, data_home)
    return paper_columns(name, bunch.data, bunch.kind), classes(bunch.target)


def raw(name: str, data_home: str | None) -> tuple[Array, Array]:
    """Return the features as they are, without any that give away the class."""
    bunch = datasets.load(name, data_home)
    kept = [feature not in ANSWERS for feature in bunch.feature_names]
    return np.ascontiguousarray(bunch.data[:, kept], dtype=np.float64), classes(bunch.target)


def classes(target: Array) -> Array:
    """Return the index of each label among the sorted texts of all."""
    return np.unique(target.astype(str), return_inverse=True)[1].astype(np.int32)
