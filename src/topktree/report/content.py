"""The content of a report: everything the page shows, as plain objects.

In: a fitted classifier, rows to try it on, the cross-validation that chose it. Out: a dict for JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from .._data.features import encode
from .._data.labels import known_classes, read_labels, read_weights
from .._data.table import read_table
from .._runtime import checks
from .._tree.export import COLOURS, Model, one_line
from . import tree_content
from .evidence import Counts, calibration, evaluate, row_counts, training_counts
from .search_content import describe_grid, describe_pruning, describe_search, is_pruned

if TYPE_CHECKING:
    from .._classifier import TopKTreeClassifier
    from .._selection.classifier_cv import TopKTreeClassifierCV

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
    tested = _read(classifier, model, rows, max_rows)
    training = evaluate(model, training_counts(model))
    data = None if tested.counts is None else evaluate(model, tested.counts)
    seen = None if tested.counts is None else model.tree.sums_below(tested.counts.at_leaf)
    return {
        "title": one_line(title) if title is not None else "Decision tree",
        "subtitle": _subtitle(model),
        "figures": _figures(classifier, model, training, data),
        "classes": [one_line(name) for name in model.class_names],
        "colours": tree_content.colours(model),
        "other_colour": COLOURS[-1],
        "weighted": not model.counts_are_rows(),
        "nodes": tree_content.nodes(model, seen),
        "features": tree_content.features(model, classifier.feature_importances_, tested.sample),
        "n_features": len(model.features),
        "rows": None
        if tested.sample is None
        else tree_content.rows(model, tested.sample, tested.labels, tested.n_rows),
        "training": training,
        "data": data,
        "calibration": None if tested.counts is None else calibration(model, tested.counts),
        "search": describe_search(classifier, model),
        "choices": {
            "grid": None if cv is None else describe_grid(cv),
            "pruning": describe_pruning(model, seen),
        },
        "parameters": [
            [name, "a function" if callable(value) else one_line(str(value))]
            for name, value in (cv or classifier).get_params(deep=False).items()
        ],
    }


@dataclass(frozen=True, eq=False)
class _Tested:
    """Rows as the tree knows them: what all of them say together, and the first of them one by one."""

    counts: Counts | None = None
    sample: NDArray[Any] | None = None
    labels: list[str] | None = None  # of the sample
    n_rows: int = 0


def _read(classifier: TopKTreeClassifier, model: Model, rows: Rows, max_rows: int) -> _Tested:
    if rows.X is None:
        return _Tested()
    encoded = encode(read_table(classifier, rows.X, reset=False), classifier.features_)
    sample = None if max_rows == 0 else encoded[:max_rows]
    if rows.y is None:
        return _Tested(None, sample, None, len(encoded))
    labels = read_labels(rows.y)
    classes = known_classes(labels, classifier.classes_, len(encoded))
    weights = read_weights(rows.weights, len(encoded))
    if weights is not None and not weights.any():  # not every version of scikit-learn refuses them
        raise ValueError(f"sample_weight must be > 0 in some row, got {len(weights)} rows of weight 0")
    names = [
        str(label) if c == len(model.labels) else model.class_names[c]
        for label, c in zip(labels[:max_rows].tolist(), classes[:max_rows].tolist(), strict=True)
    ]
    return _Tested(row_counts(model, model.tree.apply(encoded), classes, weights), sample, names, len(encoded))


def check_arguments(rows: Rows, title: Any, max_rows: Any) -> None:
    """Refuse what makes no sense together."""
    if rows.X is None and rows.y is not None:
        raise ValueError("X_test must be given where y_test is, got None")
    if rows.y is None and rows.weights is not None:
        raise ValueError("y_test must be given where sample_weight is, got None")
    if title is not None and not isinstance(title, str):
        raise ValueError(f"title must be a string or None, got {title!r}")
    checks.check_int("max_rows", max_rows, 0)


def _subtitle(model: Model) -> str:
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
    figures = [(f"{100 * shown['accuracy']:.1f} %", f"right on {shown['name']}")]
    if data is not None:
        figures.append((f"{100 * training['accuracy']:.1f} %", "right on training data"))
    figures += [
        (str(model.tree.n_leaves), "leaf" if model.tree.n_leaves == 1 else "leaves"),
        (str(model.tree.max_depth), "levels of questions"),
        (str(len(tree_content.used_features(model))), "features in use"),
        (
            f"k = {checks.k_text(classifier.k)}",
            "pruned" if is_pruned(classifier) else classifier.status_.replace("_", " "),
        ),
    ]
    return [{"value": value, "label": label} for value, label in figures]
