"""How well a tree predicts some rows: accuracy, confusion matrix, recall, precision, Brier score, calibration.

In: a `Model` and the weight of each class at each of its leaves. Out: plain objects for JSON. The one idea: these
counts are enough, so the training rows, whose counts the tree keeps, and test rows are evaluated in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._data.arrays import FloatArray, IntArray
from .._data.features import one_line
from .._tree.naming import MANY_CLASSES, Model
from .._tree.pruning import count_rows

N_BINS = 10
MANY_PAIRS = 50  # with more than MANY_CLASSES, the pairs of actual and predicted class that are listed
Z = 1.959963984540054  # of a 95% interval


@dataclass(frozen=True, eq=False)
class Counts:
    """Some rows, counted at the leaves that they reach."""

    name: str  # "test data"
    short: str  # the heading of a column: "test rows"
    at_leaf: FloatArray  # (node_count, n_classes), plus one column if there are other classes; 0 at inner nodes
    weighted: bool  # True if these are weights rather than rows


def count_training_rows(model: Model) -> Counts:
    """Return the counts of the training rows."""
    counts = np.where(model.tree.is_leaf[:, None], model.tree.value, 0.0)
    return Counts("training data", "training rows", counts, not model.counts_are_rows())


def count_test_rows(model: Model, leaves: IntArray, classes: IntArray, weights: FloatArray | None) -> Counts:
    """Return the counts of test rows from the leaf and the class of each; n_classes is a class unknown to the tree."""
    counts = count_rows(model.tree, leaves, classes, weights)
    if np.all(classes < len(model.labels)):
        counts = counts[:, :-1]
    return Counts("test data", "test rows" if weights is None else "test weight", counts, weights is not None)


def evaluate(model: Model, counts: Counts) -> dict[str, Any]:
    """Return everything that the page says about these rows except calibration."""
    n_classes, at_leaf = len(model.labels), counts.at_leaf
    predicted = np.argmax(model.tree.value, axis=1)
    leaves, actual = np.nonzero(at_leaf)
    pairs, pair_of = np.unique(np.stack([actual, predicted[leaves]]), axis=1, return_inverse=True)
    weights = np.bincount(pair_of.ravel(), at_leaf[leaves, actual], pairs.shape[1]).astype(np.float64)
    is_right = pairs[0] == pairs[1]
    total, n_actual = float(at_leaf.sum()), at_leaf.sum(axis=0)
    majority = model.predicted(0)
    names = [one_line(name) for name in model.class_names]
    return {
        "name": counts.name,
        "short": counts.short,
        "weighted": counts.weighted,
        "total": total,
        "misclassified": float(weights[~is_right].sum()),
        "accuracy": float(weights[is_right].sum()) / total,
        "majority": {"name": names[majority], "share": float(n_actual[majority]) / total},
        "brier": brier(model, counts),
        "unknown": float(n_actual[n_classes:].sum()),
        "actual": names + ["(other)"] * (len(n_actual) - n_classes),
        "actual_totals": n_actual.tolist(),
        **(_confusions(pairs, weights) if n_classes > MANY_CLASSES else _matrix(pairs, weights, n_actual, n_classes)),
    }


def _matrix(pairs: IntArray, weights: FloatArray, n_actual: FloatArray, n_classes: int) -> dict[str, Any]:
    """Return the confusion matrix. `pairs` (2, n): actual and predicted class; `weights` (n,) of those pairs."""
    confusion = np.zeros((len(n_actual), n_classes))
    confusion[pairs[0], pairs[1]] = weights
    correct = np.zeros(len(n_actual))
    correct[:n_classes] = np.diag(confusion)
    return {
        "confusion": confusion.tolist(),
        "recall": _shares(correct, n_actual),
        "precision": _shares(correct[:n_classes], confusion.sum(axis=0)),
    }


def _confusions(pairs: IntArray, weights: FloatArray) -> dict[str, Any]:
    """Return the most frequent confusions of two classes: a whole matrix of many classes could not be read."""
    wrong = np.flatnonzero(pairs[0] != pairs[1])
    shown = wrong[np.argsort(-weights[wrong], kind="stable")[:MANY_PAIRS]]
    triples = zip(pairs[0, shown].tolist(), pairs[1, shown].tolist(), weights[shown].tolist(), strict=True)
    return {"confusion": None, "pairs": list(triples), "n_pairs": len(wrong)}


def brier(model: Model, counts: Counts) -> float:
    """Return the mean squared error of the probabilities: of the second class if there are two, else of all, summed."""
    n_classes = len(model.labels)
    shares = model.tree.shares()
    squares = (shares**2).sum(axis=1)
    loss = 0.0
    for c in range(counts.at_leaf.shape[1]):
        own = shares[:, c] if c < n_classes else 0.0  # an unknown class has probability 0
        loss += float((counts.at_leaf[:, c] * (squares - 2 * own + 1)).sum())
    return loss / float(counts.at_leaf.sum()) / (2 if n_classes <= 2 else 1)


def calibration(model: Model, counts: Counts) -> dict[str, Any]:
    """Return confidence and accuracy of the leaves in bins of equal width, and the expected calibration error."""
    leaves = np.flatnonzero(counts.at_leaf.sum(axis=1) > 0)
    predicted = np.argmax(model.tree.value[leaves], axis=1)
    confidence = model.tree.value[leaves, predicted] / model.tree.value[leaves].sum(axis=1)
    n, correct = counts.at_leaf[leaves].sum(axis=1), counts.at_leaf[leaves, predicted]
    bin_of_leaf = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    bins: list[dict[str, Any]] = []
    for b in np.unique(bin_of_leaf):
        here = bin_of_leaf == b
        total, hits = float(n[here].sum()), float(correct[here].sum())
        low, high = (None, None) if counts.weighted else wilson(hits, total)
        mean = float((confidence * n)[here].sum()) / total
        bins.append({"confidence": mean, "accuracy": hits / total, "low": low, "high": high, "n": total})
    gaps = sum(entry["n"] * abs(entry["confidence"] - entry["accuracy"]) for entry in bins)
    return {"bins": bins, "error": gaps / sum(entry["n"] for entry in bins)}


def wilson(hits: float, total: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share."""
    share = hits / total
    centre = (share + Z**2 / (2 * total)) / (1 + Z**2 / total)
    half = Z / (1 + Z**2 / total) * math.sqrt(share * (1 - share) / total + Z**2 / (4 * total**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def _shares(parts: FloatArray, wholes: FloatArray) -> list[float | None]:
    return [part / whole if whole > 0 else None for part, whole in zip(parts.tolist(), wholes.tolist(), strict=True)]
