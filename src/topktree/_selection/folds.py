"""Folds: which rows train and which score, with the training rows made ready once for every candidate.

In: the user's table and splitter. Out: `Fold`s.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold, check_cv

from .._base import fitted_copy
from .._classifier import TopKTreeClassifier
from .._data.arrays import FloatArray, IntArray
from .._data.features import encode
from .._data.labels import number_labels
from .._data.table import read_table, take_rows
from .._data.training import TrainingData, prepare
from .._runtime import checks
from .._runtime.limits import Stop
from .._search.fitter import FoundTree
from .scoring import Scoring

Rows = tuple[IntArray, IntArray]  # to train on, to score on


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows ready to be searched, and the rows to score on. If it cannot be used, an error instead of data."""

    tree: TopKTreeClassifier  # it has the parameters, and what reading the table has set
    data: TrainingData | None
    X_test: Any  # encoded if they are scored by accuracy, else as the user gave them
    y_test: NDArray[Any]
    weights: FloatArray | None
    scoring: Scoring
    error: str = ""

    def score(self, found: FoundTree, parameters: dict[str, Any]) -> float:
        """Score a tree that was found on the training rows. `parameters` are those that it was searched with."""
        if not self.scoring.is_accuracy:
            fitted = fitted_copy(self.tree, found, **parameters, _warns_of_new_values=False)
            return self.scoring(fitted, self.X_test, self.y_test, self.weights)
        predicted = found.classes[found.tree.predict(self.X_test)]
        return float(np.average(predicted == self.y_test, weights=self.weights))


def read_splits(cv: Any, X: Any, y: NDArray[Any], groups: ArrayLike | None, random_state: Any) -> list[Rows]:
    """Return the rows of each fold that the user's `cv` gives."""
    if checks.is_int(cv):
        return _stratified(int(cv), y, random_state)
    message = f"cv must be an int >= 2, a splitter or an iterable of splits, got {checks.short(cv)}"
    is_splitter = hasattr(cv, "split") and not isinstance(cv, type | str)
    if not is_splitter and (not isinstance(cv, Iterable) or isinstance(cv, str | bytes | dict)):
        raise ValueError(message)
    try:
        parts = list(check_cv(cv, y, classifier=True).split(X, y, groups))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{message}: {checks.shorten(str(error))}") from error
    if not parts:
        raise ValueError(f"cv must give at least one split, got {checks.short(cv)}")
    return [_as_rows(part, len(y)) for part in parts]


def _stratified(n_folds: int, y: NDArray[Any], random_state: Any) -> list[Rows]:
    checks.check_int("cv", n_folds, 2)
    checks.check_random_state(random_state)
    classes = number_labels(y, len(y))[1]  # scikit-learn does not take every label that we do
    most = int(np.bincount(classes).max())
    if n_folds > most:
        raise ValueError(
            f"cv must be at most {most}, the number of rows of the largest class, got {checks.short(n_folds)}"
        )
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(classes, classes))


def _as_rows(split: Any, n_rows: int) -> Rows:
    """Return the training and test rows of a split as indices."""
    try:
        parts = map(np.asarray, split)
        # NumPy reads an empty list as float64.
        train, test = (np.arange(n_rows)[part if part.size else part.astype(np.int64)] for part in parts)
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(f"cv must give pairs of training and test rows of {n_rows} rows: {error}") from None
    return train, test


def make_fold(
    tree: TopKTreeClassifier,
    X: Any,
    y: NDArray[Any],
    weights: FloatArray | None,
    classes: NDArray[Any],
    rows: Rows,
    scoring: Scoring,
    stop: Stop,
) -> Fold:
    """Binarize the training rows. All classes stay known, even those without rows in the fold."""
    train, test = rows
    if weights is not None:
        test = test[weights[test] > 0]
    tree = copy(tree)
    train_weights, test_weights = (None if weights is None else weights[part] for part in (train, test))
    X_test = take_rows(X, test)
    try:
        with stop.working():
            if len(test) == 0:
                raise ValueError("it has no rows with weight to score on")
            data = prepare(tree, take_rows(X, train), y[train], train_weights, classes, stop)
            if scoring.is_accuracy:
                X_test = encode(read_table(tree, X_test, reset=False), data.features)
    except ValueError as error:
        return Fold(tree, None, X_test, y[test], test_weights, scoring, error=str(error))
    return Fold(tree, data.packed(), X_test, y[test], test_weights, scoring)
