"""The leaf-penalty path: against all trees of small problems, against `fit`, under limits, and as table and picture."""

from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from support import oracle
from support.problems import label, random_classes, random_columns, user_criterion
from support.profiles import seed_range

from topktree import TopKTreeClassifier
from topktree._data.training import prepare
from topktree._runtime.limits import Limits, OutOfTime
from topktree._search import objective, penalty_path
from topktree._search.spec import read_spec
from topktree._tree.tree import Tree

OPTIONS = (
    {},
    {"k": "all", "max_depth": 2},
    {"k": (4, 1, 2), "criterion": "gini"},
    {"min_samples_leaf": 4},
    {"min_weight_fraction_leaf": 0.1},
    {"distinct_splits": True},
    {"class_weight": "balanced"},
    {"class_weight": {0: 1.5, 1: 0.25}, "min_samples_leaf": 2},
    {"criterion": user_criterion},
    {"max_depth": 4, "k": 2, "n_jobs": 2},
)


def random_data(seed, n=50, d=9):
    """Boolean columns with copies, complements and equal rows, so that there are many ties; two or three classes."""
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, n, d)
    y = random_classes(rng, columns, int(rng.integers(2, 4)))
    y[:2] = 0, 1
    weight = (None, rng.integers(0, 4, n) + (np.arange(n) < 2), rng.random(n) + 0.01)[seed % 3]
    return columns, y, weight


def small(**parameters):
    return TopKTreeClassifier(**{"k": 3, "max_depth": 3, **parameters})


def all_points(columns, class_weights, level, objective, unit):
    """(leaves, errors) of every tree that Top-k chooses from, in integer weight."""
    totals = class_weights.sum(axis=0)
    points = {(1, int(totals.sum() - totals.max()))}
    if level == objective.depth or np.count_nonzero(totals) < 2:
        return points
    for column in oracle.candidates(columns, class_weights, level, objective, unit):
        side = columns[:, column]
        below = [all_points(columns[s], class_weights[s], level + 1, objective, unit) for s in (~side, side)]
        points |= {(a + b, e + f) for a, e in below[0] for b, f in below[1]}
    return points


def corners(points):
    """The lower left hull by falling leaves, without points on its edges."""
    hull = []
    for leaves, errors in sorted(points):
        if hull and errors >= min(e for _, e in hull):
            continue
        while len(hull) > 1 and slope(hull[-2], hull[-1]) <= slope(hull[-2], (leaves, errors)):
            hull.pop()
        hull.append((leaves, errors))
    return hull[::-1]


def slope(one, other):
    """Errors saved per leaf."""
    return Fraction(one[1] - other[1], other[0] - one[0])


def expected_path(classifier, columns, y, weight):
    """The corners by brute force, errors in the user's weights."""
    classifier = clone(classifier).set_params(leaf_penalty=0.0)
    kept = np.ones(len(y), dtype=bool) if weight is None else weight > 0
    objective = read_spec(classifier).objective(prepare(classifier, columns, y, weight))
    _, classes = np.unique(y[kept], return_inverse=True)
    class_weights = np.eye(objective.n_classes, dtype=np.int64)[classes] * objective.class_weight
    if objective.row_weight is not None:
        class_weights = class_weights * objective.row_weight[:, None]
    unit = oracle.fixed_point(int(class_weights.sum()))
    points = all_points(columns[kept], class_weights, 0, objective, unit)
    return [(leaves, objective.user_cost(errors)) for leaves, errors in corners(points)]


def assert_is_the_fit(estimator, classifier, X, y, weight, penalty):
    """All that `fit` sets, but for how the search went."""
    direct = clone(classifier).set_params(leaf_penalty=penalty).fit(X, y, weight)
    assert estimator.get_params() == direct.get_params()
    for array in fields(Tree):
        one, other = getattr(estimator.tree_, array.name), getattr(direct.tree_, array.name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, err_msg=array.name)
    for name in ("cost_", "train_errors_", "status_", "features_", "n_features_in_"):
        assert getattr(estimator, name) == getattr(direct, name), name
    assert set(vars(estimator)) == set(vars(direct))
    assert set(estimator.search_) == set(direct.search_)
    assert [step["cost"] for step in estimator.search_["trace"]] == [estimator.cost_]


def assert_describes_fits(path, classifier, X, y, weight=None):
    assert len(path) == len(path.estimators) == len(path.leaf_penalties)
    assert np.all(np.diff(path.leaf_penalties) > 0)
    assert np.all(np.diff(path.n_leaves) < 0)
    assert np.all(np.diff(path.errors) > 0)
    assert path.n_leaves[-1] == 1
    for i, estimator in enumerate(path.estimators):
        assert_is_the_fit(estimator, classifier, X, y, weight, float(path.leaf_penalties[i]))
        tree = estimator.tree_
        leaf = tree.children_left == -1
        errors = tree.value[leaf].sum() - tree.value[leaf].max(axis=1).sum()
        assert (tree.n_leaves, tree.max_depth) == (path.n_leaves[i], path.depths[i])
        assert errors == pytest.approx(path.errors[i], abs=1e-9 * tree.value[0].sum())
        assert path.train_accuracies[i] == pytest.approx(1 - errors / tree.value[0].sum())


@pytest.mark.parametrize("options", OPTIONS, ids=label)
@pytest.mark.parametrize("seed", seed_range(9))
def test_brute_force_and_fit_agree(seed, options):
    columns, y, weight = random_data(seed)
    classifier = small(**options)
    path = classifier.leaf_penalty_path(columns, y, weight)
    assert path.complete
    assert list(zip(path.n_leaves.tolist(), path.errors.tolist(), strict=True)) == expected_path(
        classifier, columns, y, weight
    )
    assert_describes_fits(path, classifier, columns, y, weight)


def test_corners_leave_out_what_is_on_an_edge():
    assert corners({(1, 10), (2, 8), (3, 6), (4, 5), (5, 5), (6, 0), (7, 0)}) == [(6, 0), (1, 10)]
    assert corners({(1, 10), (2, 7), (3, 4), (3, 6), (4, 3), (5, 2), (5, 1)}) == [(5, 1), (3, 4), (1, 10)]


def test_a_real_table():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    classifier = TopKTreeClassifier(k=3, max_depth=4)
    path = classifier.leaf_penalty_path(X, y)
    assert path.complete
    assert len(path) > 4
    assert path.errors.dtype == np.int64
    assert_describes_fits(path, classifier, X, y)
    assert path.errors[0] == classifier.fit(X, y).cost_
    assert path.n_leaves[0] == classifier.set_params(leaf_penalty="tie").fit(X, y).get_n_leaves()
    np.testing.assert_array_equal(path.estimators[0].feature_names_in_, X.columns)


def test_penalties_have_few_digits():
    X, y = load_breast_cancer(return_X_y=True)
    path = TopKTreeClassifier(k=3, max_depth=4).leaf_penalty_path(X, y)
    assert all(float(f"{penalty:.2g}") == penalty for penalty in path.leaf_penalties)


@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.array([[0, 1]] * 3 + [[1, 0]] * 3)])
def test_a_single_leaf(X):
    y = [0, 0, 1] * 2
    path = TopKTreeClassifier(max_depth=2).leaf_penalty_path(X, y)
    assert path.complete
    assert (path.n_leaves.tolist(), path.errors.tolist(), path.depths.tolist()) == ([1], [2], [0])
    assert_describes_fits(path, TopKTreeClassifier(max_depth=2), X, y)


# Weights that integers hardly hold.


def test_a_tree_that_no_penalty_gives_is_left_out(monkeypatch):
    """Penalties rounded to whole rows: those of less than one row's weight, or between two numbers, cannot be had."""
    X, y, _ = random_data(2, n=80, d=12)
    classifier = small(max_depth=4)
    full = classifier.leaf_penalty_path(X, y)
    monkeypatch.setattr(objective, "PENALTY_BITS", 0)
    path = classifier.leaf_penalty_path(X, y)
    assert 2 <= len(path) < len(full)
    assert not path.complete
    assert set(path.n_leaves.tolist()) < set(full.n_leaves.tolist())
    assert_describes_fits(path, classifier, X, y)


def test_costs_near_the_limit_of_the_integers(monkeypatch):
    """Where the most leaves there could be are too many for the weights, the leaves of a tree may not be."""
    X, y, _ = random_data(2, n=80, d=12)
    classifier = small(max_depth=4)
    full = classifier.leaf_penalty_path(X, y)
    bits = (len(y) * (full.n_leaves[0] + 1)).item().bit_length()
    assert 2**bits < len(y) * 17
    monkeypatch.setattr(penalty_path, "COST_BITS", bits)
    assert str(classifier.leaf_penalty_path(X, y)) == str(full)
    monkeypatch.setattr(penalty_path, "COST_BITS", 7)
    with pytest.raises(ValueError, match="needs smaller weights or max_depth, got a total of 80"):
        classifier.leaf_penalty_path(X, y)


def test_huge_weights():
    X, y, _ = random_data(3)
    weight = np.random.default_rng(0).integers(2**29, 2**30, len(y)) * 2.0**40
    path = small().leaf_penalty_path(X, y, weight)
    assert path.complete
    assert_describes_fits(path, small(), X, y, weight)


# Limits.


def hard_data(n=2000, d=60):
    """Nothing to be learned: a search takes a few tenths of a second."""
    rng = np.random.default_rng(0)
    return rng.random((n, d)) < 0.5, rng.integers(2, size=n)


def test_no_time_leaves_the_two_ends():
    X, y = load_breast_cancer(return_X_y=True)
    full = TopKTreeClassifier(k=3, max_depth=3).leaf_penalty_path(X, y)
    path = TopKTreeClassifier(k=3, max_depth=3, time_limit=1e-6).leaf_penalty_path(X, y)
    assert not path.complete
    assert path.n_leaves.tolist() == [full.n_leaves[0], 1]
    for estimator, penalty in zip(path.estimators, path.leaf_penalties.tolist(), strict=True):
        assert (estimator.time_limit, estimator.status_) == (1e-6, "complete")
        direct = TopKTreeClassifier(k=3, max_depth=3, leaf_penalty=penalty).fit(X, y)
        assert estimator.export_text() == direct.export_text()


def test_time_enough():
    X, y, _ = random_data(4)
    path = small(time_limit=1000.0).leaf_penalty_path(X, y)
    assert path.complete
    assert str(path) == str(small().leaf_penalty_path(X, y))
    assert_describes_fits(path, small(time_limit=1000.0), X, y)


@pytest.mark.parametrize("seed", seed_range(6))
def test_whenever_time_is_up_every_tree_is_a_fit(seed, monkeypatch):
    X, y, weight = random_data(seed, n=80, d=12)
    classifier = small(max_depth=4)
    full = classifier.leaf_penalty_path(X, y, weight)
    solve = penalty_path._Search._solve_in_time
    lengths = []
    for n_searches in range(2 * len(full)):
        left = iter(range(n_searches))

        def solve_some(search, *args, left=left):
            if next(left, None) is None:
                raise OutOfTime
            return solve(search, *args)

        monkeypatch.setattr(penalty_path._Search, "_solve_in_time", solve_some)
        path = classifier.leaf_penalty_path(X, y, weight)
        assert set(path.n_leaves.tolist()) <= set(full.n_leaves.tolist())
        assert path.n_leaves[0] == full.n_leaves[0]
        assert_describes_fits(path, classifier, X, y, weight)
        lengths.append(len(path))
        assert len(path) == len(full) or not path.complete
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1], path.complete) == (min(2, len(full)), len(full), True)


def test_a_search_is_stopped_when_time_is_up(monkeypatch):
    """By a clock that jumps after the search has begun."""
    X, y = hard_data()
    searches = []
    solve = penalty_path._Search._solve_in_time

    def solve_until_stopped(search, *args):
        looks = iter([False])
        monkeypatch.setattr(Limits, "is_past", property(lambda _: next(looks, True)))
        searches.append("begun")
        return solve(search, *args)

    monkeypatch.setattr(penalty_path._Search, "_solve_in_time", solve_until_stopped)
    monkeypatch.setattr(Limits, "is_past", False)
    path = TopKTreeClassifier(k=16, max_depth=5, time_limit=1.0).leaf_penalty_path(X, y)
    assert not path.complete
    assert len(path) == 2
    assert searches == ["begun"]


def test_ctrl_c_ends_it_and_leaves_an_earlier_fit(ctrl_c):
    X, y = hard_data()
    classifier = TopKTreeClassifier(k=60, max_depth=5)
    before = vars(classifier).copy()
    ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        classifier.leaf_penalty_path(X, y)
    assert vars(classifier) == before


# The classifier, and bad input.


@pytest.mark.parametrize("penalty", [0.3, "tie"])
@pytest.mark.parametrize("fit_first", [False, True])
def test_the_classifier_stays_as_it_is(penalty, fit_first, capsys):
    X, y, weight = random_data(4)
    classifier = small(leaf_penalty=penalty, verbose=1)
    if fit_first:
        classifier.fit(X[:, :3], y)
    before = vars(classifier).copy()
    path = classifier.leaf_penalty_path(X, y, weight)
    assert vars(classifier) == before
    assert str(path) == str(small().leaf_penalty_path(X, y, weight))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("parameters", "X", "y", "weight"),
    [
        ({"k": 0}, np.eye(4), [0, 1, 0, 1], None),
        ({"max_depth": -1}, np.eye(4), [0, 1, 0, 1], None),
        ({"time_limit": 0}, np.eye(4), [0, 1, 0, 1], None),
        ({}, np.eye(4), [0, 1, 0], None),
        ({}, np.eye(4), [1, 1, 1, 1], None),
        ({}, np.eye(4), [0.5, 1, 0, 1], None),
        ({}, np.zeros(4), [0, 1, 0, 1], None),
        ({}, np.eye(4), [0, 1, 0, 1], [1, -1, 1, 1]),
        ({"class_weight": "heavy"}, np.eye(4), [0, 1, 0, 1], None),
        ({"criterion": lambda left, right: left}, np.eye(4), [0, 1, 0, 1], None),
    ],
)
def test_errors_are_those_of_fit(parameters, X, y, weight):
    with pytest.raises(ValueError, match=r".") as of_fit:
        TopKTreeClassifier(**parameters).fit(X, y, weight)
    with pytest.raises(type(of_fit.value)) as of_path:
        TopKTreeClassifier(**parameters).leaf_penalty_path(X, y, weight)
    assert str(of_path.value) == str(of_fit.value)


# Table and picture.


@pytest.fixture
def path():
    """One leaf gets 23 rows wrong; the first column is worth 19 of them, the second 3, the third 1."""
    X = np.repeat([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], [20, 20, 3, 1], axis=0)
    y = np.repeat([0, 1, 2, 0], [20, 20, 3, 1])
    return TopKTreeClassifier(k="all", max_depth=3).leaf_penalty_path(X, y)


def test_text(path):
    assert (
        str(path)
        == """\
leaf_penalty  n_leaves  depth  errors  train_accuracy
        0.01         4      3       0          1.0000
        0.05         3      2       1          0.9773
         0.2         2      1       4          0.9091
         0.7         1      0      23          0.4773"""
    )


def test_text_says_if_there_may_be_more():
    X, y, _ = random_data(4)
    text = str(small(time_limit=1e-6).leaf_penalty_path(X, y))
    assert text.splitlines()[-1] == "not complete: there may be more trees between these"


def test_table(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(path.table())
    assert list(frame.columns) == ["leaf_penalty", "n_leaves", "depth", "errors", "train_accuracy"]
    assert frame["errors"].tolist() == [0, 1, 4, 23]
    assert frame["leaf_penalty"].tolist() == path.leaf_penalties.tolist()


def test_repr_has_no_trees(path):
    assert "TopKTreeClassifier" not in repr(path)


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    yield plt
    plt.close("all")


def labels(ax):
    return [text.get_text() for text in ax.texts]


def test_plot(path, plt):
    ax = path.plot()
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([path.n_leaves, path.errors]))
    assert sorted(labels(ax)) == sorted(str(penalty) for penalty in path.leaf_penalties.tolist())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("leaves", "training errors")
    assert ax.get_ylim()[0] == 0


def test_plot_on_given_axes_with_weights(plt):
    X, y, weight = random_data(5)
    _, ax = plt.subplots()
    assert small().leaf_penalty_path(X, y, weight).plot(ax) is ax
    assert ax.get_ylabel() == "weight of the training errors"


def test_labels_of_many_trees_do_not_cover_each_other(plt):
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).random(len(y)) + 0.1
    path = TopKTreeClassifier(k=2, max_depth=6).leaf_penalty_path(X, y, weight)
    ax = path.plot()
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert 2 < len(boxes) < len(path)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert {str(path.leaf_penalties[i].item()) for i in (0, -1)} <= set(labels(ax))


def test_plot_of_a_single_leaf(plt):
    ax = TopKTreeClassifier(max_depth=0).leaf_penalty_path(np.eye(4), [0, 1, 0, 1]).plot()
    assert labels(ax) == ["0.5"]
    low, high = ax.get_xlim()
    assert [tick for tick in ax.get_xticks() if low <= tick <= high] == [1]
