"""Model files: versioned JSON, checked on reading.

In: a dict of plain objects. Out: a file; and from a file, a `SavedModel` or `SavedEnsemble` whose parts have been
checked one by one.
Reading never runs code: everything in the file is a number, a string, a list or an object of these. The checksum is
that of the content without it, as JSON with sorted keys and no white space. A file of version 1 is read for ever: new
keys may come, those that are there stay; parameters that a file lacks get their defaults.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.features import KINDS, Feature
from .._data.table import BOOLEAN, CATEGORY, NUMBER
from .._data.thresholds import binary_threshold
from .._runtime.files import PathLike, write_whole
from .export import AT_MOST, EQUALS, IS_MISSING
from .tree import TREE_LEAF, TREE_UNDEFINED, Tree

FORMAT, ENSEMBLE_FORMAT = "topktree-classifier", "topktree-ensemble"
FOREST, BOOSTING = "forest", "boosting"
VERSION = 1
STOPPED = ("n_estimators", "perfect_tree", "useless_tree", "early_stopping", "time_limit")
STATUSES = ("optimal", "complete", "time_limit", "partial")

# What the labels of a file can be; "str" are as long as the longest.
CLASS_TYPES = ("str", "bool", "object", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
CLASS_TYPES += ("float16", "float32", "float64")


@dataclass(frozen=True, eq=False)
class SavedTree:
    """A tree, and what its search said of it."""

    tree: Tree
    cost: int | float
    train_errors: int | None
    status: str
    search: dict[str, Any]
    pruned_alpha: float | None = None  # None: as the search left it


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a file of one tree holds."""

    parameters: dict[str, Any]
    features: tuple[Feature, ...]
    feature_names: list[str] | None  # as the training data had them
    classes: NDArray[Any]
    tree: SavedTree


@dataclass(frozen=True, eq=False)
class SavedEnsemble:
    """What a file of several trees holds."""

    kind: str  # FOREST or BOOSTING
    parameters: dict[str, Any]
    features: tuple[Feature, ...]
    feature_names: list[str] | None
    classes: NDArray[Any]
    trees: tuple[SavedTree, ...]
    status: str
    seed: int | None  # of a forest that draws
    n_foreign: int  # the first so many trees did not draw by it
    oob_score: float | None
    votes: tuple[float, ...]  # of boosting, as errors
    errors: tuple[float, ...]
    stopped: str
    validation_scores: tuple[float, ...] | None


class _Bad(Exception):
    """What is wrong with a file; never leaves this module."""


def write_model(path: PathLike, content: dict[str, Any], classes: NDArray[Any], form: str = FORMAT) -> None:
    """Write the file whole or not at all."""
    payload = {"format": form, "version": VERSION, **content, "class_type": class_type(classes)}
    payload["checksum"] = _checksum(payload)
    write_whole(path, json.dumps(payload, indent=1, allow_nan=False) + "\n")


def read_model(path: PathLike) -> SavedModel | SavedEnsemble:
    """Read and check a file; a ValueError says what is wrong with it."""
    raw = Path(path).read_bytes()
    try:
        return _parse(raw)
    except (_Bad, RecursionError) as problem:
        raise ValueError(f"{os.fspath(path)} is not a model that this version can read: {problem}") from None


def class_type(classes: NDArray[Any]) -> str:
    """The NumPy type of the labels, if a file can hold them."""
    name = "str" if classes.dtype.kind == "U" else classes.dtype.name
    if name in CLASS_TYPES and name != "object":
        return name
    odd = [label for label in classes.tolist() if not isinstance(label, (str, int, float, np.integer, np.bool_))]
    if odd or classes.dtype != object:
        example = odd[0] if odd else classes[0]
        raise ValueError(f"classes must be strings, numbers or booleans to be saved, got {example!r}")
    return "object"


def _parse(raw: bytes) -> SavedModel | SavedEnsemble:
    try:
        payload = json.loads(raw.decode("utf-8"), parse_constant=_reject_constant, parse_float=_finite_float)
    except (ValueError, RecursionError) as error:
        raise _Bad(f"it is not whole and valid JSON ({error})") from None
    formats = (FORMAT, ENSEMBLE_FORMAT)
    known = isinstance(payload, dict) and payload.get("format") in formats
    _require(known, f'its "format" is not "{FORMAT}" or "{ENSEMBLE_FORMAT}"')
    version = payload.get("version")
    _require(_is_int(version) and version >= 1, '"version" must be a whole number from 1 on')
    _require(version <= VERSION, f"it has format version {version}, this version of topktree reads up to {VERSION}")
    checksum = payload.pop("checksum", None)
    _require(checksum == _checksum(payload), "its checksum does not fit: it was changed after it was written")
    features = _features(_get(payload, "features", list))
    names = [feature.name for feature in features] if _get(payload, "has_feature_names", bool) else None
    classes = _classes(_get(payload, "classes", list), _get(payload, "class_type", str))
    parameters = _get(payload, "parameters", dict)
    if payload["format"] == FORMAT:
        return SavedModel(parameters, features, names, classes, _saved_tree(payload, features, classes))
    return _saved_ensemble(payload, parameters, features, names, classes)


def _saved_tree(entry: dict[str, Any], features: tuple[Feature, ...], classes: NDArray[Any]) -> SavedTree:
    status: Any = entry.get("status")
    errors: Any = entry.get("train_errors")
    cost: Any = entry.get("cost")
    _require(status in STATUSES, f'"status" must be one of {", ".join(STATUSES)}')
    alpha: Any = entry.get("pruned_alpha")
    good_alpha = "pruned_alpha" not in entry or (_is_number(alpha) and alpha >= 0)
    _require(good_alpha, '"pruned_alpha" must be a number from 0 on')
    unknown = alpha is not None and errors is None  # a pruned tree may not know its own
    _require(unknown or (_is_int(errors) and errors >= 0), '"train_errors" must be a whole number')
    _require(_is_number(cost), '"cost" must be a number')
    tree = _tree(_get(entry, "nodes", list), features, classes)
    return SavedTree(tree, cost, errors, status, _search(_get(entry, "search", dict), features), alpha)


def _saved_ensemble(
    payload: dict[str, Any],
    parameters: dict[str, Any],
    features: tuple[Feature, ...],
    names: list[str] | None,
    classes: NDArray[Any],
) -> SavedEnsemble:
    entries = _get(payload, "trees", list)
    kind: Any = payload.get("kind")
    status: Any = payload.get("status")
    seed: Any = payload.get("seed")
    score: Any = payload.get("oob_score")
    _require(len(entries) > 0 and all(isinstance(entry, dict) for entry in entries), '"trees" must be objects')
    _require(kind in (FOREST, BOOSTING), f'"kind" must be "{FOREST}" or "{BOOSTING}"')
    _require(status in STATUSES, f'"status" must be one of {", ".join(STATUSES)}')
    _require(seed is None or (_is_int(seed) and 0 <= seed < 2**32), '"seed" must be a whole number below 2^32')
    foreign: Any = payload.get("foreign", 0)
    _require(_is_int(foreign) and 0 <= foreign <= len(entries), '"foreign" must be a number of trees')
    _require(score is None or _is_number(score), '"oob_score" must be a number')
    boosts = kind == BOOSTING
    votes = tuple(entry.get("vote") for entry in entries) if boosts else ()
    errors = tuple(entry.get("error") for entry in entries) if boosts else ()
    _require(all(_is_number(vote) and vote > 0 for vote in votes), 'every tree must have a "vote", a number above 0')
    _require(all(_is_number(e) and 0 <= e <= 1 for e in errors), 'every tree must have an "error", a number in [0, 1]')
    scores: Any = payload.get("validation_scores")
    good_scores = scores is None or (isinstance(scores, list) and all(map(_is_number, scores)))
    _require(good_scores, '"validation_scores" must be a list of numbers, or null')
    stopped: Any = payload.get("stopped", "")
    _require(not boosts or stopped in STOPPED, f'"stopped" must be one of {", ".join(STOPPED)}')
    return SavedEnsemble(
        kind=kind,
        parameters=parameters,
        features=features,
        feature_names=names,
        classes=classes,
        trees=tuple(_saved_tree(entry, features, classes) for entry in entries),
        status=status,
        seed=seed,
        n_foreign=foreign,
        oob_score=score,
        votes=votes,
        errors=errors,
        stopped=stopped,
        validation_scores=None if scores is None else tuple(scores),
    )


def _features(entries: list[Any]) -> tuple[Feature, ...]:
    _require(len(entries) > 0, '"features" must not be empty')
    features = []
    for i, entry in enumerate(entries):
        where = f"feature {i}"
        _require(isinstance(entry, dict), f"{where} must be an object")
        kind, categories = entry.get("kind"), _get(entry, "categories", list)
        _require(kind in KINDS, f"{where} must have a kind out of {', '.join(KINDS)}")
        _require(
            all(isinstance(c, (str, int, float)) and not isinstance(c, bool) for c in categories),
            f"{where} has odd categories",
        )
        _require(len(set(categories)) == len(categories), f"{where} has a category twice")
        _require(kind == CATEGORY or not categories, f"{where} has categories but is a {kind}")
        flags = _get(entry, "has_missing", bool), _get(entry, "has_extreme", bool)
        features.append(Feature(_get(entry, "name", str), kind, tuple(categories), *flags))
    return tuple(features)


def _classes(labels: list[Any], type_name: str) -> NDArray[Any]:
    _require(len(labels) >= 1, '"classes" must not be empty')
    _require(all(isinstance(label, (str, int, float)) for label in labels), '"classes" has odd labels')
    _require(type_name in CLASS_TYPES, f'"class_type" must be one of {", ".join(CLASS_TYPES)}')
    try:
        classes = np.array(labels, dtype=np.dtype(type_name))
    except (TypeError, ValueError, OverflowError) as error:
        raise _Bad(f'"classes" and "class_type" do not fit ({error})') from None
    _require(classes.tolist() == labels, '"classes" and "class_type" do not fit')
    _require(len(set(labels)) == len(labels), '"classes" has a label twice')
    return classes


def _tree(entries: list[Any], features: Sequence[Feature], classes: NDArray[Any]) -> Tree:
    _require(len(entries) > 0, '"nodes" must not be empty')
    for i, entry in enumerate(entries):
        _require(isinstance(entry, dict), f"node {i} must be an object")
        counts = entry.get("counts")
        _require(
            isinstance(counts, list)
            and len(counts) == len(classes)
            and all(_is_number(count) and count >= 0 for count in counts)
            and 0 < sum(counts) < math.inf,
            f"node {i} must have a count per class, none of them negative and not all zero",
        )
        _require(_is_int(entry.get("rows")) and entry["rows"] >= 1, f"node {i} must have rows")
        _require(_is_number(entry.get("impurity")) and entry["impurity"] >= 0, f"node {i} must have an impurity")
        _check_repeated(entry, features, classes.tolist(), f"node {i}")
    left = np.array([_child(entry, "left", i) for i, entry in enumerate(entries)], dtype=np.int64)
    right = np.array([_child(entry, "right", i) for i, entry in enumerate(entries)], dtype=np.int64)
    _check_preorder(left, right)
    tests = [_test(entry, features, f"node {i}") for i, entry in enumerate(entries)]
    value = np.array([entry["counts"] for entry in entries], dtype=np.float64)
    return Tree(
        children_left=left,
        children_right=right,
        feature=np.array([test[0] for test in tests], dtype=np.int64),
        threshold=np.array([test[1] for test in tests], dtype=np.float64),
        category=np.array([test[2] for test in tests], dtype=np.int64),
        missing_go_to_left=np.array([test[3] for test in tests], dtype=bool),
        value=value,
        impurity=np.array([entry["impurity"] for entry in entries], dtype=np.float64),
        n_node_samples=np.array([entry["rows"] for entry in entries], dtype=np.int64),
        weighted_n_node_samples=value.sum(axis=1),
    )


def _check_repeated(entry: dict[str, Any], features: Sequence[Feature], labels: list[Any], where: str) -> None:
    """What a node says for readers must be what follows from the rest."""
    counts = entry["counts"]
    best = max(range(len(counts)), key=counts.__getitem__)
    _require(entry.get("prediction") == labels[best], f'{where} has a "prediction" that its counts do not give')
    confidence: Any = entry.get("confidence")
    index: Any = entry.get("feature_index")
    close = _is_number(confidence) and math.isclose(confidence, counts[best] / sum(counts), rel_tol=1e-9)
    _require(close, f'{where} has a "confidence" that its counts do not give')
    if "test" in entry and _is_int(index) and 0 <= index < len(features):
        _require(entry.get("feature") == features[index].name, f'{where} has another "feature" than its index says')


def _child(entry: dict[str, Any], side: str, node: int) -> int:
    if "test" not in entry:
        return TREE_LEAF
    _require(_is_int(entry.get(side)) and entry[side] > node, f"node {node} must have a {side} child after it")
    return int(entry[side])


def _check_preorder(left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    """Every node but the first is the child of one node, and comes where a walk left before right meets it."""
    todo = [0]
    for node in range(len(left)):
        _require(bool(todo) and todo.pop() == node, f"node {node} is not where its parent says")
        if left[node] != TREE_LEAF:
            todo.extend([int(right[node]), int(left[node])])
    _require(not todo, "a node has a child that is not there")


def _test(entry: dict[str, Any], features: Sequence[Feature], where: str) -> tuple[int, float, int, bool]:
    """Feature, threshold, category and whether missing values go left."""
    if "test" not in entry:
        return TREE_UNDEFINED, float(TREE_UNDEFINED), TREE_UNDEFINED, False
    f: Any = entry.get("feature_index")
    value: Any = entry.get("value")
    kind = entry["test"]
    _require(_is_int(f) and 0 <= f < len(features), f"{where} tests a feature that is not there: {f!r}")
    feature = features[f]
    if kind == IS_MISSING:
        return f, math.inf, TREE_UNDEFINED, False
    if kind == AT_MOST:
        _require(feature.kind == NUMBER and _is_number(value), f"{where} compares a {feature.kind} with {value!r}")
        return f, float(value), TREE_UNDEFINED, False
    _require(kind == EQUALS, f"{where} has an unknown test: {kind!r}")
    if feature.kind == BOOLEAN and value is True:
        return f, binary_threshold(), TREE_UNDEFINED, True
    _require(feature.kind == CATEGORY and value in feature.categories, f"{where} has an unknown category: {value!r}")
    return f, float(TREE_UNDEFINED), feature.categories.index(value), True


def _search(search: dict[str, Any], features: Sequence[Feature]) -> dict[str, Any]:
    """As it is, without what pictures and reports could not read: it is for people, and no reason to refuse a file."""
    result = {key: value for key, value in search.items() if key != "n_root" or _is_int(value)}
    for key, check in (("trace", _check_step), ("root", _check_choice)):
        try:
            entries = search.get(key, [])
            _require(isinstance(entries, list), "no list")
            for entry in entries:
                _require(isinstance(entry, dict), "no object")
                check(entry, features)
        except _Bad:
            del result[key]
    return result


def _check_step(step: dict[str, Any], features: Sequence[Feature]) -> None:
    _require(all(_is_number(step.get(key)) for key in ("seconds", "k", "cost")), "no number")


def _check_choice(choice: dict[str, Any], features: Sequence[Feature]) -> None:
    score = choice.get("score", "")
    _require(_is_int(choice.get("rank")) and _is_number(choice.get("cost")), "no number")
    _require(score is None or _is_number(score), "no score")
    _require(isinstance(choice.get("exact"), bool) and isinstance(choice.get("chosen"), bool), "no flags")
    _require("test" in choice, "no test")
    _test(choice | {"feature_index": choice.get("feature")}, features, "a choice")


def _checksum(payload: dict[str, Any]) -> str:
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def _finite_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _reject_constant(text)


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise _Bad(problem)


def _get(entry: dict[str, Any], key: str, kind: type) -> Any:
    _require(isinstance(entry.get(key), kind), f'"{key}" must be there, as a {kind.__name__}')
    return entry[key]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_number(value: Any) -> bool:
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))
