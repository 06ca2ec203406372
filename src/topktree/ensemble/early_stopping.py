"""Early stopping: rows kept back from boosting tell when more rounds do not help.

In: the user's table. Out: training data of the other rows, and a `Validation` that watches the accuracy on these rows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split

from .._data.arrays import FloatArray, IntArray
from .._data.features import encode
from .._data.labels import number_labels, read_labels, read_weights
from .._data.table import read_table, take_rows
from .._data.training import TrainingData, prepare
from .._tree.tree import Tree
from .samme import add_vote

if TYPE_CHECKING:
    from .boosting import TopKBoostingClassifier


@dataclass
class Validation:
    """The accuracy on the rows that were kept back, after every round."""

    encoded: NDArray[Any]
    y: NDArray[np.int32]
    weights: FloatArray | None
    decision: FloatArray
    patience: int
    tol: float
    scores: list[float] = field(default_factory=list)

    def is_enough(self, tree: Tree, vote: float) -> bool:
        """Add a tree, and tell whether the accuracy has not risen for `patience` rounds."""
        add_vote(self.decision, tree.predict(self.encoded), vote)
        right = np.argmax(self.decision, axis=1) == self.y
        self.scores.append(float(np.average(right, weights=self.weights)))
        return len(self.scores) - self.n_best() >= self.patience

    def n_best(self) -> int:
        """Return the number of trees up to the last one that raised the accuracy by more than `tol`."""
        best = 0
        for i, score in enumerate(self.scores):
            if score > self.scores[best] + self.tol:
                best = i
        return best + 1


def hold_out(
    estimator: TopKBoostingClassifier,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    fraction: float | None,
) -> tuple[TrainingData, Validation | None]:
    """Return the rows to train on, made ready, and those to validate on, which there are only with a fraction."""
    if fraction is None:
        return prepare(estimator, X, y, sample_weight), None
    labels = read_labels(y)
    n_rows = read_table(copy(estimator), X, reset=True).n_rows  # before rows are taken: it says what X must be
    classes, indices = number_labels(labels, n_rows)
    weights = read_weights(sample_weight, n_rows)
    train, test = _split(indices, fraction, estimator.random_state)
    own = None if weights is None else weights[train]
    data = prepare(estimator, take_rows(X, train), labels[train], own, classes)
    encoded = encode(read_table(estimator, take_rows(X, test), reset=False), data.features)
    rest = None if weights is None else weights[test]
    if rest is not None and not rest.any():
        raise ValueError("sample_weight must be > 0 in some of the rows that are kept for validation, got none")
    decision = np.zeros((len(test), len(classes)))
    assert estimator.n_iter_no_change is not None
    return data, Validation(encoded, indices[test], rest, decision, estimator.n_iter_no_change, estimator.tol)


def _split(classes: NDArray[np.int32], fraction: float, random_state: Any) -> tuple[IntArray, IntArray]:
    """Return the rows to train and to validate on, with all classes in both where there are enough rows."""
    rows = np.arange(len(classes))
    try:
        train, test = train_test_split(rows, test_size=fraction, stratify=classes, random_state=random_state)
    except ValueError:  # too few rows of a class
        try:
            train, test = train_test_split(rows, test_size=fraction, random_state=random_state)
        except ValueError as error:
            raise ValueError(f"validation_fraction must leave rows to train on, got {fraction}: {error}") from None
    return np.sort(train), np.sort(test)
