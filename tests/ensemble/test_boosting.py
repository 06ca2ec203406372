"""Boosting: SAMME to the letter, weights that are always weights, and reasons to end."""

import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.ensembles import assert_same_tree, binary, noisy
from support.messy import cases, queries
from support.problems import label
from support.profiles import examples

from topktree import TopKBoostingClassifier, TopKTreeClassifier, datasets
from topktree._search import engine
from topktree.ensemble import samme
from topktree.ensemble.member import search_member
from topktree.ensemble.samme import (
    DIGITS,
    MANY,
    RANGE_BITS,
    RowWeights,
    error_rate,
    few_digits,
    is_useless,
    search_weights,
    shares_of,
    vote_of,
)

few = examples(0.2)


@parametrize_with_checks(
    [
        TopKBoostingClassifier(n_estimators=3),
        TopKBoostingClassifier(n_estimators=3, k=2, max_depth=1, learning_rate=0.5, class_weight="balanced", n_jobs=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@few
@given(cases())
def test_the_first_tree_is_the_single_tree(case):
    boosting = case.fitted(TopKBoostingClassifier(n_estimators=2, **case.parameters))
    assert_same_tree(boosting[0], case.fit())


# The arithmetic.


@given(st.data())
def test_weights_stay_weights(data):
    """Whatever the votes are, after any number of rounds."""
    n = data.draw(st.integers(1, 20))
    initial = data.draw(st.lists(st.floats(1e-300, 1e300), min_size=n, max_size=n))
    weights = RowWeights(np.array(initial))
    for _ in range(data.draw(st.integers(0, 30))):
        wrong = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
        vote = data.draw(st.floats(1e-12, 1e6))
        weights.raise_where(wrong, vote)
        values = weights.values()
        assert np.isfinite(values).all()
        assert (values > 0).all()
        assert values.sum() == pytest.approx(1)
        digits = few_digits(values)
        assert (digits >= 1).all()
        assert (digits == np.rint(digits)).all()
        assert 0 <= error_rate(values, wrong) <= 1 + 1e-12


@given(st.lists(st.floats(2.0**-18, 1), min_size=1, max_size=20))
def test_few_digits_are_close(values):
    weights = np.array(values)
    digits = few_digits(weights)
    assert np.all(np.abs(digits / digits.max() / (weights / weights.max()) - 1) < 0.15)
    for number in digits.astype(int).tolist():
        assert len(f"{number:b}".rstrip("0")) <= DIGITS


def test_light_rows_are_not_lost():
    digits = few_digits(np.array([1.0, 2.0**-30, 2.0**-200]))
    assert digits[1] == digits[2] == 2 ** (DIGITS - 1)
    assert digits[0] / digits[1] == 2.0 ** (RANGE_BITS + 1)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_votes_are_those_of_samme(n_classes):
    chance = 1 - 1 / n_classes
    assert vote_of(chance, n_classes, 1.0) == pytest.approx(0, abs=1e-12)
    assert vote_of(0.1, n_classes, 0.5) == pytest.approx(0.5 * (math.log(9) + math.log(n_classes - 1)))
    assert vote_of(chance - 1e-9, n_classes, 1.0) > 0


def boost_by_hand(X, y, classes, sample_weight, n_rounds, **parameters):
    """SAMME as the paper has it, on trees fitted one by one; weights rounded as the engine's are, after the first."""
    weight = sample_weight / sample_weight.sum()
    trees, votes = [], []
    for i in range(n_rounds):
        search = sample_weight if i == 0 else sample_weight * few_digits(weight / sample_weight)
        tree = TopKTreeClassifier(**parameters).fit(X, y, search)
        wrong = tree.predict(X) != y
        error = weight[wrong].sum() / weight.sum()
        if error == 0 or error >= 1 - 1 / len(classes):
            break
        vote = math.log((1 - error) / error) + math.log(len(classes) - 1)
        weight = weight * np.exp(vote * wrong)
        weight /= weight.sum()
        trees.append(tree)
        votes.append(vote)
    return trees, np.array(votes)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_boosting_by_hand(n_classes, weighted):
    X, y = binary(n_classes=n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    parameters = {"k": 3, "max_depth": 2}
    boosting = TopKBoostingClassifier(n_estimators=8, **parameters).fit(X, y, weight if weighted else None)
    trees, votes = boost_by_hand(X, y, np.unique(y), weight, 8, **parameters)
    assert len(trees) == len(boosting)
    np.testing.assert_allclose(boosting.estimator_weights_, votes, rtol=1e-9)
    for tree, expected in zip(boosting, trees, strict=True):
        assert_same_tree(tree, expected, but=("value", "weighted_n_node_samples", "impurity"))
        np.testing.assert_allclose(tree.tree_.shares(), expected.tree_.shares())
        assert tree.train_errors_ == expected.train_errors_
        assert tree.tree_.value[0].sum() == pytest.approx(weight.sum())
    decision = sum(
        vote * np.where(tree.predict(X)[:, None] == boosting.classes_, 1, -1 / (n_classes - 1))
        for tree, vote in zip(trees, votes, strict=True)
    )
    np.testing.assert_array_equal(boosting.predict(X), boosting.classes_[np.argmax(decision, axis=1)])


@few
@given(st.data())
def test_weights_are_repetitions(data):
    """Tree for tree, whatever class weights and penalties there are."""
    X, y = binary(n_classes=data.draw(st.sampled_from([2, 3])))
    most = data.draw(st.sampled_from([1, 2, 5, MANY - 1]))
    weight = np.random.default_rng(data.draw(st.integers(0, 99))).integers(1, most + 1, len(y))
    parameters = {
        "k": data.draw(st.integers(1, 3)),
        "max_depth": data.draw(st.integers(1, 3)),
        "learning_rate": data.draw(st.sampled_from([0.1, 0.5, 1.0])),
        "class_weight": data.draw(st.sampled_from([None, "balanced", {0: 1.0, 1: 0.3, 2: 2.5}])),
        "leaf_penalty": data.draw(st.sampled_from([0.0, "tie", 0.01])),
    }
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = {c: parameters["class_weight"][c] for c in range(y.max() + 1)}
    boosting = TopKBoostingClassifier(n_estimators=4, **parameters)
    weighted = boosting.fit(X, y, weight).estimators_
    votes, stopped = boosting.estimator_weights_, boosting.stopped_
    boosting.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert len(boosting) == len(weighted)
    assert boosting.stopped_ == stopped
    np.testing.assert_allclose(boosting.estimator_weights_, votes)
    for tree, repeated in zip(weighted, boosting, strict=True):
        np.testing.assert_array_equal(tree.predict(X), repeated.predict(X))
        np.testing.assert_allclose(tree.tree_.value, repeated.tree_.value)
        np.testing.assert_array_equal(tree.tree_.feature, repeated.tree_.feature)


@pytest.mark.parametrize("weight", [1.5, float(MANY)])
def test_other_weights_have_few_digits(weight):
    values, sample_weight = np.array([0.4, 0.35, 0.25]), np.array([weight, 1.0, 3.0])
    np.testing.assert_array_equal(search_weights(values, sample_weight), few_digits(values))
    assert (
        search_weights(values, np.array([2.0, 1.0, 3.0])).tolist()
        == (np.array([2.0, 1.0, 3.0]) * few_digits(np.array([0.2, 0.35, 0.25 / 3]))).tolist()
    )


def test_scikit_learn_finds_the_same_votes_with_the_same_trees(monkeypatch):
    """AdaBoost around our tree, with the weights as they are."""
    monkeypatch.setattr("topktree.ensemble.samme.few_digits", lambda weights: weights)
    X, y = binary(n_classes=3)
    boosting = TopKBoostingClassifier(n_estimators=6, k=2, max_depth=2).fit(X, y)
    theirs = AdaBoostClassifier(TopKTreeClassifier(k=2, max_depth=2), n_estimators=6).fit(X, y)
    np.testing.assert_allclose(boosting.estimator_weights_, theirs.estimator_weights_)
    np.testing.assert_allclose(boosting.estimator_errors_, theirs.estimator_errors_)
    np.testing.assert_allclose(boosting.predict_proba(X), theirs.predict_proba(X))


def test_weights_of_every_search_are_positive(monkeypatch):
    seen = []
    solve = engine.solve

    def watch(rows, n_columns, classes, objective, *more, **others):
        seen.append(objective.row_weight)
        return solve(rows, n_columns, classes, objective, *more, **others)

    monkeypatch.setattr(engine, "solve", watch)
    X, y = noisy(seed=4)
    boosting = TopKBoostingClassifier(n_estimators=60, learning_rate=5.0, k=1, max_depth=2).fit(X, y)
    assert len(boosting) > 3
    assert all(weights is None or weights.min() >= 1 for weights in seen)
    assert np.isfinite(boosting.estimator_weights_).all()
    assert np.isfinite(boosting.predict_proba(X)).all()


def test_class_weights_are_there_from_the_beginning():
    X, y = binary()
    weight = {0: 1.0, 1: 2.5}
    by_class = TopKBoostingClassifier(n_estimators=4, k=2, max_depth=2, class_weight=weight).fit(X, y)
    by_row = TopKBoostingClassifier(n_estimators=4, k=2, max_depth=2).fit(X, y, np.where(y == 1, 2.5, 1.0))
    np.testing.assert_allclose(by_class.estimator_weights_, by_row.estimator_weights_)
    np.testing.assert_array_equal(by_class.predict(X), by_row.predict(X))


def test_balanced_is_a_dict_of_inverse_shares():
    X, y = binary(n_classes=3)
    counts = np.bincount(y)
    by_class = {c: len(y) / (3 * count) for c, count in enumerate(counts.tolist())}
    balanced, by_dict = (
        TopKBoostingClassifier(n_estimators=4, k=2, max_depth=2, class_weight=weight).fit(X, y)
        for weight in ("balanced", by_class)
    )
    np.testing.assert_allclose(balanced.estimator_weights_, by_dict.estimator_weights_)
    for tree in balanced:
        np.testing.assert_allclose(tree.tree_.value[0].sum(), len(y))
        assert type(tree.cost_) is float
    np.testing.assert_allclose(balanced[0].tree_.value[0], len(y) / 3)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_chance(n_classes):
    chance = 1 - 1 / n_classes
    assert is_useless(chance, n_classes)
    assert is_useless(chance - 1e-12, n_classes)
    assert not is_useless(chance - 1e-4, n_classes)
    assert math.isfinite(vote_of(1e-310, n_classes, 1.0))


def test_the_lightest_rows_have_their_share():
    values = RowWeights(np.exp([0.0, -100.0])).values()
    assert error_rate(values, np.array([False, True])) == pytest.approx(math.exp(-100))


# When it ends.


def test_ends_with_a_perfect_tree():
    X, y = noisy()
    y = (X[:, 0] > 0).astype(int)
    boosting = TopKBoostingClassifier(n_estimators=10, max_depth=1, max_thresholds=None).fit(X, y)
    assert (len(boosting), boosting.stopped_) == (1, "perfect_tree")
    assert boosting.estimator_weights_.tolist() == [1.0]
    assert boosting.estimator_errors_.tolist() == [0.0]
    assert boosting.score(X, y) == 1


def test_ends_with_a_useless_tree():
    """After the first tree, which is right about three of four equal rows, no tree is better than chance."""
    X = np.repeat([[0, 0], [0, 1]], 4, axis=0)
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    boosting = TopKBoostingClassifier(n_estimators=10, max_depth=1).fit(X, y)
    assert (len(boosting), boosting.stopped_) == (1, "useless_tree")
    assert boosting.score(X, y) == 0.75


def test_a_first_tree_that_is_useless_stays():
    X = np.repeat([[0, 0], [0, 1]], 2, axis=0)
    y = np.array([0, 1, 0, 1])
    boosting = TopKBoostingClassifier(n_estimators=10, max_depth=1).fit(X, y)
    assert (len(boosting), boosting.stopped_) == (1, "useless_tree")
    assert boosting.predict(X).tolist() == [0] * 4
    assert np.isfinite(boosting.predict_proba(X)).all()


def test_a_tree_that_was_cut_short_makes_the_whole_late(monkeypatch):
    def cut_short(*args):
        member = search_member(*args)
        return replace(member, found=replace(member.found, status="time_limit"))

    monkeypatch.setattr("topktree.ensemble.boosting.search_member", cut_short)
    X, y = noisy()
    boosting = TopKBoostingClassifier(n_estimators=2).fit(X, y)
    assert (boosting.status_, boosting.stopped_) == ("time_limit", "n_estimators")


@pytest.mark.parametrize("learning_rate", [5e-324, 1e-300, 1e-12, 1e6, 1e300, 1.7e308])
def test_extreme_learning_rates(learning_rate):
    X, y = noisy(n_classes=3)
    boosting = TopKBoostingClassifier(n_estimators=8, max_depth=2, learning_rate=learning_rate).fit(X, y)
    assert np.isfinite(boosting.estimator_weights_).all()
    assert np.isfinite(boosting.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("weight", "class_weight"),
    [(5e-324, None), (1e-300, None), (1e300, None), (1e-300, {0: 1e-300, 1: 1}), (1e300, {0: 1e-300, 1: 1})],
)
def test_extreme_weights(weight, class_weight):
    X, y = noisy()
    boosting = TopKBoostingClassifier(n_estimators=3, class_weight=class_weight).fit(X, y, np.full(len(y), weight))
    usual = TopKBoostingClassifier(n_estimators=3, class_weight=class_weight).fit(X, y)
    np.testing.assert_array_equal(boosting[0].predict(X), usual[0].predict(X))
    assert all(np.isfinite(tree.predict_proba(X)).all() for tree in boosting)


# Stages.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_are_smaller_ensembles(n_classes):
    X, y = noisy(n_classes=n_classes)
    boosting = TopKBoostingClassifier(n_estimators=4, k=2, max_depth=2).fit(X, y)
    stages = zip(
        boosting.staged_predict(X),
        boosting.staged_predict_proba(X),
        boosting.staged_decision_function(X),
        boosting.staged_score(X, y),
        strict=True,
    )
    for n, (predicted, shares, decision, score) in enumerate(stages, start=1):
        smaller = TopKBoostingClassifier(n_estimators=n, k=2, max_depth=2).fit(X, y)
        np.testing.assert_array_equal(smaller.predict(X), predicted)
        np.testing.assert_array_equal(smaller.predict_proba(X), shares)
        np.testing.assert_array_equal(smaller.decision_function(X), decision)
        assert smaller.score(X, y) == score
        assert decision.shape == ((len(X),) if n_classes == 2 else (len(X), 3))
    assert n == 4


@few
@given(cases())
def test_tables_of_any_kind(case):
    boosting = TopKBoostingClassifier(n_estimators=4, **case.parameters | {"max_depth": 2, "k": 2})
    boosting.fit(case.X, case.y, case.sample_weight)
    X = queries(boosting[0], case)
    shares = boosting.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.isfinite(shares).all()
    model = boosting.to_sklearn()
    X = case.X
    np.testing.assert_array_equal(model.predict(X), boosting.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), boosting.predict_proba(X))
    np.testing.assert_array_equal(model.decision_function(X), boosting.decision_function(X))


def test_shares_of_extreme_decisions_are_shares():
    shares = shares_of(np.array([[1e4, -1e4], [-1e4, 1e4], [0.0, 0.0]]))
    np.testing.assert_array_equal(shares, [[1, 0], [0, 1], [0.5, 0.5]])


def test_scikit_learns_depth_is_that_of_the_deepest_tree():
    X, y = noisy(n_classes=3)
    boosting = TopKBoostingClassifier(n_estimators=6, max_depth=4, leaf_penalty=0.02).fit(X, y)
    depths = [tree.get_depth() for tree in boosting]
    assert len(set(depths)) > 1
    assert boosting.to_sklearn().estimator.max_depth == max(depths)


def test_nothing_depends_on_threads():
    X, y = noisy(500, 12)
    one, two = (TopKBoostingClassifier(n_estimators=4, k=6, max_depth=4, n_jobs=n).fit(X, y) for n in (1, 2))
    for tree, other in zip(one, two, strict=True):
        assert_same_tree(tree, other)


# scikit-learn's own ensembles of our trees.


def test_bagging_of_trees():
    X, y = noisy()
    bagging = BaggingClassifier(TopKTreeClassifier(k=2, max_depth=3), n_estimators=4, max_features=0.5, random_state=0)
    bagging.fit(X, y, sample_weight=np.random.default_rng(0).random(len(y)))
    assert all(isinstance(tree, TopKTreeClassifier) for tree in bagging.estimators_)
    assert bagging.score(X, y) > 0.6
    same = BaggingClassifier(TopKTreeClassifier(k=2, max_depth=3), n_estimators=4, n_jobs=2, random_state=0).fit(X, y)
    one = BaggingClassifier(TopKTreeClassifier(k=2, max_depth=3), n_estimators=4, n_jobs=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(same.predict_proba(X), one.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_adaboost_of_trees(n_classes):
    X, y = noisy(n_classes=n_classes)
    boosting = AdaBoostClassifier(TopKTreeClassifier(k=2, max_depth=2), n_estimators=5).fit(X, y)
    assert len(boosting.estimators_) == 5
    assert boosting.score(X, y) > boosting.estimators_[0].score(X, y) - 0.05
    assert [shares.shape for shares in itertools.islice(boosting.staged_predict_proba(X), 2)] == [(300, n_classes)] * 2


# Mistakes, limits.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be an int >= 1, got 0"),
        ({"learning_rate": 0}, "learning_rate must be a number > 0, got 0"),
        ({"learning_rate": math.nan}, "learning_rate must be"),
        ({"max_depth": -1}, "max_depth must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"time_limit": math.inf}, "time_limit must be"),
    ],
    ids=label,
)
def test_parameters_that_cannot_be(parameters, message):
    X, y = noisy()
    with pytest.raises(ValueError, match=message):
        TopKBoostingClassifier(**parameters).fit(X, y)


def test_an_error_leaves_the_earlier_fit(monkeypatch):
    X, y = noisy()
    boosting = TopKBoostingClassifier(n_estimators=2).fit(X, y)
    before = vars(boosting).copy()

    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(samme.RowWeights, "raise_where", fail)
    with pytest.raises(MemoryError):
        boosting.fit(X[:100], y[:100])
    assert vars(boosting) == before


def test_progress(capsys):
    X, y = noisy()
    TopKBoostingClassifier(n_estimators=3, verbose=1).fit(X, y)
    assert "3 of 3 trees, weighted error 0." in capsys.readouterr().err


@pytest.mark.serial
def test_time_limit_ends_it():
    X, y = datasets.load_tic_tac_toe(return_X_y=True)
    boosting = TopKBoostingClassifier(n_estimators=1000, k=8, max_depth=4, time_limit=0.5)
    start = time.monotonic()
    boosting.fit(X, y)
    assert time.monotonic() - start < 5
    assert boosting.status_ == boosting.stopped_ == "time_limit"
    assert 1 <= len(boosting) < 1000


@pytest.mark.serial
def test_ctrl_c(ctrl_c):
    X, y = noisy(2000, 30)
    boosting = TopKBoostingClassifier(n_estimators=3, k="all", max_depth=8)
    sent = ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        boosting.fit(X, y)
    assert time.perf_counter() - sent[0] < 5
    assert not hasattr(boosting, "estimators_")
