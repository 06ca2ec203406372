"""Model files: versioned JSON, checked on reading.

In: a dict of plain objects. Out: a file; and from a file, a `SavedModel` or `SavedEnsemble` whose parts have been
checked one by one. Reading never runs code: everything in a file is a number, a string, a list or an object of these. A
file of version 1 can always be read: new keys may be added, existing ones stay, and parameters that a file lacks get
their defaults. The key "checksum", which early files have, is ignored.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.features import Feature
from .._runtime.files import PathLike, write_whole
from .tree import Tree
from .tree_dict import BadEntry, get, is_int, is_number, read_features, read_test, read_tree, require

FORMAT, ENSEMBLE_FORMAT = "topktree-classifier", "topktree-ensemble"
FOREST, BOOSTING = "forest", "boosting"
VERSION = 1
# Why boosting ended; "early_stopping" is only in files that were written before the first release.
STOPPED = ("n_estimators", "perfect_tree", "useless_tree", "early_stopping", "time_limit")
STATUSES = ("optimal", "complete", "time_limit", "partial")

# The types that the labels of a file can have; "str" is as wide as the longest label.
CLASS_TYPES = ("str", "bool", "object", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
CLASS_TYPES += ("float16", "float32", "float64")


@dataclass(frozen=True, eq=False)
class SavedTree:
    """A tree and the result of the search for it."""

    tree: Tree
    cost: int | float
    train_errors: int | None
    status: str
    search: dict[str, Any]
    pruned_alpha: float | None = None  # None: not pruned


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The content of a file with one tree."""

    parameters: dict[str, Any]
    features: tuple[Feature, ...]
    feature_names: list[str] | None  # as the training data had them
    classes: NDArray[Any]
    tree: SavedTree


@dataclass(frozen=True, eq=False)
class SavedEnsemble:
    """The content of a file with several trees."""

    kind: str  # FOREST or BOOSTING
    parameters: dict[str, Any]
    features: tuple[Feature, ...]
    feature_names: list[str] | None
    classes: NDArray[Any]
    trees: tuple[SavedTree, ...]
    status: str
    oob_score: float | None
    votes: tuple[float, ...]  # of boosting, as are the errors
    errors: tuple[float, ...]
    stopped: str


def write_model(path: PathLike, content: dict[str, Any], classes: NDArray[Any], form: str = FORMAT) -> None:
    """Write the file whole or not at all."""
    payload = {"format": form, "version": VERSION, **content, "class_type": class_type(classes)}
    write_whole(path, json.dumps(payload, indent=1, allow_nan=False) + "\n")


def read_model(path: PathLike) -> SavedModel | SavedEnsemble:
    """Read and check a file; a ValueError says what is wrong with it."""
    raw = Path(path).read_bytes()
    try:
        return _parse(raw)
    except (BadEntry, RecursionError) as problem:
        raise ValueError(f"{os.fspath(path)} is not a model that this version can read: {problem}") from None


def class_type(classes: NDArray[Any]) -> str:
    """Return the name of the labels' NumPy type; raise a ValueError if a file cannot hold them."""
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
        raise BadEntry(f"it is not whole and valid JSON ({error})") from None
    known = isinstance(payload, dict) and payload.get("format") in (FORMAT, ENSEMBLE_FORMAT)
    require(known, f'its "format" is not "{FORMAT}" or "{ENSEMBLE_FORMAT}"')
    version = payload.get("version")
    require(is_int(version) and version >= 1, '"version" must be a whole number from 1 on')
    require(version <= VERSION, f"it has format version {version}, this version of topktree reads up to {VERSION}")
    features = read_features(get(payload, "features", list))
    names = [feature.name for feature in features] if get(payload, "has_feature_names", bool) else None
    classes = _classes(get(payload, "classes", list), get(payload, "class_type", str))
    parameters = get(payload, "parameters", dict)
    if payload["format"] == FORMAT:
        return SavedModel(parameters, features, names, classes, _saved_tree(payload, features, classes))
    return _saved_ensemble(payload, parameters, features, names, classes)


def _saved_tree(entry: dict[str, Any], features: tuple[Feature, ...], classes: NDArray[Any]) -> SavedTree:
    values: list[Any] = [entry.get(key) for key in ("train_errors", "cost", "pruned_alpha")]
    errors, cost, alpha = values
    good_alpha = "pruned_alpha" not in entry or (is_number(alpha) and alpha >= 0)
    require(good_alpha, '"pruned_alpha" must be a number from 0 on')
    unknown = alpha is not None and errors is None  # a pruned tree may not know its own
    require(unknown or (is_int(errors) and errors >= 0), '"train_errors" must be a whole number')
    require(is_number(cost), '"cost" must be a number')
    tree = read_tree(get(entry, "nodes", list), features, classes.tolist())
    return SavedTree(tree, cost, errors, _status(entry), _search(get(entry, "search", dict), features), alpha)


def _saved_ensemble(
    payload: dict[str, Any],
    parameters: dict[str, Any],
    features: tuple[Feature, ...],
    names: list[str] | None,
    classes: NDArray[Any],
) -> SavedEnsemble:
    entries = get(payload, "trees", list)
    values: list[Any] = [payload.get(key) for key in ("kind", "oob_score")]
    kind, score = values
    stopped = payload.get("stopped", "")
    require(len(entries) > 0 and all(isinstance(entry, dict) for entry in entries), '"trees" must be objects')
    require(kind in (FOREST, BOOSTING), f'"kind" must be "{FOREST}" or "{BOOSTING}"')
    require(score is None or is_number(score), '"oob_score" must be a number')
    boosts = kind == BOOSTING
    votes = tuple(entry.get("vote") for entry in entries) if boosts else ()
    errors = tuple(entry.get("error") for entry in entries) if boosts else ()
    require(all(is_number(vote) and vote > 0 for vote in votes), 'every tree must have a "vote", a number above 0')
    require(all(is_number(e) and 0 <= e <= 1 for e in errors), 'every tree must have an "error", a number in [0, 1]')
    require(not boosts or stopped in STOPPED, f'"stopped" must be one of {", ".join(STOPPED)}')
    return SavedEnsemble(
        kind=kind,
        parameters=parameters,
        features=features,
        feature_names=names,
        classes=classes,
        trees=tuple(_saved_tree(entry, features, classes) for entry in entries),
        status=_status(payload),
        oob_score=score,
        votes=votes,
        errors=errors,
        stopped=stopped,
    )


def _status(entry: dict[str, Any]) -> str:
    status: Any = entry.get("status")
    require(status in STATUSES, f'"status" must be one of {", ".join(STATUSES)}')
    return str(status)


def _classes(labels: list[Any], type_name: str) -> NDArray[Any]:
    require(len(labels) >= 1, '"classes" must not be empty')
    good = all(isinstance(label, (str, int, float)) for label in labels)
    require(good, '"classes" has labels that are neither strings, numbers nor booleans')
    require(type_name in CLASS_TYPES, f'"class_type" must be one of {", ".join(CLASS_TYPES)}')
    try:
        classes = np.array(labels, dtype=np.dtype(type_name))
    except (TypeError, ValueError, OverflowError) as error:
        raise BadEntry(f'"classes" and "class_type" do not fit ({error})') from None
    require(classes.tolist() == labels, '"classes" and "class_type" do not fit')
    require(len(set(labels)) == len(labels), '"classes" has a label twice')
    return classes


def _search(search: dict[str, Any], features: Sequence[Feature]) -> dict[str, Any]:
    """Return the record of the search without the parts that pictures and reports could not read.

    It is for people: no prediction depends on it, so a file is not refused because of it.
    """

    def check_step(step: Any) -> None:
        require(all(is_number(step.get(key)) for key in ("seconds", "k", "cost")), "a step must have numbers")

    def check_choice(choice: Any) -> None:
        require(is_int(choice.get("rank")) and is_number(choice.get("cost")), "a choice must have a rank and a cost")
        require(choice.get("score", "") is None or is_number(choice.get("score")), "a choice must have a score or null")
        require(all(isinstance(choice.get(key), bool) for key in ("exact", "chosen")), "a choice must have its flags")
        read_test(choice.get("feature"), choice.get("test"), choice.get("value"), features)

    result = {key: value for key, value in search.items() if key != "n_root" or is_int(value)}
    for key, check in {"trace": check_step, "root": check_choice}.items():
        try:
            for entry in get({key: [], **search}, key, list):
                require(isinstance(entry, dict), "an entry must be an object")
                check(entry)
        except BadEntry:
            del result[key]
    return result


def _finite_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _reject_constant(text)


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")
