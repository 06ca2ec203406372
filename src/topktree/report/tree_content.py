"""The tree, its features and some rows, as the page shows them.

In: a `Model` and encoded rows. Out: plain objects for JSON.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray
from .._data.columns import value_text
from .._data.features import Feature
from .._data.table import CATEGORY
from .._data.thresholds import format_number
from .._tree.export import COLOURS, IS_MISSING, Model, one_line, rule_text, rules

MANY_CATEGORIES = 50  # up to here a form offers all of them
MANY_FEATURES = 200  # that the tree does not look at: from here on only their number is told


def nodes(model: Model, seen: FloatArray | None) -> list[dict[str, Any]]:
    """A dict per node. `seen` (node_count, n_classes or one more): rows of each class, of other data."""
    depths = model.tree.node_depths().tolist()
    n_leaves = model.tree.sums_below(np.ones(model.tree.node_count)).astype(np.int64).tolist()
    said = {leaf: [one_line(text) for text in conditions] for leaf, conditions in rules(model)}
    result = []
    for node in range(model.tree.node_count):
        entry: dict[str, Any] = {
            "depth": depths[node],
            "rows": int(model.tree.n_node_samples[node]),
            "counts": model.tree.value[node].tolist(),
            "predicted": model.predicted(node),
            "share": float(model.shares(node).max()),
            "confidence": model.confidence(node),
            "leaves": n_leaves[node],
        }
        if seen is not None:
            entry |= {"seen": seen[node, : len(model.labels)].tolist(), "seen_total": float(seen[node].sum())}
        if model.is_leaf(node):
            entry |= {"rule": rule_text(said[node]), "conditions": len(said[node])}
        else:
            entry |= _question(model, node)
        result.append(entry)
    for parent in result:
        for side, text in zip(("left", "right"), parent.pop("branches", ()), strict=False):
            result[parent[side]]["holds"] = text
    return result


def _question(model: Model, node: int) -> dict[str, Any]:
    test = model.test(node)
    left, right = model.children(node)
    category = int(model.tree.category[node])
    value = None if test.kind == IS_MISSING else category if category >= 0 else test.value
    return {
        "left": left,
        "right": right,
        "yes": left if test.yes_goes_left else right,
        "feature": test.feature,
        "test": test.kind,
        "value": int(value) if value is True else value,
        "name": one_line(test.name),
        "asked": one_line(test.literal[len(test.name) :]),
        "branches": [one_line(text) for text in model.branches(node)],
    }


def colours(model: Model) -> list[str | None]:
    """A colour for the classes of the most training weight, None for those that share the grey."""
    own = COLOURS[:-1]  # the last is a grey
    n_classes = len(model.labels)
    if n_classes <= len(own):
        return list(own[:n_classes])
    heaviest = np.sort(np.argsort(-model.tree.value[0], kind="stable")[: len(own)]).tolist()
    by_class = dict(zip(heaviest, own, strict=True))
    return [by_class.get(c) for c in range(n_classes)]


def features(model: Model, importances: FloatArray, rows: NDArray[Any] | None) -> list[dict[str, Any]]:
    """The features that the tree looks at, and the first of the others. The form offers categories of `rows`."""
    used = used_features(model)
    others = [f for f in range(len(model.features)) if f not in set(used)]
    return [_feature(model, f, float(importances[f]), f in set(used), rows) for f in [*used, *others[:MANY_FEATURES]]]


def used_features(model: Model) -> list[int]:
    """The features that some node tests."""
    return [int(f) for f in np.unique(model.tree.feature) if f >= 0]


def _feature(model: Model, f: int, importance: float, is_used: bool, rows: NDArray[Any] | None) -> dict[str, Any]:
    feature = model.features[f]
    entry: dict[str, Any] = {
        "index": f,
        "name": one_line(feature.name),
        "kind": feature.kind,
        "missing": feature.has_missing,
        "importance": importance,
        "used": is_used,
    }
    if not is_used:
        return entry
    here = model.tree.feature == f
    if feature.kind == CATEGORY:
        codes = _codes(feature, model.tree.category[here], None if rows is None else rows[:, f])
        entry["options"] = [{"code": code, "text": one_line(value_text(feature, code))} for code in codes]
    thresholds = model.tree.threshold[here & (model.tree.category < 0) & np.isfinite(model.tree.threshold)]
    if len(thresholds) and feature.kind != CATEGORY:
        texts = list(dict.fromkeys(format_number(t) for t in (thresholds.min(), thresholds.max())))
        entry["range"] = texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[1]}"
    return entry


def _codes(feature: Feature, tested: NDArray[Any], values: NDArray[Any] | None) -> list[int]:
    """The categories that a form offers: all, or those that are tested or in the rows."""
    if len(feature.categories) <= MANY_CATEGORIES:
        return list(range(len(feature.categories)))
    present = [] if values is None else values[np.isfinite(values)].astype(np.int64).tolist()
    return sorted({code for code in [*tested.tolist(), *present] if code >= 0})


def rows(model: Model, encoded: NDArray[Any], labels: list[str] | None, total: int) -> dict[str, Any]:
    """Rows, as far as the tree looks at them; the first of `total`."""
    used = used_features(model)
    values = np.asarray(encoded[:, used], dtype=np.float64).tolist()
    return {
        "features": used,
        "values": [[_number(value) for value in row] for row in values],
        "labels": None if labels is None else [one_line(label) for label in labels],
        "total": total,
    }


def _number(value: float) -> float | int | str | None:
    """As JSON has it."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
