"""Features as ranks: those of NumPy, and the columns and thresholds that they would have as bits."""

import pickle
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.messy import ODD_FLOATS
from support.profiles import examples
from support.ranked import expanded_columns, prepared, random_table, random_target

from topktree import TopKBoostingClassifier, TopKForestClassifier, TopKTreeClassifier, TopKTreeClassifierCV
from topktree._core import Ranker
from topktree._data import ranks, training
from topktree._data.columns import binary_columns, find_redundant, hash_rows, make_columns
from topktree._data.ranks import FEW_THRESHOLDS, MISSING, rank_feature, without_repeated
from topktree._data.thresholds import quantile_thresholds

some = examples(1)
few = examples(0.3)

MAX = np.finfo(np.float64).max
SEEDS = st.integers(0, 2**32 - 1)

odd_columns = hnp.arrays(
    np.float64, st.integers(1, 60), elements=st.floats() | st.integers(-3, 3).map(float) | st.sampled_from(ODD_FLOATS)
)


def assert_ranks(values):
    own = np.empty(len(values), dtype=np.uint32)
    ranker = Ranker()
    ranker.rank(values=np.ones(len(values) // 2), ranks=np.empty(len(values) // 2, dtype=np.uint32))
    n_ranks, is_whole = ranker.rank(values=np.column_stack([np.zeros_like(values), values])[:, 1], ranks=own)
    present = ~np.isnan(values)
    distinct, expected = np.unique(np.clip(values[present], -MAX, MAX), return_inverse=True)
    np.testing.assert_array_equal(own[present], expected)
    assert (own[~present] == MISSING).all()
    assert n_ranks == len(distinct)
    finite = values[present]
    assert is_whole == bool(np.all((finite == np.floor(finite)) & (np.abs(finite) < 2**53)))


@given(odd_columns)
def test_ranks_are_those_of_numpy(values):
    assert_ranks(values)


@some
@given(
    SEEDS, st.sampled_from(["normal", "whole", "single", "far apart", "close", "odd", "bits", "two", "zeros", "sorted"])
)
def test_ranks_of_many_values(seed, kind):
    """More than are sorted by comparisons: digit by digit, and once more where these do not tell values apart."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(500, 5000))
    near = 1 + rng.integers(0, n, n) * 2.0**-52
    values = {
        "normal": rng.normal(size=n),
        "whole": rng.integers(-n, n, n).astype(float),
        "single": rng.normal(size=n).astype(np.float32).astype(float),
        "far apart": 1.7e9 + rng.integers(0, 10**4, n) / 8,
        "close": near,
        "odd": np.array(ODD_FLOATS)[rng.integers(len(ODD_FLOATS), size=n)],
        "bits": rng.integers(0, 2**64, n, dtype=np.uint64).view(np.float64),
        "two": rng.choice([0.0, -0.0, 1.0], n),
        "zeros": np.where(rng.random(n) < 0.8, 0.0, rng.random(n)),
        "sorted": -np.sort(rng.normal(size=n)),
    }[kind]
    if rng.random() < 0.5:  # a few values so far away that the others share the first digits
        values[rng.integers(n, size=3)] = [0.0, -1e300, 1e300]
    if rng.random() < 0.5:
        values[rng.random(n) < 0.2] = np.nan
    assert_ranks(values)


def test_no_values_at_all():
    assert_ranks(np.full(3, np.nan))
    assert_ranks(np.full(3000, np.nan))


def test_room_for_ranks_is_checked():
    with pytest.raises(ValueError, match="ranks must have one entry per value"):
        Ranker().rank(values=np.zeros(3), ranks=np.empty(2, dtype=np.uint32))


def ranked(values, feature=0):
    """A ranked feature, however few thresholds it has."""
    with mock.patch.object(ranks, "FEW_THRESHOLDS", -2):
        room = np.empty(len(values), dtype=np.uint32)
        return rank_feature(feature, values, bool(np.isnan(values).any()), Ranker(), room)


@given(odd_columns, st.sampled_from([np.float64, np.float32]))
def test_thresholds_are_those_of_all_gaps(values, dtype):
    with np.errstate(over="ignore"):
        values = values.astype(dtype)
    expected = quantile_thresholds(np.clip(values.astype(np.float64), -MAX, MAX), None, None, None)
    own = ranked(values)
    assert own.n_thresholds == max(len(expected), -1 if np.isnan(values).all() else 0)
    for at_once in (True, False):
        columns = binary_columns([]).joined([own])
        if at_once:
            columns.look_up(range(len(expected)))
        assert [columns.literal(gap).value for gap in range(len(expected))] == expected.tolist()


@pytest.mark.parametrize("n_values", [1, 2, FEW_THRESHOLDS, FEW_THRESHOLDS + 1, FEW_THRESHOLDS + 2, 100])
def test_few_thresholds_are_bits(n_values):
    X = np.column_stack([np.arange(200.0) % n_values, np.arange(200.0)])
    columns = prepared(X, np.arange(200) % 2, FEW_THRESHOLDS).columns
    is_ranked = n_values > FEW_THRESHOLDS + 1
    assert [own.feature for own in columns.ranked] == [0, 1] if is_ranked else [1]
    assert columns.n_bits == (0 if is_ranked else n_values - 1)
    assert len(columns) == n_values - 1 + 199


def naive_without_repeated(features):
    kept = []
    for own in features:
        is_present = own.ranks != MISSING
        same = [
            other
            for other in kept
            if np.array_equal(other.ranks != MISSING, is_present)
            and (
                np.array_equal(other.ranks[is_present], own.ranks[is_present])
                or np.array_equal(other.ranks[is_present], own.n_thresholds - own.ranks[is_present].astype(int))
            )
        ]
        if not same:
            kept.append(own)
    return kept


@some
@given(SEEDS, st.sampled_from([2, 6, 40, 400]))
def test_features_that_repeat_the_order_of_another_are_dropped(seed, n):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 8))
    for f in range(8):
        X[:, f] = rng.integers(2, size=n) if n < 10 else rng.normal(size=n)
        if f > 0 and rng.random() < 0.6:
            X[:, f] = X[:, rng.integers(f)] * rng.choice([1.0, 4.0, -0.5])
        if rng.random() < 0.3:
            X[-1, f] = rng.choice([np.nan, 9.0])
    features = [ranked(X[:, f], f) for f in range(8)]
    kept = without_repeated(features)
    assert [own.feature for own in kept] == [own.feature for own in naive_without_repeated(features)]


@some
@given(SEEDS, st.sampled_from([0, 2, 5, 10**6]))
def test_columns_are_those_of_every_threshold(seed, most_bits):
    """Numbered in the same way. Columns of bits are redundant among themselves, ranked features as a whole."""
    rng = np.random.default_rng(seed)
    X = random_table(rng, 40, 4)
    data = prepared(X, random_target(rng, X, 3), most_bits)
    columns, encoded = data.columns, np.ascontiguousarray(X.T)
    gaps = [quantile_thresholds(values, None, None, None) for values in encoded]
    every = make_columns(data.features, gaps.__getitem__, for_tree=True)
    has_bits = np.array([len(thresholds) <= most_bits for thresholds in gaps])
    expected = np.isin(every.feature, [own.feature for own in columns.ranked])
    bits = np.flatnonzero(has_bits[every.feature])
    expected[bits[~find_redundant(encoded, every.take(bits))]] = True
    assert list(map(repr, map(columns.literal, range(len(columns))))) == [
        repr(every.literal(j)) for j in np.flatnonzero(expected).tolist()
    ]
    is_true, rows = expanded_columns(data, X), rng.permutation(40)
    for j in range(len(columns)):
        np.testing.assert_array_equal(columns.bits(j, data.packed().rows, rows), is_true[rows, j])


def test_hashes_are_those_of_the_content():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(40, size=200), rng.normal(size=200).round(1), rng.integers(3, size=200)])
    X[::7, 1] = np.nan
    y = rng.integers(2, size=200)
    order = rng.permutation(200)

    def hashes(X, y):
        data = prepared(X, y).packed()
        return hash_rows(data.rows, data.y, data.columns.ranked)

    whole = hashes(X, y)
    np.testing.assert_array_equal(hashes(X[order], y[order]), whole[order])
    content = {(str(row.tolist()), label): i for i, (row, label) in enumerate(zip(X, y, strict=True))}
    same = np.array([content[str(row.tolist()), label] for row, label in zip(X, y, strict=True)])
    np.testing.assert_array_equal(whole, whole[same])
    assert len(np.unique(whole)) == len(content)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_threads_rank_the_same(n_jobs):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 7)), rng.integers(2, size=3000)
    own = training.prepare(TopKTreeClassifier(max_thresholds=None, n_jobs=n_jobs), X, y, None)
    for one, f in zip(own.columns.ranked, range(7), strict=True):
        assert one.feature == f
        np.testing.assert_array_equal(one.ranks, np.argsort(np.argsort(X[:, f])))


def test_data_can_be_sent():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.integers(2, size=100)
    columns = prepared(X, y).columns
    sent = pickle.loads(pickle.dumps(columns))
    assert [sent.literal(j) for j in range(len(sent))] == [columns.literal(j) for j in range(len(columns))]
    assert len(pickle.dumps(columns.ranked[:1])) < 100 * (4 + 4 + 8) + 1000  # nothing of the other features


def test_a_criterion_of_the_user_sees_every_column():
    def criterion(left, right):
        seen.append(left.shape)
        return left.max(axis=1) + right.max(axis=1)

    seen = []
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    clf = TopKTreeClassifier(k=2, max_depth=2, criterion=criterion, max_thresholds=None).fit(X, y)
    assert set(seen) == {(118, 2)}
    many = TopKTreeClassifier(k=2, max_depth=2, criterion=criterion, max_thresholds=10**6).fit(X, y)
    np.testing.assert_array_equal(clf.tree_.threshold, many.tree_.threshold)


def mixed_table(n=300):
    """Every kind of feature; none repeats a column of another."""
    rng = np.random.default_rng(3)
    size = rng.integers(40, size=n)
    X = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "colour": np.array(["red", "green", "blue"])[rng.integers(3, size=n)],
            "gaps": pd.Series(rng.normal(size=n)).mask(rng.random(n) < 0.2),
            "few": rng.integers(5, size=n),
            "size": pd.Categorical(size, categories=range(40), ordered=True),
            "flag": rng.random(n) < 0.5,
            "whole": pd.array(rng.integers(0, 10**6, n), dtype="Int64"),
        }
    )
    X.loc[::9, "whole"] = pd.NA
    score = X["number"] + X["gaps"].fillna(1.0) + size / 20 + X["flag"] + rng.normal(size=n)
    return X, np.digitize(score, [1.0, 2.5]), 0.1 + rng.random(n)


ESTIMATORS = [
    TopKTreeClassifier(k=4, max_depth=3),
    TopKTreeClassifier(k=2, max_depth=4, criterion="gini", min_samples_leaf=4, leaf_penalty=0.003),
    TopKTreeClassifier(k=(5, 2, 1), max_depth=3, class_weight="balanced", n_jobs=2),
    TopKTreeClassifier(k="all", max_depth=1),
    TopKTreeClassifierCV(ks=(1, 3), max_depths=(1, 2), cv=3),
    TopKBoostingClassifier(n_estimators=3, k=2, max_depth=2),
    TopKForestClassifier(n_estimators=3, k=2, max_depth=3, bootstrap=False, max_features=3, random_state=0),
]


def trees_of(estimator):
    return list(estimator) if hasattr(estimator, "estimators_") else [estimator]


def choices_of(tree):
    """The candidates of the root, without what depends on the search: the bounds on the costs of the trees below."""
    known = ("rank", "feature", "test", "value", "missing", "score", "chosen")
    return [{name: choice[name] for name in known if name in choice} for choice in tree.search_["root"]]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_ranked_features_change_nothing(estimator, weighted):
    X, y, weight = mixed_table()
    weight = weight if weighted else None
    as_bits = estimator.set_params(max_thresholds=10**6).fit(X, y, weight)
    expected = [(tree.export_dict(), choices_of(tree)) for tree in trees_of(as_bits)]
    probabilities = as_bits.predict_proba(X)
    own = estimator.set_params(max_thresholds=None).fit(X, y, weight)
    assert [(tree.export_dict(), choices_of(tree)) for tree in trees_of(own)] == expected
    assert [tree.train_errors_ for tree in trees_of(own)] == [np.sum(tree.predict(X) != y) for tree in trees_of(own)]
    np.testing.assert_array_equal(own.predict_proba(X), probabilities)


def test_paths_and_near_optimal_trees():
    X, y, _ = mixed_table(150)
    ours, theirs = (TopKTreeClassifier(k=3, max_depth=2, max_thresholds=n) for n in (None, 10**6))
    for one, other in zip(ours.near_optimal(X, y, n=20), theirs.near_optimal(X, y, n=20), strict=True):
        assert one.export_text() == other.export_text()
    one, other = (clf.leaf_penalty_path(X, y) for clf in (ours, theirs))
    np.testing.assert_array_equal(one.leaf_penalties, other.leaf_penalties)
    assert [clf.export_text() for clf in one.estimators] == [clf.export_text() for clf in other.estimators]


def test_a_bootstrap_sample_does_not_depend_on_the_order_of_the_rows():
    X, y, _ = mixed_table()
    order = np.random.default_rng(1).permutation(len(y))
    forest = TopKForestClassifier(n_estimators=20, k=2, max_thresholds=None, random_state=0, oob_score=True)
    texts = forest.fit(X, y).export_text()
    score = forest.oob_score_
    assert forest.fit(X.iloc[order], y[order]).export_text() == texts
    assert forest.oob_score_ == score


@few
@given(SEEDS)
def test_rows_without_weight_are_left_out(seed):
    rng = np.random.default_rng(seed)
    X = random_table(rng, 60, 3)
    y, weight = random_target(rng, X, 2), rng.integers(0, 3, 60).astype(float)
    weight[:2] = 1
    clf = TopKTreeClassifier(k=2, max_depth=2, max_thresholds=None)
    whole = clf.fit(X, y, weight).export_text()
    assert clf.train_errors_ == np.count_nonzero(clf.predict(X) != y)
    kept = weight > 0
    assert clf.fit(X[kept], y[kept], weight[kept]).export_text() == whole


def test_no_feature_may_have_bits():
    rng = np.random.default_rng(0)
    data = prepared(rng.normal(size=(50, 3)), rng.integers(2, size=50))
    assert data.rows.shape == (50, 0)
    assert data.columns.second_readings() is None
    assert len(data.columns) == 3 * 49
