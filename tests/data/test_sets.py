"""Sets of categories: the orders that they are made from, and that the best of all sets is among them."""

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profiles import examples

from topktree import TopKTreeClassifier
from topktree._data.columns import EQUALS, IN, IS_MISSING
from topktree._data.ranks import MISSING
from topktree._data.training import prepare
from topktree._search.objective import CRITERIA
from topktree._tree.tree import node_impurity

some = examples(0.5)
SEEDS = st.integers(0, 2**32 - 1)


def table_of(categories, y, repeats=None):
    """A table of one category, with its labels and the weight of each row."""
    weights = np.ones(len(y)) if repeats is None else np.asarray(repeats, dtype=float)
    return pd.DataFrame({"colour": pd.Series(categories, dtype=object)}), np.asarray(y), weights


def random_rows(rng, n_classes, with_missing):
    """Rows of five to seven categories, all of which occur, that prefer some of the classes."""
    n = int(rng.integers(5, 8))
    codes = np.concatenate([np.arange(n), rng.integers(n, size=60)])
    preferred = rng.integers(n_classes, size=n)
    y = np.where(rng.random(len(codes)) < 0.5, preferred[codes], rng.integers(n_classes, size=len(codes)))
    y[:n_classes] = np.arange(n_classes)
    categories = [None if with_missing and i >= n and rng.random() < 0.2 else f"c{c}" for i, c in enumerate(codes)]
    return table_of(categories, y, rng.integers(1, 4, len(codes)))


def sets_of(data):
    """Literals of the columns that test sets."""
    literals = [data.columns.literal(j) for j in range(len(data.columns))]
    return [literal for literal in literals if literal.test == IN]


def ready(X, y, weights=None, **parameters):
    return prepare(TopKTreeClassifier(max_thresholds=None, **parameters), X, y, weights)


def weighted_errors(side, classes, weights, n_classes):
    return sum(w.sum() - w.max() for w in sides(side, classes, weights, n_classes))


def impurity(side, classes, weights, n_classes, criterion):
    """The mean impurity of the two sides, times the total weight; infinite if a side is empty."""
    parts = np.array(sides(side, classes, weights, n_classes))
    if (parts.sum(axis=1) == 0).any():
        return np.inf
    return float((node_impurity(parts, criterion) * parts.sum(axis=1)).sum())


def sides(side, classes, weights, n_classes):
    return [np.bincount(classes[rows], weights[rows], n_classes) for rows in (side, ~side)]


def every_side(X):
    """The rows on one side of every division of the categories, missing being one more."""
    values = X["colour"].fillna("missing").to_numpy()
    distinct = sorted(set(values))
    for size in range(1, len(distinct)):
        for chosen in combinations(distinct, size):
            yield np.isin(values, chosen)


@some
@given(SEEDS, st.booleans(), st.sampled_from([None, "balanced", {0: 3.0, 1: 0.5}]))
def test_no_set_is_better_than_the_best_one(seed, with_missing, class_weight):
    """One split finds the fewest errors of all divisions, and the best score is the best of all."""
    X, y, weights = random_rows(np.random.default_rng(seed), 2, with_missing)
    by_class = {None: [1, 1], "balanced": 1 / np.bincount(y, weights)}.get(str(class_weight), [3.0, 0.5])
    own = weights * np.asarray(by_class if class_weight is not None else [1, 1])[y]
    clf = TopKTreeClassifier(k="all", max_depth=1, max_thresholds=None, class_weight=class_weight)
    clf.fit(X, y, weights)
    errors = [weighted_errors(side, y, own, 2) for side in every_side(X)]
    leaf = own.sum() - np.bincount(y, own).max()
    found = own[clf.predict(X) != y].sum()
    assert found == pytest.approx(min(*errors, leaf))
    for criterion in sorted(set(CRITERIA) - {"gain_ratio"}):
        first = TopKTreeClassifier(k=1, max_depth=1, max_thresholds=None, criterion=criterion)
        first.set_params(class_weight=class_weight).fit(X, y, weights)
        (choice,) = [c for c in first.search_["root"] if c["rank"] == 1]
        best = min(impurity(side, y, own, 2, criterion) for side in every_side(X))
        whole = float(node_impurity(np.bincount(y, own)[None], criterion)[0])
        assert choice["score"] == pytest.approx(whole - best / own.sum(), abs=1e-6)


@some
@given(SEEDS, st.integers(2, 5), st.booleans())
def test_orders_are_those_of_the_shares(seed, n_classes, with_missing):
    X, y, weights = random_rows(np.random.default_rng(seed), n_classes, with_missing)
    data = ready(X, y, weights)
    names, categories = data.features[0].categories, X["colour"].to_numpy()
    shares = np.array([np.bincount(y[categories == c], weights[categories == c], n_classes) for c in names])
    shares /= shares.sum(axis=1, keepdims=True)
    expected = [sorted(range(len(names)), key=lambda c: shares[c, k]) for k in range(n_classes)]
    expected = expected[1:] if n_classes == 2 else expected
    orders = [list(own.order) for own in data.columns.ranked]
    assert orders == [order for order in expected if order in orders]
    for order in expected:  # those that are left out divide the categories as another one does
        assert divisions(order) in map(divisions, orders)
    for own in data.columns.ranked:
        for category, rank in zip(categories, own.ranks.tolist(), strict=True):
            place = -1 if category is None else own.order.index(names.index(category))
            assert rank == (MISSING if category is None else min(max(place - 1, 0), len(names) - 3))


def divisions(order):
    """The divisions into two sets of at least two categories each that an order makes."""
    every = frozenset(order)
    return {frozenset([every & set(order[:i]), every - set(order[:i])]) for i in range(2, len(order) - 1)}


def test_sets_come_after_the_categories_one_by_one():
    X, y, _ = table_of([*"abcde" * 4, None, None], [0, 0, 1, 1, 1] * 4 + [0, 1])
    X["n"] = np.arange(22.0)
    columns = ready(X, y).columns
    literals = [columns.literal(j) for j in range(len(columns)) if columns.literal(j).feature == 0]
    tests = [(literal.test, literal.or_missing) for literal in literals]
    assert tests == [
        *[(EQUALS, False)] * 5,
        *[(EQUALS, True)] * 5,
        *[(IN, False)] * 2,
        *[(IN, True)] * 2,
        (IS_MISSING, False),
    ]
    assert [literal.categories for literal in literals if literal.test == IN] == [(0, 1), (0, 1, 2)] * 2
    assert all(columns.literal(j).feature == 1 for j in range(len(literals), len(columns)))
    assert [own.first for own in columns.ranked] == [10, 15]
    features = [columns.literal(j).feature for j in range(len(columns))]
    assert all(one <= other for one, other in pairwise(features))


def test_sets_of_one_category_and_all_but_one_are_no_columns():
    for names in ("ab", "abc"):
        X, y, _ = table_of(list(names) * 5, [0, 1, 1, 0, 1] * len(names))
        assert len(ready(X, y).columns.ranked) == 0
    X, y, _ = table_of(list("abcd") * 5, [0, 0, 1, 1] * 5)
    assert [literal.categories for literal in sets_of(ready(X, y))] == [(0, 1)]


def test_orders_that_repeat_are_left_out():
    """The third class has the same share everywhere, and the order of the second is that of the first, backwards."""
    rows = [("abcde"[c], k) for c in range(5) for k, n in enumerate((6 - c, 2 + c, 4)) for _ in range(n)]
    X, y, _ = table_of(*zip(*rows, strict=True))
    assert [own.order for own in ready(X, y).columns.ranked] == [(4, 3, 2, 1, 0)]
    assert len(ready(X.assign(again=X["colour"]), y).columns.ranked) == 1


def test_where_there_are_no_sets():
    X, y, _ = table_of(list("abcdef") * 5, [0, 0, 1, 1, 1, 0] * 5)
    ordered = X.astype(pd.CategoricalDtype(list("abcdef"), ordered=True))
    own = {"criterion": lambda left, right: left.max(axis=1) + right.max(axis=1)}
    assert sets_of(ready(X, y))
    assert not sets_of(ready(ordered, y))
    assert not sets_of(ready(X, y, **own))
    assert not sets_of(prepare(TopKTreeClassifier(max_thresholds=32), X, y, None))


def test_classes_that_only_missing_values_have_make_no_order():
    X, y, _ = table_of([*"abcdef" * 3, None, None], [0, 1, 1, 0, 0, 1] * 3 + [2, 2])
    assert len(ready(X, y).columns.ranked) == 1


def test_a_set_is_written_the_same_everywhere():
    X, y, _ = table_of(list("abcdef") * 6, [0, 0, 1, 0, 1, 1] * 6)
    clf = TopKTreeClassifier(k=1, max_depth=1, max_thresholds=None).fit(X, y)
    assert clf.export_text() == (
        "|--- colour in {a, b, d}\n"
        "|   |--- class: 0 (100.0% of 18 rows; 0 18)\n"
        "|--- colour not in {a, b, d}\n"
        "|   |--- class: 1 (100.0% of 18 rows; 1 18)\n"
    )
    assert clf.tree_.category_set.tolist() == [[True, True, False, True], [False] * 4, [False] * 4]
    assert clf.tree_.category.tolist() == [-2] * 3
    assert clf.tree_.threshold.tolist() == [-2] * 3
    assert clf.export_dict()["nodes"][0]["value"] == ["a", "b", "d"]
    assert "colour in {a, b, d}?" in clf.export_dot()
    assert clf.search_["root"][0]["value"] == ["a", "b", "d"]
    assert clf.search_["root"][0]["test"] == "in"
    assert clf.to_sklearn()[0].get_feature_names_out().tolist() == ["colour in {a, b, d}"]
    assert "WHEN \"colour\" IN ('c', 'e', 'f')\n" in clf.export_sql()


def test_conditions_on_one_path_are_one_set():
    """Sets meet sets, and categories one by one: what is said is what is left."""
    names = list("abcdefgh")
    X, y, _ = table_of(names * 10, [[0, 0, 1, 1, 2, 2, 0, 3][i] for i in range(8)] * 10)
    X["half"] = np.arange(80) % 16 < 8
    y = np.where(X["half"] & (X["colour"] == "a"), 3, y)
    clf = TopKTreeClassifier(k="all", max_depth=3, max_thresholds=None, leaf_penalty="tie").fit(X, y)
    rules = clf.export_rules().splitlines()
    assert clf.train_errors_ == 0
    assert all(rule.count("colour") <= 1 for rule in rules)
    assert {" in {" in rule for rule in rules} == {" not in {" in rule for rule in rules} == {False, True}
    for leaf, rule in zip(np.flatnonzero(clf.tree_.is_leaf), rules, strict=True):
        present = set(X["colour"][clf.apply(X) == leaf])
        for symbol, listed in (("in", present), ("not in", set(names) - present)):
            if f"colour {symbol} {{" in rule:
                assert f"colour {symbol} {{{', '.join(sorted(listed))}}}" in rule
