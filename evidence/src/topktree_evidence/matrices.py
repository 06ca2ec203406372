"""Datasets in file order, for the studies that measure speed and thresholds: the paper's, and those of Quant-BnB.

In: the name of a dataset and the folder of its file. Out: X, bool (rows, columns) with the columns of
the paper's authors, or float64 (rows, features); and y, the int32 class index of each row.
The one idea: every solver gets exactly the same matrix, whatever it would make of the raw data itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from topktree import datasets
from topktree.datasets.paper import VARIABLE

from .splits import FICO, REPAIRED, Array, paper_columns

ABSENT = "miniboone"  # too large to be measured often
CATEGORICAL, NUMERICAL = (
    tuple(name for name, record in datasets.PAPER.items() if record.kind == kind and name != ABSENT)
    for kind in ("categorical", "numerical")
)
# Numerical sets of the UCI repository that Quant-BnB, ConTree and later papers on optimal trees report on.
QUANT_BNB = ("bank", "bidding", "eeg", "fault", "htru", "occupancy", "page", "raisin", "rice", "segment", "wilt")
QUANT_BNB_VARIABLE = "TOPKTREE_QUANTBNB"  # their folder, if it is not that of the others
# The numerical datasets of the paper: a damaged column of dry-bean repaired, and all rows of FICO.
REPAIRED_NUMERICAL = tuple({"dry-bean": REPAIRED, FICO: "fico"}.get(name, name) for name in NUMERICAL)
RAW = REPAIRED_NUMERICAL + QUANT_BNB
ANSWERS = ("stab",)  # a feature of electrical-grid-stability whose sign is the class: left out of raw numbers


def load(name: str, data_home: str | None) -> Any:
    """Return a dataset of the paper's or of Quant-BnB's; OSError or ValueError without its file."""
    if name not in QUANT_BNB:
        return datasets.load(name, data_home)
    folder = os.environ.get(QUANT_BNB_VARIABLE) or data_home or os.environ.get(VARIABLE)
    if not folder:
        settings = f"--data, ${VARIABLE} or ${QUANT_BNB_VARIABLE}"
        raise ValueError(f"{name}.csv.gz is looked for in a folder, and none is named by {settings}")
    table = pd.read_csv(Path(folder, f"{name}.csv.gz"))
    features = table.columns[:-1]
    return Bunch(data=table[features].to_numpy(np.float64), target=table.iloc[:, -1].to_numpy(), feature_names=features)


def boolean(name: str, data_home: str | None) -> tuple[Array, Array]:
    """Return the columns of the paper's authors."""
    bunch = datasets.load(name, data_home)
    return paper_columns(name, bunch.data, bunch.kind), classes(bunch.target)


def raw(name: str, data_home: str | None) -> tuple[Array, Array]:
    """Return the features as they are, without any that give away the class."""
    bunch = load(name, data_home)
    kept = [feature not in ANSWERS for feature in bunch.feature_names]
    return np.ascontiguousarray(bunch.data[:, kept], dtype=np.float64), classes(bunch.target)


def classes(target: Array) -> Array:
    """Return the index of each label among the sorted texts of all."""
    return np.unique(target.astype(str), return_inverse=True)[1].astype(np.int32)
