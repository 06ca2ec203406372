"""The summary of a fitted tree: one dict of plain objects that feeds the whole page.

In: a fitted classifier, test rows, the cross-validation that chose it. Out: a dict for JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from .._data.features import encode, one_line
from .._data.labels import known_classes, read_labels, read_weights
from .._data.table import read_table
from .._runtime import checks
from .._tree.naming import COLOURS, Model
from . import nodes
from .evaluation import calibration, count_test_rows, count_training_rows, evaluate
from .search import describe_grid, describe_pruning, describe_search, is_pruned

if TYPE_CHECKING:
    from .._classifier import TopKTreeClassifier
    from .._selection.classifier_cv import TopKTreeClassifierCV

NAMED_CLASSES = 6  # in the subtitle


def summarise(
    classifier: TopKTreeClassifier,
    model: Model,
    X: ArrayLike | None,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    title: str | None,
    max_rows: int,
    cv: TopKTreeClassifierCV | None,
) -> dict[str, Any]:
    """Return the summary. Of the test rows in `X`, `y` and `sample_weight`, the first `max_rows` are in it."""
    _check_arguments(X, y, sample_weight, title, max_rows)
    encoded = None if X is None else encode(read_table(classifier, X, reset=False), classifier.features_)
    labels, counts = None, None
    if encoded is not None and y is not None:
        labels = read_labels(y)
        classes = known_classes(labels, classifier.classes_, len(encoded))
        counts = count_test_rows(model, model.tree.apply(encoded), classes, read_weights(sample_weight, len(encoded)))
    training = evaluate(model, count_training_rows(model))
    data = None if counts is None else evaluate(model, counts)
    seen = None if counts is None else model.tree.sums_below(counts.at_leaf)
    sample = None if encoded is None else encoded[:max_rows]
    rows = None
    if encoded is not None and max_rows and model.tree.used_features():  # a single leaf asks for no values
        rows = nodes.describe_rows(model, encoded, labels, max_rows)
    return {
        "title": one_line(title) if title is not None else "Decision tree",
        "subtitle": _subtitle(model),
        "contents": _contents(rows, data),
        "figures": _figures(classifier, model, training, data),
        "classes": [one_line(name) for name in model.class_names],
        "colours": nodes.class_colours(model),
        "other_colour": COLOURS[-1],
        "weighted": not model.counts_are_rows(),
        "nodes": nodes.describe_nodes(model, seen),
        "features": nodes.describe_features(model, classifier.feature_importances_, sample),
        "n_features": len(model.features),
        "rows": rows,
        "training": training,
        "data": data,
        "calibration": None if counts is None else calibration(model, counts),
        "search": describe_search(classifier, model),
        "choices": {"grid": None if cv is None else describe_grid(cv), "pruning": describe_pruning(model, seen)},
        "parameters": [
            [name, "a function" if callable(value) else one_line(str(value))]
            for name, value in (cv or classifier).get_params(deep=False).items()
        ],
    }


def _check_arguments(X: Any, y: Any, sample_weight: Any, title: Any, max_rows: Any) -> None:
    if X is None and y is not None:
        raise ValueError("X_test must be given with y_test, got None")
    if y is None and sample_weight is not None:
        raise ValueError("y_test must be given with sample_weight, got None")
    if title is not None and not isinstance(title, str):
        raise ValueError(f"title must be a string or None, got {checks.short(title)}")
    checks.check_int("max_rows", max_rows, 0)


def _subtitle(model: Model) -> str:
    names = ", ".join(one_line(name) for name in model.class_names[:NAMED_CLASSES])
    n_more = len(model.class_names) - NAMED_CLASSES
    more = f" and {n_more:,} more" if n_more > 0 else ""
    n_rows = int(model.tree.n_node_samples[0])
    return f"Classes: {names}{more}. Trained on {n_rows:,} rows with {len(model.features):,} features."


def _contents(rows: dict[str, Any] | None, data: dict[str, Any] | None) -> str:
    """Return what a reader of the file can learn about the data; whoever passes it on should know."""
    counted = "training rows" if data is None else "training and test rows"
    held = (
        "This file contains the tree, names of features and classes, thresholds and categories of features, the "
        f"parameters and statistics of the search, and counts of the {counted}."
    )
    if rows is None:
        return f"{held} It contains no rows of data."
    n, n_used = len(rows["values"]), len(rows["features"])
    which = "all" if n == rows["total"] else f"the first {n:,}"
    values = f"their values of the {'feature' if n_used == 1 else f'{n_used:,} features'} that the tree uses"
    classes = "" if rows["labels"] is None else ", and their classes"
    return f"{held} It also contains {which} of the {rows['total']:,} test rows: {values}{classes}."


def _figures(
    classifier: TopKTreeClassifier, model: Model, training: dict[str, Any], data: dict[str, Any] | None
) -> list[dict[str, str]]:
    """Return the figures at the top of the page."""
    shown = [training] if data is None else [data, training]
    n_used = len(model.tree.used_features())
    status = "pruned" if is_pruned(classifier) else classifier.status_.replace("_", " ")
    figures = [(f"{100 * part['accuracy']:.1f}%", f"accuracy on {part['name']}") for part in shown]
    figures += [
        (f"{model.tree.n_leaves:,}", "leaf" if model.tree.n_leaves == 1 else "leaves"),
        (str(model.tree.max_depth), "depth"),
        (f"{n_used:,}", "feature used" if n_used == 1 else "features used"),
        (f"k = {checks.k_text(classifier.k)}", status),
    ]
    return [{"value": value, "label": label} for value, label in figures]
