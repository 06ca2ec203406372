"""`DaskTopKTreeClassifier` on a cluster of two processes: the same tree for any partitions, lazily applied."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from support.people import make_people
from support.profiles import seed_range

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.dask_parts import assert_same_fit

import topktree
from topktree import TopKTreeClassifier
from topktree.dask import DaskTopKTreeClassifier

MODES = {"on the client": 2**26, "by counts": 0}


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def random_frame(seed):
    """Return numbers of few values, categories, booleans, missing values; labels; weights of some kind, or none."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 800))
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n).round(1),
            "b": rng.integers(0, 30, n),
            "colour": rng.choice(["red", "green", "blue", "rare"], n, p=[0.4, 0.3, 0.29, 0.01]),
            "flag": rng.random(n) < 0.3,
            "holes": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 9, n)),
        }
    )
    signal = (X["a"] > 0.3).to_numpy() ^ ((X["colour"] == "red").to_numpy() & (X["b"] > 12).to_numpy())
    y = pd.Series(np.where(signal ^ (rng.random(n) < 0.15), "yes", "no"))
    y[rng.random(n) < 0.1] = "perhaps"
    weights = [None, rng.integers(0, 5, n).astype(float), rng.random(n) + 0.1]
    weight = weights[rng.integers(3)]
    parameters = {
        "k": [2, 3, (4, 2, 1, 1)][rng.integers(3)],
        "max_depth": int(rng.integers(1, 5)),
        "criterion": str(rng.choice(["entropy", "gini", "sqrt", "gain_ratio"])),
        "min_samples_leaf": int(rng.choice([1, 5])),
        "leaf_penalty": [0.0, 0.002, "tie"][rng.integers(3)],
        "distinct_splits": bool(rng.integers(2)),
        "class_weight": [None, "balanced", {"no": 2.0, "perhaps": 0.5}][rng.integers(3)],
        "max_thresholds": int(rng.choice([3, 32])),
    }
    return X, y, None if weight is None else pd.Series(weight), parameters


def divided(values, part):
    """Return a collection whose partition i has the rows with part == i, in order; some may be empty."""
    return dd.from_map(_rows_of, range(int(part.max()) + 2), args=(values, part), meta=values.iloc[:0])


def _rows_of(i, values, part):
    return values.iloc[np.flatnonzero(part == i)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", seed_range(9))
def test_same_tree_for_any_partitions(client, seed, mode):
    X, y, weight, parameters = random_frame(seed)
    rng = np.random.default_rng(seed)
    n_parts = int(rng.choice([1, 2, 5, 9]))
    part = rng.integers(n_parts, size=len(X))
    if seed % 3 == 0:
        part = 2 * np.sort(part)  # in order, every other partition empty
    if seed % 3 == 1:
        part = np.where(y == "yes", 0, 1 + part)  # a partition of a single class, another class elsewhere only
    expected = TopKTreeClassifier(**parameters).fit(X, y, weight)
    order = np.argsort(part, kind="stable")
    found = DaskTopKTreeClassifier(**parameters, gather_bytes=MODES[mode])
    found.fit(divided(X, part), divided(y, part), None if weight is None else divided(weight, part))
    assert_same_fit(found, expected)
    assert found.to_local().export_text() == expected.export_text()
    assert found.search_["n_partitions"] == int(part.max()) + 2
    np.testing.assert_array_equal(found.predict(divided(X, part)).compute(), expected.predict(X.iloc[order]))


@pytest.mark.parametrize("n_workers", [1, 2])
def test_same_tree_for_any_number_of_workers(client, n_workers):
    X, y = topktree.datasets.load_balance_scale(return_X_y=True)
    X, y = np.repeat(X, 20, axis=0), np.repeat(y, 20)
    workers = sorted(client.nthreads())[:n_workers]
    with Client(client.scheduler.address, set_as_default=False) as other:
        X_there, y_there = other.persist(
            [da.from_array(X, chunks=(1000, -1)), da.from_array(y, chunks=1000)], workers=workers
        )
        found = DaskTopKTreeClassifier(k=4, max_depth=4, gather_bytes=0, client=other).fit(X_there, y_there)
    assert_same_fit(found, TopKTreeClassifier(k=4, max_depth=4).fit(X, y))


def test_where_the_search_is_follows_from_the_number_of_distinct_rows(client):
    X, y = topktree.datasets.load_tic_tac_toe(return_X_y=True)
    frame, labels = pd.DataFrame(np.tile(X, (20, 1))), pd.Series(np.tile(y, 20))
    frame.columns = [f"square {i}" for i in frame]
    collections = dd.from_pandas(frame, npartitions=4), dd.from_pandas(labels, npartitions=4)
    here = DaskTopKTreeClassifier(k=3, max_depth=3).fit(*collections)
    there = DaskTopKTreeClassifier(k=3, max_depth=3, gather_bytes=1000).fit(*collections)
    assert here.search_["where"] == "client"
    assert here.search_["distinct_rows"] == len(X)
    assert there.search_["where"] == "workers"
    assert all(set(entry) == {"questions", "bytes", "seconds"} for entry in there.search_["rounds"])
    expected = TopKTreeClassifier(k=3, max_depth=3).fit(frame, labels)
    assert_same_fit(here, expected)
    assert_same_fit(there, expected)


def test_thresholds_of_many_values_are_the_same_every_time(client):
    rng = np.random.default_rng(0)
    n = 60_000
    X = da.from_array(rng.normal(size=(n, 2)), chunks=(7_000, -1))
    y = da.from_array((rng.random(n) < 0.5).astype(int), chunks=7_000)
    clf = DaskTopKTreeClassifier(k=1, max_depth=1, max_thresholds=1).fit(X, y)
    error = clf.search_["threshold_error"]
    assert 0 < error < 0.002
    again = DaskTopKTreeClassifier(k=1, max_depth=1, max_thresholds=1).fit(X, y)
    assert_same_fit(again, clf.to_local())


def test_predictions_are_lazy_and_have_the_partitions_of_the_rows(client):
    people = make_people(300)
    X, y = people.drop(columns=["income"]), people["income"]
    clf = DaskTopKTreeClassifier(max_depth=3).fit(dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3))
    local = clf.to_local()
    frame = dd.from_pandas(X, npartitions=4)
    predicted, shares = clf.predict(frame), clf.predict_proba(frame)
    assert isinstance(predicted, da.Array)
    assert predicted.dtype == local.classes_.dtype
    assert predicted.numblocks == (4,)
    assert shares.numblocks == (4, 1)
    np.testing.assert_array_equal(predicted.compute(), local.predict(X))
    np.testing.assert_array_equal(shares.compute(), local.predict_proba(X))
    assert clf.score(frame, dd.from_pandas(y, npartitions=4)) == pytest.approx(local.score(X, y))


def test_predict_computes_nothing(client):
    def fail(block):
        raise AssertionError("computed")

    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (100, 3))
    clf = DaskTopKTreeClassifier(max_depth=2).fit(
        da.from_array(X, chunks=(30, 2)), da.from_array((X[:, 0] > 2).astype(int), chunks=30)
    )
    lazy = da.from_array(X, chunks=(30, -1)).map_blocks(fail, dtype=X.dtype, meta=X[:0])
    assert clf.predict(lazy).chunks == ((30, 30, 30, 10),)
    assert clf.predict_proba(lazy).chunks == ((30, 30, 30, 10), (2,))


def test_a_plain_classifier_comes_out(client, tmp_path):
    people = make_people(300)
    X, y = people.drop(columns=["income"]), people["income"]
    clf = DaskTopKTreeClassifier(max_depth=3).fit(dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3))
    local = clf.to_local()
    assert type(local) is TopKTreeClassifier
    shared = clf.get_params().keys() & local.get_params().keys()
    assert all(local.get_params()[name] == clf.get_params()[name] for name in shared)
    local.save(tmp_path / "model.json")
    loaded = topktree.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), local.predict(X))
    assert loaded.search_ == local.search_
    local.report(tmp_path / "report.html", X, y)
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_habits_of_scikit_learn(client):
    clf = DaskTopKTreeClassifier(k=3, client=client)
    assert clone(clf).client is client
    assert clone(clf).k == 3
    with pytest.raises(NotFittedError):
        clf.predict(da.zeros((3, 1)))
    X = da.from_array(np.arange(40).reshape(20, 2) % 7, chunks=(5, -1))
    clf.fit(X, X[:, 0] > 3)
    again = pickle.loads(pickle.dumps(clf))
    assert again.client is None
    np.testing.assert_array_equal(again.predict(X).compute(), clf.predict(X).compute())
    assert "DaskTopKTreeClassifier" in repr(clf)
