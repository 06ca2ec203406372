"""`TopKTreeClassifierCV`: choices that can be checked by hand, folds of every kind, limits, failures."""

from __future__ import annotations

import math
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from itertools import product
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.problems import user_criterion

import topktree
from topktree import TopKTreeClassifier, TopKTreeClassifierCV, datasets

SMALL = {"ks": (1, 2, 4), "max_depths": (1, 2, 3)}


def data(n: int = 200, n_classes: int = 2, noise: float = 0.1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of which a few decide the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = np.where(X[:, 0] > 0, X[:, 1] > 0.5, X[:, 2] > -0.5) + (n_classes - 2) * (X[:, 3] > 0.7)
    return X, np.where(rng.random(n) < noise, rng.integers(n_classes, size=n), y)


@parametrize_with_checks([TopKTreeClassifierCV(**SMALL)])
def test_scikit_learn_habits(estimator: Any, check: Any) -> None:
    check(estimator)


def same_trees(a: Any, b: Any) -> bool:
    return a.export_dict() == b.export_dict() and a.cost_ == b.cost_


@pytest.mark.parametrize("rule", ["best", "1se"])
@pytest.mark.parametrize("seed", range(4))
def test_the_refit_is_a_direct_fit_with_the_chosen_parameters(seed: int, rule: str) -> None:
    X, y = data(seed=seed)
    weights = np.random.default_rng(seed).integers(1, 4, len(y))
    shared = {"criterion": "gini", "min_samples_leaf": 3, "distinct_splits": True, "class_weight": "balanced"}
    cv = TopKTreeClassifierCV(**SMALL, leaf_penalties=(0.0, 0.01), rule=rule, **shared).fit(X, y, weights)
    direct = TopKTreeClassifier(**cv.best_params_, **shared).fit(X, y, weights)
    assert same_trees(cv.best_estimator_, direct)
    assert same_trees(cv, direct)
    assert cv.best_params_ == cv.cv_results_["params"][cv.best_index_]
    assert cv.best_score_ == cv.cv_results_["mean_test_score"][cv.best_index_]
    assert cv.best_estimator_.get_params() == direct.get_params()


@pytest.mark.parametrize("seed", range(12))
def test_1se_never_gives_a_larger_tree_than_best(seed: int) -> None:
    X, y = data(n=80, noise=0.3, seed=seed)
    leaves = {}
    for rule in ("best", "1se"):
        leaves[rule] = TopKTreeClassifierCV(ks=(1, 3, 9), max_depths=(1, 2, 4), rule=rule).fit(X, y).get_n_leaves()
    assert leaves["1se"] <= leaves["best"]


def test_a_simpler_candidate_with_a_larger_tree_in_the_end_is_not_taken() -> None:
    """In the folds one candidate has the fewest leaves; on all rows it has more than the best."""
    X, y = data(n=60, noise=0.5, seed=216)
    grid = {"ks": (1, 6), "max_depths": (2, 3)}
    cv = TopKTreeClassifierCV(**grid).fit(X, y)
    allowed = cv.cv_results_["mean_test_score"] >= cv.threshold_
    simplest = int(np.argmin(np.where(allowed, cv.cv_results_["mean_n_leaves"], np.inf)))
    assert simplest != cv.best_index_  # or the test shows nothing
    in_the_end = TopKTreeClassifier(**cv.cv_results_["params"][simplest]).fit(X, y)
    assert in_the_end.get_n_leaves() > cv.get_n_leaves()
    assert same_trees(cv, TopKTreeClassifierCV(**grid, rule="best").fit(X, y))


def test_scores_are_those_of_scikit_learn() -> None:
    X, y = data(n_classes=3)
    splits = list(StratifiedKFold(4, shuffle=True, random_state=1).split(X, y))
    cv = TopKTreeClassifierCV(**SMALL, cv=splits).fit(X, y)
    search = GridSearchCV(TopKTreeClassifier(), {"k": [1, 2, 4], "max_depth": [1, 2, 3]}, cv=splits).fit(X, y)
    ours, theirs = cv.cv_results_, search.cv_results_
    assert [p["k"] for p in ours["params"]] == [p["k"] for p in theirs["params"]]
    for name in theirs:
        assert name in ours
        if "score" in name and "time" not in name:
            np.testing.assert_allclose(ours[name], theirs[name], err_msg=name)
    assert cv.n_splits_ == search.n_splits_ == 4


def test_results_hold_together() -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(**SMALL, leaf_penalties=(0.0, 0.02, "tie")).fit(X, y)
    results = cv.cv_results_
    n = 3 * 3 * 3
    assert all(len(column) == n for column in results.values())
    scores = np.column_stack([results[f"split{f}_test_score"] for f in range(5)])
    np.testing.assert_allclose(results["mean_test_score"], scores.mean(axis=1))
    np.testing.assert_allclose(results["std_test_score"], scores.std(axis=1))
    np.testing.assert_allclose(results["se_test_score"], scores.std(axis=1, ddof=1) / math.sqrt(5))
    assert set(results["status"]) == {"complete"}
    assert (results["mean_n_leaves"] >= 1).all()
    assert (results["mean_depth"] <= results["param_max_depth"].astype(float)).all()
    assert (results["seconds"] > 0).all()
    np.testing.assert_allclose(results["seconds"], 5 * (results["mean_fit_time"] + results["mean_score_time"]))
    assert results["rank_test_score"].min() == 1
    expected = [
        {"k": k, "max_depth": d, "leaf_penalty": p} for k, d, p in product((1, 2, 4), (1, 2, 3), (0.0, 0.02, "tie"))
    ]
    assert results["params"] == expected
    assert results["param_leaf_penalty"].tolist() == [p["leaf_penalty"] for p in expected]
    pd.DataFrame(results)


def test_the_smaller_k_bounds_the_next_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = []
    solve = topktree._search.engine.solve

    def spy(rows: Any, n_columns: int, classes: Any, objective: Any, options: Any = None, **more: Any) -> Any:
        known.append((objective.k, options.known_cost))
        return solve(rows, n_columns, classes, objective, options, **more)

    monkeypatch.setattr(topktree._search.engine, "solve", spy)
    X, y = data()
    TopKTreeClassifierCV(ks=(4, 1, 2), max_depths=(2,), cv=3).fit(X, y)
    in_folds, refits = known[:9], known[9:]
    assert [k for k, _ in in_folds] == [(1, 1)] * 3 + [(2, 2)] * 3 + [(4, 4)] * 3
    assert [cost is None for _, cost in in_folds] == [True] * 3 + [False] * 6
    assert all(cost is None for _, cost in refits)


def test_every_fold_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    prepare = topktree._selection.folds.prepare
    monkeypatch.setattr(topktree._selection.folds, "prepare", lambda *args: calls.append(1) or prepare(*args))
    X, y = data()
    TopKTreeClassifierCV(**SMALL, cv=4).fit(X, y)
    assert len(calls) == 4


def test_the_same_seed_gives_the_same_choice() -> None:
    X, y = data(noise=0.3)
    first, second = (TopKTreeClassifierCV(**SMALL, random_state=7).fit(X, y) for _ in range(2))
    other = TopKTreeClassifierCV(**SMALL, random_state=8).fit(X, y)
    scores = [cv.cv_results_["mean_test_score"] for cv in (first, second, other)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    assert first.best_params_ == second.best_params_
    assert same_trees(first, second)


@pytest.mark.parametrize("n_jobs", [2, -1])
@pytest.mark.parametrize("backend", [None, "loky", "threading", "multiprocessing"])
def test_jobs_change_nothing(n_jobs: int, backend: str | None) -> None:
    X, y = data(n_classes=3)
    alone = TopKTreeClassifierCV(**SMALL).fit(X, y)
    with joblib.parallel_config(backend=backend) if backend else warnings.catch_warnings():
        together = TopKTreeClassifierCV(**SMALL, n_jobs=n_jobs).fit(X, y)
    for name in ("mean_test_score", "mean_n_leaves"):
        np.testing.assert_array_equal(alone.cv_results_[name], together.cv_results_[name])
    assert same_trees(alone, together)


@pytest.mark.parametrize(("n_jobs", "n_fits", "threads"), [(1, 5, 1), (2, 5, 1), (10, 5, 2), (14, 5, 2), (3, 1, 3)])
def test_fits_get_the_threads_that_are_left(n_jobs: int, n_fits: int, threads: int) -> None:
    assert topktree._runtime.parallel.threads_per_call(n_jobs, n_fits) == threads


def test_weights_count_in_fits_and_in_scores() -> None:
    X, y = data(n=60, noise=0.3)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    groups = np.arange(len(y)) % 3
    splits = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)]
    repeated = np.repeat(np.arange(len(y)), times)
    repeated_splits = [(np.flatnonzero(groups[repeated] != g), np.flatnonzero(groups[repeated] == g)) for g in range(3)]
    for scoring in (None, "accuracy", "balanced_accuracy"):
        weighted = TopKTreeClassifierCV(**SMALL, cv=splits, scoring=scoring).fit(X, y, times)
        longer = TopKTreeClassifierCV(**SMALL, cv=repeated_splits, scoring=scoring).fit(X[repeated], y[repeated])
        np.testing.assert_allclose(weighted.cv_results_["mean_test_score"], longer.cv_results_["mean_test_score"])
        assert weighted.best_params_ == longer.best_params_


def test_a_scorer_without_weights_goes_without() -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(**SMALL, scoring=lambda tree, X, y: tree.score(X, y)).fit(X, y, np.ones(len(y)))
    plain = TopKTreeClassifierCV(**SMALL).fit(X, y)
    np.testing.assert_allclose(cv.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])


@pytest.mark.parametrize(
    "scoring",
    [
        "roc_auc_ovr",
        "neg_log_loss",
        "f1_macro",
        make_scorer(log_loss, greater_is_better=False, response_method="predict_proba"),
    ],
)
def test_any_scorer(scoring: Any) -> None:
    X, y = data(n_classes=3, n=300)
    cv = TopKTreeClassifierCV(**SMALL, scoring=scoring).fit(X, y)
    one = TopKTreeClassifier(**cv.best_params_)
    splits = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cv.best_score_ == pytest.approx(cross_val_score(one, X, y, cv=splits, scoring=scoring).mean())
    assert cv.score(X, y) != cv.best_estimator_.score(X, y)  # the scorer's own


def test_score_is_accuracy_by_default() -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(**SMALL).fit(X, y)
    weights = np.arange(len(y)) % 3
    assert cv.score(X, y, weights) == pytest.approx(np.average(cv.predict(X) == y, weights=weights))


@pytest.mark.parametrize(
    ("cv", "n_splits"),
    [
        (2, 2),
        (RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), 6),
        (PredefinedSplit([-1] * 150 + [0] * 50), 1),
    ],
)
def test_folds_of_every_kind(cv: Any, n_splits: int) -> None:
    X, y = data()
    fitted = TopKTreeClassifierCV(**SMALL, cv=cv).fit(X, y)
    assert fitted.n_splits_ == n_splits
    assert fitted.score(X, y) > 0.6


class ByTime:
    """A splitter that looks at the table."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        order = np.argsort(X["a"].to_numpy())
        yield order[:100], order[100:]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return 1


def test_a_splitter_gets_the_table() -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(**SMALL, cv=ByTime()).fit(pd.DataFrame(X, columns=list("abcde")), y)
    order = np.argsort(X[:, 0])
    assert cv.best_score_ == TopKTreeClassifierCV(**SMALL, cv=[(order[:100], order[100:])]).fit(X, y).best_score_


def test_one_fold_has_no_standard_error_so_the_best_is_chosen() -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(**SMALL, cv=PredefinedSplit([-1] * 150 + [0] * 50)).fit(X, y)
    np.testing.assert_array_equal(cv.cv_results_["se_test_score"], 0)
    assert cv.best_score_ == cv.cv_results_["mean_test_score"].max()


def test_splits_as_masks_and_groups() -> None:
    X, y = data()
    test = np.arange(len(y)) % 4 == 0
    masks = TopKTreeClassifierCV(**SMALL, cv=[(~test, test)]).fit(X, y)
    indices = TopKTreeClassifierCV(**SMALL, cv=[(np.flatnonzero(~test), np.flatnonzero(test))]).fit(X, y)
    assert masks.best_score_ == indices.best_score_
    assert TopKTreeClassifierCV(**SMALL, cv=GroupKFold(4)).fit(X, y, groups=np.arange(len(y)) // 10).n_splits_ == 4


def test_tiny_classes() -> None:
    """A class of two rows, which most folds' training rows have and some test rows lack: probabilities keep it."""
    X, y = data(n=100)
    y[:2] = 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's, of the least populated class
        cv = TopKTreeClassifierCV(**SMALL, cv=5).fit(X, y)
        assert cv.predict_proba(X).shape == (100, 3)
        by_loss = TopKTreeClassifierCV(
            **SMALL, scoring=lambda tree, X, y: -log_loss(y, tree.predict_proba(X), labels=[0, 1, 2])
        ).fit(X, y)
    assert np.isfinite(by_loss.cv_results_["mean_test_score"]).all()


def test_a_fold_that_cannot_be_used_is_left_out() -> None:
    """The only row of a class is a test row of one fold: its training rows are of one class."""
    X, y = data(n=40)
    y = np.zeros(40, dtype=int)
    y[:3] = 1
    splits = [(np.arange(3, 40), np.arange(3)), (np.r_[0:2, 10:40], np.r_[2:10]), (np.r_[1:20], np.r_[0, 20:40])]
    with pytest.warns(FitFailedWarning, match=r"1 of 3 folds left out, for .*fold 0: y must have rows of at least"):
        cv = TopKTreeClassifierCV(**SMALL, cv=splits).fit(X, y)
    assert np.isnan(cv.cv_results_["split0_test_score"]).all()
    assert np.isfinite(cv.cv_results_["mean_test_score"]).all()
    assert cv.n_splits_ == 3


def test_nothing_to_choose_from_is_an_error() -> None:
    X, y = data(n=10)
    y = np.array([1] + [0] * 9)
    with pytest.raises(ValueError, match=r"none of the 9 candidates has a score in every fold. fold 0: y must have"):
        TopKTreeClassifierCV(**SMALL, cv=[(np.arange(1, 10), np.arange(1))]).fit(X, y)


def failing_criterion(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Works until a node is small."""
    if left[0].sum() + right[0].sum() < 30:
        raise RuntimeError("too few rows")
    return user_criterion(left, right)


def test_a_failing_candidate_is_reported_and_not_chosen() -> None:
    X, y = data(noise=0.3)
    grid = {"ks": (2,), "max_depths": (1, 6)}
    with pytest.warns(FitFailedWarning, match=r"5 of 10 fits failed.*'max_depth': 6.*RuntimeError: too few rows"):
        cv = TopKTreeClassifierCV(**grid, criterion=failing_criterion).fit(X, y)
    assert cv.best_params_["max_depth"] == 1
    assert cv.cv_results_["status"].tolist() == ["complete", "failed"]
    assert np.isnan(cv.cv_results_["mean_test_score"][1])
    assert cv.cv_results_["rank_test_score"].tolist() == [1, 2]


def test_a_failing_scorer_is_reported() -> None:
    X, y = data()

    def scoring(tree: Any, X: Any, y: Any) -> float:
        return math.nan if tree.get_depth() > 1 else 1.0

    with pytest.warns(FitFailedWarning, match="ValueError: the score is nan"):
        cv = TopKTreeClassifierCV(**SMALL, scoring=scoring).fit(X, y)
    assert cv.best_params_["max_depth"] == 1
    with pytest.raises(ValueError, match=r"none of the 9 candidates.*scoring must return a number, got 'good'"):
        TopKTreeClassifierCV(**SMALL, scoring=lambda tree, X, y: "good").fit(X, y)


@pytest.mark.parametrize("score", [math.inf, -math.inf, math.nan])
def test_scores_that_are_not_finite_are_failures(score: float) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=f"none of the 9 candidates.*ValueError: the score is {score}"):
        TopKTreeClassifierCV(**SMALL, scoring=lambda tree, X, y: score).fit(X, y)


def test_folds_that_cannot_be_scored_are_left_out() -> None:
    """Four folds have no test row of the rare class, which the log loss does not take: one is left."""
    X, y = data(n=90)
    y[0] = 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cv = TopKTreeClassifierCV(**SMALL, scoring="neg_log_loss").fit(X, y)
    texts = [str(warning.message) for warning in caught if warning.category is FitFailedWarning]
    assert len(texts) == 1
    assert texts[0].startswith("4 of 5 folds left out, for which no candidate has a score. fold ")
    assert set(cv.cv_results_["status"]) == {"complete"}


def test_an_error_names_the_limit_that_stopped_the_others() -> None:
    X, y = data()

    def scoring(tree: Any, X: Any, y: Any) -> float:
        raise RuntimeError("no")

    with pytest.raises(ValueError, match=r"none of the 9 candidates.*RuntimeError: no; time_limit=1e-09 s was reached"):
        TopKTreeClassifierCV(**SMALL, scoring=scoring, time_limit=1e-9, cv=[(range(100), range(100, 200))]).fit(X, y)


def test_rows_without_weight_may_hold_anything() -> None:
    X, y = data()
    weights = np.ones(len(y))
    weights[::6] = 0
    odd = X.astype(object)
    odd[::6, 1] = "junk"
    kept = weights > 0
    splits = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    cv = TopKTreeClassifierCV(**SMALL, cv=splits).fit(odd, y, weights)
    place = np.cumsum(kept) - 1
    fewer = [tuple(place[part[kept[part]]] for part in rows) for rows in splits]
    assert cv.best_score_ == TopKTreeClassifierCV(**SMALL, cv=fewer).fit(X[kept], y[kept]).best_score_


def test_which_features_are_categories_is_said_by_all_rows() -> None:
    X, y = data()
    odd = X.round(1).astype(object)
    odd[5, 1] = "?"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "X has texts and other values among the categories")
        cv = TopKTreeClassifierCV(**SMALL).fit(odd, y)
    assert cv.features_[1].kind == "category"
    assert cv.best_estimator_.categorical_features == "from_dtype"


@pytest.mark.parametrize("kind", [object, "S", np.dtypes.StringDType()])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_labels_that_scikit_learn_does_not_score(kind: Any, scoring: str | None) -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(**SMALL, scoring=scoring).fit(X, y.astype(kind))
    assert cv.score(X, y.astype(kind)) == TopKTreeClassifierCV(**SMALL).fit(X, y).score(X, y)


def test_a_last_fit_that_is_cut_off_is_said() -> None:
    X, y = endless()
    small = [(np.arange(60), np.arange(60, 120)), (np.arange(120, 180), np.arange(180, 240))]
    with pytest.warns(ConvergenceWarning, match="time_limit=1 s was reached during the last fit, to all rows"):
        cv = TopKTreeClassifierCV(ks=(40,), max_depths=(6,), cv=small, time_limit=1).fit(X, y)
    assert cv.status_ == "time_limit"
    assert cv.cv_results_["status"].tolist() == ["complete"]


def test_names_of_rows_are_warned_of_once() -> None:
    X, y = data(n=2200)
    table = pd.DataFrame({"id": [f"u{i}" for i in range(2200)], "x": X[:, 0]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TopKTreeClassifierCV(ks=(1,), max_depths=(1,)).fit(table, y)
    assert [str(w.message)[:40] for w in caught] == ["X has 2,200 categories in 'id', in 2,200"]


def test_parameters_changed_after_the_fit_change_nothing() -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(**SMALL).fit(X, y)
    score = cv.score(X, y)
    cv.set_params(scoring="neg_log_loss", rule="best")
    assert cv.score(X, y) == score
    ax = cv.plot_scores()
    assert ax.get_ylabel() == "accuracy (5 folds)"
    assert "best less one standard error" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ks": ()}, "ks must be a sequence of at least one value, got ()"),
        ({"ks": 4}, "ks must be a sequence of at least one value, got 4"),
        ({"ks": "all"}, "ks must be a sequence of at least one value, got 'all'"),
        ({"ks": (1, 0)}, "ks has a value that is not allowed: k must be an int >= 1"),
        ({"ks": ((2, 2),), "max_depths": (3,)}, "ks has a value that is not allowed: k must have one entry per level"),
        (
            {"max_depths": (2, 1.5)},
            "max_depths has a value that is not allowed: max_depth must be an int in [0, 999], got 1.5",
        ),
        ({"max_depths": None}, "max_depths must be a sequence of at least one value, got None"),
        (
            {"leaf_penalties": (0.0, -1)},
            "leaf_penalties has a value that is not allowed: leaf_penalty must be a number in [0, 1]",
        ),
        ({"rule": "2se"}, "rule must be one of 'best', '1se', got '2se'"),
        ({"cv": 1}, "cv must be an int >= 2, got 1"),
        ({"cv": True}, "cv must be an int >= 2, a splitter or an iterable of splits, got True"),
        ({"cv": 2.5}, "cv must be an int >= 2, a splitter or an iterable of splits, got 2.5"),
        ({"cv": []}, "cv must give at least one split, got []"),
        ({"cv": [1, 2]}, "cv must be an int >= 2, a splitter or an iterable of splits, got [1, 2]: cannot unpack"),
        ({"cv": [([0, 1], [2], [3])]}, "a splitter or an iterable of splits, got [([0, 1], [2], [3])]: too many"),
        ({"cv": StratifiedKFold}, "cv must be an int >= 2, a splitter or an iterable of splits, got <class"),
        ({"cv": {"a": 1}}, "cv must be an int >= 2, a splitter or an iterable of splits, got {'a': 1}"),
        ({"cv": [(range(100), [])]}, "none of the 9 candidates has a score in every fold. fold 0: it has no rows with"),
        ({"cv": GroupKFold(3)}, "The 'groups' parameter should not be None"),
        ({"random_state": "abc"}, "random_state must be an int in [0, 2**32 - 1], a RandomState or None, got 'abc'"),
        ({"random_state": -1}, "random_state must be an int in [0, 2**32 - 1], a RandomState or None, got -1"),
        ({"ks": np.array(3)}, "ks must be a sequence of at least one value, got array(3)"),
        ({"cv": [([0, 1], [999])]}, "cv must give pairs of training and test rows of 200 rows"),
        ({"cv": 150}, "cv must be at most "),
        ({"scoring": 3}, "scoring must be the name of a scikit-learn scorer, a callable or None, got 3"),
        ({"scoring": "best"}, "a callable or None, got 'best'; sklearn.metrics.get_scorer_names() lists them"),
        ({"time_limit": 0}, "time_limit must be a number of seconds > 0 or None, got 0"),
        ({"n_jobs": 0}, "n_jobs must be a non-zero int or None, got 0"),
        ({"verbose": -1}, "verbose must be an int >= 0, got -1"),
        ({"criterion": "error"}, "criterion must be one of"),
        ({"distinct_splits": 2}, "distinct_splits must be True or False, got 2"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be an int >= 1 or a fraction between 0 and 1, got 0"),
    ],
)
def test_bad_parameters(parameters: dict, message: str) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=re.escape(message)):
        TopKTreeClassifierCV(**SMALL | parameters).fit(X, y)


def test_grids_of_every_kind() -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(ks=np.array([1, 2, 2]), max_depths=range(3), leaf_penalties=[np.float64(0.0), "tie"]).fit(
        X, y
    )
    assert len(cv.cv_results_["params"]) == 2 * 3 * 2
    assert type(cv.best_params_["k"]) is int
    ks = ("all", (4, 2, 1), [8, 8, 8], 3, np.array([1, 2, 3]), range(3, 6))
    mixed = TopKTreeClassifierCV(ks=ks, max_depths=(3,), cv=2).fit(X, y)
    assert mixed.cv_results_["param_k"].tolist() == ["all", (4, 2, 1), (8, 8, 8), 3, (1, 2, 3), (3, 4, 5)]
    assert all(type(entry) is int for entry in mixed.cv_results_["param_k"][4])
    assert mixed.cv_results_["mean_test_score"].std() >= 0


def endless() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((3000, 60)) < 0.5, rng.integers(2, size=3000)


@pytest.mark.serial
def test_a_time_limit_covers_everything_and_says_what_was_finished() -> None:
    X, y = endless()
    start = time.monotonic()
    with pytest.warns(
        ConvergenceWarning, match=r"time_limit=2 s was reached before the end: the choice is among the \d+ of 4"
    ):
        cv = TopKTreeClassifierCV(ks=(1, 40), max_depths=(2, 8), time_limit=2).fit(X, y)
    assert time.monotonic() - start < 4  # it is 2, but for machines that do much else
    assert cv.status_ == "time_limit"
    status = cv.cv_results_["status"]
    assert "time_limit" in status
    assert "complete" in status
    assert status[cv.best_index_] == "complete"
    assert cv.predict(X).shape == y.shape


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_shortest_limit_still_gives_a_tree(n_jobs: int) -> None:
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="among the 1 of 9 candidates"):
        cv = TopKTreeClassifierCV(**SMALL, time_limit=1e-9, n_jobs=n_jobs).fit(X, y)
    assert cv.best_params_ == {"k": 1, "max_depth": 1, "leaf_penalty": 0.0}


def test_a_long_limit_changes_nothing() -> None:
    X, y = data()
    limited = TopKTreeClassifierCV(**SMALL, time_limit=3600).fit(X, y)
    free = TopKTreeClassifierCV(**SMALL).fit(X, y)
    assert same_trees(limited, free)
    assert limited.status_ == "complete"
    assert limited.best_estimator_.time_limit is None


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c(n_jobs: int, ctrl_c: Any) -> None:
    X, y = endless()
    cv = TopKTreeClassifierCV(ks=(1, 40), max_depths=(2, 8), n_jobs=n_jobs)
    ctrl_c()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        cv.fit(X, y)
    assert time.monotonic() - start < 5
    assert not hasattr(cv, "best_params_")
    time.sleep(0.3)  # the threads end as soon as they look
    assert not any(thread.name.startswith("Thread-") and "worker" in thread.name for thread in threading.enumerate())


SCRIPT = """
import signal
import numpy as np
from topktree import TopKTreeClassifierCV
rng = np.random.default_rng(0)
X, y = rng.random((3000, 60)) < 0.5, rng.integers(2, size=3000)
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
TopKTreeClassifierCV(ks=(1, 40), max_depths=(2, 8), n_jobs=2).fit(X, y)
"""


@pytest.mark.serial
def test_ctrl_c_ends_a_script_in_order() -> None:
    """Without waiting for the threads, Python would end while they are in C++, and abort."""
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=30)[1]
    assert process.returncode in (1, -signal.SIGINT)
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_an_error_leaves_an_earlier_fit_as_it_was() -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(**SMALL).fit(X, y)
    before = cv.export_text()
    with pytest.raises(ValueError, match="y must have"):
        cv.fit(X, np.zeros(len(y)))
    assert cv.export_text() == before


def test_a_line_of_progress(capfd: pytest.CaptureFixture) -> None:
    X, y = data()
    TopKTreeClassifierCV(**SMALL).fit(X, y)
    assert capfd.readouterr() == ("", "")
    TopKTreeClassifierCV(**SMALL, verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"\rtopktree: \d+\.\d s, 45 of 45 fits; last: k = 4, max_depth = 3, .*score [01]\.\d+ *\n$", err)


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = data(n=150)
    table = pd.DataFrame(X, columns=list("abcde"))
    table["colour"] = pd.Categorical(np.where(y == 1, "red", "blue"))
    table.loc[::7, "colour"] = None
    table.loc[::5, "a"] = np.nan
    return table, np.where(y == 1, "yes", "no")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "repeated names", "lists"])
def test_tables(kind: str) -> None:
    table, y = frame()
    X: Any = table
    if kind == "polars":
        X = pl.from_pandas(table)
    elif kind == "pyarrow":
        X = pl.from_pandas(table).to_arrow()
    elif kind == "repeated names":
        X = pl.from_pandas(table).to_arrow().rename_columns(["a", "a", "b", "b", "e", "colour"])
    elif kind == "lists":
        X, y = table[list("bcde")].to_numpy().tolist(), y.tolist()
    cv = TopKTreeClassifierCV(**SMALL).fit(X, y)
    assert cv.score(X, y) > 0.6
    assert list(cv.classes_) == ["no", "yes"]
    if kind != "lists":
        assert "colour" in cv.export_text()
        assert kind == "repeated names" or list(cv.feature_names_in_) == [*"abcde", "colour"]


def test_everything_the_classifier_offers(tmp_path: Any) -> None:
    table, y = frame()
    cv = TopKTreeClassifierCV(**SMALL).fit(table, y)
    best = cv.best_estimator_
    for name in ("predict", "predict_proba", "apply"):
        np.testing.assert_array_equal(getattr(cv, name)(table), getattr(best, name)(table))
    assert (cv.decision_path(table) != best.decision_path(table)).nnz == 0
    for name in ("get_depth", "get_n_leaves", "export_text", "export_rules", "export_dot", "export_sql", "export_dict"):
        assert getattr(cv, name)() == getattr(best, name)()
    np.testing.assert_array_equal(cv.feature_importances_, best.feature_importances_)
    np.testing.assert_array_equal(cv.to_sklearn().predict(table), cv.predict(table))
    for name in ("cost_", "train_errors_", "search_", "n_features_in_", "features_", "tree_", "status_"):
        assert getattr(cv, name) is getattr(best, name) or getattr(cv, name) == getattr(best, name)
    np.testing.assert_array_equal(cv.prune(table, y).predict(table), best.prune(table, y).predict(table))
    assert cv.pruning_path().n_leaves[0] == cv.get_n_leaves()
    cv.save(tmp_path / "model.json")
    np.testing.assert_array_equal(topktree.load(tmp_path / "model.json").predict(table), cv.predict(table))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(cv)).predict(table), cv.predict(table))
    offered = {name for name in dir(TopKTreeClassifier) if not name.startswith("_")}
    fit_time = {"leaf_penalty_path", "near_optimal", "set_fit_request"}
    assert offered - set(dir(TopKTreeClassifierCV)) <= fit_time


def test_an_estimator_that_is_not_fitted_says_so() -> None:
    cv = TopKTreeClassifierCV()
    for call in (
        cv.plot,
        cv.plot_scores,
        cv.plot_search,
        cv.export_text,
        lambda: cv.save("x"),
        lambda: cv.predict([[1]]),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_in_a_pipeline_and_in_another_search() -> None:
    X, y = data()
    pipeline = make_pipeline(StandardScaler(), TopKTreeClassifierCV(**SMALL, n_jobs=2)).fit(X, y)
    assert pipeline.score(X, y) > 0.6
    outer = GridSearchCV(TopKTreeClassifierCV(**SMALL, cv=2), {"rule": ["best", "1se"]}, cv=2, n_jobs=2).fit(X, y)
    assert outer.best_params_["rule"] in ("best", "1se")
    assert clone(TopKTreeClassifierCV(ks=(3,))).ks == (3,)


def test_the_picture_shows_every_k_and_the_choice() -> None:
    X, y = data()
    cv = TopKTreeClassifierCV(**SMALL, leaf_penalties=(0.0, 0.01)).fit(X, y)
    ax = cv.plot_scores()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["k = 1", "k = 2", "k = 4", "chosen", "best less one standard error"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "3"]
    ring = next(c for c in ax.collections if c.get_label() == "chosen").get_offsets()[0]
    assert ring[1] == pytest.approx(cv.best_score_)
    assert round(ring[0]) == (1, 2, 3).index(cv.best_params_["max_depth"])
    drawn = {line.get_label(): container for line, container in zip(ax.get_lines(), ax.containers, strict=False)}
    assert drawn
    best = TopKTreeClassifierCV(**SMALL, rule="best", scoring="f1").fit(X, y).plot_scores()
    assert "best less one standard error" not in [text.get_text() for text in best.get_legend().get_texts()]
    assert best.get_ylabel() == "f1 (5 folds)"


GRID: dict[str, Any] = {
    "criterion": ("entropy", "lookahead"),
    "refine": [False, True],
    "min_samples_leaf": np.array([1, 8]),
    "max_leaf_nodes": (None, 4),
}


@pytest.mark.parametrize("names", [("criterion",), ("refine", "max_leaf_nodes"), tuple(GRID)], ids=str)
def test_other_parameters_may_be_sequences(names: tuple[str, ...]) -> None:
    """Each candidate is the tree that the plain classifier finds, and the choice is one of them."""
    X, y = datasets.load_monks(2, return_X_y=True)
    grid = {name: GRID[name] for name in names}
    cv = TopKTreeClassifierCV(ks=(1, 3), max_depths=(3,), cv=3, lookahead_columns=6, **grid).fit(X, y)
    params = cv.cv_results_["params"]
    assert len(params) == 2 * 2 ** len(names)
    assert all(list(one)[3:] == [name for name in GRID if name in names] for one in params)
    assert cv.best_params_ == params[cv.best_index_]
    direct = TopKTreeClassifier(lookahead_columns=6, **cv.best_params_).fit(X, y)
    assert direct.export_text() == cv.export_text()
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    for i, one in enumerate(params):
        train, test = splits[1]
        tree = TopKTreeClassifier(lookahead_columns=6, **one).fit(X[train], y[train])
        assert cv.cv_results_["split1_test_score"][i] == pytest.approx(tree.score(X[test], y[test]))
    assert cv.plot_scores() is not None


def test_criteria_of_your_own_cannot_be_chosen_from() -> None:
    with pytest.raises(ValueError, match="criterion has a value that is not allowed"):
        TopKTreeClassifierCV(criterion=("entropy", lambda left, right: left[:, 0])).fit([[0], [1]] * 9, [0, 1] * 9)


def test_the_criterion_that_was_chosen_is_that_of_the_outputs() -> None:
    X, y = datasets.load_monks(1, return_X_y=True)
    cv = TopKTreeClassifierCV(ks=(1,), max_depths=(2,), criterion=("gini",)).fit(X, y)
    assert cv.best_estimator_.criterion == "gini"
    assert cv.to_sklearn().criterion == "gini"
