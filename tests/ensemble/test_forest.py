"""Forests: every tree is exactly that of its sample, and nothing but the seed decides what that is."""

import math
import os
import pickle
import subprocess
import sys
import time

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.ensembles import assert_same_forest, assert_same_tree, binary, noisy
from support.messy import cases, queries
from support.problems import label, user_criterion
from support.profiles import examples

from topktree import TopKBoostingClassifier, TopKForestClassifier, TopKTreeClassifier
from topktree._data.training import prepare
from topktree._runtime.parallel import MAX_THREADS
from topktree.ensemble import forest as forest_module
from topktree.ensemble.member import search_member
from topktree.ensemble.sampling import RowSampler, count_features, row_sampler

few = examples(0.2)
PLAIN = {"bootstrap": False, "max_features": None}


@parametrize_with_checks(
    [
        TopKForestClassifier(n_estimators=3),
        TopKForestClassifier(n_estimators=2, max_features="sqrt", class_weight="balanced"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@few
@given(cases(), st.integers(1, 3))
def test_one_tree_of_all_rows_and_features_is_the_single_tree(case, n_estimators):
    tree = case.fit()
    forest = case.fitted(TopKForestClassifier(n_estimators=n_estimators, **PLAIN, **case.parameters))
    for member in forest:
        assert_same_tree(member, tree)
        assert member.status_ == tree.status_
    X = queries(tree, case)
    np.testing.assert_array_equal(forest.predict(X), tree.predict(X))
    if n_estimators == 1:
        np.testing.assert_array_equal(forest.predict_proba(X), tree.predict_proba(X))


PARAMETERS = [
    {},
    {"k": 1},
    {"k": "all", "max_depth": 2},
    {"k": (4, 2, 1), "max_depth": 3, "criterion": "gini"},
    {"leaf_penalty": 0.01, "criterion": "sqrt"},
    {"leaf_penalty": "tie"},
    {"class_weight": "balanced"},
    {"class_weight": {0: 1.0, 1: 2.5, 2: 1}},
    {"distinct_splits": True},
    {"criterion": user_criterion, "max_depth": 2},
    {"min_weight_fraction_leaf": 0.05},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=label)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_tree_is_that_of_its_repeated_rows(parameters, n_classes):
    X, y = binary(n_classes=n_classes)
    parameters = {"max_depth": 4} | parameters
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = dict(list(parameters["class_weight"].items())[:n_classes])
    forest = TopKForestClassifier(n_estimators=5, random_state=3, **parameters).fit(X, y)
    rows = row_sampler(prepared(forest, X, y), None)
    for i, member in enumerate(forest):
        counts = sample_of(rows, forest, i)
        assert counts.sum() == len(y)
        assert_same_tree(member, TopKTreeClassifier(**parameters).fit(X, y, sample_weight=counts))
        repeated = np.repeat(np.arange(len(y)), counts.astype(int))
        expected = TopKTreeClassifier(**parameters).fit(X[repeated], y[repeated])
        assert_same_tree(member, expected, but=("n_node_samples",))
        assert member.cost_ == pytest.approx(expected.cost_, rel=1e-12)


def prepared(forest, X, y, sample_weight=None):
    return prepare(clone(forest), X, y, sample_weight).packed()


def sample_of(rows: RowSampler, forest, i):
    first = check_random_state(forest.random_state).randint(2**32, dtype=np.uint32)
    seed = np.random.SeedSequence([int(first), i]).generate_state(4)[0]
    return rows.counts(np.random.RandomState(int(seed)))


def test_rows_that_weigh_2_are_rows_that_are_there_twice_in_any_order():
    X, y = noisy(200)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, len(y))
    repeated = rng.permutation(np.repeat(np.arange(len(y)), weights))
    forest = TopKForestClassifier(n_estimators=4, max_features=2, random_state=0)
    of_weights = clone(forest).fit(X, y, sample_weight=weights)
    of_rows = clone(forest).fit(X[repeated], y[repeated])
    for tree, other in zip(of_weights, of_rows, strict=True):
        assert_same_tree(tree, other, but=("n_node_samples",))


def test_the_order_of_equal_rows_does_not_matter():
    """Few distinct rows, of conflicting classes and with weights: their order must follow from these alone."""
    rng = np.random.default_rng(5)
    X = rng.random((120, 3)) < 0.5
    y = (X[:, 0] ^ (rng.random(120) < 0.4)).astype(int)
    weights = rng.integers(1, 3, 120)
    order = rng.permutation(120)
    forest = TopKForestClassifier(n_estimators=60, min_samples_leaf=4, oob_score=True, random_state=0)
    expected = clone(forest).fit(X, y, weights)
    permuted = clone(forest).fit(X[order], y[order], weights[order])
    assert_same_forest(permuted, expected)
    assert permuted.oob_score_ == expected.oob_score_


@pytest.mark.parametrize("parameters", [{}, {"max_features": 2}, {"max_features": 3, "bootstrap": False}], ids=label)
def test_the_seed_decides_and_not_the_number_of_jobs(parameters):
    X, y = noisy(400, n_classes=3)
    forest = TopKForestClassifier(n_estimators=6, max_depth=3, random_state=7, **parameters)
    expected = clone(forest).fit(X, y)
    for n_jobs in (2, 3, -1):
        assert_same_forest(clone(forest).set_params(n_jobs=n_jobs).fit(X, y), expected)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert_same_forest(clone(forest).fit(X, y), expected)
    other = clone(forest).set_params(random_state=8).fit(X, y)
    assert any(tree.export_text() != same.export_text() for tree, same in zip(other, expected, strict=True))


def test_a_generator_goes_on_and_none_differs():
    X, y = noisy()
    random = np.random.RandomState(0)
    first = TopKForestClassifier(n_estimators=2, random_state=random).fit(X, y)
    second = TopKForestClassifier(n_estimators=2, random_state=random).fit(X, y)
    assert first.export_text() != second.export_text()
    first, second = (TopKForestClassifier(n_estimators=5).fit(X, y) for _ in range(2))
    assert first.export_text() != second.export_text()


def test_first_trees_of_a_forest_are_the_smaller_forest():
    X, y = noisy()
    large = TopKForestClassifier(n_estimators=6, max_features=2, random_state=1).fit(X, y)
    assert_same_forest(TopKForestClassifier(n_estimators=3, max_features=2, random_state=1).fit(X, y), large[:3])


# Features.


def test_one_feature_per_node_splits_on_all_kinds_of_features():
    X, y = noisy(n_features=9)
    forest = TopKForestClassifier(n_estimators=20, k=1, max_features=1, bootstrap=False, random_state=0).fit(X, y)
    roots = {int(tree.tree_.feature[0]) for tree in forest if tree.tree_.node_count > 1}
    assert len(roots) >= 5
    same = TopKForestClassifier(n_estimators=3, k=1, max_features=None, bootstrap=False, random_state=0).fit(X, y)
    assert len({int(tree.tree_.feature[0]) for tree in same}) == 1


def test_numbers_of_features():
    assert [count_features(wish, 9) for wish in (None, "sqrt", "log2", 4, 0.5, 1.0, 9)] == [
        None,
        3,
        3,
        4,
        4,
        None,
        None,
    ]
    assert count_features(0.01, 9) == 1
    assert [count_features(wish, 1) for wish in ("sqrt", "log2", 0.1, 1)] == [None] * 4


def test_a_tree_that_saw_a_part_is_not_optimal():
    X, y = noisy()
    forest = TopKForestClassifier(n_estimators=2, k="all", max_depth=2, max_features=2, random_state=0).fit(X, y)
    assert {tree.status_ for tree in forest} == {"complete"}
    assert TopKForestClassifier(n_estimators=1, k="all", max_depth=2).fit(X, y)[0].status_ == "optimal"


def test_constant_features_are_never_all_that_is_drawn():
    X, y = noisy(n_features=3)
    X = np.hstack([np.zeros((len(X), 20)), X])
    forest = TopKForestClassifier(n_estimators=10, max_features=1, random_state=0).fit(X, y)
    assert all(tree.tree_.node_count > 1 for tree in forest)


# Out of bag.


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_out_of_bag_by_hand(n_jobs):
    X, y = noisy()
    weights = np.ones(len(y))
    weights[:5] = 0.0
    forest = TopKForestClassifier(n_estimators=30, oob_score=True, random_state=0, n_jobs=n_jobs).fit(X, y, weights)
    rows = row_sampler(prepared(forest, X, y, weights), None)
    total, times = np.zeros((len(y) - 5, 2)), np.zeros(len(y) - 5)
    for i, tree in enumerate(forest):
        out = sample_of(rows, forest, i) == 0
        total[out] += tree.predict_proba(X[5:][out])
        times += out
    assert times.min() > 0
    np.testing.assert_allclose(forest.oob_decision_function_[5:], total / times[:, None])
    assert np.isnan(forest.oob_decision_function_[:5]).all()
    assert forest.oob_score_ == np.mean(np.argmax(total, axis=1) == y[5:])


def test_out_of_bag_metric_of_the_user():
    X, y = noisy()
    y = np.where(y == 1, "yes", "no")
    forest = TopKForestClassifier(n_estimators=30, oob_score=balanced_accuracy_score, random_state=0).fit(X, y)
    predicted = forest.classes_[np.argmax(forest.oob_decision_function_, axis=1)]
    assert forest.oob_score_ == balanced_accuracy_score(y, predicted)
    forest.set_params(oob_score=False).fit(X, y)
    assert not hasattr(forest, "oob_score_")


def test_rows_in_every_sample_have_no_vote():
    X, y = noisy(50)
    with pytest.warns(UserWarning, match=r"\d+ of 50 rows are in the sample of every tree"):
        forest = TopKForestClassifier(n_estimators=1, oob_score=True, random_state=0).fit(X, y)
    assert 0 < np.isnan(forest.oob_decision_function_[:, 0]).sum() < 50
    assert 0 < forest.oob_score_ <= 1


# Weights.


def test_real_weights_are_chances():
    X, y = noisy(1000)
    weights = np.where(np.arange(1000) < 500, 0.25, 0.75)
    forest = TopKForestClassifier(n_estimators=1, random_state=0).fit(X, y, weights)
    counts = sample_of(row_sampler(prepared(forest, X, y, weights), None), forest, 0)
    assert counts.sum() == 1000
    assert abs(counts[500:].sum() - 750) < 5 * math.sqrt(1000 * 0.75 * 0.25)


@pytest.mark.parametrize(("max_samples", "n"), [(None, 300), (50, 50), (0.5, 150), (1.0, 300), (600, 600)])
def test_size_of_a_sample(max_samples, n):
    X, y = noisy(300)
    forest = TopKForestClassifier(n_estimators=2, max_samples=max_samples, random_state=0).fit(X, y)
    assert [tree.tree_.value[0].sum() for tree in forest] == [n, n]


def test_large_whole_weights_are_no_numbers_of_rows():
    X, y = noisy(300)
    forest = TopKForestClassifier(n_estimators=1, random_state=0).fit(X, y, np.full(300, 10.0**9))
    assert forest[0].tree_.value[0].sum() == 300


def test_a_sample_of_one_class_is_a_leaf():
    X, y = np.arange(40.0)[:, None], np.array([1] + [0] * 39)
    forest = TopKForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    leaves = [tree.get_n_leaves() for tree in forest]
    assert min(leaves) == 1
    assert max(leaves) == 2
    assert forest.predict_proba(X).shape == (40, 2)


# Tables.


@few
@given(cases(), st.integers(0, 5))
def test_tables_of_any_kind(case, seed):
    forest = TopKForestClassifier(n_estimators=3, max_features=0.5, random_state=seed, **case.parameters)
    forest.fit(case.X, case.y, case.sample_weight)
    X = queries(forest[0], case)
    shares = forest.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares, sum(tree.predict_proba(X) for tree in forest) / 3)
    np.testing.assert_array_equal(forest.apply(X), np.stack([tree.apply(X) for tree in forest], axis=1))
    np.testing.assert_array_equal(forest.to_sklearn().predict_proba(case.X), forest.predict_proba(case.X))
    np.testing.assert_array_equal(forest.to_sklearn().predict(case.X), forest.predict(case.X))


def test_frames_have_names():
    X, y = noisy(n_features=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    forest = TopKForestClassifier(n_estimators=2, random_state=0).fit(frame, y)
    assert forest.feature_names_in_.tolist() == forest[1].feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(frame.rename(columns={"a": "z"}))
    assert "tree 2 of 2, 50.0% of the votes" in forest.export_text()
    importances = forest.feature_importances_
    assert importances.shape == (3,)
    assert importances.sum() == pytest.approx(1)


def test_importances_of_a_forest_of_leaves_are_zero():
    X, y = noisy()
    forest = TopKForestClassifier(n_estimators=2, max_depth=0, random_state=0).fit(X, y)
    assert forest.feature_importances_.tolist() == [0] * 6


def test_scikit_learn_around_it():
    X, y = noisy()
    forest = TopKForestClassifier(n_estimators=3, random_state=0)
    assert cross_val_score(make_pipeline(StandardScaler(), forest), X, y, cv=3).mean() > 0.6
    search = GridSearchCV(forest, {"k": [1, 4], "max_depth": [0, 3]}, cv=3).fit(X, y)
    assert search.best_params_["max_depth"] == 3
    assert_same_forest(pickle.loads(pickle.dumps(search.best_estimator_)), search.best_estimator_)


@pytest.mark.parametrize("labels", [[b"no", b"yes"], ["2020-01-01", "2021-01-01"]])
def test_all_labels_can_be_judged_out_of_bag(labels):
    X, y = noisy()
    labels = np.array(labels, dtype="S" if isinstance(labels[0], bytes) else "datetime64[D]")
    options = {"max_depth": 2, "oob_score": True, "random_state": 0}
    forest = TopKForestClassifier(n_estimators=30, **options).fit(X, labels[y])
    assert forest.oob_score_ == TopKForestClassifier(n_estimators=30, **options).fit(X, y).oob_score_


@pytest.mark.parametrize("kind", [TopKTreeClassifier, TopKForestClassifier, TopKBoostingClassifier])
@pytest.mark.parametrize("size", [1e-200, 1e300])
def test_weights_whose_product_no_float_holds(kind, size):
    X, y = noisy()
    with pytest.raises(ValueError, match="sample_weight times class_weight must be finite and > 0, got up to 1e"):
        kind(class_weight={0: size, 1: size}).fit(X, y, np.full(len(y), size))


@pytest.mark.parametrize("max_samples", [2**24 + 1, 10**30])
def test_samples_that_are_too_large(max_samples):
    X, y = noisy()
    with pytest.raises(ValueError, match=f"max_samples must be .* at most {2**24}, .*got {max_samples}"):
        TopKForestClassifier(n_estimators=1, max_samples=max_samples).fit(X, y)


@pytest.mark.parametrize("n_estimators", [1, 3])
def test_no_more_threads_than_are_of_use(n_estimators, monkeypatch):
    X, y = noisy()
    asked = []
    real = forest_module.in_parallel
    monkeypatch.setattr(
        forest_module, "in_parallel", lambda calls, n, *a, **b: asked.append(n) or real(calls, n, *a, **b)
    )
    monkeypatch.setattr(
        forest_module, "search_member", lambda *args: asked.append(args[-1].threads) or search_member(*args)
    )
    TopKForestClassifier(n_estimators=n_estimators, n_jobs=1000, random_state=0).fit(X, y)
    assert asked[0] == n_estimators
    assert max(asked[1:]) <= MAX_THREADS


# Mistakes, limits.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be an int >= 1, got 0"),
        ({"n_estimators": 2.0}, "n_estimators must be an int"),
        ({"bootstrap": "yes"}, "bootstrap must be True or False, got 'yes'"),
        ({"max_samples": 0}, "max_samples must be an int >= 1, a fraction"),
        ({"max_samples": 1.5}, "max_samples must be"),
        ({"max_samples": True}, "max_samples must be"),
        ({"max_samples": 0.5, "bootstrap": False}, "max_samples needs bootstrap=True, got 0.5"),
        ({"max_features": "auto"}, "max_features must be .*got 'auto'"),
        ({"max_features": 0}, "max_features must be"),
        ({"max_features": 7}, "at most the number of features, 6.*got 7"),
        ({"max_features": 1.2}, "max_features must be"),
        ({"oob_score": "yes"}, "oob_score must be True or False"),
        ({"oob_score": True, "bootstrap": False}, "oob_score needs bootstrap=True"),
        ({"random_state": "x"}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"verbose": -1}, "verbose must be"),
        ({"k": 0}, "k must be"),
        ({"criterion": None}, "criterion must be"),
        ({"class_weight": "balance"}, "class_weight must be"),
    ],
    ids=label,
)
def test_parameters_that_cannot_be(parameters, message):
    X, y = noisy()
    forest = TopKForestClassifier(n_estimators=2).fit(X, y)
    before = forest.estimators_
    with pytest.raises(ValueError, match=message):
        forest.set_params(**parameters).fit(X, y)
    assert forest.estimators_ is before


def test_criterion_that_fails_in_a_thread():
    def bad(left, right):
        raise RuntimeError("no")

    X, y = noisy()
    for n_jobs in (None, 2):
        with pytest.raises(RuntimeError, match="no"):
            TopKForestClassifier(n_estimators=3, criterion=bad, n_jobs=n_jobs).fit(X, y)


def test_threads_have_a_limit():
    X, y = noisy(1000, 20)
    forest = TopKForestClassifier(n_estimators=1, k=8, max_depth=5, n_jobs=300, random_state=0).fit(X, y)
    assert 1 < forest[0].search_["n_threads"] <= MAX_THREADS


def test_what_is_sent_to_other_processes_has_no_table():
    X, y = noisy(2000)
    data = prepare(TopKForestClassifier(), X, y, None)
    assert len(pickle.dumps(data.packed())) < X.nbytes
    forest = TopKForestClassifier(n_estimators=4, max_depth=2, random_state=0)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        forest.fit(X, y)
    assert all(tree.features_ is forest[0].features_ for tree in forest)


def test_progress(capsys):
    X, y = noisy()
    TopKForestClassifier(n_estimators=3, verbose=1, random_state=0).fit(X, y)
    assert "3 of 3 trees" in capsys.readouterr().err


@pytest.mark.serial
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_limit_is_for_all_trees(n_jobs):
    X, y = noisy(3000, 30)
    forest = TopKForestClassifier(n_estimators=4, k="all", max_depth=6, time_limit=2.0, n_jobs=n_jobs, random_state=0)
    start = time.monotonic()
    forest.fit(X, y)
    assert time.monotonic() - start < 10
    assert forest.status_ == "time_limit"
    assert forest.score(X, y) > 0.6


@pytest.mark.serial
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c(ctrl_c, n_jobs):
    X, y = noisy(2000, 30)
    forest = TopKForestClassifier(n_estimators=2).fit(X[:50], y[:50])
    before = forest.estimators_
    sent = ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        forest.set_params(k="all", max_depth=8, n_jobs=n_jobs).fit(X, y)
    assert time.perf_counter() - sent[0] < 5
    assert forest.estimators_ is before


MEMORY = """
import sys, numpy as np
from topktree import TopKForestClassifier, TopKBoostingClassifier
rng = np.random.default_rng(0)
X = rng.random((60_000, 100)) < 0.5
y = X[:, :20].sum(axis=1) + 2 * rng.normal(size=60_000) > 10
kind, n = sys.argv[1], int(sys.argv[2])
kinds = {"forest": TopKForestClassifier(random_state=0), "boosting": TopKBoostingClassifier()}
model = kinds[kind].set_params(n_estimators=n, k=2, max_depth=3).fit(X, y)
assert len(model) == n
status = dict(line.split(":") for line in open("/proc/self/status"))
print(status["VmHWM"].split()[0])  # what getrusage says may be the parent's
"""


@pytest.mark.serial
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_memory_does_not_grow_with_the_number_of_trees(kind):
    """Packed, the rows are 0.96 MB: forty copies of them would show."""

    def peak(n):
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, kind, str(n)], capture_output=True, text=True, check=True, env=os.environ
        )
        return int(done.stdout) / 1024

    assert peak(40) - peak(2) < 12
