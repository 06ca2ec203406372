"""The paper's datasets as its authors cut them: columns, order of the rows, training and test parts.

In: the name of a dataset, whose columns ("paper": the authors'; "default": those of a Binarizer as it is; "raw": the
data as they are), a seed.
Out: X, Boolean unless raw, and y, of training and test rows.
The one idea: thresholds of the "paper" columns come from all rows, before any split, as the authors do it; ours from
the training rows alone.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from topktree import Binarizer, datasets

from .study import Settings

PAPER_COLUMNS, DEFAULT_COLUMNS, RAW = "paper", "default", "raw"
FICO = "fico-1000"
REPAIRED = "dry-bean-repaired"
WITHOUT_ANSWER = "electrical-grid-stability-without-stab"
# Beside the paper's own: a damaged column put right, and a column that is the answer left out.
VARIANTS = {REPAIRED: "dry-bean", WITHOUT_ANSWER: "electrical-grid-stability"}
FIRST_SEED = 42
MAX_COLUMNS = 100  # for all datasets but FICO
LOST_ROWS = {"letter-recognition": 1}  # the authors' reader loses the last line
TEST_ROWS = {FICO: 100}  # the paper's table; 20% elsewhere

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows in the authors' order."""

    X: Array
    y: Array
    n_train: int | None  # the first rows, where the split is fixed
    categorical: bool = False


def names() -> list[str]:
    """Return the paper's datasets and our variants of two of them, without FICO, which has figures of its own."""
    found: list[str] = []
    for name in datasets.PAPER:
        if name != FICO:
            found += [name, *(variant for variant, origin in VARIANTS.items() if origin == name)]
    return found


def chosen(settings: Settings, allowed: list[str] | None = None) -> list[str]:
    """Return the datasets that the user asks for, out of those that a study has."""
    allowed = names() if allowed is None else allowed
    return [name for name in allowed if settings.datasets is None or name in settings.datasets]


def seeds(name: str, settings: Settings) -> list[int]:
    """Return the seeds of a dataset's splits: one where the split is fixed."""
    record = datasets.PAPER.get(VARIANTS.get(name, name))
    n_splits = 1 if record is not None and len(record.files) > 1 else settings.splits
    return list(range(FIRST_SEED, FIRST_SEED + n_splits))


def file_name(name: str) -> str:
    """Return the name by which `datasets.load` knows a dataset."""
    return VARIANTS[name] if name == WITHOUT_ANSWER else name


def is_categorical(name: str, data_home: str | None) -> bool:
    """Return True if all features of a dataset are categories; otherwise they are numbers."""
    return problem(name, RAW, data_home).categorical


@cache
def problem(name: str, columns: str, data_home: str | None) -> Problem:
    """Return a whole dataset; kept in memory, since many runs of a process need it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of another content: said once, when data was looked for
        bunch = datasets.load(file_name(name), data_home)
    X, y, n_train = bunch.data, bunch.target, bunch.n_train
    if name == WITHOUT_ANSWER:
        X = X[:, [feature != "stab" for feature in bunch.feature_names]]
    kept = len(X) - LOST_ROWS.get(name, 0)
    X, y = X[:kept], y[:kept]
    if columns == PAPER_COLUMNS:
        X = paper_columns(name, X, bunch.kind)
    if n_train is None and name != FICO:
        order = np.arange(len(X))
        np.random.RandomState(4).shuffle(order)
        X, y = X[order], y[order]
    return Problem(X, np.unique(y, return_inverse=True)[1], n_train, bunch.kind == "categorical")


def paper_columns(name: str, X: Array, kind: str) -> Array:
    """Return the Boolean columns of the paper's authors."""
    X = X.astype(str).astype(object) if kind == "categorical" else X
    binarizer = Binarizer(strategy="paper", max_columns=None if name == FICO else MAX_COLUMNS)
    return np.ascontiguousarray(binarizer.fit(X).transform(X))


@lru_cache(maxsize=4)  # runs of the same split follow each other
def split(name: str, columns: str, seed: int, data_home: str | None) -> tuple[Array, Array, Array, Array]:
    """Return X of training and test rows, then y of both."""
    whole = problem(name, columns, data_home)
    if whole.n_train is not None:
        n = whole.n_train
        X_train, X_test, y_train, y_test = whole.X[:n], whole.X[n:], whole.y[:n], whole.y[n:]
    else:
        size = {"test_size": TEST_ROWS[name]} if name in TEST_ROWS else {"train_size": 0.8}
        X_train, X_test, y_train, y_test = train_test_split(whole.X, whole.y, shuffle=True, random_state=seed, **size)
    if columns == DEFAULT_COLUMNS:
        binarizer = Binarizer().fit(X_train, y_train)
        X_train, X_test = binarizer.transform(X_train), binarizer.transform(X_test)
    return X_train, X_test, y_train, y_test
