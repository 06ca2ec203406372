"""Fits on the workers of a Dask cluster, by joblib's backend: the same results, made there, and ended when need be.

The cluster is on this machine: two processes of one thread each, for all tests of the file.
"""

import os
import pickle
import sys
import threading
import time
from dataclasses import replace

import joblib
import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from topktree_evidence.laboratory import STUDIES
from topktree_evidence.runner import make_runs
from topktree_evidence.store import Store, read_table
from topktree_evidence.study import Settings, Study

from topktree import TopKForestClassifier, TopKTreeClassifier, TopKTreeClassifierCV, datasets
from topktree._cli.main import main
from topktree._runtime.dask_tasks import WorkerLost
from topktree._runtime.parallel import count_threads, results_of
from topktree._selection.grid import Limits

distributed = pytest.importorskip("distributed")
dask_config = pytest.importorskip("dask.config")

# Its workers are processes, and Ctrl-C is the whole process's.
pytestmark = pytest.mark.serial

GRID = {"ks": (1, 2, 4), "max_depths": (2, 3), "cv": 3}


@pytest.fixture(scope="module")
def client():
    once = {"distributed.scheduler.allowed-failures": 0}  # a task that kills its worker does not get another one
    with (
        dask_config.set(once),
        # Any port that is free: by default it is one port, and Dask warns if another cluster of the machine has it.
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


@pytest.fixture
def dask(client):
    """A `with` block, as the user writes it."""
    return joblib.parallel_config(backend="dask", client=client)


@pytest.fixture(scope="module")
def monks():
    return datasets.load_monks(1, return_X_y=True)


def finished(client):
    """How many tasks each function has had done by the workers so far."""

    def count(dask_scheduler):
        return {name: prefix.state_counts["memory"] for name, prefix in dask_scheduler.task_prefixes.items()}

    return client.run_on_scheduler(count)


def done_since(client, before):
    return {name: n - before.get(name, 0) for name, n in finished(client).items() if n > before.get(name, 0)}


def endless():
    """Rows on which a deep search over all columns takes hours."""
    rng = np.random.default_rng(0)
    return rng.random((2000, 30)), rng.integers(0, 2, 2000)


def wait_until_idle(client):
    """The workers have no task of a fit any more, not even one that is cancelled and runs on."""

    def fits(dask_worker):
        return [key for key in dask_worker.state.tasks if str(key).startswith("fit_and_score")]

    for _ in range(200):
        if not any(client.run(fits).values()):
            return
        time.sleep(0.05)
    left = client.run(fits)
    client.restart()  # other tests need the workers
    raise AssertionError(f"still there: {left}")


def assert_alike(cv, other):
    same = [name for name in cv.cv_results_ if name.startswith(("param", "split", "mean_test", "mean_n", "std_test"))]
    assert len(same) >= 9
    for name in same:
        np.testing.assert_array_equal(cv.cv_results_[name], other.cv_results_[name])
    assert cv.best_params_ == other.best_params_
    assert cv.export_text() == other.export_text()


@pytest.mark.parametrize("n_jobs", [None, -1, 2])
def test_a_choice_is_made_of_fits_on_the_workers(client, dask, monks, n_jobs):
    here = TopKTreeClassifierCV(**GRID).fit(*monks)
    before = finished(client)
    with dask:
        there = TopKTreeClassifierCV(**GRID, n_jobs=n_jobs).fit(*monks)
    made = done_since(client, before)
    assert (made["make_fold"], made["fit_and_score"]) == (3, 3 * 6)
    assert_alike(here, there)


def test_rows_are_sent_once(client, dask, monks):
    """However many fits there are: folds come as data of their own, not inside of the tasks."""
    before = finished(client)
    with dask:
        TopKTreeClassifierCV(**GRID).fit(*monks)
    assert done_since(client, before)["Fold"] == GRID["cv"]
    assert done_since(client, before)["ndarray"] == 2  # X and y


def test_frames_weights_scorers_and_criteria_travel(dask, monks):
    pd = pytest.importorskip("pandas")
    X, y = monks
    frame = pd.DataFrame(X, columns=list("abcdef")).astype("category")
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    cv = TopKTreeClassifierCV(
        **GRID,
        scoring=lambda tree, X, y: -float(np.count_nonzero(tree.predict(X) != y)),
        criterion=lambda left, right: np.abs(left[:, 0] / np.maximum(left.sum(axis=1), 1) - 0.5),
        leaf_penalties=(0.0, 0.01),
    )
    here = cv.fit(frame, y, weights).export_text(), cv.cv_results_["mean_test_score"]
    with dask:
        there = cv.fit(frame, y, weights).export_text(), cv.cv_results_["mean_test_score"]
    assert here[0] == there[0]
    np.testing.assert_array_equal(here[1], there[1])


def test_one_job_stays_here(client, dask, monks):
    before = finished(client)
    with dask:
        TopKTreeClassifierCV(**GRID, n_jobs=1).fit(*monks)
    assert done_since(client, before) == {}


def test_no_more_tasks_at_a_time_than_jobs(client):
    """Of the calls not one is taken before there is room for it."""
    taken = []

    def calls():
        for i in range(6):
            taken.append(i)
            yield joblib.delayed(abs)(-i)

    with joblib.parallel_config(backend="dask", client=client, n_jobs=2):
        results = results_of(calls(), None)
        assert next(results) in (0, 1)
        assert len(taken) == 2
        assert len(list(results)) == 5


def test_results_in_their_order(dask):
    with dask:
        assert list(results_of((joblib.delayed(abs)(-i) for i in range(20)), None, in_order=True)) == list(range(20))


def test_an_ensemble_is_fitted_on_the_workers(client, dask, monks):
    forest = BaggingClassifier(TopKTreeClassifier(k=4, max_depth=3), n_estimators=6, random_state=0)
    here = [tree.export_text() for tree in forest.fit(*monks).estimators_]
    before = finished(client)
    with dask:
        forest.fit(*monks)
    assert any("_parallel_build_estimators" in name for name in done_since(client, before))
    assert [tree.export_text() for tree in forest.estimators_] == here


@pytest.mark.parametrize("draws", [{}, {"max_features": 2, "oob_score": True}], ids=["rows", "features"])
def test_our_forest_is_fitted_on_the_workers(client, dask, monks, draws):
    forest = TopKForestClassifier(20, k=4, max_depth=3, random_state=0, **draws)
    here = clone(forest).fit(*monks)
    before = finished(client)
    with dask:
        there = clone(forest).fit(*monks)
    assert done_since(client, before)["grow_one"] == 20
    assert there.export_text() == here.export_text()
    assert getattr(there, "oob_score_", None) == getattr(here, "oob_score_", None)


def test_choices_within_tasks(client, dask, monks):
    """Cross-validation of a choice: the inner fits are tasks of tasks."""
    here = cross_val_score(TopKTreeClassifierCV(**GRID), *monks, cv=2)
    before = finished(client)
    with dask:
        there = cross_val_score(TopKTreeClassifierCV(**GRID), *monks, cv=2)
    np.testing.assert_array_equal(here, there)
    assert done_since(client, before)["fit_and_score"] == 2 * 3 * 6


def test_a_fit_has_threads_of_its_machine_not_of_the_cluster(dask):
    with dask:
        assert joblib.effective_n_jobs() == 2
        assert [count_threads(n_jobs) for n_jobs in (None, 1, 3)] == [1, 1, 3]
        assert count_threads(-1) == joblib.cpu_count()


def test_a_time_limit_ends_fits_on_the_workers(client, dask):
    cv = TopKTreeClassifierCV(ks=(1, "all"), max_depths=(9,), cv=2, time_limit=1.0)
    with dask, pytest.warns(ConvergenceWarning, match="1 of 2 candidates"):
        cv.fit(*endless())
    assert cv.status_ == "time_limit"
    assert cv.best_params_["k"] == 1
    wait_until_idle(client)


def test_limits_hold_on_machines_with_another_clock(monkeypatch):
    """What counts is the time that is left, less what the sent one has waited."""
    sent = pickle.dumps(Limits(deadline=time.monotonic() + 100.0, longest=2.0))
    now, wall = time.monotonic(), time.time()
    monkeypatch.setattr(time, "monotonic", lambda: now + 1e6)
    monkeypatch.setattr(time, "time", lambda: wall + 60.0)
    there = pickle.loads(sent)
    assert there.deadline - time.monotonic() == pytest.approx(40.0, abs=1.0)
    assert there.longest == 2.0
    assert not there.is_over(20.0)
    assert there.is_over(30.0)


def test_limits_travel_while_threads_are_at_work():
    limits = Limits()
    with limits.working():
        assert pickle.loads(pickle.dumps(limits)).at_work == []


def test_ctrl_c_ends_fits_on_the_workers(client, dask, ctrl_c):
    cv = TopKTreeClassifierCV(ks=("all",), max_depths=(9,), cv=4)
    X, y = endless()
    ctrl_c()
    with dask, pytest.raises(KeyboardInterrupt):
        cv.fit(X, y)
    wait_until_idle(client)
    assert not hasattr(cv, "tree_")
    with dask:
        TopKTreeClassifierCV(**GRID).fit(*datasets.load_monks(1, return_X_y=True))


def test_a_criterion_that_cannot_travel_is_an_error(dask, monks):
    lock = threading.Lock()

    def criterion(left, right):
        with lock:
            return np.zeros(len(left))

    with dask, pytest.raises(TypeError, match="serialize"):
        TopKTreeClassifierCV(**GRID, criterion=criterion).fit(*monks)


def square(task, settings):
    if task["n"] == 13:
        raise ValueError("unlucky")
    return {"square": task["n"] ** 2, "worker": os.getpid()}


class Quiet:
    def start(self, name, total, done):
        pass

    def advance(self, row):
        pass

    def stop(self):
        pass


def test_runs_of_an_experiment_go_to_the_workers(dask, tmp_path):
    squares = Study("squares", ("n",), ("square", "worker"), lambda settings: [], run=square)
    tasks = [{"n": n} for n in range(20)]
    with dask:
        store = Store(tmp_path / "squares.csv", squares)
        tally = make_runs(squares, tasks, Settings(), store, None, Quiet())
    assert (tally.finished, tally.failed) == (19, 1)
    rows = {row["n"]: row for row in read_table(tmp_path / "squares.csv").to_dict("records")}
    assert rows[13]["message"] == "ValueError: unlucky"
    assert all(rows[n]["square"] == n**2 for n in range(20) if n != 13)
    assert os.getpid() not in {row["worker"] for row in rows.values()}


def reproduce(out, *options):
    return CliRunner().invoke(main, ["reproduce", "lemma", "--out", str(out), *options])


def test_reproduce_on_a_cluster(client, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    lemma = STUDIES["lemma"]
    few = replace(lemma, tasks=lambda settings: lemma.tasks(settings)[:6], pictures=None)
    monkeypatch.setitem(STUDIES, "lemma", few)
    before = finished(client)
    there = reproduce(tmp_path / "there", "--dask", client.scheduler.address)
    assert there.exit_code == 0, there.output
    assert done_since(client, before) == {"caught": 6}
    assert reproduce(tmp_path / "here").exit_code == 0
    assert_same_rows(*(tmp_path / place / "runs" / "lemma.csv" for place in ("here", "there")))


def assert_same_rows(*paths):
    here, there = (sorted(map(str, read_table(path).to_dict("records"))) for path in paths)
    assert here == there


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "smoke://signals:1"])
def test_an_address_without_a_scheduler_is_said_in_a_line(tmp_path, monkeypatch, address):
    monkeypatch.setattr("topktree_evidence.commands.cluster.PATIENCE", 0.5)
    result = reproduce(tmp_path, "--dask", address)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: --dask {address}: must be the address of a Dask scheduler")
    assert len(result.stderr.splitlines()) == 1


def test_without_dask_the_user_hears_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = reproduce(tmp_path, "--dask", "tcp://127.0.0.1:8786")
    assert result.exit_code == 2
    assert result.stderr == "Error: --dask tcp://127.0.0.1:8786: needs Dask: pip install 'topktree[dask]'\n"


def die():
    os._exit(1)


def test_a_worker_that_dies_is_an_error(client):
    """The last test: the cluster that comes after it is another."""
    calls = [joblib.delayed(die)()]
    with joblib.parallel_config(backend="dask", client=client), pytest.raises(WorkerLost, match="a worker died"):
        list(results_of(calls, None))
