"""Pruning against all subtrees there are, one by one; and `prune` and `pruning_path` as users meet them."""

import itertools
import json
import math
import pickle
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.class_weight import compute_sample_weight
from support.profiles import seed_range
from support.trees import path, random_tree

from topktree import TopKTreeClassifier, load
from topktree._base import fitted_copy, found_tree_of
from topktree._tree.pruning import (
    choose_step,
    choose_subtree,
    count_rows,
    pruning_sequence,
    subtree,
    validation_errors,
)
from topktree._tree.tree import TREE_LEAF, TREE_UNDEFINED, Tree, node_impurity


def with_counts(tree, rng, most, unit=1.0):
    """The tree with small counts of three classes, so that much ties; every value is rounded once, as in a fit."""
    counts = np.zeros(tree.value.shape, dtype=np.int64)
    leaf = tree.children_left == TREE_LEAF
    counts[leaf] = rng.integers(0, most + 1, (leaf.sum(), 3))
    counts[leaf, rng.integers(3, size=leaf.sum())] += 1  # no leaf is empty
    for node in np.flatnonzero(~leaf)[::-1]:
        counts[node] = counts[tree.children_left[node]] + counts[tree.children_right[node]]
    value = counts * unit
    rows = counts.sum(axis=1)
    impurity = node_impurity(value, "gini")
    return replace(tree, value=value, n_node_samples=rows, weighted_n_node_samples=value.sum(axis=1), impurity=impurity)


def drawn_tree(seed, depth, most=3, unit=1.0):
    return with_counts(random_tree(np.random.default_rng(seed), 4, depth), np.random.default_rng(seed + 1), most, unit)


seeds = st.integers(0, 2**32 - 1)


def all_splits(tree, node=0):
    """The set of the nodes that are split, for every way to prune the branch of a node."""
    if tree.children_left[node] == TREE_LEAF:
        return [frozenset()]
    below = [all_splits(tree, int(child[node])) for child in (tree.children_left, tree.children_right)]
    return [frozenset(), *(left | right | {node} for left, right in itertools.product(*below))]


def leaves_of(tree, splits):
    below = {int(child[node]) for node in splits for child in (tree.children_left, tree.children_right)}
    return (below | {0}) - splits


def errors_of(tree, splits):
    """Of whole counts, as an exact int."""
    return sum(int(tree.value[leaf].sum() - tree.value[leaf].max()) for leaf in leaves_of(tree, splits))


def steps_of(sequence):
    return [frozenset(np.flatnonzero(sequence.splits(step)).tolist()) for step in range(len(sequence.alphas))]


# The sequence.


@given(seeds, st.integers(0, 4))
def test_each_subtree_is_the_smallest_best_one_up_to_the_next_alpha(seed, depth):
    tree = drawn_tree(seed, depth)
    total = int(tree.value[0].sum())
    sequence = pruning_sequence(tree)
    alphas = [Fraction(alpha * total).limit_denominator(64) for alpha in sequence.alphas]  # at most 15 leaves go
    np.testing.assert_allclose([float(alpha) for alpha in alphas], sequence.alphas * total, rtol=1e-12)
    kept = steps_of(sequence)
    options = [(errors_of(tree, splits), len(splits) + 1, splits) for splits in all_splits(tree)]
    for step, (alpha, following) in enumerate(itertools.pairwise([*alphas, alphas[-1] + 2])):
        for penalty in (alpha, (alpha + following) / 2, following - Fraction(1, 10**6)):
            best = min((errors + penalty * leaves, leaves) for errors, leaves, _ in options)
            winners = [s for errors, leaves, s in options if (errors + penalty * leaves, leaves) == best]
            assert winners == [kept[step]], (step, penalty)


@given(seeds, st.integers(0, 6), st.sampled_from([1.0, 0.1, 1 / 3, 1e-250, 7e200]))
def test_subtrees_are_nested_and_alphas_rise(seed, depth, unit):
    tree = drawn_tree(seed, depth, unit=unit)
    sequence = pruning_sequence(tree)
    kept = steps_of(sequence)
    assert sequence.alphas[0] == 0
    assert (np.diff(sequence.alphas) > 0).all()
    assert kept[-1] == frozenset()
    assert all(small < large for large, small in itertools.pairwise(kept))
    for step, splits in enumerate(kept):
        assert all(parent in splits for node in splits for parent in parents(tree, node))
        assert set(np.flatnonzero(sequence.leaves(step))) == leaves_of(tree, splits)


def parents(tree, node):
    return set(tree.paths_to(np.array([node]))[0]) - {node}


@given(seeds, st.integers(1, 6), st.sampled_from([0.1, 0.3, 1 / 3, 1e-250, 7e200, 2.0**60]))
def test_what_ties_in_whole_numbers_ties_in_any_unit(seed, depth, unit):
    whole, scaled = pruning_sequence(drawn_tree(seed, depth)), pruning_sequence(drawn_tree(seed, depth, unit=unit))
    np.testing.assert_array_equal(scaled.leaf_from, whole.leaf_from)
    np.testing.assert_array_equal(scaled.gone_from, whole.gone_from)
    np.testing.assert_allclose(scaled.alphas, whole.alphas, rtol=1e-9, atol=1e-12)


def test_splits_that_do_not_pay_are_gone_at_once():
    # 0: [6, 4], its left branch 1 gains nothing by 2 | 3, its right one is a leaf.
    tree = small_tree([[6, 4], [6, 1], [4, 0], [2, 1], [0, 3]])
    sequence = pruning_sequence(tree)
    assert sequence.alphas.tolist() == [0, 0.3]
    assert sequence.leaf_from.tolist() == [1, 0, 0, 0, 0]
    assert sequence.gone_from.tolist() == [2, 1, 0, 0, 1]


def test_links_of_equal_strength_go_together():
    # Both splits, above and below, are worth 2 rows per leaf: 0 as a whole (8 - 4) / 2, 1 alone (2 - 0) / 1.
    tree = small_tree([[12, 8], [12, 2], [12, 0], [0, 2], [0, 6]])
    assert pruning_sequence(tree).alphas.tolist() == [0, 0.1, 0.3]
    tied = small_tree([[8, 4], [8, 2], [8, 0], [0, 2], [0, 2]])
    assert pruning_sequence(tied).alphas.tolist() == [0, 2 / 12]


def small_tree(value):
    """Root 0 with branch 1 (of leaves 2 and 3) and leaf 4."""
    value = np.array(value, dtype=float)
    inner = np.array([True, True, False, False, False])
    return Tree(
        children_left=np.array([1, 2, -1, -1, -1]),
        children_right=np.array([4, 3, -1, -1, -1]),
        feature=np.where(inner, 0, TREE_UNDEFINED),
        threshold=np.where(inner, [1.5, 0.5, 0, 0, 0], TREE_UNDEFINED),
        category=np.full(5, TREE_UNDEFINED),
        category_set=np.zeros((5, 0), dtype=bool),
        missing_go_to_left=np.zeros(5, dtype=bool),
        unseen_go_to_left=np.zeros(5, dtype=bool),
        value=value,
        impurity=node_impurity(value, "gini"),
        n_node_samples=value.sum(axis=1).astype(int),
        weighted_n_node_samples=value.sum(axis=1),
    )


def test_a_single_leaf_stays_one():
    sequence = pruning_sequence(drawn_tree(0, 0))
    assert (sequence.alphas.tolist(), sequence.leaf_from.tolist(), sequence.gone_from.tolist()) == ([0], [0], [1])


# Subtrees.


@given(seeds, st.integers(0, 6))
def test_a_subtree_is_the_walk_that_stops_early(seed, depth):
    tree, rng = drawn_tree(seed, depth), np.random.default_rng(seed)
    splits = rng.random(tree.node_count) < 0.7
    small = subtree(tree, splits)
    X = rng.integers(-6, 7, (30, 4)) / 2
    X[rng.random(X.shape) < 0.2] = np.nan
    expected = [next((n for n in path(tree, row) if not splits[n]), path(tree, row)[-1]) for row in X]
    found = small.apply(X)
    assert found.tolist() == [path(small, row)[-1] for row in X]
    for name in ("value", "impurity", "n_node_samples", "weighted_n_node_samples"):
        np.testing.assert_array_equal(getattr(small, name)[found], getattr(tree, name)[expected])


@given(seeds, st.integers(0, 6))
def test_a_subtree_is_a_tree_like_any_other(seed, depth):
    tree = drawn_tree(seed, depth)
    small = subtree(tree, np.random.default_rng(seed).random(tree.node_count) < 0.7)
    todo = [0]
    for node in range(small.node_count):  # preorder
        assert todo.pop() == node
        if small.children_left[node] != TREE_LEAF:
            todo += [int(small.children_right[node]), int(small.children_left[node])]
    assert not todo
    leaf = small.children_left == TREE_LEAF
    assert (small.children_right[leaf] == TREE_LEAF).all()
    for name in ("feature", "threshold", "category"):
        assert (getattr(small, name)[leaf] == TREE_UNDEFINED).all()
    assert not small.missing_go_to_left[leaf].any()
    assert not small.category_set[leaf].any()
    for field in fields(Tree):
        mine, theirs = getattr(small, field.name), getattr(tree, field.name)
        assert (mine.dtype, len(mine)) == (theirs.dtype, small.node_count), field.name
        assert not np.shares_memory(mine, theirs), field.name


def test_all_splits_kept_are_the_tree_itself():
    tree = drawn_tree(5, 5)
    small = subtree(tree, np.ones(tree.node_count, dtype=bool))
    for field in fields(Tree):
        np.testing.assert_array_equal(getattr(small, field.name), getattr(tree, field.name))


# The choice.


@given(seeds, st.integers(0, 5), st.sampled_from([None, 1.0, 0.1]))
def test_errors_of_all_subtrees_are_those_of_their_predictions(seed, depth, unit):
    tree, rng = drawn_tree(seed, depth), np.random.default_rng(seed + 2)
    X, classes = rng.integers(-6, 7, (40, 4)) / 2, rng.integers(0, 4, 40)  # 3 is a class that the tree has not
    weights = np.ones(40) if unit is None else rng.integers(0, 4, 40) * unit + unit
    at_leaf = count_rows(tree, tree.apply(X), classes, weights)
    sequence = pruning_sequence(tree)
    errors = sequence.leaf_sums(validation_errors(tree, at_leaf))
    for step in range(len(sequence.alphas)):
        small = subtree(tree, sequence.splits(step))
        wrong = np.argmax(small.value, axis=1)[small.apply(X)] != classes
        assert errors[step] == pytest.approx(weights[wrong].sum(), abs=1e-12)
    chosen, alpha = choose_subtree(tree, at_leaf, weights, "best")
    expected = max(step for step in range(len(errors)) if errors[step] <= errors.min() + 1e-9)
    assert (chosen.n_leaves, alpha) == (len(steps_of(sequence)[expected]) + 1, sequence.alphas[expected])


@pytest.mark.parametrize(
    ("errors", "rule", "step"),
    [
        ([5, 4, 3, 4], "best", 2),
        ([5, 3, 3, 4], "best", 2),
        ([3, 3, 3, 3], "best", 3),
        ([0, 1, 2, 3], "best", 0),
        ([0, 1, 2, 3], "1se", 0),  # no errors, no standard error
        ([10, 14, 12.9, 14], "1se", 2),  # 10 of 100 rows: one standard error is 3 rows
        ([10, 12, 13.1, 14], "1se", 1),
        ([100, 100, 100, 100], "1se", 3),
    ],
)
def test_ties_and_one_standard_error(errors, rule, step):
    assert choose_step(np.array(errors, dtype=float), np.ones(100), rule) == step


def test_one_standard_error_of_weights_counts_effective_rows():
    weights = np.r_[np.full(50, 3.0), np.full(150, 1.0)]  # 300 of weight, as good as 150 rows
    assert weights.sum() ** 2 / (weights**2).sum() == 150
    within = 30 + 300 * math.sqrt(0.1 * 0.9 / 150)
    for scale in (1.0, 0.1, 1e-200, 1e200):
        for last, step in ((within - 0.01, 1), (within + 0.01, 0)):
            assert choose_step(np.array([30, last]) * scale, weights * scale, "1se") == step


def test_sums_that_differ_by_rounding_tie():
    assert 0.1 + 0.2 > 0.3
    assert choose_step(np.array([0.3, 0.1 + 0.2]), np.full(7, 0.1), "best") == 1


# The classifier.


def messy(n, seed, noise=0.3):
    """Numbers with missing values, booleans and categories; three classes with noise."""
    rng = np.random.default_rng(seed)
    age, smoker, colour = rng.integers(0, 30, n).astype(float), rng.random(n) < 0.4, rng.choice(["r", "g", "b"], n)
    y = np.where(colour == "r", "low", np.where((age > 14) & smoker, "high", "medium"))
    y = np.where(rng.random(n) < noise, rng.choice(["low", "medium", "high"], n), y)
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "smoker": smoker, "colour": colour, "noise": rng.random(n)}), y


def arrays_of(classifier):
    return {field.name: getattr(classifier.tree_, field.name).copy() for field in fields(Tree)}


PARAMETERS = [
    {},
    {"leaf_penalty": 0.0005},
    {"leaf_penalty": 0.00123457, "weighted": True},
    {"leaf_penalty": "tie"},
    {"leaf_penalty": "tie", "weighted": True},
    {"class_weight": "balanced"},
    {"class_weight": {"high": 0.7}, "weighted": True},
    {"weighted": True},
]


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("rule", ["best", "1se"])
def test_pruned_classifiers(parameters, rule, tmp_path):
    """Fewest errors of all on the path, its own cost and errors, whole after saving, the original as it was."""
    parameters = dict(parameters)
    (X, y), (X_new, y_new) = messy(300, 0), messy(200, 1)
    weights = np.random.default_rng(2).choice([0.3, 1.1, 2.0], 300) if parameters.pop("weighted", False) else None
    clf = TopKTreeClassifier(k=2, max_depth=5, **parameters).fit(X, y, weights)
    before, state = arrays_of(clf), pickle.dumps(clf)
    pruned = clf.prune(X_new, y_new, rule=rule)
    for name, array in before.items():
        np.testing.assert_array_equal(getattr(clf.tree_, name), array)
    assert pickle.dumps(clf) == state
    assert pruned.get_n_leaves() < clf.get_n_leaves()
    assert_right_cost(pruned, clf, X, y, weights)
    assert (pruned.status_, pruned.search_) == (clf.status_, clf.search_)
    assert pruned.search_ is not clf.search_
    pruned.save(tmp_path / "pruned.json")
    assert_same(load(tmp_path / "pruned.json"), pruned, X_new)
    assert_same(pickle.loads(pickle.dumps(pruned)), pruned, X_new)


def assert_right_cost(pruned, clf, X, y, weights):
    """Cost and rows as they are counted row by row, with the weights as the fit had them."""
    factor = compute_sample_weight(clf.class_weight, y) * (1.0 if weights is None else weights)
    wrong = pruned.predict(X) != y
    penalty = 0.0 if clf.leaf_penalty == "tie" else clf.leaf_penalty * factor.sum()
    assert pruned.cost_ == pytest.approx(factor[wrong].sum() + penalty * pruned.get_n_leaves(), rel=1e-5)
    assert type(pruned.cost_) is type(clf.cost_)
    unweighted = weights is None and clf.class_weight is None
    assert pruned.train_errors_ == (np.count_nonzero(wrong) if unweighted else None)
    assert type(pruned.train_errors_) is (int if unweighted else type(None))


def assert_same(one, other, X):
    for field in fields(Tree):
        np.testing.assert_array_equal(getattr(one.tree_, field.name), getattr(other.tree_, field.name))
    names = ("cost_", "train_errors_", "status_", "pruned_alpha_", "search_")
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("seed", seed_range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_no_subtree_of_the_path_does_better(seed, weighted):
    (X, y), (X_new, y_new) = messy(250, seed), messy(150, seed + 100)
    X_new.loc[:10, "colour"] = "never seen"
    y_new[:5] = "unheard of"
    weights = np.random.default_rng(seed).random(150) if weighted else np.ones(150)
    clf = TopKTreeClassifier(k=1, max_depth=6).fit(X, y)
    way, pruned = clf.pruning_path(), clf.prune(X_new, y_new, weights if weighted else None)
    sequence = pruning_sequence(clf.tree_)
    errors = []
    for step in range(len(way.ccp_alphas)):
        other = fitted_copy(clf, replace(found_tree_of(clf), tree=subtree(clf.tree_, sequence.splits(step))))
        assert other.get_n_leaves() == way.n_leaves[step]
        assert np.mean(other.predict(X) != y) == pytest.approx(way.errors[step])
        errors.append(weights[other.predict(X_new) != y_new].sum())
    chosen = way.ccp_alphas.tolist().index(pruned.pruned_alpha_)
    assert weights[pruned.predict(X_new) != y_new].sum() == pytest.approx(min(errors))
    assert all(error > min(errors) + 1e-9 for error in errors[chosen + 1 :])
    assert clf.prune(X_new, y_new, weights, rule="1se").pruned_alpha_ >= pruned.pruned_alpha_


def test_the_path_of_a_fit():
    X, y = messy(300, 0)
    way = TopKTreeClassifier(k=3, max_depth=4).fit(X, y).pruning_path()
    assert set(way) == {"ccp_alphas", "errors", "n_leaves"}
    assert way.n_leaves.dtype == np.int64
    assert way.n_leaves[-1] == 1
    assert (np.diff(way.n_leaves) < 0).all()
    assert (np.diff(way.errors) > 0).all()
    _, counts = np.unique(y, return_counts=True)
    assert way.errors[-1] == pytest.approx(1 - counts.max() / 300)
    # Between neighbours alpha is what the leaves in between are worth.
    np.testing.assert_allclose(np.diff(way.errors) / -np.diff(way.n_leaves), way.ccp_alphas[1:])


def test_weights_of_validation_rows_are_copies_of_them():
    (X, y), (X_new, y_new) = messy(250, 3), messy(80, 4)
    times = np.random.default_rng(0).integers(0, 4, 80)
    clf = TopKTreeClassifier(k=1, max_depth=6).fit(X, y)
    weighted = clf.prune(X_new, y_new, times)
    repeated = clf.prune(X_new.loc[np.repeat(np.arange(80), times)], np.repeat(y_new, times))
    assert_same(weighted, repeated, X)


def test_a_tree_that_is_best_as_it_is_keeps_its_errors():
    X, y = messy(300, 0, noise=0)
    weights = np.random.default_rng(0).random(300) + 0.5
    clf = TopKTreeClassifier(k="all", max_depth=4, leaf_penalty="tie").fit(X, y, weights)
    pruned = clf.prune(X, y)
    assert pruned.get_n_leaves() == clf.get_n_leaves()
    assert (pruned.cost_, pruned.train_errors_) == (clf.cost_, clf.train_errors_)
    assert pruned.pruned_alpha_ == 0


def test_rows_without_weight_that_were_wrong_make_the_rows_unknown():
    X, y = messy(300, 0)
    clf = TopKTreeClassifier(k=1, max_depth=5).fit(X, y, np.arange(300) % 3 > 0)
    assert isinstance(clf.cost_, int)
    assert clf.train_errors_ > clf.cost_
    pruned = clf.prune(*messy(200, 1))
    assert pruned.train_errors_ is None
    assert pruned.cost_ == np.count_nonzero((pruned.predict(X) != y)[np.arange(300) % 3 > 0])


def test_the_cost_is_that_of_the_fit_whatever_the_parameters_are_now():
    X, y = messy(300, 0)
    clf = TopKTreeClassifier(k=2, max_depth=5, leaf_penalty=0.002).fit(X, y)
    expected = clf.prune(*messy(200, 1)).cost_
    assert clf.set_params(leaf_penalty=0.5).prune(*messy(200, 1)).cost_ == expected


def test_pruning_again_and_fitting_again():
    (X, y), (X_new, y_new) = messy(300, 0), messy(200, 1)
    clf = TopKTreeClassifier(k=1, max_depth=5).fit(X, y)
    pruned = clf.prune(X_new, y_new)
    again = pruned.prune(X_new, y_new)
    assert again.get_n_leaves() == pruned.get_n_leaves()
    assert again.pruned_alpha_ == 0
    assert not hasattr(clf, "pruned_alpha_")
    assert not hasattr(pruned.fit(X, y), "pruned_alpha_")
    assert pruned.get_n_leaves() == clf.get_n_leaves()


def test_a_pruned_tree_becomes_whatever_a_tree_becomes():
    (X, y), (X_new, y_new) = messy(300, 0), messy(200, 1)
    pruned = TopKTreeClassifier(k=1, max_depth=5).fit(X, y).prune(X_new, y_new)
    assert pruned.export_text().count("class: ") == pruned.get_n_leaves()
    np.testing.assert_array_equal(pruned.to_sklearn().predict(X_new), pruned.predict(X_new))
    assert pruned.get_depth() < 5
    assert clone(pruned).get_params() == pruned.get_params()


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [-1.0, 1.0], ["no", "yes"]])
def test_labels_of_every_type(labels):
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    y = ((X[:, 0] > 0.5) ^ (rng.random(200) < 0.2)).astype(int)
    plain = TopKTreeClassifier(k=1, max_depth=5).fit(X[:100], y[:100]).prune(X[100:], y[100:])
    named = np.array(labels)[y]
    pruned = TopKTreeClassifier(k=1, max_depth=5).fit(X[:100], named[:100]).prune(X[100:], named[100:].tolist())
    assert (pruned.get_n_leaves(), pruned.pruned_alpha_) == (plain.get_n_leaves(), plain.pruned_alpha_)
    assert 1 < pruned.get_n_leaves() < 32


# Bad input.


def test_not_fitted():
    with pytest.raises(NotFittedError):
        TopKTreeClassifier().prune([[1]], [1])
    with pytest.raises(NotFittedError):
        TopKTreeClassifier().pruning_path()


@pytest.fixture(scope="module")
def clf():
    X, y = messy(100, 0)
    return TopKTreeClassifier(k=1, max_depth=3).fit(X, y)


@pytest.mark.parametrize("rule", ["worst", None, 1, ["best"]])
def test_bad_rules(clf, rule):
    with pytest.raises(ValueError, match=r"rule must be one of 'best', '1se', got "):
        clf.prune(*messy(10, 1), rule=rule)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, w: (X[:0], y[:0], None), "X must have at least one row"),
        (lambda X, y, w: (X, y[:0], None), "y must have a label for each of the 10 rows of X, got 0"),
        (lambda X, y, w: (X, y[:9], None), "y must have a label for each of the 10 rows of X, got 9"),
        (lambda X, y, w: (X[["age"]], y, None), "feature names"),
        (lambda X, y, w: (X, np.where(y == "low", None, y), None), "y must have a class label in every row"),
        (lambda X, y, w: (X, np.arange(10), None), "y must have labels that training had, such as 'high'"),
        (lambda X, y, w: (X, y, w[:9]), "sample_weight"),
        (lambda X, y, w: (X, y, w - 2), "sample_weight must not be negative, got -2"),
        (lambda X, y, w: (X, y, w * 0), "[Ss]ample.weights? must "),
        (lambda X, y, w: (X, y, w * np.nan), "sample_weight contains NaN"),
    ],
)
def test_bad_rows(clf, change, message):
    state = pickle.dumps(clf)
    with pytest.raises(ValueError, match=message):
        clf.prune(*change(*messy(10, 1), np.arange(10.0)))
    assert pickle.dumps(clf) == state


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pruned_alpha": None}, '"pruned_alpha" must be a number'),
        ({"pruned_alpha": -0.1}, '"pruned_alpha" must be a number'),
        ({"pruned_alpha": "0"}, '"pruned_alpha" must be a number'),
        ({"train_errors": -1}, '"train_errors" must be a whole number'),
        ({"train_errors": 1.5}, '"train_errors" must be a whole number'),
    ],
)
def test_bad_files(clf, tmp_path, change, message):
    pruned = clf.prune(*messy(50, 1))
    pruned.save(tmp_path / "good.json")
    payload = json.loads((tmp_path / "good.json").read_text())
    payload.update(change)
    (tmp_path / "bad.json").write_text(json.dumps(payload))
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "bad.json")
