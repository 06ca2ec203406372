"""The finished tree against walks that go row by row and node by node."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profiles import examples
from support.trees import path, random_tree

from topktree._data.columns import AT_MOST, EQUALS, IN, IS_MISSING
from topktree._data.features import UNSEEN, Feature
from topktree._data.table import BOOLEAN, CATEGORY, NUMBER
from topktree._tree.model_file import describe_test, read_test
from topktree._tree.tree import TREE_LEAF, TREE_UNDEFINED, NodeTest, Tree, code_tests, node_impurity

some = examples(2)


def depth_below(tree, node=0):
    if tree.children_left[node] == TREE_LEAF:
        return 0
    return 1 + max(depth_below(tree, int(child[node])) for child in (tree.children_left, tree.children_right))


def leaf():
    return random_tree(np.random.default_rng(0), 2, max_depth=0)


trees = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 6)).map(
    lambda drawn: (random_tree(np.random.default_rng(drawn[0]), 4, drawn[1]), np.random.default_rng(drawn[0] + 1))
)


@some
@given(trees, st.sampled_from([np.float64, np.float32, np.int64, np.int8]), st.integers(0, 40))
def test_apply_is_a_walk_per_row(drawn, dtype, n):
    tree, rng = drawn
    X = (rng.integers(-6, 7, (n, 4)) / (2 if np.issubdtype(dtype, np.floating) else 1)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        X[rng.random(X.shape) < 0.2] = np.nan
    leaves = tree.apply(X)
    assert leaves.dtype == np.int64
    assert leaves.tolist() == [path(tree, row)[-1] for row in X]


@some
@given(trees)
def test_paths_are_those_of_rows(drawn):
    tree, rng = drawn
    paths = tree.paths_to(np.arange(tree.node_count))
    assert len(paths) == tree.node_count
    for row in rng.integers(-6, 7, (20, 4)) / 2:
        nodes = path(tree, row)
        assert paths[nodes[-1]] == nodes


@some
@given(trees)
def test_counts_of_nodes_and_levels(drawn):
    tree, _ = drawn
    depths = tree.node_depths()
    assert tree.node_count == len(depths) == 2 * tree.n_leaves - 1
    assert tree.max_depth == depth_below(tree)
    np.testing.assert_array_equal(depths, [len(above) - 1 for above in tree.paths_to(np.arange(len(depths)))])


@some
@given(trees)
def test_sums_below_are_those_of_the_leaves(drawn):
    tree, rng = drawn
    per_leaf = rng.integers(0, 9, (tree.node_count, 2)).astype(float)  # what inner nodes have does not count
    leaves = np.flatnonzero(tree.children_left == TREE_LEAF)
    expected = np.zeros_like(per_leaf)
    for node, above in zip(leaves, tree.paths_to(leaves), strict=True):
        expected[above] += per_leaf[node]
    np.testing.assert_array_equal(tree.sums_below(per_leaf), expected)


FEATURES = (
    Feature("n", NUMBER),
    Feature("b", BOOLEAN),
    Feature("c", CATEGORY, (1, "x", "y")),
    Feature("o", CATEGORY, ("S", "M", "L"), ordered=True),
)
CODES = st.sampled_from([0.0, 1.0, 2.0])
SETS = st.sampled_from([(0,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
NO_SET = st.just(())  # or Hypothesis would draw some
TESTS = st.one_of(
    st.builds(NodeTest, st.just(0), st.just(AT_MOST), st.floats(-1e300, 1e300), st.booleans(), st.just(False), NO_SET),
    st.builds(NodeTest, st.just(1), st.just(AT_MOST), st.just(0.0), st.booleans(), st.just(False), NO_SET),
    st.builds(NodeTest, st.just(2), st.just(EQUALS), CODES, st.booleans(), st.booleans(), NO_SET),
    st.builds(NodeTest, st.just(2), st.just(IN), st.just(0.0), st.booleans(), st.booleans(), SETS),
    st.builds(NodeTest, st.just(3), st.just(AT_MOST), CODES, st.booleans(), st.booleans(), NO_SET),
    st.builds(NodeTest, st.integers(0, 3), st.just(IS_MISSING), st.just(0.0), st.just(True), st.just(False), NO_SET),
)


@some
@given(TESTS)
def test_a_test_is_coded_and_read_back(test):
    tree = Tree(
        children_left=np.array([1, TREE_LEAF, TREE_LEAF]),
        children_right=np.array([2, TREE_LEAF, TREE_LEAF]),
        value=np.array([[2.0, 2.0], [2.0, 0.0], [0.0, 2.0]]),
        impurity=np.array([1.0, 0.0, 0.0]),
        n_node_samples=np.array([4, 2, 2]),
        weighted_n_node_samples=np.array([4.0, 2.0, 2.0]),
        **code_tests([test, None, None]),
    )
    assert tree.test(0) == test
    assert not tree.missing_go_to_left[1:].any()
    assert not tree.unseen_go_to_left[1:].any()
    assert read_test(test.feature, describe_test(test, FEATURES), FEATURES) == test
    assert json.loads(json.dumps(describe_test(test, FEATURES), allow_nan=False)) == describe_test(test, FEATURES)


@some
@given(TESTS)
def test_a_test_has_an_answer_for_every_value(test):
    values = np.array([0.0, 1.0, 2.0, *np.nextafter(test.value, [-np.inf, np.inf]), test.value])
    if test.kind == IS_MISSING:
        expected = np.zeros(len(values), dtype=bool)
    elif test.kind == IN:
        expected = np.array([value in test.categories for value in values])
    else:
        expected = values <= test.value if test.kind == AT_MOST else values == test.value
    np.testing.assert_array_equal(test.holds(values), expected)
    assert test.holds(np.array([np.nan])).tolist() == [test.missing]
    if FEATURES[test.feature].kind == CATEGORY:
        assert test.holds(np.array([UNSEEN])).tolist() == [test.unseen]


def test_a_single_leaf():
    tree = leaf()
    assert (tree.node_count, tree.n_leaves, tree.max_depth) == (1, 1, 0)
    assert tree.apply(np.zeros((3, 2))).tolist() == [0, 0, 0]
    assert tree.paths_to(np.array([0, 0])) == [[0], [0]]
    assert tree.feature_importances(2).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("x", [0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1)])
def test_the_threshold_itself_goes_left(x):
    tree = Tree(
        children_left=np.array([1, TREE_LEAF, TREE_LEAF]),
        children_right=np.array([2, TREE_LEAF, TREE_LEAF]),
        feature=np.array([0, TREE_UNDEFINED, TREE_UNDEFINED]),
        threshold=np.array([0.5, TREE_UNDEFINED, TREE_UNDEFINED]),
        category=np.full(3, TREE_UNDEFINED),
        category_set=np.zeros((3, 0), dtype=bool),
        missing_go_to_left=np.zeros(3, dtype=bool),
        unseen_go_to_left=np.zeros(3, dtype=bool),
        value=np.array([[2.0, 2.0], [2.0, 0.0], [0.0, 2.0]]),
        impurity=np.array([1.0, 0.0, 0.0]),
        n_node_samples=np.array([4, 2, 2]),
        weighted_n_node_samples=np.array([4.0, 2.0, 2.0]),
    )
    assert tree.apply(np.array([[x]])).tolist() == [1 if x <= 0.5 else 2]
    assert tree.feature_importances(2).tolist() == [1.0, 0.0]


@some
@given(trees)
def test_importances_are_the_decrease_node_by_node(drawn):
    tree, _ = drawn
    decrease = np.zeros(4)
    for node in range(tree.node_count):
        if tree.children_left[node] != TREE_LEAF:
            below = (int(tree.children_left[node]), int(tree.children_right[node]))
            weighted = [tree.weighted_n_node_samples[i] * tree.impurity[i] for i in (node, *below)]
            decrease[tree.feature[node]] += weighted[0] - weighted[1] - weighted[2]
    importances = tree.feature_importances(4)
    assert (importances >= 0).all()
    if decrease.sum() > 1e-9:
        assert importances.sum() == pytest.approx(1)
        np.testing.assert_allclose(importances, decrease / decrease.sum(), atol=1e-9)


@pytest.mark.parametrize("counts", [[1, 1], [3, 0], [1, 3], [2, 5, 0, 7], [0.25, 1.5, 3.0]])
def test_impurities_by_the_book(counts):
    p = [count / sum(counts) for count in counts]
    expected = {
        "entropy": -sum(q * math.log2(q) for q in p if q > 0),
        "gain_ratio": -sum(q * math.log2(q) for q in p if q > 0),
        "gini": 1 - sum(q * q for q in p),
        "sqrt": sum(math.sqrt(q * (1 - q)) for q in p),
    }
    for criterion, impurity in expected.items():
        (answer,) = node_impurity(np.array([counts], dtype=float), criterion)
        assert answer == pytest.approx(impurity, abs=1e-12)
        assert answer >= 0
