"""The summary of a fitted tree: one dict of plain objects that feeds the whole page.

In: a fitted classifier, test rows, the cross-validation that chose it. Out: a dict for JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from .._data.features import encode
from .._data.labels import known_classes, read_labels, read_weights
from .._data.table import read_table
from .._runtime import checks
from .._tree.naming import COLOURS, Model, one_line
from . import nodes
from .evaluation import Counts, calibration, count_rows, evaluate, training_counts
from .search import describe_grid, describe_pruning, describe_search, is_pruned

if TYPE_CHECKING:
    from .._classifier import TopKTreeClassifier
    from .._selection.classifier_cv import TopKTreeClassifierCV

NAMED_CLASSES = 6  # in the subtitle


@dataclass(frozen=True, eq=False)
class Rows:
    """Test rows as the user gave them."""

    X: ArrayLike | None
    y: ArrayLike | None
    weights: ArrayLike | None


@dataclass(frozen=True, eq=False)
class _TestRows:
    """Test rows as the tree reads them: the counts of all, and the values of the first."""

    counts: Counts | None = None
    sample: NDArray[Any] | None = None
    labels: list[str] | None = None  # of the sample
    n_rows: int = 0


def summarise(
    classifier: TopKTreeClassifier,
    model: Model,
    rows: Rows,
    *,
    title: str | None,
    max_rows: int,
    cv: TopKTreeClassifierCV | None = None,
) -> dict[str, Any]:
    """Return the summary; the first `max_rows` test rows are in it."""
    _check_arguments(rows, title, max_rows)
    test = _read_rows(classifier, model, rows, max_rows)
    training = evaluate(model, training_counts(model))
    data = None if test.counts is None else evaluate(model, test.counts)
    seen = None if test.counts is None else model.tree.sums_below(test.counts.at_leaf)
    sample = test.sample
    return {
        "title": one_line(title) if title is not None else "Decision tree",
        "subtitle": _subtitle(model),
        "figures": _figures(classifier, model, training, data),
        "classes": [one_line(name) for name in model.class_names],
        "colours": nodes.class_colours(model),
        "other_colour": COLOURS[-1],
        "weighted": not model.counts_are_rows(),
        "nodes": nodes.describe_nodes(model, seen),
        "features": nodes.describe_features(model, classifier.feature_importances_, sample),
        "n_features": len(model.features),
        "rows": None if sample is None else nodes.describe_rows(model, sample, test.labels, test.n_rows),
        "training": training,
        "data": data,
        "calibration": None if test.counts is None else calibration(model, test.counts),
        "search": describe_search(classifier, model),
        "choices": {"grid": None if cv is None else describe_grid(cv), "pruning": describe_pruning(model, seen)},
        "parameters": [
            [name, "a function" if callable(value) else one_line(str(value))]
            for name, value in (cv or classifier).get_params(deep=False).items()
        ],
    }


def _check_arguments(rows: Rows, title: Any, max_rows: Any) -> None:
    if rows.X is None and rows.y is not None:
        raise ValueError("X_test must be given with y_test, got None")
    if rows.y is None and rows.weights is not None:
        raise ValueError("y_test must be given with sample_weight, got None")
    if title is not None and not isinstance(title, str):
        raise ValueError(f"title must be a string or None, got {title!r}")
    checks.check_int("max_rows", max_rows, 0)


def _read_rows(classifier: TopKTreeClassifier, model: Model, rows: Rows, max_rows: int) -> _TestRows:
    if rows.X is None:
        return _TestRows()
    encoded = encode(read_table(classifier, rows.X, reset=False), classifier.features_)
    sample = None if max_rows == 0 else encoded[:max_rows]
    if rows.y is None:
        return _TestRows(None, sample, None, len(encoded))
    labels = read_labels(rows.y)
    classes = known_classes(labels, classifier.classes_, len(encoded))
    weights = read_weights(rows.weights, len(encoded))
    if weights is not None and not weights.any():  # not every version of scikit-learn refuses them
        raise ValueError(f"sample_weight must be > 0 in some row, got {len(weights)} rows of weight 0")
    names = [
        str(label) if c == len(model.labels) else model.class_names[c]
        for label, c in zip(labels[:max_rows].tolist(), classes[:max_rows].tolist(), strict=True)
    ]
    return _TestRows(count_rows(model, model.tree.apply(encoded), classes, weights), sample, names, len(encoded))


def _subtitle(model: Model) -> str:
    names = ", ".join(one_line(name) for name in model.class_names[:NAMED_CLASSES])
    n_more = len(model.class_names) - NAMED_CLASSES
    more = f" and {n_more} more" if n_more > 0 else ""
    n_rows = int(model.tree.n_node_samples[0])
    return f"Classes: {names}{more}. Trained on {n_rows:,} rows with {len(model.features):,} features."


def _figures(
    classifier: TopKTreeClassifier, model: Model, training: dict[str, Any], data: dict[str, Any] | None
) -> list[dict[str, str]]:
    """Return the figures at the top of the page."""
    shown = [training] if data is None else [data, training]
    figures = [(f"{100 * part['accuracy']:.1f}%", f"accuracy on {part['name']}") for part in shown]
    figures += [
        (str(model.tree.n_leaves), "leaf" if model.tree.n_leaves == 1 else "leaves"),
        (str(model.tree.max_depth), "depth"),
        (str(len(nodes.used_features(model))), "features used"),
        (
            f"k = {checks.k_text(classifier.k)}",
            "pruned" if is_pruned(classifier) else classifier.status_.replace("_", " "),
        ),
    ]
    return [{"value": value, "label": label} for value, label in figures]
