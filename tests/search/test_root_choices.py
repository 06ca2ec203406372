"""What `search_["root"]` tells of the candidates at the root, against trees that begin with them."""

import json

import numpy as np
import pandas as pd
import pytest

import topktree
from topktree import TopKTreeClassifier, TopKTreeClassifierCV, datasets, hard


@pytest.fixture(scope="module")
def messy():
    random = np.random.default_rng(0)
    n = 300
    age = random.integers(18, 80, n).astype(float)
    age[::9] = np.nan
    job = random.choice(["clerk", "farmer", "nurse"], n)
    urban = random.random(n) < 0.5
    y = np.where((np.nan_to_num(age, nan=60) > 45) ^ (job == "nurse") ^ (random.random(n) < 0.1), "high", "low")
    return pd.DataFrame({"age": age, "job": job, "urban": urban}), y


def goes_true(choice, X):
    values = X.iloc[:, choice["feature"]]
    if choice["test"] == "is missing":
        return values.isna()
    return values <= choice["value"] if choice["test"] == "<=" else values == choice["value"]


@pytest.mark.parametrize("leaf_penalty", [0.0, 0.01])
def test_no_tree_below_is_cheaper_than_with_all_thresholds_of_its_own(messy, leaf_penalty):
    X, y = messy
    clf = TopKTreeClassifier(k=100, max_depth=2, leaf_penalty=leaf_penalty).fit(X, y, exact_root=True)
    choices = clf.search_["root"]
    assert clf.search_["n_root"] > len(choices) >= 20
    assert {choice["test"] for choice in choices} == {"<=", "="}
    for choice in choices[:6]:
        side = np.asarray(goes_true(choice, X))
        below = 0
        for rows in (side, ~side):
            counts = np.unique(y[rows], return_counts=True)[1]
            penalty = leaf_penalty * len(X) / rows.sum()
            best = counts.sum() - counts.max() + leaf_penalty * len(X)
            if len(counts) > 1:
                stump = TopKTreeClassifier(k=100, max_depth=1, leaf_penalty=penalty, max_thresholds=None)
                best = min(best, stump.fit(X[rows], y[rows]).cost_)
            below += best
        # The thresholds of all rows are some of those of the side's own.
        assert choice["cost"] >= below - 1e-4
        assert choice["exact"]
    assert min(choice["cost"] for choice in choices) == pytest.approx(clf.cost_)


def test_the_chosen_one_is_the_root_of_the_tree(messy):
    X, y = messy
    for k in (1, 3, "all"):
        clf = TopKTreeClassifier(k=k, max_depth=3).fit(X, y)
        (chosen,) = [choice for choice in clf.search_["root"] if choice["chosen"]]
        root = clf.export_dict()["nodes"][0]
        assert (chosen["feature"], chosen["test"], chosen["value"]) == (
            root["feature_index"],
            root["test"],
            root["value"],
        )
        assert chosen["cost"] == clf.cost_
        assert chosen["exact"]


@pytest.mark.parametrize("criterion", ["entropy", "gini", "sqrt", "gain_ratio"])
def test_scores_fall_and_ranks_rise(messy, criterion):
    X, y = messy
    choices = TopKTreeClassifier(k=30, max_depth=2, criterion=criterion).fit(X, y).search_["root"]
    scores = [choice["score"] for choice in choices]
    assert scores == pytest.approx(sorted(scores, reverse=True))
    assert [choice["rank"] for choice in choices[:20]] == list(range(1, 21))


def test_entropy_is_information_gain_in_bits():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    clf = TopKTreeClassifier(k=2, max_depth=1).fit(X, [0, 0, 1, 1])
    assert [choice["score"] for choice in clf.search_["root"]] == [1.0, 0.0]


def test_bounds_are_below_the_costs(messy):
    X, y = messy
    for k in (4, 16):
        bounds = TopKTreeClassifier(k=k, max_depth=4).fit(X, y).search_["root"]
        exact = TopKTreeClassifier(k=k, max_depth=4).fit(X, y, exact_root=True).search_["root"]
        assert all(choice["exact"] for choice in exact)
        assert not all(choice["exact"] for choice in bounds)
        for bound, choice in zip(bounds, exact, strict=True):
            assert bound["cost"] == choice["cost"] if bound["exact"] else bound["cost"] <= choice["cost"]


def test_missing_values_and_files(messy, tmp_path):
    X, _ = messy
    y = np.where(X["age"].isna(), "unknown", "known")
    clf = TopKTreeClassifier(k=4, max_depth=2).fit(X, y)
    assert clf.search_["root"][0] | {"score": 0} == {
        "rank": 1,
        "feature": 0,
        "test": "is missing",
        "value": None,
        "missing": "yes",
        "score": 0,
        "cost": 0,
        "exact": True,
        "chosen": True,
    }
    clf.save(tmp_path / "model.json")
    assert topktree.load(tmp_path / "model.json").search_ == json.loads(json.dumps(clf.search_))


def test_a_criterion_of_the_user_is_not_asked_again(messy):
    widths = []

    def score(left, right):
        widths.append(len(left))
        return right[:, 0]

    clf = TopKTreeClassifier(k=2, max_depth=1, criterion=score).fit(*messy)
    assert len(widths) == clf.search_["nodes"]
    assert len(set(widths)) == 1
    assert [choice["score"] for choice in clf.search_["root"]] == [None, None]


def test_the_chosen_one_is_listed_however_low_its_score():
    X, y = hard.parity(2, 2, 0.1).sample(400, random_state=0)
    noise = np.random.default_rng(0).random((400, 30)) < 0.5
    noise[:, :25] = (y[:, None] == 1) ^ (np.random.default_rng(1).random((400, 25)) < 0.45)
    clf = TopKTreeClassifier(k=40, max_depth=2).fit(np.hstack([noise, X]), y)
    *others, chosen = clf.search_["root"]
    assert len(others) == 20
    assert chosen["rank"] > 20
    assert chosen["chosen"]
    assert 0 <= chosen["score"] <= others[-1]["score"]


def test_a_single_leaf_and_a_path_have_no_choices(messy):
    X, y = messy
    assert TopKTreeClassifier(max_depth=0).fit(X, y).search_["root"] == []
    path = TopKTreeClassifier(k=2, max_depth=2).leaf_penalty_path(X, y)
    assert all(tree.search_["root"] == [] for tree in path.estimators)


def test_cross_validation_refits_with_exact_costs():
    data = datasets.load_monks(1)
    cv = TopKTreeClassifierCV(ks=(4,), max_depths=(3,), cv=3).fit(data.data, data.target)
    assert all(choice["exact"] for choice in cv.best_estimator_.search_["root"])


def test_exact_root_must_be_a_bool(messy):
    with pytest.raises(ValueError, match="exact_root must be"):
        TopKTreeClassifier().fit(*messy, exact_root="yes")


@pytest.mark.parametrize("k", [2, "all"])
def test_distinct_splits_are_listed_once(k):
    """A copy and a complement divide the rows as the column does."""
    rng = np.random.default_rng(0)
    column, other = rng.random((2, 200)) < 0.5
    X = np.column_stack([column, other, column, ~column, ~other])
    clf = TopKTreeClassifier(k=k, max_depth=2, distinct_splits=True).fit(X, column ^ (rng.random(200) < 0.2))
    assert [choice["feature"] for choice in clf.search_["root"]] == [0, 1]
    assert clf.search_["n_root"] == 2
