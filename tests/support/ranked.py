"""Problems with ranked features, in two forms: as ranks, and with a column of bits for every one of their columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st
from support import oracle
from support.problems import random_parameters

from topktree import TopKTreeClassifier
from topktree._data import ranks
from topktree._data.columns import SET_IF_FALSE, is_true
from topktree._data.training import TrainingData, prepare
from topktree._search import engine
from topktree._search.objective import FeatureDraw, Objective
from topktree._search.spec import read_spec


@dataclass(frozen=True)
class RankedProblem:
    """Training data with ranked features, its table and its objective."""

    X: np.ndarray  # (n, n_features), NaN is missing
    data: TrainingData
    objective: Objective

    def expanded(self) -> np.ndarray:
        """Every column as bits, (n, n_columns), from the literals that they stand for."""
        return expanded_columns(self.data, self.X)

    def for_oracle(self) -> Objective:
        """The objective of the expanded columns."""
        columns = self.data.columns
        literals = [columns.literal(j) for j in range(len(columns))]
        # The test of each column: two orders of the same categories may have a set in common.
        tests = [(id(columns.place(j)[0]), *a[:2], str(a.value), a.categories) for j, a in enumerate(literals)]
        first = {test: j for j, test in enumerate(tests) if not literals[j].or_missing}
        offsets = np.zeros(len(columns), dtype=np.int32)
        for j, literal in enumerate(literals):
            if literal.or_missing and tests[j] in first:
                offsets[first[tests[j]]] = j - first[tests[j]]
        own = replace(self.objective, second_reading=offsets if offsets.any() else None)
        if own.draw is None:
            return own
        features = np.array([literal.feature for literal in literals], dtype=np.int32)
        return replace(own, draw=replace(own.draw, of_column=features))

    def reference(self) -> oracle.Solution:
        return oracle.solve(self.expanded(), self.data.y, self.for_oracle())

    def engine(self, **options: Any) -> engine.Solution:
        options = {"threads_after": 0.0, "task_cycles": 0.0} | options
        options.pop("packed", None)
        data, columns = self.data, self.data.columns
        return engine.solve(
            data.rows, columns.n_bits, data.y, self.objective, engine.SearchOptions(**options), ranked=columns.ranked
        )


def expanded_columns(data: TrainingData, X: np.ndarray) -> np.ndarray:
    """Every column of training data as bits, given the encoded rows with weight."""
    result = np.empty((len(X), len(data.columns)), dtype=bool)
    for j in range(len(data.columns)):
        feature, test, value, or_missing, categories = data.columns.literal(j)
        yes = is_true(X[:, feature], test, value, categories)
        if or_missing:
            yes |= np.isnan(X[:, feature])
        result[:, j] = ~yes if test in SET_IF_FALSE else yes
    return result


def prepared(X: Any, y: np.ndarray, few: int = 2, weights: np.ndarray | None = None, **parameters: Any) -> TrainingData:
    """Data in which features with more than `few` thresholds are ranked."""
    with mock.patch.object(ranks, "FEW_THRESHOLDS", few):
        return prepare(TopKTreeClassifier(max_thresholds=None, **parameters), X, y, weights)


def random_table(rng: np.random.Generator, n: int, n_features: int) -> np.ndarray:
    """Numbers with many and with few values, skewed ones, copies, complements, constants, and missing values."""
    X = rng.normal(size=(n, n_features))
    for f in range(n_features):
        kind = rng.integers(6)
        if kind == 0:
            X[:, f] = rng.integers(rng.integers(1, 12), size=n)
        elif kind == 1:
            X[:, f] = np.exp(3 * X[:, f]).round(1)
        elif kind == 2 and f > 0:
            X[:, f] = X[:, f - 1] * rng.choice([2.0, -0.5])
        elif kind == 3 and f > 0:
            X[:, f] = X[:, f - 1] + rng.normal(size=n)
        if rng.random() < 0.3:
            X[rng.random(n) < rng.choice([0.1, 0.5]), f] = np.nan
    if rng.random() < 0.2:
        X = X[rng.integers(max(1, n // 2), size=n)]
    return X


def some_as_categories(rng: np.random.Generator, X: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Turn some features into indices of up to nine categories, all of which occur; return which, and the table."""
    X, chosen = X.copy(), np.flatnonzero(rng.random(X.shape[1]) < 0.5).tolist()
    for f in chosen:
        n = int(rng.integers(1, 10))
        present = ~np.isnan(X[:, f])
        X[present, f] = np.unique((np.abs(X[present, f]) * 7).astype(int) % n, return_inverse=True)[1]
    return chosen, X


def random_target(rng: np.random.Generator, X: np.ndarray, n_classes: int) -> np.ndarray:
    """Classes that follow some of the numbers, with noise; at least two of them."""
    scores = np.nan_to_num(X[:, rng.integers(X.shape[1], size=2)], nan=0.5)
    signal = (scores > np.median(scores, axis=0)) @ np.array([1, 2])
    y = np.where(rng.random(len(X)) < 0.3, rng.integers(n_classes, size=len(X)), signal % n_classes)
    y[:2] = [0, 1]
    return y


@st.composite
def ranked_problems(draw: st.DrawFn, max_rows: int = 40, max_depth: int = 3, all_depth: int = 2) -> RankedProblem:
    """A problem with ranked features, small enough for the reference."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, max_rows))
    X = random_table(rng, n, draw(st.integers(1, 4)))
    y = random_target(rng, X, draw(st.sampled_from([2, 2, 2, 3, 5])))
    depth = draw(st.integers(0, max_depth))
    k: Any = draw(st.sampled_from([1, 2, 2, 3, 4, "all"]))
    if k == "all":
        depth = min(depth, all_depth)
    elif draw(st.booleans()):
        k = [draw(st.integers(1, 4)) for _ in range(depth)] or 1
    categories, X = some_as_categories(rng, X)
    data = prepared(X, y, draw(st.sampled_from([0, 2, 5])), categorical_features=categories)
    parameters = random_parameters(rng, data.y)
    parameters["min_samples_leaf"] = min(parameters["min_samples_leaf"], 5)
    if lookahead := parameters.pop("lookahead"):
        parameters |= {"criterion": "lookahead", "lookahead_columns": lookahead}
    sample_weight, class_weight = parameters.pop("sample_weight"), parameters.pop("class_weight")
    data = replace(data, sample_weight=sample_weight, class_weight=class_weight)
    tree = TopKTreeClassifier(
        k=k, max_depth=depth, min_weight_fraction_leaf=draw(st.sampled_from([0.0, 0.0, 0.1])), **parameters
    )
    objective = read_spec(tree).objective(data)
    if draw(st.sampled_from([False, False, True])):
        features = data.columns.feature.astype(np.int32)
        objective = replace(
            objective, lookahead=0, draw=FeatureDraw(draw(st.integers(1, 2)), features, int(rng.integers(2**63)))
        )
    return RankedProblem(X, data, objective)
