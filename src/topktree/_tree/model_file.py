"""A tree as plain objects, and back; and the file that they are written to.

In: a `Model`; or parsed JSON, which is not trusted. Out: a dict of numbers, strings and lists, and a file of
them; or features and a `Tree`, checked entry by entry, where a ValueError says what is wrong. `_loading` makes an
estimator from them. A file of version 1 can always be read: new keys may be added, existing ones stay, and parameters
that a file lacks get their defaults. The key "checksum", which early files have, is ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.columns import AT_MOST, EQUALS, IS_MISSING
from .._data.features import KINDS, Feature
from .._data.table import BOOLEAN, CATEGORY, NUMBER
from .._runtime import checks
from .._runtime.files import PathLike, write_whole
from .naming import SYMBOLS, Model, user_value
from .tree import TREE_LEAF, TREE_UNDEFINED, NodeTest, Tree, code_tests

FORMAT, ENSEMBLE_FORMAT = "topktree-classifier", "topktree-ensemble"
FOREST, BOOSTING = "forest", "boosting"
VERSION = 1

# The types that the labels of a file can have; "str" is as wide as the longest label.
CLASS_TYPES = ("str", "bool", "object", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
CLASS_TYPES += ("float16", "float32", "float64")


def export_dict(model: Model) -> dict[str, Any]:
    """Return features, classes and nodes as plain objects."""
    return {
        "features": [{**asdict(feature), "categories": list(feature.categories)} for feature in model.features],
        "classes": list(model.labels),
        "nodes": [_node_dict(model, node) for node in range(model.tree.node_count)],
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


def describe_test(test: NodeTest, features: Sequence[Feature]) -> dict[str, Any]:
    """Return the kind of a test and what it compares with."""
    return {"test": SYMBOLS[test.kind], "value": user_value(test, features[test.feature])}


def write_model(path: PathLike, content: dict[str, Any], classes: NDArray[Any], form: str = FORMAT) -> None:
    """Write the file whole or not at all."""
    payload = {"format": form, "version": VERSION, **content, "class_type": _class_type(classes)}
    write_whole(path, json.dumps(payload, indent=1, allow_nan=False) + "\n")


def _class_type(classes: NDArray[Any]) -> str:
    """Return the name of the labels' NumPy type; raise a ValueError if a file cannot hold them."""
    name = "str" if classes.dtype.kind == "U" else classes.dtype.name
    plain = (str, int, float, np.integer, np.bool_) if name == "object" else object
    odd = [label for label in classes.tolist() if name not in CLASS_TYPES or not isinstance(label, plain)]
    if odd:
        raise ValueError(f"classes must be strings, numbers or booleans to be saved, got {checks.short(odd[0])}")
    return name


def read_features(entries: list[Any]) -> tuple[Feature, ...]:
    """Return the features that `export_dict` described."""
    require(len(entries) > 0, '"features" must not be empty')
    features = []
    for i, entry in enumerate(entries):
        where = f"feature {i}"
        require(isinstance(entry, dict), f"{where} must be an object")
        kind, categories = entry.get("kind"), get(entry, "categories", list)
        require(kind in KINDS, f"{where} must have one of the kinds {', '.join(KINDS)}")
        good = all(isinstance(c, (str, int, float)) and not isinstance(c, bool) for c in categories)
        require(good, f"{where} has categories that are neither strings nor numbers")
        require(len(set(categories)) == len(categories), f"{where} has a duplicate category")
        require(kind == CATEGORY or not categories, f"{where} has categories but is a {kind}")
        flags = get(entry, "has_missing", bool), get(entry, "has_extreme", bool)
        features.append(Feature(get(entry, "name", str), kind, tuple(categories), *flags))
    return tuple(features)


def read_tree(entries: list[Any], features: Sequence[Feature], labels: Sequence[Any]) -> Tree:
    """Return the tree whose nodes `export_dict` described."""
    _check_preorder(entries)
    indices = [_category_index(feature) for feature in features]
    tests = []
    for i, entry in enumerate(entries):
        try:
            _check_node(entry, labels)
            tests.append(_node_test(entry, features, indices))
        except ValueError as problem:
            raise ValueError(f"node {i} {problem}") from None
    feature, kind, compared = np.array(tests, dtype=np.float64).T
    left, right = ([entry[side] if "test" in entry else TREE_LEAF for entry in entries] for side in ("left", "right"))
    value = np.array([entry["counts"] for entry in entries], dtype=np.float64)
    return Tree(
        children_left=np.array(left, dtype=np.int64),
        children_right=np.array(right, dtype=np.int64),
        value=value,
        impurity=np.array([entry["impurity"] for entry in entries], dtype=np.float64),
        n_node_samples=np.array([entry["rows"] for entry in entries], dtype=np.int64),
        weighted_n_node_samples=value.sum(axis=1),
        **code_tests(feature.astype(np.int64), kind.astype(np.uint8), compared, features),
    )


def _check_preorder(entries: list[Any]) -> None:
    """Check that a walk that goes left before right meets every node once, in the order of their numbers."""
    require(len(entries) > 0, '"nodes" must not be empty')
    todo: list[Any] = [0]
    for i, entry in enumerate(entries):
        require(isinstance(entry, dict), f"node {i} must be an object")
        child = todo.pop() if todo else None
        require(is_int(child) and child == i, f"node {i} is not where its parent says")
        if "test" in entry:
            todo += [entry.get("right"), entry.get("left")]
    require(not todo, "a node has a child that is not there")


def _check_node(entry: dict[str, Any], labels: Sequence[Any]) -> None:
    """Check the keys that every node has; values repeated for readers must follow from the others."""
    counts: Any = entry.get("counts")
    good = isinstance(counts, list) and len(counts) == len(labels) and all(is_number(n) and n >= 0 for n in counts)
    positive = good and 0 < sum(counts) < math.inf
    require(positive, "must have a count per class, none of them negative and not all zero")
    require(is_int(entry.get("rows")) and entry["rows"] >= 1, "must have rows")
    require(is_number(entry.get("impurity")) and entry["impurity"] >= 0, "must have an impurity")
    best = max(range(len(counts)), key=counts.__getitem__)
    require(entry.get("prediction") == labels[best], 'has a "prediction" that its counts do not give')
    confidence: Any = entry.get("confidence")
    close = is_number(confidence) and math.isclose(confidence, counts[best] / sum(counts), rel_tol=1e-9)
    require(close, 'has a "confidence" that its counts do not give')


def _node_test(entry: dict[str, Any], features: Sequence[Feature], indices: Sequence[dict[Any, int]]) -> NodeTest:
    if "test" not in entry:
        return NodeTest(TREE_UNDEFINED, AT_MOST, 0.0)  # a leaf: only the feature counts
    test = read_test(entry.get("feature_index"), entry["test"], entry.get("value"), features, indices)
    require(entry.get("feature") == features[test.feature].name, 'has a "feature" that does not match its index')
    return test


def _category_index(feature: Feature) -> dict[Any, int]:
    return {category: i for i, category in enumerate(feature.categories)}


def read_test(
    f: Any, symbol: Any, value: Any, features: Sequence[Feature], indices: Sequence[dict[Any, int]] | None = None
) -> NodeTest:
    """Return the test that `describe_test` described; `f` is the index of its feature.

    `indices` has the index of each category by feature; who reads many tests makes them once.
    """
    require(is_int(f) and 0 <= f < len(features), f"tests a feature that is not there: {checks.short(f)}")
    feature = features[f]
    if symbol == SYMBOLS[IS_MISSING]:
        return NodeTest(f, IS_MISSING, 0.0)
    if symbol == SYMBOLS[AT_MOST]:
        require(feature.kind == NUMBER and is_number(value), f"compares a {feature.kind} with {checks.short(value)}")
        return NodeTest(f, AT_MOST, float(value))
    require(symbol == SYMBOLS[EQUALS], f"has an unknown test: {checks.short(symbol)}")
    if feature.kind == BOOLEAN and value is True:
        return NodeTest(f, EQUALS, 1.0)
    code = None
    if feature.kind == CATEGORY and isinstance(value, (str, int, float)) and not isinstance(value, bool):
        code = (_category_index(feature) if indices is None else indices[f]).get(value)
    if code is None:
        raise ValueError(f"has an unknown category: {checks.short(value)}")
    return NodeTest(f, EQUALS, float(code))


def require(condition: bool, problem: str) -> None:
    """Raise a ValueError unless the condition holds."""
    if not condition:
        raise ValueError(problem)


def get(entry: dict[str, Any], key: str, kind: type) -> Any:
    """Return the value of a key, which must have this type."""
    require(isinstance(entry.get(key), kind), f'"{key}" must be there, as a {kind.__name__}')
    return entry[key]


def is_int(value: Any) -> bool:
    """Return True for an integer of at most 64 bits that is not a bool."""
    return checks.is_int(value) and abs(value) < 2**63


def is_number(value: Any) -> bool:
    """Return True for such an integer or a finite float."""
    return is_int(value) or (isinstance(value, float) and math.isfinite(value))
