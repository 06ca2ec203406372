"""How right a tree is: accuracy, who is taken for whom, and whether its confidence can be trusted.

In: a `Model` and the weight of each class at each of its leaves, of any data. Out: plain objects for JSON. The one
idea: these counts are all that is needed, so training data, which the tree has kept the counts of, and other rows are
looked at in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._data.arrays import FloatArray, IntArray
from .._tree.export import Model, one_line
from .._tree.tree import TREE_LEAF

N_BINS = 10
Z = 1.959963984540054  # of a 95 % interval


@dataclass(frozen=True, eq=False)
class Counts:
    """What is known of some data."""

    name: str  # "test data"
    short: str  # the heading of a column: "test rows"
    at_leaf: FloatArray  # (node_count, n_classes), or with one column more for rows of other classes; 0 at inner nodes
    weighted: bool  # whether they are weights rather than rows


def training_counts(model: Model) -> Counts:
    """Of the data that the tree was made from."""
    is_leaf = model.tree.children_left == TREE_LEAF
    counts = np.where(is_leaf[:, None], model.tree.value, 0.0)
    return Counts("training data", "training rows", counts, not model.counts_are_rows())


def row_counts(model: Model, leaves: IntArray, classes: IntArray, weights: FloatArray | None) -> Counts:
    """Of test rows: the leaf of each, and the index of its class, n_classes for one that the tree does not know."""
    n_classes = len(model.labels)
    has_unknown = bool(np.any(classes == n_classes))
    counts = np.zeros((model.tree.node_count, n_classes + has_unknown))
    np.add.at(counts, (leaves, classes), 1.0 if weights is None else weights)
    return Counts("test data", "test rows" if weights is None else "test weight", counts, weights is not None)


def evaluate(model: Model, counts: Counts) -> dict[str, Any]:
    """Everything the page says of these rows."""
    n_classes = len(model.labels)
    at_leaf = counts.at_leaf
    predicted = np.argmax(model.tree.value, axis=1)
    confusion = np.zeros((at_leaf.shape[1], n_classes))
    for c in range(n_classes):
        confusion[:, c] = at_leaf[predicted == c].sum(axis=0)
    total = float(at_leaf.sum())
    right = float(np.trace(confusion))
    usual = model.predicted(0)
    n_actual, n_said = confusion.sum(axis=1), confusion.sum(axis=0)
    off_diagonal = confusion.copy()
    np.fill_diagonal(off_diagonal, 0.0)
    names = [one_line(name) for name in model.class_names]
    return {
        "name": counts.name,
        "short": counts.short,
        "weighted": counts.weighted,
        "total": total,
        "wrong": float(off_diagonal.sum()),
        "accuracy": right / total,
        "usual": {"name": names[usual], "share": float(n_actual[usual]) / total},
        "brier": brier(model, counts),
        "unknown": float(n_actual[n_classes]) if len(n_actual) > n_classes else 0,
        "actual": names + ["(other)"] * (len(n_actual) - n_classes),
        "actual_totals": n_actual.tolist(),
        "confusion": confusion.tolist(),
        "found": [_share(float(confusion[c, c]) if c < n_classes else 0.0, float(n)) for c, n in enumerate(n_actual)],
        "precision": [_share(float(confusion[c, c]), float(n)) for c, n in enumerate(n_said)],
    }


def brier(model: Model, counts: Counts) -> float:
    """Mean squared error of the probabilities: of the second class if there are two, summed over all if more."""
    n_classes = len(model.labels)
    shares = model.tree.shares()
    squares = (shares**2).sum(axis=1)
    loss = 0.0
    for c in range(counts.at_leaf.shape[1]):
        own = shares[:, c] if c < n_classes else 0.0  # of an unknown class, no probability is right
        loss += float((counts.at_leaf[:, c] * (squares - 2 * own + 1)).sum())
    return loss / float(counts.at_leaf.sum()) / (2 if n_classes <= 2 else 1)


def calibration(model: Model, counts: Counts) -> dict[str, Any]:
    """Confidence of the leaves against the share that is right: bins, and the expected calibration error."""
    bins = calibration_bins(model, counts)
    error = sum(entry["n"] * abs(entry["promised"] - entry["right"]) for entry in bins)
    return {"bins": bins, "error": error / sum(entry["n"] for entry in bins)}


def calibration_bins(model: Model, counts: Counts) -> list[dict[str, Any]]:
    """Bins of equal width, those that have rows."""
    leaves = np.flatnonzero(counts.at_leaf.sum(axis=1) > 0)
    predicted = np.argmax(model.tree.value[leaves], axis=1)
    confidence = model.tree.value[leaves, predicted] / model.tree.value[leaves].sum(axis=1)
    n, right = counts.at_leaf[leaves].sum(axis=1), counts.at_leaf[leaves, predicted]
    bins = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    result = []
    for b in np.unique(bins):
        here = bins == b
        total, hits = float(n[here].sum()), float(right[here].sum())
        low, high = (None, None) if counts.weighted else wilson(hits, total)
        promised = float((confidence * n)[here].sum()) / total
        result.append({"promised": promised, "right": hits / total, "low": low, "high": high, "n": total})
    return result


def wilson(hits: float, total: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    share = hits / total
    centre = (share + Z**2 / (2 * total)) / (1 + Z**2 / total)
    half = Z / (1 + Z**2 / total) * math.sqrt(share * (1 - share) / total + Z**2 / (4 * total**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
