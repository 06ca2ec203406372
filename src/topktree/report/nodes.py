"""The tree, its features and some rows, as the page shows them. In: a `Model` and encoded rows. Out: plain objects."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray
from .._data.columns import AT_MOST, EQUALS, IN, value_text
from .._data.features import one_line
from .._data.table import CATEGORY
from .._data.thresholds import format_number
from .._tree.conditions import Condition, walk_conditions
from .._tree.naming import COLOURS, MANY_CLASSES, SYMBOLS, Model, colours_of_heaviest
from .._tree.text import rule_text

MANY_CATEGORIES = 50  # a form offers all categories of a feature that has at most this many
UNLISTED = -1  # the form's code for the others
MANY_FEATURES = 200  # unused features that are listed by name


def describe_nodes(model: Model, seen: FloatArray | None) -> list[dict[str, Any]]:
    """Return a dict per node. `seen` (node_count, n_classes or one more): test rows of each class at each node."""
    depths = model.tree.node_depths().tolist()
    n_leaves = model.tree.sums_below(np.ones(model.tree.node_count)).astype(np.int64).tolist()
    result = []
    for node, _, conditions, added in walk_conditions(model):
        entry: dict[str, Any] = {
            "depth": depths[node],
            "rows": int(model.tree.n_node_samples[node]),
            "predicted": model.predicted(node),
            "share": float(model.shares(node).max()),
            "confidence": model.confidence(node),
            "leaves": n_leaves[node],
        }
        entry |= _class_counts(model, node, None if seen is None else seen[node])
        if node > 0:
            entry["holds"] = one_line(added)
        entry |= _leaf(conditions) if model.is_leaf(node) else _question(model, node)
        result.append(entry)
    return result


def _class_counts(model: Model, node: int, seen: FloatArray | None) -> dict[str, Any]:
    """Return the weight of the node's heaviest classes, and of the others together.

    `counts` has a list per class, heaviest first: its index, its weight and, if there are test rows, theirs. The first
    one is the predicted class. `others` is such a list, with the number of the other classes in place of the index.
    """
    known = len(model.labels)
    weights = np.stack([model.tree.value[node], *([] if seen is None else [seen[:known]])], axis=1)
    present = np.flatnonzero(weights.any(axis=1))
    order = present[np.argsort(-weights[present, 0], kind="stable")]
    shown, others = order[:MANY_CLASSES], order[MANY_CLASSES:]
    result: dict[str, Any] = {
        "total": float(weights[:, 0].sum()),
        "counts": [[c, *weights[c].tolist()] for c in shown.tolist()],
        "others": [len(others), *weights[others].sum(axis=0).tolist()] if len(others) else None,
    }
    return result if seen is None else result | {"seen_total": float(seen.sum())}


def _leaf(conditions: dict[int, Condition]) -> dict[str, Any]:
    """Return the rule of a leaf. `treated` replaces a text if training did not have the row's value of its feature."""
    said = [(f, condition, one_line(condition.text())) for f, condition in conditions.items() if condition.text()]
    parts = [{"feature": f, "text": text, "treated": one_line(condition.treated_as())} for f, condition, text in said]
    return {"rule": rule_text([text for _, _, text in said]), "conditions": parts}


def _question(model: Model, node: int) -> dict[str, Any]:
    literal = model.literal(node)
    left, right = model.children(node)
    test = literal.test
    return {
        "left": left,
        "right": right,
        "feature": test.feature,
        "test": SYMBOLS[test.kind],
        "value": list(test.categories) if test.kind == IN else test.value,
        "missing": test.missing,
        "unseen": test.unseen,
        "name": one_line(literal.name),
        "asked": f" {one_line(literal.asked)}",
    }


def class_colours(model: Model) -> list[str | None]:
    """Return a colour for the classes of the most training weight, None for those that share the grey."""
    own = colours_of_heaviest(model.tree.value[0], COLOURS[:-1])  # the last is the grey
    return [own.get(c) for c in range(len(model.labels))]


def describe_features(model: Model, importances: FloatArray, rows: NDArray[Any] | None) -> list[dict[str, Any]]:
    """Return the features that the tree tests, then the first of the others. The form offers categories of `rows`."""
    used = dict.fromkeys(model.tree.used_features())
    others = [f for f in range(len(model.features)) if f not in used]
    result: list[dict[str, Any]] = []
    for f in [*used, *others[:MANY_FEATURES]]:
        feature = model.features[f]
        entry = {
            "index": f,
            "name": one_line(feature.name),
            "kind": feature.kind,
            "missing": feature.has_missing,
            "importance": float(importances[f]),
            "used": f in used,
        }
        if f in used:
            entry |= _form_field(model, f, None if rows is None else rows[:, f])
        result.append(entry)
    return result


def _form_field(model: Model, f: int, values: NDArray[Any] | None) -> dict[str, Any]:
    """Return the categories that the form offers for a feature, or the range of its thresholds."""
    feature = model.features[f]
    tests = [model.tree.test(node) for node in model.tree.inner_nodes() if model.tree.feature[node] == f]
    if feature.kind == CATEGORY:
        codes = list(range(len(feature.categories)))
        if len(codes) > MANY_CATEGORIES and not feature.ordered:  # only those that are tested or occur in the rows
            tested = {int(test.value) for test in tests if test.kind == EQUALS}
            tested.update(*(test.categories for test in tests))
            present = [] if values is None else values[np.isfinite(values)].astype(np.int64).tolist()
            codes = sorted(tested.union(present))
        options = [{"code": code, "text": one_line(value_text(feature, code))} for code in codes]
        if len(codes) < len(feature.categories):  # those without an option of their own differ from all that are tested
            options.append({"code": UNLISTED, "text": "(another training value)"})
        return {"options": options}
    thresholds = sorted(test.value for test in tests if test.kind == AT_MOST)
    texts = list(dict.fromkeys(format_number(threshold) for threshold in (*thresholds[:1], *thresholds[-1:])))
    return {"range": " to ".join(texts)} if texts else {}


def describe_rows(model: Model, encoded: NDArray[Any], labels: NDArray[Any] | None, max_rows: int) -> dict[str, Any]:
    """Return the values of the features that the tree tests and the names of the classes in the first rows."""
    used = model.tree.used_features()
    values = np.asarray(encoded[:max_rows, used], dtype=np.float64).tolist()
    shown = None if labels is None else labels[:max_rows].tolist()
    names = dict(zip(model.labels, model.class_names, strict=True))
    return {
        "features": used,
        "values": [[_json_number(value) for value in row] for row in values],
        "labels": None if shown is None else [one_line(names.get(label, str(label))) for label in shown],
        "total": len(encoded),
    }


def _json_number(value: float) -> float | int | str | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
