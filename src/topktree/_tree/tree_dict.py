"""A tree as plain objects, and back: the part of a model file that predictions depend on.

In: a `Model`; or what JSON gave, of which nothing is trusted. Out: a dict of numbers, strings and lists; or features
and a `Tree`, checked entry by entry. What is wrong is said by a `BadEntry`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._data.arrays import IntArray
from .._data.columns import AT_MOST, EQUALS, IS_MISSING
from .._data.features import KINDS, Feature
from .._data.table import BOOLEAN, CATEGORY, NUMBER
from .naming import SYMBOLS, Model, user_value
from .tree import TREE_LEAF, TREE_UNDEFINED, NodeTest, Tree, code_tests


class BadEntry(ValueError):
    """An entry that is not what it should be; the message says which and why."""


def export_dict(model: Model) -> dict[str, Any]:
    """Return features, classes and nodes as plain objects."""
    return {
        "features": [_feature_dict(feature) for feature in model.features],
        "classes": list(model.labels),
        "nodes": [_node_dict(model, node) for node in range(model.tree.node_count)],
    }


def describe_test(test: NodeTest, features: Sequence[Feature]) -> dict[str, Any]:
    """Return the kind of a test and what it compares with."""
    return {"test": SYMBOLS[test.kind], "value": user_value(test, features[test.feature])}


def _feature_dict(feature: Feature) -> dict[str, Any]:
    return {
        "name": feature.name,
        "kind": feature.kind,
        "categories": list(feature.categories),
        "has_missing": feature.has_missing,
        "has_extreme": feature.has_extreme,
    }


def _node_dict(model: Model, node: int) -> dict[str, Any]:
    result = {
        "rows": int(model.tree.n_node_samples[node]),
        "counts": model.tree.value[node].tolist(),
        "prediction": model.labels[model.predicted(node)],
        "confidence": float(model.shares(node).max()),
        "impurity": float(model.tree.impurity[node]),
    }
    if model.is_leaf(node):
        return result
    test = model.tree.test(node)
    left, right = model.children(node)
    question = {"feature": model.features[test.feature].name, "feature_index": test.feature}
    return {**question, **describe_test(test, model.features), "left": left, "right": right, **result}


def read_features(entries: list[Any]) -> tuple[Feature, ...]:
    """Return the features that `export_dict` described."""
    require(len(entries) > 0, '"features" must not be empty')
    features = []
    for i, entry in enumerate(entries):
        where = f"feature {i}"
        require(isinstance(entry, dict), f"{where} must be an object")
        kind, categories = entry.get("kind"), get(entry, "categories", list)
        require(kind in KINDS, f"{where} must have a kind out of {', '.join(KINDS)}")
        good = all(isinstance(c, (str, int, float)) and not isinstance(c, bool) for c in categories)
        require(good, f"{where} has categories that are neither strings nor numbers")
        require(len(set(categories)) == len(categories), f"{where} has a category twice")
        require(kind == CATEGORY or not categories, f"{where} has categories but is a {kind}")
        flags = get(entry, "has_missing", bool), get(entry, "has_extreme", bool)
        features.append(Feature(get(entry, "name", str), kind, tuple(categories), *flags))
    return tuple(features)


def read_tree(entries: list[Any], features: Sequence[Feature], labels: Sequence[Any]) -> Tree:
    """Return the tree whose nodes `export_dict` described."""
    require(len(entries) > 0, '"nodes" must not be empty')
    for i, entry in enumerate(entries):
        require(isinstance(entry, dict), f"node {i} must be an object")
        _check_node(entry, features, labels, f"node {i}")
    left = np.array([_child(entry, "left", i) for i, entry in enumerate(entries)], dtype=np.int64)
    right = np.array([_child(entry, "right", i) for i, entry in enumerate(entries)], dtype=np.int64)
    _check_preorder(left, right)
    tests = [_node_test(entry, features, f"node {i}") for i, entry in enumerate(entries)]
    value = np.array([entry["counts"] for entry in entries], dtype=np.float64)
    return Tree(
        children_left=left,
        children_right=right,
        value=value,
        impurity=np.array([entry["impurity"] for entry in entries], dtype=np.float64),
        n_node_samples=np.array([entry["rows"] for entry in entries], dtype=np.int64),
        weighted_n_node_samples=value.sum(axis=1),
        **code_tests(
            np.array([test.feature for test in tests], dtype=np.int64),
            np.array([test.kind for test in tests], dtype=np.uint8),
            np.array([test.value for test in tests], dtype=np.float64),
            features,
        ),
    )


def read_test(f: Any, symbol: Any, value: Any, features: Sequence[Feature]) -> NodeTest:
    """Return the test that `describe_test` described; `f` is the index of its feature."""
    require(is_int(f) and 0 <= f < len(features), f"tests a feature that is not there: {f!r}")
    feature = features[f]
    if symbol == SYMBOLS[IS_MISSING]:
        return NodeTest(f, IS_MISSING, 0.0)
    if symbol == SYMBOLS[AT_MOST]:
        require(feature.kind == NUMBER and is_number(value), f"compares a {feature.kind} with {value!r}")
        return NodeTest(f, AT_MOST, float(value))
    require(symbol == SYMBOLS[EQUALS], f"has an unknown test: {symbol!r}")
    if feature.kind == BOOLEAN and value is True:
        return NodeTest(f, EQUALS, 1.0)
    require(feature.kind == CATEGORY and value in feature.categories, f"has an unknown category: {value!r}")
    return NodeTest(f, EQUALS, float(feature.categories.index(value)))


def _check_node(entry: dict[str, Any], features: Sequence[Feature], labels: Sequence[Any], where: str) -> None:
    """Check what every node has; what is repeated for readers must follow from the rest."""
    counts: Any = entry.get("counts")
    good = isinstance(counts, list) and len(counts) == len(labels) and all(is_number(n) and n >= 0 for n in counts)
    positive = good and 0 < sum(counts) < math.inf
    require(positive, f"{where} must have a count per class, none of them negative and not all zero")
    require(is_int(entry.get("rows")) and entry["rows"] >= 1, f"{where} must have rows")
    require(is_number(entry.get("impurity")) and entry["impurity"] >= 0, f"{where} must have an impurity")
    best = max(range(len(counts)), key=counts.__getitem__)
    require(entry.get("prediction") == labels[best], f'{where} has a "prediction" that its counts do not give')
    confidence: Any = entry.get("confidence")
    close = is_number(confidence) and math.isclose(confidence, counts[best] / sum(counts), rel_tol=1e-9)
    require(close, f'{where} has a "confidence" that its counts do not give')
    index: Any = entry.get("feature_index")
    if "test" in entry and is_int(index) and 0 <= index < len(features):
        require(entry.get("feature") == features[index].name, f'{where} has another "feature" than its index says')


def _node_test(entry: dict[str, Any], features: Sequence[Feature], where: str) -> NodeTest:
    if "test" not in entry:
        return NodeTest(TREE_UNDEFINED, AT_MOST, 0.0)  # a leaf: only the feature counts
    try:
        return read_test(entry.get("feature_index"), entry["test"], entry.get("value"), features)
    except BadEntry as problem:
        raise BadEntry(f"{where} {problem}") from None


def _child(entry: dict[str, Any], side: str, node: int) -> int:
    if "test" not in entry:
        return TREE_LEAF
    require(is_int(entry.get(side)) and entry[side] > node, f"node {node} must have a {side} child after it")
    return int(entry[side])


def _check_preorder(left: IntArray, right: IntArray) -> None:
    """Check that a walk that goes left before right meets every node once, in the order of their numbers."""
    todo = [0]
    for node in range(len(left)):
        require(bool(todo) and todo.pop() == node, f"node {node} is not where its parent says")
        if left[node] != TREE_LEAF:
            todo.extend([int(right[node]), int(left[node])])
    require(not todo, "a node has a child that is not there")


def require(condition: bool, problem: str) -> None:
    """Raise a `BadEntry` unless the condition holds."""
    if not condition:
        raise BadEntry(problem)


def get(entry: dict[str, Any], key: str, kind: type) -> Any:
    """Return a value of the type that it must have."""
    require(isinstance(entry.get(key), kind), f'"{key}" must be there, as a {kind.__name__}')
    return entry[key]


def is_int(value: Any) -> bool:
    """Return True for an integer of at most 64 bits that is not a bool."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def is_number(value: Any) -> bool:
    """Return True for such an integer or a finite float."""
    return is_int(value) or (isinstance(value, float) and math.isfinite(value))
