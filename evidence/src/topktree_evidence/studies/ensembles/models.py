"""The models of the studies on ensembles: ours and scikit-learn's, made, timed and judged in the same way.

In: a dataset, a split, a Recipe. Out: a fitted model, its CPU seconds, its errors and leaves after every tree.
The one idea: the first trees of an ensemble are the ensemble of that many trees, so that one fit serves all sizes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from topktree import TopKBoostingClassifier, TopKForestClassifier, TopKTreeClassifier

from ...splits import RAW, Array, is_categorical, split

FOREST, SQRT, BOOSTING = "forest", "forest-sqrt", "boosting"
OURS = (FOREST, SQRT, BOOSTING)
RANDOM_FOREST, EXTRA_TREES, ADABOOST = "random-forest", "extra-trees", "adaboost"
HIST = "hist-gradient-boosting"
PEERS = (RANDOM_FOREST, EXTRA_TREES, ADABOOST, HIST)
TREE, SKLEARN_TREE = "tree", "scikit-learn-tree"  # no ensembles: what those are measured against
ONE_HOT = (RANDOM_FOREST, EXTRA_TREES, ADABOOST, SKLEARN_TREE)  # methods that need one column per category


@dataclass(frozen=True)
class Recipe:
    """The parameters of a model; a depth of 0 has no limit, a rate of 0 is the model's own."""

    method: str
    k: int = 0  # of ours
    depth: int = 0
    trees: int = 1
    rate: float = 0.0


@dataclass(frozen=True, eq=False)
class Data:
    """A split as numbers: categories are their indices, or a column each (`hot`)."""

    X_train: Array
    X_test: Array
    hot_train: Array
    hot_test: Array
    y_train: Array
    y_test: Array
    categories: list[int] | None  # features

    def training(self, method: str) -> Array:
        """Return X as the method takes it."""
        return self.hot_train if method in ONE_HOT else self.X_train

    def testing(self, method: str) -> Array:
        """Return X as the method takes it."""
        return self.hot_test if method in ONE_HOT else self.X_test


@lru_cache(maxsize=2)  # runs of the same split follow each other
def coded(name: str, seed: int, data_home: str | None) -> Data:
    """Return a split, made ready for all methods: the time for that is not counted as theirs."""
    X_train, X_test, y_train, y_test = split(name, RAW, seed, data_home)
    if not is_categorical(name, data_home):
        return Data(X_train, X_test, X_train, X_test, y_train, y_test, None)
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(X_train)
    codes = OrdinalEncoder().fit(np.concatenate([X_train, X_test]))
    return Data(
        codes.transform(X_train),
        codes.transform(X_test),
        hot.transform(X_train),
        hot.transform(X_test),
        y_train,
        y_test,
        list(range(X_train.shape[1])),
    )


def make(recipe: Recipe, categories: list[int] | None, seed: int, time_limit: float | None = None) -> Any:
    """Return the model, not fitted, on one thread. Only our models have a time limit."""
    rate: dict[str, Any] = {"learning_rate": recipe.rate} if recipe.rate else {}
    depth = recipe.depth or None
    if recipe.method in (*OURS, TREE):
        ours: dict[str, Any] = {"k": recipe.k, "max_depth": depth, "n_jobs": 1, "time_limit": time_limit}
        ours["categorical_features"] = categories
        if recipe.method == TREE:
            return TopKTreeClassifier(**ours)
        ours["n_estimators"] = recipe.trees
        if recipe.method == BOOSTING:
            return TopKBoostingClassifier(**ours, **rate)
        max_features = "sqrt" if recipe.method == SQRT else None
        return TopKForestClassifier(**ours, max_features=max_features, random_state=seed)
    if recipe.method == HIST:
        own = {"max_iter": recipe.trees, "early_stopping": False, "categorical_features": categories}
        return HistGradientBoostingClassifier(**own, max_depth=depth, random_state=seed, **rate)
    tree = DecisionTreeClassifier(max_depth=depth, random_state=seed)
    if recipe.method == SKLEARN_TREE:
        return tree
    if recipe.method == ADABOOST:
        return AdaBoostClassifier(tree, n_estimators=recipe.trees, random_state=seed, **rate)
    kind = RandomForestClassifier if recipe.method == RANDOM_FOREST else ExtraTreesClassifier
    return kind(recipe.trees, max_depth=depth, random_state=seed, n_jobs=1)


@contextmanager
def alone() -> Iterator[None]:
    """Allow one thread, and silence warnings about rare classes."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fit(
    recipe: Recipe, data: Data, seed: int, *, rows: Any = slice(None), time_limit: float | None = None
) -> tuple[Any, float]:
    """Return a model fitted to training rows, and its CPU seconds: wall time depends on what else the machine does."""
    model = make(recipe, data.categories, seed, time_limit)
    X, y = data.training(recipe.method)[rows], data.y_train[rows]
    start = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - start


def expected_cpu(trees: int, few: int, of_few: float, of_one: float) -> float:
    """Return the CPU seconds of a fit of that many trees, on the line through fits of one and of a few."""
    per_tree = max(0.0, (of_few - of_one) / (few - 1)) if few > 1 else of_one
    return of_few + per_tree * (trees - few)


def errors_of(model: Any, X: Array, y: Array) -> list[int]:
    """Return the number of rows misclassified by the first tree, by the first two, and so on."""
    return [int(np.count_nonzero(predicted != y)) for predicted in stages(model, X)]


def stages(model: Any, X: Array) -> Iterator[Array]:
    """Yield predictions of the first tree, of the first two trees, and so on."""
    if isinstance(model, TopKForestClassifier | RandomForestClassifier | ExtraTreesClassifier):
        total: Any = 0.0
        for i, tree in enumerate(model.estimators_):
            total = total + tree.predict_proba(X)
            yield model.classes_[np.argmax(total / (i + 1), axis=1)]
    elif isinstance(model, TopKTreeClassifier | DecisionTreeClassifier):
        yield model.predict(X)
    else:
        yield from model.staged_predict(X)


def leaves_of(model: Any) -> list[int]:
    """Return the leaves of the first tree, of the first two, and so on."""
    if isinstance(model, TopKTreeClassifier | DecisionTreeClassifier):
        leaves = [model.get_n_leaves()]
    elif isinstance(model, HistGradientBoostingClassifier):  # a tree per class in every round, nowhere public
        leaves = [sum(tree.get_n_leaf_nodes() for tree in trees) for trees in model._predictors]
    else:
        leaves = [tree.get_n_leaves() for tree in model.estimators_]
    return [int(n) for n in np.cumsum(leaves)]


def at_sizes(values: list[int], sizes: Iterable[int]) -> list[int]:
    """Return the values of these sizes; boosting that has ended stays as it is."""
    return [values[min(size, len(values)) - 1] for size in sizes]
