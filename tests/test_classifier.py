"""The classifier as its users meet it: scikit-learn's contract, all kinds of input, bad input, weights, attributes."""

import copy
import pickle
import re
import subprocess
import sys
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted
from support.problems import CRITERIA, STATISTICS, label, make_problem, user_criterion
from support.profiles import seed_range

from topktree import TopKBoostingClassifier, TopKForestClassifier, TopKTreeClassifier, TopKTreeClassifierCV

TREE_ARRAYS = (
    "children_left",
    "children_right",
    "feature",
    "threshold",
    "value",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
)


def assert_same_fit(one, other, names=TREE_ARRAYS):
    for name in names:
        np.testing.assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name), err_msg=name)
    assert one.cost_ == other.cost_


def boolean_data(n=300, d=12, n_classes=2, seed=0):
    """Columns, and labels that follow three of them with noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) < 0.5
    y = (X[:, 0] & X[:, 1]) + X[:, 2].astype(int) * (n_classes - 1)
    return X, np.where(rng.random(n) < 0.15, rng.integers(n_classes, size=n), y % n_classes)


def numeric_data(n=200, seed=0):
    """Whole numbers, so that every type of number holds them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, 5))
    y = (X[:, 0] > 20).astype(int) + (X[:, 1] + X[:, 2] > 45)
    return X, np.where(rng.random(n) < 0.1, rng.integers(3, size=n), y)


def fitted(X, y, sample_weight=None, **parameters):
    return TopKTreeClassifier(**{"max_depth": 3, **parameters}).fit(X, y, sample_weight=sample_weight)


# scikit-learn's contract.


@parametrize_with_checks(
    [
        TopKTreeClassifier(),
        TopKTreeClassifier(k=(4, 3, 2), max_depth=3, criterion="gini", leaf_penalty="tie", n_jobs=2),
        TopKTreeClassifier(k="all", max_depth=2, criterion="gain_ratio", max_thresholds=None),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_clone_and_parameters():
    classifier = TopKTreeClassifier(k=[3, 2], max_depth=2, criterion=user_criterion, class_weight={0: 1, 1: 2})
    assert clone(classifier).get_params() == classifier.get_params()
    assert set(classifier.get_params()) >= {
        "k",
        "max_depth",
        "criterion",
        "min_samples_leaf",
        "leaf_penalty",
        "class_weight",
        "max_thresholds",
        "time_limit",
        "memory_limit",
        "n_jobs",
        "verbose",
    }
    X, y = boolean_data()
    classifier.fit(X, y)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(classifier))


@pytest.mark.parametrize("copied", [lambda c: pickle.loads(pickle.dumps(c)), copy.deepcopy, copy.copy])
def test_copies_predict_alike(copied):
    X, y = numeric_data()
    classifier = fitted(X, y, criterion=user_criterion, class_weight="balanced")
    other = copied(classifier)
    assert_same_fit(other, classifier)
    assert (other.status_, other.search_, other.train_errors_) == (
        classifier.status_,
        classifier.search_,
        classifier.train_errors_,
    )
    np.testing.assert_array_equal(other.predict_proba(X), classifier.predict_proba(X))
    assert_same_fit(other.fit(X, y), classifier)


def test_pipeline():
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), TopKTreeClassifier(k=3, max_depth=3)).fit(X, y)
    assert pipeline.score(X, y) > 0.95


def test_grid_search_in_two_processes():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(TopKTreeClassifier(), {"k": [1, 3], "max_depth": [1, 3]}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_["max_depth"] == 3
    assert search.best_score_ > 0.9
    alone = TopKTreeClassifier(**search.best_params_).fit(X, y)
    assert_same_fit(search.best_estimator_, alone)


def test_cross_validation():
    X, y = load_iris(return_X_y=True)
    scores = cross_val_score(TopKTreeClassifier(k=4, max_depth=3), X, y, cv=5)
    assert scores.min() > 0.85


def test_fits_from_several_threads_at_once():
    problems = [boolean_data(seed=seed, n_classes=2 + seed % 3) for seed in range(12)]

    def fit(job):
        X, y = problems[job % 12]
        criterion = user_criterion if job % 4 == 0 else "entropy"
        return fitted(X, y, k=5, max_depth=4, n_jobs=1 + job % 3, criterion=criterion)

    alone = [fit(job) for job in range(24)]
    with ThreadPoolExecutor(6) as pool:
        for one, other in zip(alone, pool.map(fit, range(24)), strict=True):
            assert_same_fit(one, other)


def test_threads_that_cannot_be_started_do_not_end_the_process():
    pytest.importorskip("resource", reason="limits on a process are a Unix matter")
    program = """
import numpy as np, resource
from topktree import TopKTreeClassifier
X, y = np.random.default_rng(0).random((300, 6)), np.arange(300) % 2
alone = TopKTreeClassifier().fit(X, y)
resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))  # room for a few hundred stacks
try:
    print(TopKTreeClassifier(n_jobs=2000).fit(X, y).cost_ == alone.cost_)
except (MemoryError, OSError, RuntimeError):
    print(True)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_one_fitted_classifier_serves_several_threads():
    X, y = load_breast_cancer(return_X_y=True)
    classifier = fitted(X, y)
    expected = classifier.predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: classifier.predict_proba(X), range(16)):
            np.testing.assert_array_equal(answer, expected)


# Labels.


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["yes", "no", "maybe"]),
        np.array(["yes", "no", "maybe"], dtype=object),
        np.array([-5, 3, 1000]),
        np.array([2**40, -(2**40), 0]),
        np.array([0, 1, 200], dtype=np.uint8),
        np.array([0.0, 1.0, 2.0]),
    ],
    ids=["str", "object", "int", "big int", "uint8", "float"],
)
def test_labels_of_any_type(labels):
    X, y = boolean_data(n_classes=3)
    classifier = fitted(X, labels[y])
    np.testing.assert_array_equal(classifier.classes_, np.unique(labels))
    assert classifier.classes_.dtype == labels.dtype
    predictions = classifier.predict(X)
    assert predictions.dtype == labels.dtype
    assert np.count_nonzero(predictions != labels[y]) == classifier.train_errors_
    assert classifier.cost_ == fitted(X, y).cost_


def test_boolean_labels():
    X, y = boolean_data()
    classifier = fitted(X, y == 1)
    assert classifier.predict(X).dtype == bool
    np.testing.assert_array_equal(classifier.predict(X), fitted(X, y).predict(X) == 1)


@pytest.mark.parametrize("labels", [[1, 0, 0, 1], ["b", "b", "a", "a"], [2, 1, 3, 3, 2, 1]])
def test_a_tied_leaf_predicts_the_first_class(labels):
    classifier = fitted(np.zeros((len(labels), 1)), labels)
    assert (classifier.predict([[0]]) == [min(labels)]).all()


def test_labels_in_a_list():
    X, y = boolean_data()
    assert_same_fit(fitted(X.tolist(), ["ab"[c] for c in y]), fitted(X, y))


@pytest.mark.parametrize("label_type", [int, float, str, object])
def test_hundreds_of_classes(label_type):
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 500
    X = (y[:, None] >> np.arange(9)) & 1 == 1
    X ^= rng.random(X.shape) < 0.01
    labels = y.astype(str).astype(object) if label_type is object else y.astype(label_type)
    classifier = fitted(X, labels, k=2, max_depth=9)
    assert classifier.predict_proba(X).shape == (3000, 500)
    assert classifier.score(X, labels) > 0.85
    assert classifier.train_errors_ == np.count_nonzero(classifier.predict(X) != labels)


# What a fit leaves behind.

PARAMETERS = [
    {},
    {"k": 1},
    {"k": "all", "max_depth": 2},
    {"k": (4, 2, 1), "criterion": "gini"},
    {"criterion": "gain_ratio", "min_samples_leaf": 10},
    {"criterion": "sqrt", "leaf_penalty": 0.01},
    {"criterion": user_criterion, "leaf_penalty": "tie"},
    {"class_weight": "balanced", "min_weight_fraction_leaf": 0.05},
    {"max_thresholds": 3, "max_depth": 5, "n_jobs": 2},
    {"max_depth": 0},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=label)
@pytest.mark.parametrize("data", [boolean_data, numeric_data])
def test_predictions_are_those_of_the_tree(data, parameters):
    X, y = data()
    classifier = fitted(X, y, **parameters)
    tree, leaves = classifier.tree_, classifier.apply(X)
    assert (tree.children_left[leaves] == -1).all()
    value = tree.value[leaves]
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[value.argmax(axis=1)])
    np.testing.assert_allclose(classifier.predict_proba(X), value / value.sum(axis=1, keepdims=True))
    assert classifier.score(X, y) == np.mean(classifier.predict(X) == y)
    assert classifier.train_errors_ == np.count_nonzero(classifier.predict(X) != y)
    assert isinstance(classifier.train_errors_, int)
    assert classifier.get_depth() == tree.max_depth <= classifier.max_depth
    assert classifier.get_n_leaves() == tree.n_leaves
    path = classifier.decision_path(X)
    assert scipy.sparse.issparse(path)
    assert path.shape == (len(X), tree.node_count)
    np.testing.assert_array_equal(path.sum(axis=0).A1, tree.n_node_samples)
    assert (path[np.arange(len(X)), leaves] == 1).all()
    np.testing.assert_array_equal(path.sum(axis=1).A1, tree.node_depths()[leaves] + 1)


@pytest.mark.parametrize("parameters", PARAMETERS, ids=label)
def test_node_arrays_are_those_of_the_rows(parameters):
    X, y = numeric_data()
    classifier = fitted(X, y, **parameters)
    tree = classifier.tree_
    weights = compute_sample_weight(parameters.get("class_weight"), y)
    path = classifier.decision_path(X).toarray().astype(bool)
    for node in range(tree.node_count):
        here = path[:, node]
        counts = np.bincount(y[here], weights[here], minlength=3)
        np.testing.assert_allclose(tree.value[node], counts, rtol=1e-12)
        assert tree.n_node_samples[node] == np.count_nonzero(here)
        assert tree.weighted_n_node_samples[node] == pytest.approx(counts.sum())
    inner = tree.children_left != -1
    assert ((tree.feature >= 0) == inner).all()
    assert (tree.feature[~inner] == -2).all()
    assert (tree.threshold[~inner] == -2).all()
    leaf_sizes = tree.n_node_samples[~inner]
    assert leaf_sizes.min() >= parameters.get("min_samples_leaf", 1)
    shares = tree.weighted_n_node_samples[~inner] / weights.sum()
    assert shares.min() >= parameters.get("min_weight_fraction_leaf", 0)


@pytest.mark.parametrize("parameters", PARAMETERS, ids=label)
def test_importances(parameters):
    X, y = numeric_data()
    classifier = fitted(X, y, **parameters)
    importances = classifier.feature_importances_
    assert importances.shape == (5,)
    assert (importances >= 0).all()
    used = np.unique(classifier.tree_.feature[classifier.tree_.feature >= 0])
    assert importances.sum() == pytest.approx(1 if len(used) else 0)
    assert set(np.flatnonzero(importances)) <= set(used)


def test_cost_is_an_int_without_weights():
    X, y = boolean_data()
    for leaf_penalty in (0.0, "tie"):
        classifier = fitted(X, y, leaf_penalty=leaf_penalty)
        assert isinstance(classifier.cost_, int)
        assert classifier.cost_ == classifier.train_errors_


def test_cost_has_weights_and_penalties_in_it():
    X, y = boolean_data()
    weights = np.random.default_rng(1).integers(1, 20, len(y)) / 4
    classifier = fitted(X, y, weights, leaf_penalty=0.01)
    wrong = weights[classifier.predict(X) != y].sum()
    assert classifier.cost_ == pytest.approx(wrong + 0.01 * weights.sum() * classifier.get_n_leaves(), rel=1e-6)
    tie = fitted(X, y, weights, leaf_penalty="tie")
    assert tie.cost_ == weights[tie.predict(X) != y].sum()


@pytest.mark.parametrize(
    ("k", "status"),
    [("all", "optimal"), (("all", "all", "all"), "optimal"), (4, "complete"), (("all", "all", 2), "complete")],
)
def test_status_of_a_finished_search(k, status):
    X, y = boolean_data()
    assert fitted(X, y, k=k).status_ == status


def endless_data():
    rng = np.random.default_rng(0)
    return rng.random((3000, 120)) < 0.5, rng.integers(3, size=3000)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_limit(n_jobs):
    X, y = endless_data()
    classifier = TopKTreeClassifier(k="all", max_depth=6, time_limit=0.2, n_jobs=n_jobs).fit(X, y)
    assert classifier.status_ == "time_limit"
    assert 1 <= classifier.search_["k_reached"] < 120
    assert classifier.cost_ <= TopKTreeClassifier(k=1, max_depth=6).fit(X, y).cost_
    assert classifier.train_errors_ == np.count_nonzero(classifier.predict(X) != y)


def test_limits_that_are_not_reached_change_nothing():
    X, y = numeric_data()
    assert_same_fit(fitted(X, y, time_limit=100, memory_limit=10**9), fitted(X, y))
    assert_same_fit(fitted(X, y, memory_limit=0), fitted(X, y))
    assert_same_fit(fitted(X, y, n_jobs=-1), fitted(X, y))


XOR = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]]), np.array([0, 1, 1, 0])


@pytest.mark.parametrize(
    ("k", "errors"), [((2, 1), 0), ((1, 2), 1), (["all", 1, 1], 0), (np.array([1, 2]), 1), (range(2, 4), 0)]
)
def test_k_per_level_counts_from_the_root(k, errors):
    # The third column scores best at the root, and leaves the other two useless.
    X, y = XOR
    assert fitted(X, y, k=k, max_depth=2).train_errors_ == errors


def test_trees_as_deep_as_rows_and_columns_allow():
    classifier = fitted([[1, 0], [0, 1], [0, 0]], [0, 1, 2], max_depth=5)
    assert classifier.get_depth() == 2
    assert classifier.train_errors_ == 0
    n = 12
    chain = fitted(np.tri(n, n - 1, -1), np.arange(n), k=1, max_depth=n)
    assert chain.train_errors_ == 0
    one_hot = fitted(np.eye(n)[:, 1:], np.arange(n), k=1, max_depth=n)
    assert one_hot.get_depth() == n - 1
    assert one_hot.train_errors_ == 0


def test_search_statistics():
    X, y = boolean_data()
    classifier = fitted(X, y, k=5, max_depth=4, n_jobs=2)
    search = classifier.search_
    assert set(search) == STATISTICS | {"n_root"}
    assert search["seconds"] > 0
    assert search["nodes"] >= classifier.get_n_leaves() - 1
    assert search["k_reached"] == 5
    assert search["n_threads"] in (1, 2)  # searches of a moment start no threads


def test_penalties_make_smaller_trees():
    X, y = boolean_data(n=200)
    leaves = [fitted(X, y, max_depth=4, leaf_penalty=penalty).get_n_leaves() for penalty in (0.0, 0.05, 0.1, 1.0)]
    assert leaves[0] > leaves[1] > leaves[2] > leaves[3] == 1


def test_tie_makes_smaller_trees_with_as_few_errors():
    smaller = 0
    for seed in range(10):
        X, y = boolean_data(n=60, seed=seed)
        plain, tie = fitted(X, y, max_depth=4), fitted(X, y, max_depth=4, leaf_penalty="tie")
        assert tie.train_errors_ == plain.train_errors_
        assert tie.get_n_leaves() <= plain.get_n_leaves()
        smaller += tie.get_n_leaves() < plain.get_n_leaves()
    assert smaller >= 3


def test_refit_forgets_the_old_fit():
    X, y = boolean_data()
    classifier = fitted(X, y, k="all")
    classifier.set_params(k=2).fit(X[:, :4], np.where(y == 1, "a", "b"))
    assert classifier.n_features_in_ == 4
    assert classifier.status_ == "complete"
    assert classifier.classes_.tolist() == ["a", "b"]


def test_feature_names():
    pandas = pytest.importorskip("pandas", reason="data frames need pandas")
    X, y = numeric_data()
    frame = pandas.DataFrame(X, columns=list("abcde"))
    classifier = fitted(frame, y)
    assert classifier.feature_names_in_.tolist() == list("abcde")
    assert_same_fit(classifier, fitted(X, y))
    np.testing.assert_array_equal(classifier.predict(frame), fitted(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[list("edcba")])


# Beside scikit-learn's greedy tree. Random weights leave no ties but those of columns that split the rows alike.


@pytest.mark.parametrize("max_depth", [1, 2, 4, 6])
@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("seed", seed_range(3))
def test_greedy_tree_is_that_of_scikit_learn(seed, criterion, max_depth):
    for X, y in (boolean_data(seed=seed), numeric_data(seed=seed)):
        y = y > 0
        weights = np.random.default_rng(seed).random(len(y)) + 0.1
        ours = fitted(X, y, weights, k=1, criterion=criterion, max_depth=max_depth, max_thresholds=None)
        theirs = DecisionTreeClassifier(criterion=criterion, max_depth=max_depth, random_state=0)
        theirs.fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_more_candidates_beat_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    greedy = DecisionTreeClassifier(criterion="entropy", max_depth=3, random_state=0).fit(X, y)
    errors = [fitted(X, y, k=k, max_thresholds=None).train_errors_ for k in (1, 4, 16)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < np.count_nonzero(greedy.predict(X) != y)


# Numbers.


@pytest.mark.parametrize("places", [0, 1, 2])
def test_thresholds_are_near_the_middle(places):
    X, y = numeric_data()
    X = X / 10**places
    tree = fitted(X, y, max_depth=5, max_thresholds=None).tree_
    for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
        if feature >= 0:
            values = np.unique(X[:, feature])
            below, above = values[values <= threshold].max(), values[values > threshold].min()
            assert abs((below + above) / 2 - threshold) <= (0.5 if places == 0 else 0.5 * 10**-places)
            assert len(repr(float(threshold)).split(".")[1]) <= places + 1


@pytest.mark.parametrize("max_thresholds", [1, 2, 5])
def test_at_most_so_many_thresholds(max_thresholds):
    X, y = numeric_data()
    tree = fitted(X, y, k="all", max_depth=4, max_thresholds=max_thresholds).tree_
    for feature in range(5):
        assert len(np.unique(tree.threshold[tree.feature == feature])) <= max_thresholds


def test_more_thresholds_than_gaps_are_all_of_them():
    X, y = numeric_data()
    assert_same_fit(fitted(X, y, max_thresholds=None), fitted(X, y, max_thresholds=39))
    assert fitted(X, y, k="all", max_thresholds=1).cost_ > fitted(X, y, k="all", max_thresholds=None).cost_


CONVERSIONS = {
    "uint8": lambda X: X.astype(np.uint8),
    "int8": lambda X: X.astype(np.int8),
    "int32": lambda X: X.astype(np.int32),
    "uint64": lambda X: X.astype(np.uint64),
    "float16": lambda X: X.astype(np.float16),
    "float32": lambda X: X.astype(np.float32),
    "float64": lambda X: X.astype(np.float64),
    "Fortran order": lambda X: np.asfortranarray(X.astype(np.float64)),
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "rows backwards twice": lambda X: X[::-1].copy()[::-1],
    "read only": lambda X: np.frombuffer(X.astype(np.float64).tobytes()).reshape(X.shape),
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
@pytest.mark.parametrize("data", [boolean_data, numeric_data])
def test_the_type_of_X_does_not_matter(data, convert):
    X, y = data()
    plain, converted = fitted(X, y), fitted(convert(X), y)
    assert_same_fit(converted, plain)
    for classifier in (plain, converted):
        np.testing.assert_array_equal(classifier.predict_proba(convert(X)), plain.predict_proba(X))


def test_large_and_close_numbers_end_up_where_they_were_trained():
    y = np.array([0, 1, 0, 1, 0, 1])
    for X in (
        np.array([-1e308, -1e307, 0.0, 1e-300, 1e307, 1e308]),
        1 + np.arange(6) * np.finfo(float).eps,
        np.arange(6) * 5e-324,
        np.array([2**53 + 2 * i for i in range(6)]),
        (1 + np.arange(6) * np.finfo(np.float32).eps).astype(np.float32),
    ):
        classifier = fitted(X[:, None], y, k="all", max_depth=5)
        assert classifier.cost_ == classifier.train_errors_ == 0
        np.testing.assert_array_equal(classifier.predict(X[:, None]), y)


def test_constant_features_give_a_leaf():
    classifier = fitted(np.full((6, 2), 3.5), [0, 1, 1, 0, 1, 1])
    assert classifier.get_n_leaves() == 1
    assert classifier.train_errors_ == 2
    assert classifier.feature_importances_.tolist() == [0, 0]


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_depth": 999},
        {"min_samples_leaf": 10**6},
        {"min_samples_leaf": 10**30},
        {"k": 10**30},
        {"k": [1] * 50},
        {"max_thresholds": 10**30},
        {"memory_limit": 10**30},
        {"time_limit": 10**30},
        {"time_limit": 1e300},
    ],
    ids=str,
)
def test_large_parameters(parameters):
    X, y = boolean_data(n=40, d=5)
    classifier = fitted(X, y, **parameters)
    assert classifier.train_errors_ == np.count_nonzero(classifier.predict(X) != y)


def test_many_rows_and_thresholds():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1_500, (140_000, 2)).astype(float)
    y = (X[:, 0] + X[:, 1] > 1_000) ^ (rng.random(len(X)) < 0.05)
    ours = fitted(X, y, k=1, max_depth=2, max_thresholds=None)
    theirs = DecisionTreeClassifier(criterion="entropy", max_depth=2).fit(X, y)
    assert ours.tree_.threshold[0] == np.floor(theirs.tree_.threshold[0])
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_the_training_data_are_left_alone():
    X, y = numeric_data()
    weights = np.ones(len(y))
    before = X.copy(), y.copy(), weights.copy()
    fitted(X, y, weights, class_weight="balanced")
    for array, old in zip((X, y, weights), before, strict=True):
        np.testing.assert_array_equal(array, old)


# Weights.


def test_integer_weights_are_repetition():
    X, y = numeric_data()
    times = np.random.default_rng(0).integers(1, 5, len(y))
    weighted = fitted(X, y, times, max_thresholds=7)
    repeated = fitted(np.repeat(X, times, axis=0), np.repeat(y, times), max_thresholds=7)
    assert_same_fit(weighted, repeated, set(TREE_ARRAYS) - {"n_node_samples"})


@pytest.mark.parametrize("factor", [1, 3, 0.1, 1e-6, 1e9])
def test_equal_weights_are_no_weights(factor):
    X, y = numeric_data()
    plain, weighted = fitted(X, y), fitted(X, y, np.full(len(y), factor))
    np.testing.assert_array_equal(weighted.tree_.feature, plain.tree_.feature)
    np.testing.assert_array_equal(weighted.tree_.threshold, plain.tree_.threshold)
    assert weighted.cost_ == pytest.approx(plain.cost_ * factor)
    assert weighted.train_errors_ == plain.train_errors_


@pytest.mark.parametrize("data", [boolean_data, numeric_data])
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_rows_of_weight_zero_are_left_out(data, weight):
    X, y = data()
    keep = np.random.default_rng(0).random(len(y)) < 0.7
    weighted = fitted(X, y, keep * weight, max_thresholds=4)
    removed = fitted(X[keep], y[keep], np.full(keep.sum(), weight), max_thresholds=4)
    assert_same_fit(weighted, removed)


@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_train_errors_count_every_row(weight):
    X, y = boolean_data()
    keep = np.random.default_rng(0).random(len(y)) < 0.7
    classifier = fitted(X, y, keep * weight)
    assert classifier.train_errors_ == np.count_nonzero(classifier.predict(X) != y)
    assert classifier.cost_ == weight * np.count_nonzero((classifier.predict(X) != y) & keep)


def test_a_class_without_weight_stays_a_class():
    X, y = boolean_data(n_classes=3)
    for classifier in (fitted(X, y, (y != 1) * 1.0), fitted(X, y, class_weight={0: 1, 1: 0, 2: 1})):
        assert classifier.classes_.tolist() == [0, 1, 2]
        assert (classifier.predict_proba(X)[:, 1] == 0).all()
        assert classifier.train_errors_ == np.count_nonzero(classifier.predict(X) != y)


def test_balanced_is_the_weights_of_scikit_learn():
    X, _ = numeric_data()
    X = X[np.argsort(X[:, 0] + X[:, 1] % 7)]
    y = np.repeat([0, 1, 2], [120, 60, 20])  # every weight is a multiple of the smallest one
    balanced = fitted(X, y, class_weight="balanced", max_thresholds=None)
    weighted = fitted(X, y, compute_sample_weight("balanced", y), max_thresholds=None)
    np.testing.assert_array_equal(balanced.tree_.feature, weighted.tree_.feature)
    np.testing.assert_array_equal(balanced.tree_.threshold, weighted.tree_.threshold)
    np.testing.assert_allclose(balanced.tree_.value, weighted.tree_.value)
    assert balanced.cost_ == pytest.approx(weighted.cost_)


def test_class_weights_are_sample_weights():
    X, y = boolean_data(n_classes=3)
    by_class = fitted(X, y, class_weight={0: 1, 1: 3, 2: 2})
    by_row = fitted(X, y, np.array([1, 3, 2])[y])
    assert_same_fit(by_class, by_row)
    both = fitted(X, y, np.full(len(y), 2.0), class_weight={0: 1, 1: 3, 2: 2})
    assert both.cost_ == 2 * by_class.cost_


def test_class_weights_by_name():
    X, y = boolean_data()
    labels = np.array(["no", "yes"])[y]
    assert fitted(X, labels, class_weight={"yes": 5, "no": 1}).cost_ == fitted(X, y, class_weight={0: 1, 1: 5}).cost_
    assert fitted(X, labels, class_weight={"yes": 5}).cost_ == fitted(X, y, class_weight={0: 1, 1: 5}).cost_


def test_verbose_may_be_a_bool():
    X, y = boolean_data()
    assert_same_fit(fitted(X, y, verbose=True), fitted(X, y))


def test_weights_move_the_tree():
    X, y = boolean_data()
    heavy = fitted(X, y, class_weight={0: 1, 1: 100}, max_depth=1)
    assert (heavy.predict(X[y == 1]) == 1).all()


# Bad input.

BAD_PARAMETERS = [
    ({"k": 0}, r"k must be .* got 0"),
    ({"k": -3}, r"k must be .* got -3"),
    ({"k": "many"}, r"k must be .* got 'many'"),
    ({"k": True}, r"k must be .* got True"),
    ({"k": 1.5}, r"k must be .* got 1.5"),
    ({"k": 2.0}, r"k must be .* got 2.0"),
    ({"k": None}, r"k must be .* got None"),
    ({"k": [2, 2]}, r"k must have .* got \[2, 2\]"),
    ({"k": []}, r"k must have .* got \[\]"),
    ({"k": [2, 0, 2]}, r"k must be .* got \[2, 0, 2\]"),
    ({"k": [2, "some", 2]}, r"k must be .* got \[2, 'some', 2\]"),
    ({"k": [2, True, 2]}, r"k must be .* got \[2, True, 2\]"),
    ({"k": [[2, 2, 2]]}, r"k must be .* got \[\[2, 2, 2\]\]"),
    ({"k": {3}}, r"k must be .* got \{3\}"),
    ({"max_depth": -1}, "max_depth must be .* got -1"),
    ({"max_depth": None}, "max_depth must be .* got None"),
    ({"max_depth": 2.0}, "max_depth must be .* got 2.0"),
    ({"max_depth": True}, "max_depth must be .* got True"),
    ({"max_depth": 10**6}, "max_depth must be .* got 1000000"),
    ({"criterion": "beauty"}, "criterion must be .* got 'beauty'"),
    ({"criterion": None}, "criterion must be .* got None"),
    ({"criterion": lambda left, right: left}, r"criterion must return .*shape \(12,\), got \(12, 2\)"),
    ({"criterion": lambda left, right: left[:, 0] * np.nan}, "criterion must return .*NaN"),
    ({"criterion": lambda left, right: "high"}, "criterion must return .*str"),
    ({"min_samples_leaf": 0}, "min_samples_leaf must be .* got 0"),
    ({"min_samples_leaf": 1.0}, "min_samples_leaf must be .* got 1.0"),
    ({"min_samples_leaf": 0.0}, "min_samples_leaf must be .* got 0.0"),
    ({"min_samples_leaf": None}, "min_samples_leaf must be .* got None"),
    ({"min_weight_fraction_leaf": -0.1}, "min_weight_fraction_leaf must be .* got -0.1"),
    ({"min_weight_fraction_leaf": 0.6}, "min_weight_fraction_leaf must be .* got 0.6"),
    ({"leaf_penalty": -0.1}, "leaf_penalty must be .* got -0.1"),
    ({"leaf_penalty": 1.5}, "leaf_penalty must be .* got 1.5"),
    ({"leaf_penalty": float("nan")}, "leaf_penalty must be .* got nan"),
    ({"leaf_penalty": "foo"}, "leaf_penalty must be .* got 'foo'"),
    ({"leaf_penalty": None}, "leaf_penalty must be .* got None"),
    ({"class_weight": "heavy"}, "class_weight must be .* got 'heavy'"),
    ({"class_weight": [1, 2]}, r"class_weight must be .* got \[1, 2\]"),
    ({"class_weight": {0: -1, 1: 1}}, "class_weight must .* got -1 for class 0"),
    ({"class_weight": {0: 1, 1: float("inf")}}, "class_weight must .* got inf for class 1"),
    ({"class_weight": {0: 1, 1: "x"}}, "class_weight must .* got 'x' for class 1"),
    ({"class_weight": {"a": 1, "b": 1}}, "class_weight"),
    ({"class_weight": {0: 0, 1: 1}}, "at least two classes with weight.*: 1"),
    ({"max_thresholds": 0}, "max_thresholds must be .* got 0"),
    ({"max_thresholds": 2.5}, "max_thresholds must be .* got 2.5"),
    ({"max_thresholds": "all"}, "max_thresholds must be .* got 'all'"),
    ({"time_limit": 0}, "time_limit must be .* got 0"),
    ({"time_limit": -1.5}, "time_limit must be .* got -1.5"),
    ({"time_limit": float("nan")}, "time_limit must be .* got nan"),
    ({"time_limit": "soon"}, "time_limit must be .* got 'soon'"),
    ({"time_limit": 10**400}, "time_limit must be .* got 1000"),
    ({"criterion": lambda left, right: left[:, 0] * 1j}, "criterion must return an array of numbers"),
    ({"memory_limit": -1}, "memory_limit must be .* got -1"),
    ({"memory_limit": 1e9}, "memory_limit must be .* got 1000000000.0"),
    ({"memory_limit": "1GB"}, "memory_limit must be .* got '1GB'"),
    ({"n_jobs": 0}, "n_jobs must be .* got 0"),
    ({"n_jobs": 1.5}, "n_jobs must be .* got 1.5"),
    ({"verbose": -1}, "verbose must be .* got -1"),
    ({"verbose": "loud"}, "verbose must be .* got 'loud'"),
]


def assert_refused(parameters, X, y, message, sample_weight=None):
    """`fit` raises; a classifier that was not fitted is not fitted now, one that was predicts as before."""
    fresh = TopKTreeClassifier(max_depth=3).set_params(**parameters)
    with pytest.raises((ValueError, TypeError), match=message):
        fresh.fit(X, y, sample_weight=sample_weight)
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)
    assert not hasattr(fresh, "n_features_in_")
    old_X, old_y = boolean_data(d=7, seed=9)
    used = fitted(old_X, old_y)
    before = {name: value for name, value in vars(used).items() if name.endswith("_")}
    predictions = used.predict_proba(old_X)
    with pytest.raises((ValueError, TypeError), match=message):
        used.set_params(**parameters).fit(X, y, sample_weight=sample_weight)
    assert {name: value for name, value in vars(used).items() if name.endswith("_")} == before
    np.testing.assert_array_equal(used.predict_proba(old_X), predictions)


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=[label(p) for p, _ in BAD_PARAMETERS])
def test_bad_parameters(parameters, message):
    X, y = boolean_data()
    assert_refused(parameters, X, y, message)


def test_criterion_that_raises():
    def broken(left, right):
        raise ValueError("of the user")

    X, y = boolean_data()
    for n_jobs in (1, 2):
        assert_refused({"criterion": broken, "n_jobs": n_jobs}, X, y, "of the user")


NUMBERS, CLASSES = numeric_data(n=6)
CLASSES = np.array([0, 1, 0, 1, 1, 0])


def with_value(value):
    X = NUMBERS.astype(object)
    X[3, 2] = value
    return X


BAD_DATA = {
    "a dict in X": (with_value({}), CLASSES, "X must hold numbers and strings in 'x2'.*unhashable"),
    "dates in X": (NUMBERS.astype("M8[D]"), CLASSES, "X must have columns of numbers.*datetime64.*dates"),
    "complex X": (NUMBERS * 1j, CLASSES, "[Cc]omplex"),
    "sparse X": (scipy.sparse.csr_array(NUMBERS), CLASSES, "[Ss]parse"),
    "1-D X": (NUMBERS[:, 0], CLASSES, "Expected 2D array, got 1D array"),
    "3-D X": (NUMBERS[None], CLASSES, "dim"),
    "no rows": (NUMBERS[:0], CLASSES[:0], "0 sample"),
    "no features": (NUMBERS[:, :0], CLASSES, "0 feature"),
    "one class": (NUMBERS, np.zeros(6), "two classes.*got 1 class: 0"),
    "y too short": (NUMBERS, CLASSES[:-1], r"inconsistent numbers of samples: \[6, 5\]"),
    "continuous y": (NUMBERS, CLASSES + 0.5, "continuous"),
    "2-D y": (NUMBERS, np.stack([CLASSES, CLASSES], axis=1), "1d array|y should be"),
    "NaN in y": (NUMBERS, np.where(CLASSES == 0, np.nan, 1.0), "y contains NaN"),
    "y is None": (NUMBERS, None, "y"),
    "y of mixed types": (NUMBERS, np.array([0, "a", 0, "a", "a", 0], dtype=object), "label"),
}


@pytest.mark.parametrize(("X", "y", "message"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data(X, y, message):
    assert_refused({}, X, y, message)


BAD_WEIGHTS = {
    "negative": ([1, 1, -2, 1, 1, 1], "sample_weight must not be negative, got -2"),
    "NaN": ([1, 1, np.nan, 1, 1, 1], "sample_weight contains NaN"),
    "inf": ([1, 1, np.inf, 1, 1, 1], "sample_weight contains infinity"),
    "too short": ([1, 1, 1], "sample_weight.*shape"),
    "2-D": (np.ones((6, 2)), "[Ss]ample.weight"),
    "infinite sum": (np.full(6, 1e308), "sample_weight"),
    "all zero": (np.zeros(6), "weight"),
    "zero but for one class": (CLASSES * 1.0, "two classes with weight.*got 1 class: 1"),
    "text": (["a"] * 6, "could not convert|sample_weight"),
}


@pytest.mark.parametrize(("weights", "message"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_bad_weights(weights, message):
    assert_refused({}, NUMBERS, CLASSES, message, sample_weight=weights)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "decision_path"])
def test_bad_data_to_predict(method):
    X, y = numeric_data()
    classifier = fitted(X, y)
    for bad, message in [
        (X[:, :3], "3 features"),
        (np.where(X == 5, "five", X), "X must have numbers in 'x0', got '"),
        (X[0], "2D"),
        (scipy.sparse.csr_array(X), "[Ss]parse"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(classifier, method)(bad)


@pytest.mark.parametrize("name", ["predict", "predict_proba", "apply", "decision_path", "get_depth", "get_n_leaves"])
def test_nothing_works_before_fit(name):
    arguments = [] if name.startswith("get") else [NUMBERS]
    with pytest.raises(NotFittedError):
        getattr(TopKTreeClassifier(), name)(*arguments)
    with pytest.raises(NotFittedError):
        _ = TopKTreeClassifier().feature_importances_


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_the_old_fit(ctrl_c, n_jobs):
    X, y = boolean_data()
    classifier = fitted(X, y)
    tree, predictions = classifier.tree_, classifier.predict(X)
    new_X, new_y = endless_data()
    classifier.set_params(k="all", max_depth=7, time_limit=60, n_jobs=n_jobs)
    ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(new_X, new_y)
    assert classifier.tree_ is tree
    np.testing.assert_array_equal(classifier.predict(X), predictions)


# Output.


def test_nothing_is_printed(capfd):
    X, y = numeric_data()
    for parameters in (
        {},
        {"n_jobs": 2},
        {"time_limit": 0.05, "k": "all", "max_depth": 6},
        {"criterion": user_criterion},
    ):
        classifier = fitted(X, y, **parameters)
        classifier.predict(X)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_verbose_shows_a_line_on_stderr(capfd, n_jobs):
    X, y = endless_data()
    classifier = TopKTreeClassifier(k="all", max_depth=6, time_limit=0.7, n_jobs=n_jobs, verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("\rtopktree: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert re.search(r"\d\.\d s, k = \d+, [\d,]+ of at most \d\.?\d*e\+\d+ nodes, best cost \d+ *$", err)
    assert classifier.status_ == "time_limit"


def test_verbose_changes_nothing():
    X, y = numeric_data()
    assert_same_fit(fitted(X, y, verbose=1), fitted(X, y))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_criterion_is_passed_on(criterion):
    X, y = boolean_data(n=150, n_classes=3, seed=5)
    expected = make_problem(X, y.astype(np.int32), k=(1,) * 5, criterion=criterion).reference()
    classifier = fitted(X, y, k=1, max_depth=5, criterion=criterion)
    np.testing.assert_array_equal(classifier.tree_.feature, np.where(expected.column < 0, -2, expected.column))
    assert classifier.cost_ == expected.cost


@pytest.mark.parametrize("X", [np.array(5), np.zeros(3), np.zeros((2, 2, 2)), None])
def test_what_is_no_table_is_refused(X):
    with pytest.raises(ValueError, match=r"Expected 2D array|dim 3"):
        TopKTreeClassifier().fit(X, [0, 1])


@pytest.mark.parametrize(("fraction", "rows"), [(0.1, 20), (0.101, 21), (0.0001, 1), (0.5, 100), (0.9, 180)])
def test_a_smallest_leaf_may_be_a_fraction_of_the_rows(fraction, rows):
    X, y = numeric_data(n=200)
    assert_same_fit(fitted(X, y, min_samples_leaf=fraction), fitted(X, y, min_samples_leaf=rows))


def test_a_search_that_tries_every_column_is_optimal():
    X, y = boolean_data(n=40, d=5)
    n_columns = X.shape[1]
    assert fitted(X, y, k=n_columns).status_ == fitted(X, y, k=99).status_ == fitted(X, y, k="all").status_ == "optimal"
    assert_same_fit(fitted(X, y, k=n_columns), fitted(X, y, k="all"))
    assert fitted(X, y, k=n_columns - 1).status_ == "complete"
    assert fitted(X, y, k=(n_columns, n_columns - 1, n_columns)).status_ == "complete"


def test_logarithms_of_probabilities_and_the_number_of_classes():
    X, y = numeric_data()
    classifier = fitted(X, y)
    assert classifier.n_classes_ == 3
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(X)), classifier.predict_proba(X), rtol=1e-12)
    assert np.isneginf(classifier.predict_log_proba(X)).any()
    with pytest.raises(AttributeError):
        _ = TopKTreeClassifier().n_classes_


@pytest.mark.parametrize(
    "estimator",
    [
        TopKTreeClassifier(k=1, max_depth=1),
        TopKTreeClassifierCV(ks=[1], max_depths=[1], cv=2),
        TopKForestClassifier(n_estimators=2, max_depth=1),
        TopKBoostingClassifier(n_estimators=2, max_depth=1),
    ],
    ids=label,
)
@pytest.mark.parametrize("dtype", [int, float])
def test_labels_that_look_like_a_regression_are_warned_of_once(estimator, dtype):
    X, y = np.arange(100.0)[:, None], (np.arange(100) % 60).astype(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    texts = [str(w.message) for w in caught if "regression" in str(w.message)]
    assert len(texts) == 1
    assert texts[0].startswith("y has 60 classes in 100 rows, and all of them are numbers")


@pytest.mark.parametrize(
    "y", [np.arange(100) % 50, np.arange(20), (np.arange(100) % 60).astype(str)], ids=["half", "few rows", "strings"]
)
def test_other_labels_are_not(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TopKTreeClassifier(k=1, max_depth=1).fit(np.arange(len(y))[:, None], y)


def test_the_decision_path_takes_memory_for_the_paths_only():
    rng = np.random.default_rng(0)
    X, y = rng.random((4_000, 1)), rng.integers(2, size=4_000)
    classifier = TopKTreeClassifier(k=1, max_depth=40, max_thresholds=None).fit(X, y)
    assert classifier.tree_.node_count > 1_000
    tracemalloc.start()
    path = classifier.decision_path(X[:1])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000  # a matrix of all nodes and nodes would take more
    assert path.shape == (1, classifier.tree_.node_count)


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no text")


MANY = list(range(1_000_000))
LONG = "n" * 1_000_000


@pytest.mark.parametrize("value", [MANY, np.array(MANY), LONG, {LONG: LONG}, 10**5000, Unprintable()], ids=type)
@pytest.mark.parametrize("name", ["k", "max_depth", "criterion", "class_weight", "time_limit", "categorical_features"])
def test_messages_quote_the_beginning_and_the_end_of_long_values(name, value):
    if name == "k" and isinstance(value, int):
        return  # it is allowed
    with pytest.raises(ValueError, match=f"{name} must") as error:
        TopKTreeClassifier(**{name: value}).fit(NUMBERS, CLASSES)
    assert len(str(error.value)) < 1000


def test_messages_quote_the_beginning_and_the_end_of_long_names():
    import pandas as pd

    X = pd.DataFrame({LONG: ["a", "b"] * 10})
    with pytest.raises(ValueError, match=r"X must have numbers in 'nnn.*\.\.\..*nnn'") as error:
        TopKTreeClassifier(categorical_features=None).fit(X, [0, 1] * 10)
    assert len(str(error.value)) < 1000
