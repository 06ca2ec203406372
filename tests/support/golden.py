"""Fingerprints of several hundred fits: the trees, costs and statuses that no rebuilding may change.

In tests/, `python -m support.golden` writes contracts/golden.json; `test_golden.py` beside it compares. Only public
names are used, so that the file outlives the code that made it. An entry changes only with the result itself.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas
from support.paths import DATASETS, ROOT

from topktree import (
    Binarizer,
    TopKBoostingClassifier,
    TopKForestClassifier,
    TopKTreeClassifier,
    TopKTreeClassifierCV,
    datasets,
)

GOLDEN = ROOT / "tests" / "contracts" / "golden.json"

BOOLEAN = ("car", "tic-tac-toe", "hayes-roth", "monks-1", "kr-vs-kp", "nursery", "connect-4", "hiv-1-protease")
NUMERIC = (
    "telescope",
    "spambase",
    "dry-bean",
    "avila",
    "occupancy-estimation",
    "credit-card",
    "sensorless-drive-diagnosis",
)
OTHERS = ("letter-recognition", "molecular-biology-splice", "artificial-characters", "ml-prove", "taiwanese-bankruptcy",
          "electrical-grid-stability", "fico")  # fmt: skip
TREE_ARRAYS = ("children_left", "children_right", "feature", "threshold", "category", "value", "n_node_samples")

Case = Callable[[], Any]
Cases = Iterator[tuple[str, Case]]


def every_case() -> dict[str, Case]:
    """Return a dict of every case: its name -> a function without arguments that returns what is kept of it."""
    return dict(
        itertools.chain(
            _grid_cases(),
            _option_cases(),
            _weight_cases(),
            _missing_cases(),
            _path_cases(),
            _cv_cases(),
            _forest_cases(),
            _boosting_cases(),
            _binarizer_cases(),
            _dask_cases(),
        )
    )


def _grid_cases() -> Cases:
    for name in BOOLEAN + NUMERIC + OTHERS:
        for k, depth in ((1, 5), (2, 4), (4, 3), (8, 3), (8, 4)):
            yield f"tree {name} k={k} depth={depth}", functools.partial(_tree, name, k=k, max_depth=depth)
        yield f"optimal {name}", functools.partial(_tree, name, k="all", max_depth=2)


OPTIONS: dict[str, dict[str, Any]] = {
    "gini": {"criterion": "gini"},
    "sqrt": {"criterion": "sqrt"},
    "gain-ratio": {"criterion": "gain_ratio"},
    "callable": {
        "criterion": lambda left, right: -np.minimum(left, left.sum(1, keepdims=True) - left).sum(1) - right.min(1)
    },
    "min-samples-leaf": {"min_samples_leaf": 9},
    "min-weight-leaf": {"min_weight_fraction_leaf": 0.03},
    "penalty": {"leaf_penalty": 0.004},
    "tie": {"leaf_penalty": "tie"},
    "distinct": {"distinct_splits": True},
    "balanced": {"class_weight": "balanced"},
    "thresholds-8": {"max_thresholds": 8},
    "two-threads": {"n_jobs": 2, "max_depth": 4},
    "no-cache": {"memory_limit": 0},
    "levels": {"k": (6, 3, 2, 1), "max_depth": 4},
    "all-below": {"k": (2, "all"), "max_depth": 2},
    "leaf": {"max_depth": 0},
}


def _option_cases() -> Cases:
    for name, (option, parameters) in itertools.product(
        ("car", "hayes-roth", "telescope", "dry-bean", "ml-prove"), OPTIONS.items()
    ):
        yield f"{option} {name}", functools.partial(_tree, name, **{"k": 5, "max_depth": 3} | parameters)
    for name in ("telescope", "hayes-roth"):
        yield (
            f"every-midpoint {name}",
            functools.partial(_tree, name, n_rows=300, k=3, max_depth=3, max_thresholds=None),
        )
        yield f"exact-root {name}", functools.partial(_exact_root, name)
        yield f"pruned {name}", functools.partial(_pruned, name)


def _weight_cases() -> Cases:
    for name, kind in itertools.product(("car", "telescope", "dry-bean"), ("whole", "real", "some-zero")):
        for parameters in ({"k": 4, "max_depth": 3}, {"k": 2, "max_depth": 4, "leaf_penalty": 0.01}):
            label = f"{kind}-weights {name} k={parameters['k']}"
            yield label, functools.partial(_tree, name, weights=kind, **parameters)


def _missing_cases() -> Cases:
    for name, share in itertools.product(("car", "telescope", "nursery", "credit-card"), (0.05, 0.4)):
        yield f"missing-{share} {name}", functools.partial(_tree, name, missing=share, k=6, max_depth=3)


def _path_cases() -> Cases:
    for name in ("car", "monks-1", "telescope", "dry-bean"):
        yield f"penalty-path {name}", functools.partial(_path, name)
        for different in ("predictions", "splits"):
            yield f"near-optimal-{different} {name}", functools.partial(_near_optimal, name, different)


def _cv_cases() -> Cases:
    for name, rule in itertools.product(("car", "monks-1", "telescope", "hayes-roth"), ("1se", "best")):
        yield f"cv-{rule} {name}", functools.partial(_cv, name, rule=rule)
    yield "cv-penalties car", functools.partial(_cv, "car", rule="1se", leaf_penalties=(0.0, 0.01, "tie"), cv=3)
    yield "cv-log-loss telescope", functools.partial(_cv, "telescope", rule="best", scoring="neg_log_loss", cv=3)


def _forest_cases() -> Cases:
    kinds: dict[str, dict[str, Any]] = {
        "plain": {},
        "drawn": {"max_features": "sqrt", "oob_score": True},
        "all-rows": {"bootstrap": False, "max_features": 2},
        "threads": {"n_jobs": 2, "class_weight": "balanced"},
    }
    for name, (kind, parameters) in itertools.product(("car", "telescope", "dry-bean", "spambase"), kinds.items()):
        yield f"forest-{kind} {name}", functools.partial(_forest, name, **parameters)


def _boosting_cases() -> Cases:
    kinds: dict[str, dict[str, Any]] = {
        "plain": {},
        "gini": {"criterion": "gini", "k": 2},
    }
    for name, (kind, parameters) in itertools.product(("car", "telescope", "dry-bean", "monks-1"), kinds.items()):
        yield f"boosting-{kind} {name}", functools.partial(_boosting, name, **parameters)


def _binarizer_cases() -> Cases:
    kinds: dict[str, dict[str, Any]] = {
        "quantile": {"max_thresholds": 12},
        "exact": {"strategy": "exact"},
        "guess": {"strategy": "guess"},
        "paper": {"strategy": "paper", "max_columns": 60},
        "redundant": {"drop_redundant": False},
    }
    for name, (kind, parameters) in itertools.product(("car", "telescope", "hayes-roth"), kinds.items()):
        yield f"binarizer-{kind} {name}", functools.partial(_binarizer, name, **parameters)


def _dask_cases() -> Cases:
    for name, where in itertools.product(("car", "telescope", "dry-bean", "kr-vs-kp"), ("client", "workers")):
        for parameters in (
            {"k": 4, "max_depth": 3},
            {"k": 2, "max_depth": 3, "criterion": "gini", "leaf_penalty": 0.01},
        ):
            yield f"dask-{where} {name} k={parameters['k']}", functools.partial(_dask, name, where, **parameters)


@functools.cache
def _table(name: str, n_rows: int = 1200, missing: float = 0.0) -> tuple[pandas.DataFrame, np.ndarray]:
    """Return features as a frame and labels: the same rows of the dataset on every machine."""
    bunch = datasets.load(name, data_home=DATASETS)
    random = np.random.default_rng(0)
    rows = random.permutation(len(bunch.target))[:n_rows]
    X, y = pandas.DataFrame(bunch.data[rows], columns=bunch.feature_names), bunch.target[rows]
    return (X.mask(random.random(X.shape) < missing) if missing else X), y


def _weights(kind: str, n_rows: int) -> np.ndarray:
    random = np.random.default_rng(1)
    if kind == "whole":
        return random.integers(1, 6, n_rows)
    return random.random(n_rows) + 0.1 if kind == "real" else random.integers(0, 3, n_rows) / 4


def _tree(
    name: str, n_rows: int = 1200, missing: float = 0.0, weights: str | None = None, **parameters: Any
) -> dict[str, Any]:
    X, y = _table(name, n_rows, missing)
    sample_weight = None if weights is None else _weights(weights, len(y))
    return describe(TopKTreeClassifier(**parameters).fit(X, y, sample_weight))


def _exact_root(name: str) -> dict[str, Any]:
    fitted = TopKTreeClassifier(k=6, max_depth=3).fit(*_table(name), exact_root=True)
    root = [(entry["feature"], entry["test"], entry["cost"], entry["exact"]) for entry in fitted.search_["root"]]
    return describe(fitted) | {"root": fingerprint(json.dumps(root).encode())}


def _pruned(name: str) -> dict[str, Any]:
    X, y = _table(name)
    n_train = 2 * len(y) // 3
    return describe(TopKTreeClassifier(k=3, max_depth=5).fit(X[:n_train], y[:n_train]).prune(X[n_train:], y[n_train:]))


def _path(name: str) -> list[dict[str, Any]]:
    path = TopKTreeClassifier(k=4, max_depth=3).leaf_penalty_path(*_table(name))
    return [describe(tree) for tree in path.estimators]


def _near_optimal(name: str, different: str) -> list[dict[str, Any]]:
    X, y = _table(name)
    found = TopKTreeClassifier(k=4, max_depth=2).near_optimal(n=12, epsilon=0.2, X=X, y=y, different=different)
    return [describe(tree) for tree in found.estimators]


def _cv(name: str, **parameters: Any) -> dict[str, Any]:
    X, y = _table(name, 600)
    fitted = TopKTreeClassifierCV(ks=(1, 3), max_depths=(1, 3), **parameters).fit(X, y)
    scores = fingerprint(np.round(fitted.cv_results_["mean_test_score"], 9))
    best = {parameter: str(value) for parameter, value in fitted.best_params_.items()}
    return {"best": best, "scores": scores} | describe(fitted.best_estimator_)


def _forest(name: str, **parameters: Any) -> dict[str, Any]:
    forest = TopKForestClassifier(n_estimators=4, k=3, max_depth=3, random_state=7, **parameters).fit(*_table(name))
    out_of_bag = {"oob_score": round(forest.oob_score_, 9)} if "oob_score" in parameters else {}
    return {"status": forest.status_, "trees": [describe(tree) for tree in forest]} | out_of_bag


def _boosting(name: str, **parameters: Any) -> dict[str, Any]:
    settings = {"n_estimators": 4, "k": 3, "max_depth": 2} | parameters
    boosting = TopKBoostingClassifier(**settings).fit(*_table(name))
    votes = [round(float(weight), 9) for weight in boosting.estimator_weights_]
    return {"stopped": boosting.stopped_, "votes": votes, "trees": [describe(tree) for tree in boosting]}


def _binarizer(name: str, **parameters: Any) -> dict[str, Any]:
    X, y = _table(name, 500)
    binarizer = Binarizer(**parameters).fit(X, y)
    names = "\n".join(binarizer.get_feature_names_out()).encode()
    return {"bits": fingerprint(binarizer.transform(X).astype(np.uint8)), "names": fingerprint(names)}


def _dask(name: str, where: str, **parameters: Any) -> dict[str, Any]:
    import dask.dataframe

    from topktree.dask import DaskTopKTreeClassifier

    X, y = _table(name)
    frame = dask.dataframe.from_pandas(X.assign(target=pandas.Series(y)), npartitions=3)
    classifier = DaskTopKTreeClassifier(gather_bytes=0 if where == "workers" else 2**26, **parameters)
    return describe(classifier.fit(frame.drop(columns="target"), frame["target"]))


def describe(fitted: Any) -> dict[str, Any]:
    """Return what is kept of a fitted tree."""
    arrays = [np.asarray(getattr(fitted.tree_, name)) for name in TREE_ARRAYS]
    numbers = [array.astype("<i8" if array.dtype.kind in "iu" else "<f8") for array in arrays]
    errors = None if fitted.train_errors_ is None else int(fitted.train_errors_)
    return {
        "tree": fingerprint(b"".join(array.tobytes() for array in numbers)),
        "leaves": int(fitted.tree_.n_leaves),
        "cost": round(float(fitted.cost_), 6),
        "errors": errors,
        "status": fitted.status_,
    }


def fingerprint(content: bytes | np.ndarray) -> str:
    """Return sixteen hexadecimal digits of the SHA-256 of an array or of bytes."""
    return hashlib.sha256(
        content if isinstance(content, bytes) else np.ascontiguousarray(content).tobytes()
    ).hexdigest()[:16]


def main() -> None:
    """Write golden.json anew."""
    from distributed import Client

    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
        found = {name: run() for name, run in every_case().items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items())
    GOLDEN.write_text("{\n" + lines + "\n}\n")
    print(f"{len(found)} cases in {GOLDEN}")


if __name__ == "__main__":
    main()
