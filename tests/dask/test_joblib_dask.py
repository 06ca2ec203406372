"""Fits on the workers of a Dask cluster through joblib's own backend: the same trees as here, within their time limits.

The cluster is on this machine: two processes of one thread each, for all tests of the file.
"""

import pickle
import time

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from topktree import TopKForestClassifier, TopKTreeClassifier, TopKTreeClassifierCV, datasets
from topktree._runtime.limits import Limits
from topktree._runtime.parallel import count_threads

distributed = pytest.importorskip("distributed")

# The workers are processes, and time is measured.
pytestmark = pytest.mark.serial

GRID = {"ks": (1, 2, 4), "max_depths": (2, 3), "cv": 3}


@pytest.fixture(scope="module")
def client():
    with (
        # Any free port: otherwise Dask warns if another cluster on this machine has the default one.
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


@pytest.fixture
def dask(client):
    """Return a `with` block, as the user writes it."""
    return joblib.parallel_config(backend="dask", client=client)


@pytest.fixture(scope="module")
def monks():
    return datasets.load_monks(1, return_X_y=True)


def n_finished(client):
    """Return how many tasks the workers have finished so far."""

    def count(dask_scheduler):
        return sum(prefix.state_counts["memory"] for prefix in dask_scheduler.task_prefixes.values())

    return client.run_on_scheduler(count)


def assert_alike(cv, other):
    same = [name for name in cv.cv_results_ if name.startswith(("param", "split", "mean_test", "mean_n", "std_test"))]
    assert len(same) >= 9
    for name in same:
        np.testing.assert_array_equal(cv.cv_results_[name], other.cv_results_[name])
    assert cv.best_params_ == other.best_params_
    assert cv.export_text() == other.export_text()


@pytest.mark.parametrize("n_jobs", [None, -1, 2])
def test_cross_validation_gives_the_same_choice(client, dask, monks, n_jobs):
    here = TopKTreeClassifierCV(**GRID).fit(*monks)
    before = n_finished(client)
    with dask:
        there = TopKTreeClassifierCV(**GRID, n_jobs=n_jobs).fit(*monks)
    assert n_finished(client) > before
    assert_alike(here, there)


def test_frames_weights_scorers_and_criteria_travel(dask, monks):
    X, y = monks
    frame = pd.DataFrame(X, columns=list("abcdef")).astype("category")
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    cv = TopKTreeClassifierCV(
        **GRID,
        scoring=lambda tree, X, y: -float(np.count_nonzero(tree.predict(X) != y)),
        criterion=lambda left, right: np.abs(left[:, 0] / np.maximum(left.sum(axis=1), 1) - 0.5),
        leaf_penalties=(0.0, 0.01),
    )
    here = clone(cv).fit(frame, y, weights)
    with dask:
        there = clone(cv).fit(frame, y, weights)
    assert_alike(here, there)


@pytest.mark.parametrize("draws", [{}, {"max_features": 2, "oob_score": True}], ids=["rows", "features"])
def test_a_forest_has_the_same_trees(client, dask, monks, draws):
    forest = TopKForestClassifier(n_estimators=20, k=4, max_depth=3, random_state=0, **draws)
    here = clone(forest).fit(*monks)
    before = n_finished(client)
    with dask:
        there = clone(forest).fit(*monks)
    assert n_finished(client) > before
    assert there.export_text() == here.export_text()
    assert getattr(there, "oob_score_", None) == getattr(here, "oob_score_", None)


def test_single_fits_in_an_ensemble_of_scikit_learn_are_the_same(client, dask, monks):
    bagging = BaggingClassifier(TopKTreeClassifier(k=4, max_depth=3), n_estimators=6, random_state=0)
    here = [tree.export_text() for tree in bagging.fit(*monks).estimators_]
    before = n_finished(client)
    with dask:
        bagging.fit(*monks)
    assert n_finished(client) > before
    assert [tree.export_text() for tree in bagging.estimators_] == here


def test_a_single_fit_stays_here_and_is_the_same(client, dask, monks):
    here = TopKTreeClassifier(k=4, max_depth=3, n_jobs=-1).fit(*monks)
    before = n_finished(client)
    with dask:
        there = TopKTreeClassifier(k=4, max_depth=3, n_jobs=-1).fit(*monks)
    assert n_finished(client) == before
    assert there.export_text() == here.export_text()


def test_cross_validation_within_cross_validation(dask, monks):
    here = cross_val_score(TopKTreeClassifierCV(**GRID), *monks, cv=2)
    with dask:
        there = cross_val_score(TopKTreeClassifierCV(**GRID), *monks, cv=2)
    np.testing.assert_array_equal(here, there)


def test_a_fit_has_threads_of_its_machine_not_of_the_cluster(dask):
    with dask:
        assert joblib.effective_n_jobs() == 2
        assert [count_threads(n_jobs) for n_jobs in (None, 1, 3)] == [1, 1, 3]
        assert count_threads(-1) == joblib.cpu_count()


def test_a_time_limit_ends_fits_on_the_workers(dask):
    """A deep search over all columns of these rows takes hours."""
    rng = np.random.default_rng(0)
    cv = TopKTreeClassifierCV(ks=(1, "all"), max_depths=(9,), cv=2, time_limit=1.0)
    start = time.monotonic()
    with dask, pytest.warns(ConvergenceWarning, match="1 of 2 candidates"):
        cv.fit(rng.random((2000, 30)), rng.integers(0, 2, 2000))
    assert time.monotonic() - start < 60
    assert cv.status_ == "time_limit"
    assert cv.best_params_["k"] == 1


def test_limits_hold_on_machines_with_another_clock(monkeypatch):
    """The time that is left is sent, and the time on the way is subtracted on arrival."""
    sent = pickle.dumps(Limits(deadline=time.monotonic() + 100.0, longest=2.0))
    now, wall = time.monotonic(), time.time()
    monkeypatch.setattr(time, "monotonic", lambda: now + 1e6)
    monkeypatch.setattr(time, "time", lambda: wall + 60.0)
    there = pickle.loads(sent)
    assert there.deadline - time.monotonic() == pytest.approx(40.0, abs=1.0)
    assert there.longest == 2.0
    assert not there.leaves_no_refit(20.0)
    assert there.leaves_no_refit(30.0)


def test_limits_travel_while_threads_are_at_work():
    limits = Limits()
    with limits.working():
        assert pickle.loads(pickle.dumps(limits)).at_work == []
