"""Choosing k: what cross-validation chooses, against fixed k and against other trees that are tuned.

In: a dataset, a split, a method. Out: errors on rows that had no part in the choice, leaves, seconds, and the grid that
it was made from.
The one idea: nested. Everything that is learnt or chosen, thresholds included, comes from the training part of the
split; all methods choose by the same five folds of it.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from ..classifier import TopKTreeClassifier
from ..classifier_cv import TopKTreeClassifierCV
from ..cross_validation import COMPLETE
from ..training import prepare
from .experiment import Experiment, Row, Settings, Task, its_dataset
from .splits import FICO, RAW, Array, chosen, is_categorical, names, seeds, split

KEYS = ("dataset", "seed", "method")
RESULTS = ("train_rows", "test_rows", "test_errors", "leaves", "depth", "k", "penalty", "cells", "seconds", "grid")

TOPK, DISTINCT, PENALTY, SKLEARN = "topk", "topk-distinct", "topk-penalty", "scikit-learn"
METHODS = (TOPK, DISTINCT, SKLEARN)
KS, DEPTHS = (1, 2, 4, 8, 16), (2, 3, 4, 5, 6)
PENALTIES = (0.0, 0.0005, 0.001, 0.002, 0.005)
ALPHAS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
FOLDS = 5


def tasks(settings: Settings) -> list[Task]:
    """Every method on every split of every dataset."""
    return [
        {"dataset": name, "seed": seed, "method": method}
        for name in chosen(settings, [*names(), FICO])
        for seed in seeds(name, settings)
        for method in METHODS
    ]


def run(task: Task, settings: Settings) -> Row:
    """Choose, fit, count errors."""
    X_train, X_test, y_train, y_test = split(task["dataset"], RAW, task["seed"], settings.data_home)
    row: Row = {"train_rows": len(X_train), "test_rows": len(X_test)}
    categorical = is_categorical(task["dataset"], settings.data_home)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rare classes, and of limits: the row says so
        return row | _RUN[task["method"]]((X_train, X_test, y_train, y_test), categorical, settings.time_limit)


Parts = tuple[Array, Array, Array, Array]


def _topk(parts: Parts, categorical: bool, limit: float | None, **parameters: Any) -> Row:
    X_train, X_test, y_train, y_test = parts
    categories = list(range(X_train.shape[1])) if categorical else None
    grid = {"ks": KS, "max_depths": DEPTHS, "leaf_penalties": parameters.pop("leaf_penalties", (0.0,))}
    cv = TopKTreeClassifierCV(
        **grid, cv=FOLDS, categorical_features=categories, time_limit=limit, n_jobs=1, **parameters
    )
    start = time.perf_counter()
    cv.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    cells = list(_cells(cv, parts))
    return {
        "test_errors": int(np.count_nonzero(cv.predict(X_test) != y_test)),
        "leaves": cv.get_n_leaves(),
        "depth": cv.best_params_["max_depth"],
        "k": cv.best_params_["k"],
        "penalty": cv.best_params_["leaf_penalty"],
        "cells": len(cells),
        "seconds": seconds,
        "grid": json.dumps(cells, separators=(",", ":")),
    }


def _cells(cv: TopKTreeClassifierCV, parts: Parts) -> Iterator[dict[str, Any]]:
    """Every candidate that was finished: its scores in the folds, and what it does on the test rows."""
    X_train, X_test, y_train, y_test = parts
    results = cv.cv_results_
    tree = copy(cv.best_estimator_)
    data = prepare(tree, X_train, y_train, None)
    for i, params in enumerate(results["params"]):
        if results["status"][i] != COMPLETE:
            continue
        fitted: TopKTreeClassifier = copy(tree).set_params(**params)
        start = time.perf_counter()
        fitted._grow(data, fitted._objective(data), fitted._search_options(start))
        yield {
            **params,
            "scores": [round(float(results[f"split{f}_test_score"][i]), 6) for f in range(cv.n_splits_)],
            "fold_leaves": float(results["mean_n_leaves"][i]),
            "fold_seconds": round(float(results["seconds"][i]), 4),
            "seconds": round(time.perf_counter() - start, 4),
            "train_errors": fitted.train_errors_,
            "test_errors": int(np.count_nonzero(fitted.predict(X_test) != y_test)),
            "leaves": fitted.get_n_leaves(),
        }


def _sklearn(parts: Parts, categorical: bool, limit: float | None) -> Row:
    """Scikit-learn's tree: depth and ccp_alpha by the same folds."""
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
        "test_errors": int(np.count_nonzero(search.predict(X_test) != y_test)),
        "leaves": int(fitted.get_n_leaves()),
        "depth": search.best_params_[f"{name}__max_depth"],
        "penalty": search.best_params_[f"{name}__ccp_alpha"],
        "seconds": seconds,
    }


_RUN: dict[str, Callable[..., Row]] = {
    TOPK: lambda *of: _topk(*of),
    DISTINCT: lambda *of: _topk(*of, distinct_splits=True),
    PENALTY: lambda *of: _topk(*of, leaf_penalties=PENALTIES),
    SKLEARN: _sklearn,
}


def _effort(task: Task) -> tuple[int, ...]:
    """Split by split, so that there is something of every dataset early."""
    return (task["seed"],)


CHOOSING = Experiment("choosing", KEYS, RESULTS, tasks, run=run, effort=_effort, needs=its_dataset, folder="choosing")
