"""Choosing k: what cross-validation chooses, against fixed k and against other trees that are tuned.

In: a dataset, a split, a method. Out: errors on rows that had no part in the choice, leaves, seconds, and the grid that
it was made from.
The one idea: validation is nested. Everything that is learnt or chosen, thresholds included, comes from the training
part of the split; all methods choose by the same five folds of it.
"""

from __future__ import annotations

import importlib
import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from topktree import TopKTreeClassifierCV

from ... import peers
from ...splits import FICO, RAW, Array, chosen, is_categorical, names, seeds, split
from ...stopwatch import Stopwatch
from ...study import TIMEOUT, Row, Settings, Task

KEYS = ("dataset", "seed", "method")
RESULTS = ("train_rows", "test_rows", "test_errors", "leaves", "depth", "k", "penalty", "cells", "seconds", "grid")

TOPK, DISTINCT, PENALTY, SKLEARN, STREED = "topk", "topk-distinct", "topk-penalty", "scikit-learn", "pystreed"
ROUNDS = {TOPK: 0, DISTINCT: 0, SKLEARN: 0, PENALTY: 1, STREED: 2}  # what matters most comes first
KS, DEPTHS, FOLDS = (1, 2, 4, 8, 16), (2, 3, 4, 5, 6), 5
WITH_PENALTY: dict[str, Any] = {"ks": (1, 4, 16), "max_depths": (4, 6), "leaf_penalties": (0.0005, 0.001, 0.002, 0.005)}
ALPHAS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)  # of scikit-learn
STREED_DEPTHS = (4, 3)  # the deepest that finishes counts

NO_GRID: Row = {"k": 0, "penalty": 0.0, "cells": 0, "grid": "[]"}  # of other programs: a run has all its columns

Parts = tuple[Array, Array, Array, Array]


def tasks(settings: Settings) -> list[Task]:
    """Plan every method on every split of every dataset."""
    return [
        {"dataset": name, "seed": seed, "method": method}
        for name in chosen(settings, [*names(), FICO])
        for seed in seeds(name, settings)
        for method in ROUNDS
        if method != STREED or peers.is_installed(peers.STREED)
    ]


def run(task: Task, settings: Settings) -> Row:
    """Choose, fit, count errors."""
    parts = split(task["dataset"], RAW, task["seed"], settings.data_home)
    categorical = is_categorical(task["dataset"], settings.data_home)
    assert settings.time_limit is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rare classes, and of limits: the row says so
        row = _RUN[task["method"]](parts, categorical, settings.time_limit)
    return {"train_rows": len(parts[0]), "test_rows": len(parts[1]), **NO_GRID, **row}


def _topk(parts: Parts, categorical: bool, limit: float, **parameters: Any) -> Row:
    X_train, X_test, y_train, y_test = parts
    categories = list(range(X_train.shape[1])) if categorical else None
    cv = TopKTreeClassifierCV(
        **{"ks": KS, "max_depths": DEPTHS} | parameters,
        cv=FOLDS,
        categorical_features=categories,
        time_limit=limit,
        n_jobs=1,
    )
    start = time.perf_counter()
    cv.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    cells = list(_cells(cv, parts))
    return {
        "test_errors": n_wrong(cv, X_test, y_test),
        "leaves": cv.get_n_leaves(),
        "depth": cv.best_params_["max_depth"],
        "k": cv.best_params_["k"],
        "penalty": cv.best_params_["leaf_penalty"],
        "cells": len(cells),
        "seconds": seconds,
        "grid": json.dumps(cells, separators=(",", ":")),
    }


def n_wrong(model: Any, X: Array, y: Array) -> int:
    """Return the number of misclassified rows."""
    return int(np.count_nonzero(np.asarray(model.predict(X)) != y))


def _cells(cv: TopKTreeClassifierCV, parts: Parts) -> Iterator[dict[str, Any]]:
    """Yield every candidate that was finished: its scores in the folds, and its errors on the test rows."""
    X_train, X_test, y_train, y_test = parts
    results = cv.cv_results_
    for i, params in enumerate(results["params"]):
        if results["status"][i] != "complete":
            continue
        tree = clone(cv.best_estimator_).set_params(**params).fit(X_train, y_train)
        yield {
            **params,
            "scores": [round(float(results[f"split{f}_test_score"][i]), 6) for f in range(cv.n_splits_)],
            "fold_leaves": float(results["mean_n_leaves"][i]),
            "fold_seconds": round(float(results["seconds"][i]), 4),
            "seconds": round(tree.search_["seconds"], 4),
            "train_errors": tree.train_errors_,
            "test_errors": n_wrong(tree, X_test, y_test),
            "leaves": tree.get_n_leaves(),
        }


def _sklearn(parts: Parts, categorical: bool, limit: float) -> Row:
    """Tune depth and ccp_alpha of scikit-learn's tree by the same folds."""
    X_train, X_test, y_train, y_test = parts
    tree = DecisionTreeClassifier(random_state=0)
    steps = [OneHotEncoder(handle_unknown="ignore", sparse_output=False), tree] if categorical else [tree]
    name = type(tree).__name__.lower()
    search = GridSearchCV(
        make_pipeline(*steps),
        {f"{name}__max_depth": DEPTHS, f"{name}__ccp_alpha": ALPHAS},
        cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0),
    )
    start = time.perf_counter()
    search.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    fitted = search.best_estimator_[-1]
    return {
        "test_errors": n_wrong(search, X_test, y_test),
        "leaves": int(fitted.get_n_leaves()),
        "depth": search.best_params_[f"{name}__max_depth"],
        "penalty": search.best_params_[f"{name}__ccp_alpha"],
        "seconds": seconds,
    }


def _streed(parts: Parts, categorical: bool, limit: float) -> Row:
    """Fit pystreed's optimal trees with its columns and its tuning, in a separate process, which it may end."""
    if categorical:
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=bool).fit(parts[0])
        parts = (encoder.transform(parts[0]), encoder.transform(parts[1]), *parts[2:])
    with Stopwatch(grace=0.0) as stopwatch:
        for depth in STREED_DEPTHS:
            outcome = stopwatch.run(fit_streed, parts, depth, limit=limit / len(STREED_DEPTHS))
            if outcome.status != TIMEOUT:
                return {"status": outcome.status, "message": outcome.message, **(outcome.value or {})}
    return {"status": TIMEOUT, "message": outcome.message}


def fit_streed(parts: Parts, depth: int) -> Row:
    """Fit pystreed without a limit of its own."""
    X_train, X_test, y_train, y_test = parts
    solver = importlib.import_module("pystreed").STreeDClassifier(
        "accuracy", max_depth=depth, hyper_tune=True, time_limit=1e6
    )
    start = time.perf_counter()
    solver.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    leaves = int(solver.get_n_leaves())
    return {"test_errors": n_wrong(solver, X_test, y_test), "leaves": leaves, "depth": depth, "seconds": seconds}


_RUN: dict[str, Callable[..., Row]] = {
    TOPK: _topk,
    DISTINCT: partial(_topk, distinct_splits=True),
    PENALTY: partial(_topk, **WITH_PENALTY),
    SKLEARN: _sklearn,
    STREED: _streed,
}


def effort(task: Task) -> tuple[int, ...]:
    """Order the runs: split by split, so that every dataset has some results early."""
    return ROUNDS[task["method"]], task["seed"]


def is_hopeless(task: Task, stopped: Task) -> bool:
    """Return True for the same method on another split of a dataset."""
    return all(task[name] == stopped[name] for name in ("method", "dataset"))
