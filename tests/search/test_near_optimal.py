"""The near-optimal trees: against a list of all trees, against `fit`, as table and picture."""

from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from support import oracle
from support.people import make_people
from support.problems import (
    Problem,
    assert_describes,
    assert_identical,
    assert_same_tree,
    hard_problems,
    label,
    problems,
    random_classes,
    random_columns,
    switches,
    user_criterion,
)
from support.profiles import examples, seed_range

import topktree
from topktree import TopKTreeClassifier, datasets
from topktree._core import pack_flags
from topktree._data import training
from topktree._data.columns import AT_MOST, IS_MISSING
from topktree._search import engine
from topktree._search.near_optimal import NearOptimalTrees
from topktree._search.spec import read_spec
from topktree._tree.tree import Tree

some = examples(1.2)
few = examples(0.3)

asked = st.builds(
    engine.NearOptimalOptions,
    n=st.sampled_from([1, 2, 3, 7, 50, 10**6]),
    epsilon=st.sampled_from([0.0, 0.0, 0.1, 0.5, 1.0, 1e300]),
    different=st.sampled_from(["predictions", "splits"]),
)

MOST_TREES = 20_000


def near_optimal(problem: Problem, asked: engine.NearOptimalOptions, packed: bool = True, **options):
    rows = np.ascontiguousarray(problem.columns).view(np.uint8)
    rows = pack_flags(rows) if packed else rows
    search = engine.SearchOptions(**{"threads_after": 0.0, "task_cycles": 0.0} | options)
    return engine.near_optimal(rows, problem.columns.shape[1], problem.classes, problem.objective, asked, search)


def assert_same_trees(solutions, expected):
    assert len(solutions) == len(expected)
    for solution, one in zip(solutions, expected, strict=True):
        assert solution.complete
        assert_same_tree(solution, one)


def assert_is_the_reference(problem, asked, options):
    most = 1
    for k in reversed(problem.objective.k):
        most = 1 + k * most**2
    assume(most <= MOST_TREES)
    expected = oracle.near_optimal(
        problem.columns, problem.classes, problem.objective, asked.n, asked.epsilon, asked.different
    )
    assert_same_trees(near_optimal(problem, asked, **options), expected)
    assert_same_tree(problem.engine(**options), expected[0])


@some
@given(problems(max_rows=40, max_columns=7, max_depth=2), asked, switches)
def test_engine_finds_the_trees_of_the_reference(problem, asked, options):
    assert_is_the_reference(problem, asked, options)


@few
@given(problems(max_rows=30, max_columns=3, max_depth=3), asked, switches)
def test_three_levels(problem, asked, options):
    assert_is_the_reference(problem, asked, options)


@few
@given(hard_problems, asked, switches)
def test_nothing_but_time_depends_on_how_it_is_searched(problem, asked, options):
    problem = replace(problem, objective=replace(problem.objective, k=problem.objective.k[:3]))
    asked = replace(asked, n=min(asked.n, 200), epsilon=min(asked.epsilon, 0.5))
    plain = near_optimal(problem, asked, use_cache=False, use_bounds=False, kernel="scalar", arrange="never")
    solutions = near_optimal(problem, asked, **options)
    assert len(solutions) == len(plain)
    for solution, expected in zip(solutions, plain, strict=True):
        assert_identical(solution, expected)
        assert_describes(solution, problem)
    assert_identical(solutions[0], problem.engine())
    shorter = near_optimal(problem, replace(asked, n=(len(plain) + 1) // 2), **options)
    for solution, expected in zip(shorter, plain[: (len(plain) + 1) // 2], strict=True):
        assert_identical(solution, expected)


def test_the_limit_is_exact():
    """0.1 is a little more than a tenth, 0.3 a little less than three tenths; with "tie" only the errors count."""
    problem = Problem(
        np.zeros((1, 1), bool), np.zeros(1, np.int32), read_spec(TopKTreeClassifier()).objective(data(*mixed()))
    )
    objective = replace(problem.objective, cost_scale=1, leaves_break_ties=False)
    assert oracle.cost_limit(objective, 1000, 0.1) == 1100
    assert oracle.cost_limit(objective, 1000, 0.3) == 1299
    tie = replace(objective, cost_scale=100, leaf_penalty=1, leaves_break_ties=True)
    assert oracle.cost_limit(tie, 1007, 0.1) == 1199
    assert oracle.cost_limit(tie, 1007, 0.09) == 1099


# The classifier.

OPTIONS = (
    {},
    {"k": "all", "max_depth": 2},
    {"k": (4, 1, 2), "criterion": "gini"},
    {"leaf_penalty": 0.01},
    {"leaf_penalty": "tie"},
    {"min_samples_leaf": 4},
    {"min_weight_fraction_leaf": 0.1},
    {"distinct_splits": True},
    {"class_weight": "balanced"},
    {"class_weight": {0: 1.5, 1: 0.25}, "min_samples_leaf": 2},
    {"criterion": user_criterion},
    {"max_depth": 4, "k": 2, "n_jobs": 2},
    {"max_depth": 0},
    {"k": 1},
    {"memory_limit": 0},
    {"time_limit": 1000.0},
)


def random_data(seed, n=50, d=9):
    """Boolean columns with copies, complements and equal rows, so that there are many ties; some weights are zero."""
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, n, d)
    y = random_classes(rng, columns, int(rng.integers(2, 4)))
    y[:2] = 0, 1
    weight = (None, rng.integers(0, 4, n) + (np.arange(n) < 2), rng.random(n) + 0.01)[seed % 3]
    return columns, y, weight


def mixed():
    """Numbers, categories, booleans and missing values."""
    people = make_people(120)
    return people[["age", "job", "height", "urban"]], people["income"].to_numpy()


def data(X, y, **parameters):
    return training.prepare(TopKTreeClassifier(**parameters), X, y, None)


def small(**parameters):
    return TopKTreeClassifier(**{"k": 3, "max_depth": 3, **parameters})


def same_trees(one, other):
    return len(one) == len(other) and all(
        np.array_equal(getattr(a.tree_, array.name), getattr(b.tree_, array.name), equal_nan=True)
        for a, b in zip(one, other, strict=True)
        for array in fields(Tree)
    )


def assert_in_order(trees, clf, X, y, weight, epsilon):
    """Rising costs within the limit, the first as `fit` has it, and predictions that differ where rows have weight."""
    assert same_trees(trees[:1], [clf])
    assert (trees[0].cost_, trees[0].train_errors_) == (clf.cost_, clf.train_errors_)
    assert np.all(np.diff(trees.costs) >= 0)
    assert trees.costs[-1] <= clf.cost_ * (1 + Fraction(epsilon)) * (1 + 1e-12)
    kept = np.ones(len(y), bool) if weight is None else np.asarray(weight) > 0
    predictions = {tree.predict(X)[kept].tobytes() for tree in trees}
    assert len(predictions) == len(trees)
    for i, tree in enumerate(trees):
        assert tree.train_errors_ == trees.train_errors[i] == np.count_nonzero(tree.predict(X) != y)
        assert (tree.cost_, tree.get_n_leaves(), tree.get_depth()) == (
            trees.costs[i],
            trees.n_leaves[i],
            trees.depths[i],
        )
        assert tree.get_params() == clf.get_params()
        assert tree.status_ == clf.status_
        assert (tree.search_["root"], tree.search_["n_root"]) == ([], 0)
        assert set(tree.search_) == set(clf.search_)


@pytest.mark.parametrize("options", OPTIONS, ids=label)
@pytest.mark.parametrize("seed", seed_range(3))
def test_the_trees_are_in_order_and_the_classifier_stays_as_it_is(seed, options):
    X, y, weight = random_data(seed)
    clf = small(**options).fit(X, y, weight)
    before = vars(clf).copy()
    trees = clf.near_optimal(X, y, weight, n=20, epsilon=0.3)
    assert vars(clf) == before
    assert isinstance(trees, NearOptimalTrees)
    assert trees.complete
    assert_in_order(trees, clf, X, y, weight, 0.3)
    unfitted = small(**options)
    before = vars(unfitted).copy()
    assert same_trees(trees, unfitted.near_optimal(X, y, weight, n=20, epsilon=0.3))
    assert vars(unfitted) == before


@pytest.mark.parametrize("different", ["predictions", "splits"])
def test_the_trees_of_a_table_are_those_of_the_reference(different):
    X, y = mixed()
    clf = TopKTreeClassifier(k=4, max_depth=2, max_thresholds=6).fit(X, y)
    trees = clf.near_optimal(X, y, n=30, epsilon=0.2, different=different)
    prepared = data(X, y, max_thresholds=6)
    columns = np.unpackbits(prepared.rows.view(np.uint8), axis=1, bitorder="little")[:, : len(prepared.columns)] > 0
    expected = oracle.near_optimal(columns, prepared.y, read_spec(clf).objective(prepared), 30, 0.2, different)
    assert len(trees) == len(expected) > 2
    assert trees.costs.tolist() == [tree.cost for tree in expected]
    for tree, wanted in zip(trees, expected, strict=True):
        assert_is_tree_of_columns(tree.tree_, wanted, prepared.columns)
        np.testing.assert_array_equal(tree.feature_names_in_, X.columns)


def assert_is_tree_of_columns(tree, wanted, columns):
    """The same nodes with the same tests; what is yes goes left."""
    with_missing = columns.feature[columns.test == IS_MISSING]
    n_nodes, todo = 0, [(0, 0)]
    while todo:
        node, other = todo.pop()
        n_nodes += 1
        j = wanted.column[other]
        assert (tree.children_left[node] < 0) == (j < 0)
        if j < 0:
            continue
        assert tree.test(node)[:2] == (columns.feature[j], columns.test[j])
        if columns.test[j] != IS_MISSING:
            assert tree.test(node).value == columns.value[j]
            assert tree.test(node).missing == columns.or_missing[j] or columns.feature[j] not in with_missing
        yes, no = wanted.true_child[other], wanted.false_child[other]
        if columns.test[j] == AT_MOST:  # its bit is set where it is false
            yes, no = no, yes
        todo += [(tree.children_left[node], yes), (tree.children_right[node], no)]
    assert n_nodes == tree.node_count == len(wanted.column)


def test_copies_of_columns_count_as_splits_only():
    X = np.repeat([[0, 0], [1, 1]], [4, 3], axis=0)
    y = [0, 0, 0, 1, 1, 1, 0]
    clf = TopKTreeClassifier(k="all", max_depth=1).fit(X, y)
    assert clf.near_optimal(X, y, n=9, epsilon=0.4).train_errors.tolist() == [2]
    assert clf.near_optimal(X, y, n=9, epsilon=0.4, different="splits").train_errors.tolist() == [2, 2]
    assert clf.near_optimal(X, y, n=9, epsilon=0.5).train_errors.tolist() == [2, 3]  # the single leaf
    assert clf.near_optimal(X, y, n=9, epsilon=0.5, different="splits").n_leaves.tolist() == [2, 2, 1]
    assert clf.near_optimal(X, y, n=2, epsilon=0.5, different="splits").n_leaves.tolist() == [2, 2]


def test_few_trees_are_the_first_of_many():
    X, y = load_breast_cancer(return_X_y=True)
    clf = TopKTreeClassifier(max_depth=3).fit(X, y)
    trees = clf.near_optimal(X, y, n=12, epsilon=0.2)
    assert len(trees) == 12
    for n in (1, 2, 11):
        assert same_trees(clf.near_optimal(X, y, n=n, epsilon=0.2), trees[:n])
    assert same_trees(clf.near_optimal(X, y, n=1, epsilon=0), [clf])


def test_what_comes_out_is_a_fitted_classifier(tmp_path):
    X, y = mixed()
    tree = TopKTreeClassifier(k=4, max_depth=2).near_optimal(X, y, n=3, epsilon=0.2)[-1]
    assert tree.score(X, y) == pytest.approx(1 - tree.train_errors_ / len(y))
    assert "class: high" in tree.export_text()
    np.testing.assert_array_equal(tree.to_sklearn().predict(X), tree.predict(X))
    tree.report(tmp_path / "report.html")
    tree.save(tmp_path / "model.json")
    loaded = topktree.load(tmp_path / "model.json")
    assert (loaded.cost_, loaded.status_, loaded.search_) == (tree.cost_, tree.status_, tree.search_)
    np.testing.assert_array_equal(loaded.predict(X), tree.predict(X))
    assert len(tree.prune(X, y).pruning_path().n_leaves) > 0


def test_rows_without_weight_that_cannot_be_read():
    """They may hold anything, and no tree gets them wrong."""
    X = np.array([[1], [2], [1], [2], ["many"]], dtype=object)
    clf = TopKTreeClassifier(max_depth=1, categorical_features=None)
    trees = clf.near_optimal(X, [0, 1, 0, 1, 1], [1, 1, 1, 1, 0], n=3, epsilon=1.0)
    assert trees.train_errors.tolist() == [0]
    X[4] = 1
    trees = clf.near_optimal(X, [0, 1, 0, 1, 1], [1, 1, 1, 1, 0], n=3, epsilon=1.0)
    assert trees.train_errors.tolist() == [1]


# Bad input.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be an int >= 1, got 0"),
        ({"n": 2.0}, "n must be an int >= 1, got 2.0"),
        ({"n": True}, "n must be an int >= 1, got True"),
        ({"n": None}, "n must be an int >= 1, got None"),
        ({"epsilon": -0.1}, "epsilon must be a finite number >= 0, got -0.1"),
        ({"epsilon": np.inf}, "epsilon must be a finite number >= 0, got inf"),
        ({"epsilon": np.nan}, "epsilon must be a finite number >= 0, got nan"),
        ({"epsilon": "much"}, "epsilon must be a finite number >= 0, got 'much'"),
        ({"different": "trees"}, "different must be one of 'predictions', 'splits', got 'trees'"),
        ({"different": None}, "different must be one of 'predictions', 'splits', got None"),
    ],
    ids=label,
)
def test_arguments_are_checked(arguments, message):
    X, y, _ = random_data(0)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        small().near_optimal(X, y, **arguments)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("parameters", "X", "y"),
    [
        ({"k": 0}, np.eye(4), [0, 1, 0, 1]),
        ({}, np.eye(4), [0, 1, 0]),
        ({}, np.eye(4), [1, 1, 1, 1]),
        ({"criterion": lambda left, right: left}, np.eye(4), [0, 1, 0, 1]),
    ],
    ids=label,
)
def test_errors_are_those_of_fit(parameters, X, y):
    with pytest.raises(ValueError, match=r".") as of_fit:
        TopKTreeClassifier(**parameters).fit(X, y)
    with pytest.raises(type(of_fit.value)) as of_trees:
        TopKTreeClassifier(**parameters).near_optimal(X, y)
    assert str(of_trees.value) == str(of_fit.value)


def test_large_numbers():
    X, y, _ = random_data(0)
    clf = small(max_depth=1)
    trees = clf.near_optimal(X, y, n=10**30, epsilon=1e300)
    assert 1 < len(trees) < 10
    assert same_trees(trees, clf.near_optimal(X, y, n=np.int64(1000), epsilon=np.float32(1e30)))


# Limits.


def hard_data(n=2000, d=60):
    """Nothing to be learned: there are trees without end."""
    rng = np.random.default_rng(0)
    return rng.random((n, d)) < 0.5, rng.integers(2, size=n)


@pytest.mark.parametrize("time_limit", [1e-6, 0.3])
def test_when_time_is_up_the_trees_so_far_come_back(time_limit):
    X, y = hard_data()
    clf = TopKTreeClassifier(k=16, max_depth=5, time_limit=time_limit)
    trees = clf.near_optimal(X, y, n=10**9, epsilon=1.0)
    assert not trees.complete
    assert {tree.status_ for tree in trees} == {"time_limit"}
    assert np.all(np.diff(trees.costs) >= 0)
    assert len({tree.predict(X).tobytes() for tree in trees[:50]}) == min(len(trees), 50)
    assert str(trees[:3]).endswith("\nnot complete: there may be other trees between these")


def test_time_is_up_after_the_first_search():
    """Of few candidates per node: the best tree is known, and the first of what comes back."""
    X, y = hard_data(300, 40)
    clf = TopKTreeClassifier(k=4, max_depth=4).fit(X, y)
    trees = clf.set_params(time_limit=0.2).near_optimal(X, y, n=10**9, epsilon=10.0)
    assert not trees.complete
    assert same_trees(trees[:1], [clf])


def test_ctrl_c_ends_it(ctrl_c):
    X, y = hard_data(300, 40)
    clf = TopKTreeClassifier(k=4, max_depth=4).fit(X, y)
    before = vars(clf).copy()
    ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        clf.near_optimal(X, y, n=10**9, epsilon=10.0)
    assert vars(clf) == before


def test_nothing_is_printed(capsys):
    X, y, _ = random_data(0)
    assert small(verbose=1).near_optimal(X, y, n=3, epsilon=0.1).complete
    assert capsys.readouterr() == ("", "")


# A sequence, tables and a picture.


@pytest.fixture
def trees():
    X, y = datasets.load_monks(1, return_X_y=True)
    return TopKTreeClassifier(max_depth=3).near_optimal(X, y, n=20, epsilon=0.25)


def test_it_is_a_sequence(trees):
    assert len(trees) == len(list(trees)) == 14
    assert trees[-1] is trees.estimators[13]
    assert trees[3] in trees
    assert trees.index(trees[3]) == 3
    with pytest.raises(IndexError):
        trees[14]
    part = trees[2:5]
    assert isinstance(part, NearOptimalTrees)
    assert list(part) == trees.estimators[2:5]
    assert (part.costs.tolist(), part.n_leaves.tolist()) == ([48, 48, 60], [7, 7, 7])
    assert (part.epsilon, part.complete) == (0.25, True)
    assert "TopKTreeClassifier" not in repr(trees)


def test_text(trees):
    assert str(trees[3:6]) == (
        "rank  cost  errors  n_leaves  depth  features\n"
        "   1    48      48         7      3  x0, x1, x4\n"
        "   2    60      60         7      3  x0, x1, x4\n"
        "   3    60      60         8      3  x0, x1, x4"
    )
    X, y, weight = random_data(2)
    of_weights = small(max_depth=1, leaf_penalty=0.01).near_optimal(X, y, weight, n=4, epsilon=9.0)
    assert str(of_weights).splitlines()[1].split()[1] == f"{of_weights[0].cost_:.6g}"
    leaf = str(small(max_depth=0).near_optimal(X, y, n=4, epsilon=9.0))
    assert leaf.splitlines()[1].split()[-1] == "0"  # its depth: it looks at no feature


def test_tables(trees):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(trees.table())
    assert list(frame.columns) == ["rank", "cost", "errors", "n_leaves", "depth", "features"]
    assert frame["rank"].tolist() == list(range(1, 15))
    assert frame["errors"].tolist() == trees.train_errors.tolist()
    importances = trees.importances()
    assert importances.shape == (14, 6)
    np.testing.assert_array_equal(importances[5], trees[5].feature_importances_)
    table = pandas.DataFrame(trees.importance_table()).set_index("feature")
    assert list(table.columns) == ["min", "mean", "max", "share"]
    assert table["mean"].is_monotonic_decreasing
    for i, name in enumerate(["x0", "x1", "x2", "x3", "x4", "x5"]):
        assert table["min"][name] == importances[:, i].min()
        assert table["mean"][name] == pytest.approx(importances[:, i].mean())
        assert table["max"][name] == importances[:, i].max()
        assert table["share"][name] == (1.0 if name in ("x0", "x1", "x4") else 0.0)


def test_a_split_that_lowers_no_impurity_is_a_use():
    """Parity: the first split says nothing by itself."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2)
    tree = TopKTreeClassifier(k=2, max_depth=2).near_optimal(X, X[:, 0] ^ X[:, 1], n=1, epsilon=0)
    assert tree.importances()[0].min() == 0
    assert tree.importance_table()["share"].tolist() == [1, 1]


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    yield plt
    plt.close("all")


def test_plot(trees, plt):
    ax = trees.plot()
    ax.figure.canvas.draw()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["x4", "x1", "x0"]
    assert ax.yaxis_inverted()
    importances = trees.importances()[:, [4, 1, 0]]
    first = [dots.get_offsets()[:, 0].tolist() for dots in ax.collections[1::3]]
    others = [dots.get_offsets()[:, 0].tolist() for dots in ax.collections[0::3]]
    np.testing.assert_array_equal(np.array([a + b for a, b in zip(first, others, strict=True)]).T, importances)
    ranges = [line.get_xdata() for line in ax.lines]
    np.testing.assert_array_equal(ranges, np.column_stack([importances.min(axis=0), importances.max(axis=0)]))
    means = [lines.get_segments()[0][0, 0] for lines in ax.collections[2::3]]
    np.testing.assert_allclose(means, importances.mean(axis=0))
    assert ax.get_title() == "14 trees"


def test_plot_on_given_axes(trees, plt):
    _, ax = plt.subplots()
    assert trees[:1].plot(ax) is ax
    assert ax.get_title() == "1 tree"


def test_plot_of_many_features(plt):
    rng = np.random.default_rng(0)
    X = rng.random((400, 40)) < 0.5
    trees = TopKTreeClassifier(k=3, max_depth=5).near_optimal(X, rng.integers(2, size=400), n=30, epsilon=0.5)
    ax = trees.plot()
    assert len(ax.get_yticks()) == 20
    n_used = np.count_nonzero(trees.importances().any(axis=0))
    assert n_used > 20
    assert ax.get_xlabel() == f"feature importance ({n_used - 20} less important features are not shown)"


@pytest.mark.parametrize("which", [slice(0), slice(1)], ids=["no tree", "a leaf"])
def test_nothing_to_show(which, plt):
    trees = TopKTreeClassifier(max_depth=0).near_optimal(np.eye(4), [0, 1, 0, 1], n=3, epsilon=0)[which]
    assert len(trees.plot().get_yticks()) == 0
    assert len(trees.importance_table()["share"]) == 4 * len(trees)
    assert len(str(trees).splitlines()) == 1 + len(trees)
