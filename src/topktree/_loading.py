"""`load`: the estimator of a model file, of any kind.

In: a file, which is not trusted. Out: a fitted estimator, its parameters validated as if a user had given them.
Loading never runs code: everything in a file is a number, a string, a list or an object of these.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ._base import FittedClassifier, set_fitted
from ._classifier import TopKTreeClassifier
from ._data.features import Feature
from ._runtime import checks
from ._runtime.files import PathLike
from ._runtime.limits import COMPLETE, OPTIMAL, PARTIAL, REFINED, TIME_LIMIT
from ._search.fitter import FoundTree
from ._search.spec import check_parameters
from ._tree.model_file import (
    BOOSTING,
    CLASS_TYPES,
    ENSEMBLE_FORMAT,
    FOREST,
    FORMAT,
    VERSION,
    get,
    is_int,
    is_number,
    read_features,
    read_test,
    read_tree,
    require,
    upgrade_nodes,
    upgrade_test,
)

if TYPE_CHECKING:
    from .ensemble import TopKBoostingClassifier, TopKForestClassifier
    from .ensemble.base import FittedEnsemble

STATUSES = (OPTIMAL, COMPLETE, REFINED, TIME_LIMIT, PARTIAL)
# Parameters that ensembles once had; files that hold them still load.
DROPPED = {
    FOREST: {"warm_start", "max_features_per_tree"},
    BOOSTING: {"n_iter_no_change", "validation_fraction", "tol", "random_state"},
}
# Why boosting ended; "early_stopping" is only in files that were written before the first release.
STOPPED = ("n_estimators", "perfect_tree", "useless_tree", "early_stopping", "time_limit")

Restored = TypeVar("Restored", bound=FittedClassifier)


def load(path: PathLike) -> TopKTreeClassifier | TopKForestClassifier | TopKBoostingClassifier:
    """Return the classifier, forest or boosting that `save` wrote. Nothing in the file is run as code.

    Examples
    --------
    >>> import topktree
    >>> monks = topktree.datasets.load_monks(1)
    >>> topktree.TopKTreeClassifier(max_depth=3).fit(monks.data, monks.target).save("model.json")
    >>> topktree.load("model.json").get_n_leaves()
    7
    """
    raw = Path(path).read_bytes()
    try:
        payload = _parse(raw)
        if payload["format"] == FORMAT:
            return _load_tree(payload)
        kind = payload.get("kind")
        require(kind in (FOREST, BOOSTING), f'"kind" must be "{FOREST}" or "{BOOSTING}"')
        return _load_forest(payload) if kind == FOREST else _load_boosting(payload)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(f"{os.fspath(path)} is not a model that this version can read: {problem}") from None


def _parse(raw: bytes) -> dict[str, Any]:
    """Return the content of a file that has a format and a version that can be read."""
    try:
        payload = json.loads(raw.decode("utf-8"), parse_constant=_finite_float, parse_float=_finite_float)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not complete and valid JSON ({error})") from None
    known = isinstance(payload, dict) and payload.get("format") in (FORMAT, ENSEMBLE_FORMAT)
    require(known, f'its "format" is not "{FORMAT}" or "{ENSEMBLE_FORMAT}"')
    version = payload.get("version")
    require(is_int(version) and version >= 1, '"version" must be a whole number >= 1')
    require(version <= VERSION, f"it has format version {version}, this version of topktree reads up to {VERSION}")
    return _upgraded(payload) if version == 1 else payload


def _upgraded(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file of version 1 as version 2 has it."""
    features = [
        {"ordered": False, **entry} if isinstance(entry, dict) else entry for entry in get(payload, "features", list)
    ]
    trees = [_upgraded_tree(entry) for entry in get({"trees": [], **payload}, "trees", list)]
    return {**_upgraded_tree(payload), "features": features, "trees": trees}


def _upgraded_tree(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    upgraded = dict(entry)
    if "nodes" in entry:
        upgraded["nodes"] = upgrade_nodes(get(entry, "nodes", list))
    search = entry.get("search")
    if isinstance(search, dict) and isinstance(search.get("root"), list):
        root = [upgrade_test(choice) if isinstance(choice, dict) else choice for choice in search["root"]]
        upgraded["search"] = {**search, "root": root}
    return upgraded


def _finite_float(text: str) -> float:
    number = float(text)
    require(math.isfinite(number), f"{checks.shorten(text)} is not a JSON number")
    return number


def _load_tree(payload: dict[str, Any]) -> TopKTreeClassifier:
    classifier = _unfitted(TopKTreeClassifier, payload, check_parameters)
    set_fitted(classifier, _found_tree(payload, classifier.features_, classifier.classes_))
    return classifier


def _load_forest(payload: dict[str, Any]) -> TopKForestClassifier:
    from .ensemble.forest import TopKForestClassifier, check_forest  # a single tree does not need it

    forest = _unfitted(TopKForestClassifier, payload, check_forest)
    _set_trees(forest, payload)
    score = payload.get("oob_score")
    require(score is None or is_number(score), '"oob_score" must be a number')
    if score is not None:
        forest.oob_score_ = score
    return forest


def _load_boosting(payload: dict[str, Any]) -> TopKBoostingClassifier:
    from .ensemble.boosting import TopKBoostingClassifier, check_boosting

    boosting = _unfitted(TopKBoostingClassifier, payload, check_boosting)
    _set_trees(boosting, payload)
    votes, errors = ([entry.get(key) for entry in payload["trees"]] for key in ("vote", "error"))
    require(all(is_number(vote) and vote > 0 for vote in votes), 'every tree must have a "vote", a number above 0')
    require(all(is_number(e) and 0 <= e <= 1 for e in errors), 'every tree must have an "error", a number in [0, 1]')
    boosting.estimator_weights_, boosting.estimator_errors_ = np.array(votes), np.array(errors)
    boosting.stopped_ = _one_of(STOPPED, payload, "stopped")
    return boosting


def _unfitted(kind: type[Restored], payload: dict[str, Any], check: Callable[..., None]) -> Restored:
    """Return an estimator with the parameters, the features and the classes of a file, validated."""
    from_file = get(payload, "parameters", dict)
    ignored = DROPPED.get(payload.get("kind", ""), set())
    parameters = {name: value for name, value in checks.from_json(from_file).items() if name not in ignored}
    unknown = sorted(parameters.keys() - kind().get_params().keys())
    if unknown:
        raise ValueError(f"it has the parameter {checks.short(unknown[0])}, which this version does not know")
    estimator: Restored = kind(**parameters)
    check(estimator, criterion_is_lost=from_file.get("criterion", "") is None)
    estimator.features_ = read_features(get(payload, "features", list))
    estimator.n_features_in_ = len(estimator.features_)
    if get(payload, "has_feature_names", bool):
        estimator.feature_names_in_ = np.array([feature.name for feature in estimator.features_], dtype=object)
    estimator.classes_ = _read_classes(get(payload, "classes", list), get(payload, "class_type", str))
    return estimator


def _set_trees(ensemble: FittedEnsemble, payload: dict[str, Any]) -> None:
    from .ensemble.base import set_trees

    entries = get(payload, "trees", list)
    require(len(entries) > 0 and all(isinstance(entry, dict) for entry in entries), '"trees" must be objects')
    set_trees(ensemble, [_found_tree(entry, ensemble.features_, ensemble.classes_) for entry in entries])
    ensemble.status_ = _one_of(STATUSES, payload, "status")


def _found_tree(entry: dict[str, Any], features: tuple[Feature, ...], classes: NDArray[Any]) -> FoundTree:
    values: list[Any] = [entry.get(key) for key in ("train_errors", "cost", "pruned_alpha")]
    errors, cost, alpha = values
    good_alpha = "pruned_alpha" not in entry or (is_number(alpha) and alpha >= 0)
    require(good_alpha, '"pruned_alpha" must be a number >= 0')
    unknown = alpha is not None and errors is None  # a pruned tree may not know its own
    require(unknown or (is_int(errors) and errors >= 0), '"train_errors" must be a whole number')
    require(is_number(cost), '"cost" must be a number')
    tree = read_tree(get(entry, "nodes", list), features, classes.tolist())
    status = _one_of(STATUSES, entry, "status")
    record = _read_record(get(entry, "search", dict), features)
    return FoundTree(tree, features, classes, cost, errors, status, record, pruned_alpha=alpha)


def _one_of(words: Sequence[str], entry: dict[str, Any], key: str) -> str:
    require(entry.get(key) in words, f'"{key}" must be one of {", ".join(words)}')
    return str(entry[key])


def _read_classes(labels: list[Any], type_name: str) -> NDArray[Any]:
    require(len(labels) >= 1, '"classes" must not be empty')
    good = all(isinstance(label, (str, int, float)) for label in labels)
    require(good, '"classes" has labels that are neither strings, numbers nor booleans')
    require(type_name in CLASS_TYPES, f'"class_type" must be one of {", ".join(CLASS_TYPES)}')
    try:
        classes = np.array(labels, dtype=np.dtype(type_name))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f'"classes" and "class_type" do not match ({checks.shorten(str(error))})') from None
    require(classes.tolist() == labels, '"classes" and "class_type" do not match')
    require(len(set(labels)) == len(labels), '"classes" has a duplicate label')
    return classes


def _read_record(search: dict[str, Any], features: Sequence[Feature]) -> dict[str, Any]:
    """Return the record of the search without the parts that pictures and reports could not read.

    It is for people: no prediction depends on it, so a file is not refused because of it.
    """

    def check_step(step: Any) -> None:
        require(all(is_number(step.get(key)) for key in ("seconds", "k", "cost")), "a step must have numbers")

    def check_choice(choice: Any) -> None:
        require(is_int(choice.get("rank")) and is_number(choice.get("cost")), "a choice must have a rank and a cost")
        require(choice.get("score", "") is None or is_number(choice.get("score")), "a choice must have a score or null")
        require(all(isinstance(choice.get(key), bool) for key in ("exact", "chosen")), "a choice must have its flags")
        read_test(choice.get("feature"), choice, features)

    result = {key: value for key, value in search.items() if key != "n_root" or is_int(value)}
    for key, check in {"trace": check_step, "root": check_choice}.items():
        try:
            for entry in get({key: [], **search}, key, list):
                require(isinstance(entry, dict), "an entry must be an object")
                check(entry)
        except ValueError:
            del result[key]
    return result
