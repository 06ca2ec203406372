"""A tree as plain objects, and back; and the file that they are written to.

In: a `Model`; or parsed JSON, which is not trusted. Out: a dict of numbers, strings and lists, and a file of
them; or features and a `Tree`, checked entry by entry, where a ValueError says what is wrong. `_loading` makes an
estimator from them. Files of all versions can be read and predict as they did: new keys may be added, existing ones
stay, and parameters that a file lacks get their defaults. In version 1, a missing or new value makes every test false,
and rows for which `=` or `is missing` holds go right. Version 2 has no sets of categories. The key "checksum", which
early files have, is ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.columns import AT_MOST, EQUALS, IN, IS_MISSING
from .._data.features import KINDS, Feature
from .._data.table import BOOLEAN, CATEGORY
from .._runtime import checks
from .._runtime.files import PathLike, write_whole
from .naming import SYMBOLS, Model
from .tree import TREE_LEAF, NodeTest, Tree, code_tests

FORMAT, ENSEMBLE_FORMAT = "topktree-classifier", "topktree-ensemble"
FOREST, BOOSTING = "forest", "boosting"
VERSION = 3

# The types that the labels of a file can have; "str" is as wide as the longest label.
CLASS_TYPES = ("str", "bool", "object", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
CLASS_TYPES += ("float16", "float32", "float64")

_ANSWERS = ("no", "yes")


def export_dict(model: Model) -> dict[str, Any]:
    """Return features, classes and nodes as plain objects."""
    return {
        "features": [
            {**asdict(feature), "categories": [_plain(category) for category in feature.categories]}
            for feature in model.features
        ],
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
    """Return the kind of a test, what it compares with, and its answers for missing and for new values."""
    feature = features[test.feature]
    described: dict[str, Any] = {"test": SYMBOLS[test.kind], "value": None, "missing": _ANSWERS[test.missing]}
    if test.kind == IS_MISSING:
        return described
    if feature.kind == BOOLEAN:
        return {**described, "test": SYMBOLS[EQUALS], "value": False}
    if feature.kind == CATEGORY:
        codes = test.categories if test.kind == IN else [int(test.value)]
        values = [_plain(feature.categories[code]) for code in codes]
        return {**described, "value": values if test.kind == IN else values[0], "unseen": _ANSWERS[test.unseen]}
    return {**described, "value": test.value}


def _plain(value: Any) -> Any:
    """Return a category as JSON can hold it, which has no infinities."""
    return {"number": str(value)} if isinstance(value, float) and math.isinf(value) else value


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
        kind, categories = entry.get("kind"), [_from_plain(c) for c in get(entry, "categories", list)]
        require(kind in KINDS, f"{where} must have one of the kinds {', '.join(KINDS)}")
        good = all(isinstance(c, (str, int, float)) for c in categories)
        require(good, f"{where} has categories that are neither strings, numbers nor booleans")
        require(len(set(categories)) == len(categories), f"{where} has a duplicate category")
        require(kind == CATEGORY or not categories, f"{where} has categories but is a {kind}")
        flags = [get(entry, key, bool) for key in ("has_missing", "has_extreme", "ordered")]
        require(kind == CATEGORY or not flags[2], f"{where} has an order but is a {kind}")
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
    left, right = ([entry[side] if "test" in entry else TREE_LEAF for entry in entries] for side in ("left", "right"))
    value = np.array([entry["counts"] for entry in entries], dtype=np.float64)
    return Tree(
        children_left=np.array(left, dtype=np.int64),
        children_right=np.array(right, dtype=np.int64),
        value=value,
        impurity=np.array([entry["impurity"] for entry in entries], dtype=np.float64),
        n_node_samples=np.array([entry["rows"] for entry in entries], dtype=np.int64),
        weighted_n_node_samples=value.sum(axis=1),
        **code_tests(tests),
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


def _node_test(
    entry: dict[str, Any], features: Sequence[Feature], indices: Sequence[dict[Any, int]]
) -> NodeTest | None:
    if "test" not in entry:
        return None
    test = read_test(entry.get("feature_index"), entry, features, indices)
    require(entry.get("feature") == features[test.feature].name, 'has a "feature" that does not match its index')
    return test


def _category_index(feature: Feature) -> dict[Any, int]:
    return {category: i for i, category in enumerate(feature.categories)}


def read_test(
    f: Any, described: dict[str, Any], features: Sequence[Feature], indices: Sequence[dict[Any, int]] | None = None
) -> NodeTest:
    """Return the test that `describe_test` described; `f` is the index of its feature.

    `indices` has the index of each category by feature; who reads many tests makes them once.
    """
    require(is_int(f) and 0 <= f < len(features), f"tests a feature that is not there: {checks.short(f)}")
    feature, value = features[f], _from_plain(described.get("value"))
    symbol: Any = described.get("test")
    kinds = {text: kind for kind, text in SYMBOLS.items()}
    require(isinstance(symbol, str) and symbol in kinds, f"has an unknown test: {checks.short(symbol)}")
    missing = _read_answer(described, "missing")
    if kinds[symbol] == IS_MISSING:
        require(missing, 'must have the answer "yes" for "missing"')
        return NodeTest(f, IS_MISSING, 0.0, True, False)
    require(feature.has_thresholds == (kinds[symbol] == AT_MOST), f"tests a {feature.kind} by {symbol!r}")
    if feature.kind == BOOLEAN:
        require(kinds[symbol] == EQUALS and value is False, f"compares a boolean with {checks.short(value)}")
        return NodeTest(f, AT_MOST, 0.0, missing, False)
    if feature.kind == CATEGORY:
        index, unseen = _category_index(feature) if indices is None else indices[f], _read_answer(described, "unseen")
        if kinds[symbol] == IN:
            require(isinstance(value, list) and len(value) > 0, f"has no set of categories: {checks.short(value)}")
            codes = tuple(sorted(_code(index, _from_plain(category)) for category in value))
            require(len(set(codes)) == len(codes), f"has a set with a duplicate category: {checks.short(value)}")
            return NodeTest(f, IN, 0.0, missing, unseen, codes)
        return NodeTest(f, kinds[symbol], float(_code(index, value)), missing, unseen)
    require(is_number(value), f"compares a number with {checks.short(value)}")
    return NodeTest(f, AT_MOST, float(value), missing, False)


def _code(index: dict[Any, int], category: Any) -> int:
    code = index.get(category) if isinstance(category, (str, int, float)) else None
    if code is None:
        raise ValueError(f"has an unknown category: {checks.short(category)}")
    return code


def _read_answer(described: dict[str, Any], key: str) -> bool:
    require(described.get(key) in _ANSWERS, f'"{key}" must be "yes" or "no"')
    return bool(described[key] == "yes")


def _from_plain(value: Any) -> Any:
    """Return what `_plain` was given."""
    if isinstance(value, dict):
        require(value in ({"number": "inf"}, {"number": "-inf"}), f"has an unknown value: {checks.short(value)}")
        return float(value["number"])
    return value


def upgrade_test(described: dict[str, Any]) -> dict[str, Any]:
    """Return a test of a file of version 1 as version 2 has it: with its answers, and false on the left."""
    is_boolean = described.get("value") is True
    missing = is_boolean or described.get("test") == SYMBOLS[IS_MISSING]
    value = False if is_boolean else described.get("value")
    return {**described, "value": value, "missing": _ANSWERS[missing], "unseen": "no"}


def upgrade_nodes(entries: list[Any]) -> list[dict[str, Any]]:
    """Return the nodes of a file of version 1 as version 2 has them: "yes" on the left, in preorder."""
    _check_preorder(entries)
    order, todo = [], [0]
    while todo:
        node = todo.pop()
        order.append(node)
        if "test" in entries[node]:
            children = [entries[node]["right"], entries[node]["left"]]  # in the reverse order of the visit
            is_swapped = entries[node]["test"] != SYMBOLS[AT_MOST] and entries[node].get("value") is not True
            todo += reversed(children) if is_swapped else children
    place = {node: i for i, node in enumerate(order)}
    upgraded = []
    for entry in (entries[node] for node in order):
        if "test" in entry:
            left, right = sorted((place[entry["left"]], place[entry["right"]]))
            entry = {**upgrade_test(entry), "left": left, "right": right}
        upgraded.append(entry)
    return upgraded


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
