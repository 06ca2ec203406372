"""The content of a report: everything the page shows, as plain objects.

In: a fitted classifier, rows to try it on, the cross-validation that chose it. Out: a dict for JSON.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _parameters
from ..export import Model, one_line
from ..labels import known_classes, read_labels, read_weights
from ..table import encode, read_table
from . import tree_content
from .evidence import at_every_node, evaluate, row_counts, training_counts
from .search_content import describe_grid, describe_pruning, describe_search

if TYPE_CHECKING:
    from ..classifier import TopKTreeClassifier
    from ..classifier_cv import TopKTreeClassifierCV

NAMED_CLASSES = 6  # in the subtitle


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to try a tree on, as the user has them."""

    X: ArrayLike | None
    y: ArrayLike | None
    weights: ArrayLike | None


def make_content(
    classifier: TopKTreeClassifier,
    model: Model,
    rows: Rows,
    *,
    title: str | None,
    max_rows: int,
    cv: TopKTreeClassifierCV | None = None,
) -> dict[str, Any]:
    """The content; `max_rows`: of the test rows, so many are written into the page to be followed."""
    encoded = None if rows.X is None else encode(read_table(classifier, rows.X, reset=False), classifier.features_)
    # A copy: scikit-learn's check of y makes an estimator forget the names of its features.
    labels = None if rows.y is None else read_labels(copy(classifier), rows.y)
    counts = None
    if encoded is not None and labels is not None:
        classes = known_classes(labels, classifier.classes_, len(encoded))
        weights = read_weights(rows.weights, len(encoded))
        counts = row_counts(model, model.tree.apply(encoded), classes, weights)
    seen = None if counts is None else at_every_node(model, counts)
    training = evaluate(model, training_counts(model))
    data = None if counts is None else evaluate(model, counts)
    return {
        "title": one_line(title) if title is not None else "Decision tree",
        "subtitle": _subtitle(classifier, model),
        "figures": _figures(classifier, model, training, data),
        "classes": [one_line(name) for name in model.class_names],
        "colours": tree_content.colours(model),
        "weighted": not model.counts_are_rows(),
        "nodes": tree_content.nodes(model, seen),
        "features": tree_content.features(model, classifier.feature_importances_, encoded),
        "n_features": len(model.features),
        "rows": None if encoded is None or max_rows == 0 else tree_content.rows(model, encoded, labels, max_rows),
        "training": training,
        "data": data,
        "search": describe_search(classifier, model),
        "choices": {
            "grid": None if cv is None else describe_grid(cv),
            "pruning": describe_pruning(model, counts),
        },
        "parameters": [
            [name, "a function" if callable(value) else one_line(str(value))]
            for name, value in (cv or classifier).get_params(deep=False).items()
        ],
    }


def check_arguments(rows: Rows, title: Any, max_rows: Any) -> None:
    """Refuse what makes no sense together."""
    if rows.X is None and rows.y is not None:
        raise ValueError("X_test must be given where y_test is, got None")
    if rows.y is None and rows.weights is not None:
        raise ValueError("y_test must be given where sample_weight is, got None")
    if title is not None and not isinstance(title, str):
        raise ValueError(f"title must be a string or None, got {title!r}")
    _parameters.check_int("max_rows", max_rows, 0)


def _subtitle(classifier: TopKTreeClassifier, model: Model) -> str:
    names = [one_line(name) for name in model.class_names]
    shown = (
        ", ".join(names)
        if len(names) <= NAMED_CLASSES
        else f"{', '.join(names[:NAMED_CLASSES])} and {len(names) - NAMED_CLASSES} more"
    )
    n_rows = int(model.tree.n_node_samples[0])
    return f"Tells apart {shown}. Learnt from {n_rows:,} rows of {len(model.features):,} features."


def _figures(
    classifier: TopKTreeClassifier, model: Model, training: dict[str, Any], data: dict[str, Any] | None
) -> list[dict[str, str]]:
    """The first things one wants to know."""
    shown = data or training
    n_used = len(np.unique(model.tree.feature[model.tree.feature >= 0]))
    figures = [(f"{100 * shown['accuracy']:.1f} %", f"right on {shown['name']}")]
    if data is not None:
        figures.append((f"{100 * training['accuracy']:.1f} %", "right on training data"))
    figures += [
        (str(model.tree.n_leaves), "leaf" if model.tree.n_leaves == 1 else "leaves"),
        (str(model.tree.max_depth), "levels of questions"),
        (str(n_used), "features in use"),
        (
            f"k = {classifier.k}" if isinstance(classifier.k, (int, str)) else "k per level",
            classifier.status_.replace("_", " "),
        ),
    ]
    return [{"value": value, "label": label} for value, label in figures]
