"""Faults on a cluster during a fit: the tree is the same, or an error says what happened, and nothing is left behind.

To hit a phase of a fit for sure, nothing is timed: blocks of the data count how often they are read, or wait at a gate,
which is a file; and rounds of counting are known by the client's calls.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest

from topktree import TopKTreeClassifier

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from topktree.dask import DaskTopKTreeClassifier, cluster, shards  # noqa: E402

# Workers are killed, Ctrl-C is the whole process's, and memory is measured.
pytestmark = [
    pytest.mark.serial,
    # Dask's opinion of a disk that is busy.
    pytest.mark.filterwarnings("ignore:Creating scratch directories is taking"),
]

PARAMETERS = {"k": 4, "max_depth": 4}
ROWS, BLOCK = 4000, 500
PATIENCE = 60  # seconds until something that should have happened has not


# Data, trees and clusters.


def rows(n=ROWS):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (n, 8)).astype(float)
    return X, ((X[:, 0] * X[:, 1] > 6) ^ (X[:, 2] > 2) ^ (rng.random(n) < 0.1)).astype(int)


def collections(n=ROWS, block=BLOCK):
    X, y = rows(n)
    return da.from_array(X, chunks=(block, -1)), da.from_array(y, chunks=block)


def learner(client, **options):
    """Return a classifier that counts on the workers."""
    return DaskTopKTreeClassifier(**{"client": client, "gather_bytes": 0} | PARAMETERS | options)


@pytest.fixture(scope="module")
def local():
    return TopKTreeClassifier(**PARAMETERS).fit(*rows())


def assert_same(clf, local):
    assert clf.to_local().export_text() == local.export_text()
    assert clf.cost_ == local.cost_
    assert clf.status_ == local.status_


def start(n_workers, **options):
    # Any port that is free: by default it is one port, and Dask warns if another cluster of the machine has it.
    return distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", **options)


@pytest.fixture(scope="module")
def two_processes():
    with start(2) as machines:
        yield machines


@pytest.fixture
def client(two_processes):
    """Connect to two processes, which come back when they are killed."""
    with distributed.Client(two_processes) as found:
        found.wait_for_workers(2, timeout=PATIENCE)
        yield found


@pytest.fixture
def threads():
    """Start a cluster of two threads in this process, with its client."""
    with start(2, processes=False) as machines, distributed.Client(machines) as found:
        yield machines, found


def wait_until(what):
    end = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return found


def assert_free(client, *kept):
    """Assert that the scheduler knows no task except those kept, and that workers hold nothing else."""

    def left(dask_scheduler):
        return set(dask_scheduler.tasks)

    def held(dask_worker):
        return set(dask_worker.data)

    wait_until(lambda: client.run_on_scheduler(left) == set(kept))
    wait_until(lambda: not set().union(*client.run(held).values()) - set(kept))
    assert not any(client.processing().values())


def in_time(function):
    """Return what the function returns; a hang is a failure."""
    results, errors = [], []

    def run():
        try:
            results.append(function())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "it hangs"
    for error in errors:
        raise error
    return results[0]


# Blocks and rounds at which something happens. What workers run is made inside of functions, and so sent to them whole.


def first_block(values, function):
    """Return the array with its first block passed through the function."""
    special = values[:BLOCK].map_blocks(function, dtype=values.dtype, meta=np.empty(0, values.dtype))
    return da.concatenate([special, values[BLOCK:]])


def deadly(folder, nth):
    """Return a function that kills the process in which it is called for the nth time."""
    here = os.getpid()

    def pass_on(block):
        import os
        import signal

        n = len(os.listdir(folder)) + 1
        open(f"{folder}/{n}", "x").close()
        if n == nth and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    return pass_on


def gated(function, gate):
    """Return the function, made to wait until the gate is open; a file says that it waits."""

    def wait(*arguments):
        import os
        import time

        open(f"{gate}-waits", "w").close()
        while not os.path.exists(gate):
            time.sleep(0.01)
        return function(*arguments)

    return wait


def at_round(monkeypatch, nth, before=None, after=None):
    """Do something before or after the nth round of questions; return the rounds so far."""
    count, calls = cluster.Cluster.count, []

    def count_and_act(self, shards, *arguments):
        calls.append(1)
        if before is not None and len(calls) == nth:
            before(shards)
        tasks = count(self, shards, *arguments)
        if after is not None and len(calls) == nth:
            after()
        return tasks

    monkeypatch.setattr(cluster.Cluster, "count", count_and_act)
    return calls


def kill(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


# Workers that are lost.


@pytest.mark.parametrize(("phase", "nth"), [("labels", 1), ("columns", 2), ("packing", 3)])
def test_a_worker_killed_while_parts_are_read(client, local, tmp_path, phase, nth):
    before = client.run(os.getpid)
    X, y = collections()
    clf = learner(client)
    in_time(lambda: clf.fit(X, first_block(y, deadly(str(tmp_path), nth))))
    assert len(os.listdir(tmp_path)) > 3, f"nobody was killed in {phase}"
    assert_same(clf, local)
    assert client.run(os.getpid) != before
    assert_free(client)


def test_a_worker_killed_between_rounds(client, local, monkeypatch):
    pids = list(client.run(os.getpid).values())
    calls = at_round(monkeypatch, 2, after=lambda: kill(pids[:1]))
    clf = learner(client)
    in_time(lambda: clf.fit(*collections()))
    assert len(calls) > 2
    assert_same(clf, local)
    assert_free(client)


def test_workers_that_do_not_come_back(local, monkeypatch):
    with start(2) as machines, distributed.Client(machines) as client:
        for nanny in machines.workers.values():
            nanny.close_gracefully()
        first, last = client.run(os.getpid).values()
        with monkeypatch.context() as patch:
            at_round(patch, 2, after=lambda: kill([first]))
            clf = learner(client, worker_timeout=0.5)
            in_time(lambda: clf.fit(*collections()))
        assert_same(clf, local)
        assert len(client.nthreads()) == 1
        at_round(monkeypatch, 2, after=lambda: kill([last]))
        with pytest.raises(RuntimeError, match=r"no workers for 0\.5 s \(worker_timeout\)"):
            in_time(lambda: clf.fit(*collections()))
        assert_same(clf, local)
        wait_until(lambda: not client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.tasks)))


def test_no_worker_ever():
    with start(0, processes=False) as machines, distributed.Client(machines) as client:
        with pytest.raises(RuntimeError, match=r"no workers for 0\.5 s \(worker_timeout\)"):
            in_time(lambda: learner(client, worker_timeout=0.5).fit(*collections()))
        assert_free(client)


def test_no_worker_at_the_first_round(threads, local, monkeypatch):
    machines, client = threads

    def change_all(shards):
        for worker in list(machines.workers.values()):
            machines.sync(worker.close)
        wait_until(lambda: not client.nthreads())
        threading.Timer(0.2, machines.scale, [4]).start()

    at_round(monkeypatch, 1, before=change_all)
    clf = learner(client)
    in_time(lambda: clf.fit(*collections()))
    assert_same(clf, local)


@pytest.mark.parametrize("by_address", [False, True])
def test_the_scheduler_is_lost(by_address, monkeypatch):
    machines = start(2, processes=False)
    with distributed.Client(machines.scheduler_address if by_address else machines) as client:
        at_round(monkeypatch, 2, after=machines.close)
        with pytest.raises(RuntimeError, match=r"connection to the Dask scheduler|gave up the work"):
            in_time(lambda: learner(client).fit(*collections()))


# Workers that come.


def test_workers_that_join_during_a_fit(threads, local, monkeypatch):
    machines, client = threads

    def join():
        machines.scale(4)
        client.wait_for_workers(4, timeout=PATIENCE)

    at_round(monkeypatch, 2, after=join)
    assert_same(in_time(lambda: learner(client).fit(*collections())), local)
    assert_free(client)


def test_an_adaptive_cluster_that_begins_without_workers(local):
    with start(0, processes=False) as machines, distributed.Client(machines) as client:
        machines.adapt(minimum=0, maximum=2, interval="50ms")
        assert_same(in_time(lambda: learner(client).fit(*collections())), local)


# Data that are wrong.


def spoil_labels(X, y):
    def spoil(block):
        return np.where(np.arange(len(block)) == 7, np.nan, block)

    return X, first_block(y.astype(float), spoil)


def spoil_numbers(X, y):
    def spoil(block):
        return block.astype(object).astype(str) + "?"

    first = X[:BLOCK].map_blocks(spoil, dtype=X.dtype, meta=np.empty((0, 0)))
    return da.concatenate([first, X[BLOCK:]]), y


def fail_to_read(X, y):
    def fail(block):
        raise TimeoutError("the disk is slow today")

    return X, first_block(y, fail)


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (spoil_labels, ValueError, "Input y contains NaN"),
        (spoil_numbers, ValueError, "X must have numbers in 'x0'"),
        (fail_to_read, TimeoutError, "the disk is slow today"),
    ],
)
def test_an_error_of_a_task_is_the_users(client, spoil, error, message):
    with pytest.raises(error, match=message):
        in_time(lambda: learner(client, categorical_features=None).fit(*spoil(*collections())))
    assert_free(client)


# Fits that are ended.


@pytest.mark.parametrize("phase", ["labels", "counting"])
def test_ctrl_c_frees_the_workers(client, local, ctrl_c, monkeypatch, tmp_path, phase):
    gate = tmp_path / "gate"
    X, y = collections()
    clf = learner(client).fit(X, y)
    tree = clf.tree_
    own = client.submit(sum, [1, 2])  # something of the user's
    with monkeypatch.context() as patch:
        if phase == "labels":
            y = first_block(y, gated(lambda block: block, str(gate)))
        else:
            patch.setattr(shards, "count_shards", gated(shards.count_shards, str(gate)))
        interrupt = threading.Thread(target=lambda: (wait_until((tmp_path / "gate-waits").exists), ctrl_c()))
        interrupt.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                clf.fit(X, y)
        finally:
            gate.touch()
        interrupt.join()
    assert clf.tree_ is tree
    assert_free(client, own.key)
    assert own.result() == 3
    assert_same(clf.fit(*collections()), local)


def test_a_time_limit_within_a_round(client, monkeypatch, tmp_path):
    gate = tmp_path / "gate"
    gate.touch()
    monkeypatch.setattr(shards, "count_shards", gated(shards.count_shards, str(gate)))
    result, waited = cluster.Cluster.result, []

    def close_gate(self, future, deadline=None):
        """Close the gate from the first round on that may run out of time."""
        if deadline is not None:
            waited.append(1)
            gate.unlink(missing_ok=True)
        return result(self, future, deadline)

    monkeypatch.setattr(cluster.Cluster, "result", close_gate)
    try:
        clf = in_time(lambda: learner(client, time_limit=3).fit(*collections()))
    finally:
        gate.touch()
    assert waited
    assert clf.status_ == "time_limit"
    assert clf.cost_ <= TopKTreeClassifier(**PARAMETERS | {"k": 1}).fit(*rows()).cost_
    assert_free(client)


# Ordinary fits in uncommon places.


@pytest.mark.parametrize("gather_bytes", [0, 2**26])
def test_threads_and_no_limit_of_memory(local, gather_bytes):
    with start(2, processes=False, memory_limit=None) as machines, distributed.Client(machines) as client:
        assert_same(in_time(lambda: learner(client, gather_bytes=gather_bytes).fit(*collections())), local)
        assert_free(client)


def test_many_small_partitions(client):
    X, y = rows(3000)
    clf = in_time(lambda: learner(client).fit(*collections(3000, 10)))
    assert clf.search_["n_partitions"] == 300
    assert_same(clf, TopKTreeClassifier(**PARAMETERS).fit(X, y))
    assert_free(client)


def test_two_fits_at_a_time(client, local):
    X, y = collections()
    others = [learner(client), learner(client, k=1), learner(client, gather_bytes=2**26)]
    fits = [threading.Thread(target=clf.fit, args=(X, y)) for clf in others]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join(PATIENCE)
    assert_same(others[0], local)
    assert_same(others[1], TopKTreeClassifier(**PARAMETERS | {"k": 1}).fit(*rows()))
    assert_same(others[2], local)
    assert_free(client)


def test_a_shard_on_two_workers(threads, local, monkeypatch):
    _, client = threads
    at_round(monkeypatch, 1, before=client.replicate)
    assert_same(in_time(lambda: learner(client).fit(*collections(block=ROWS))), local)


def test_a_result_that_takes_long_to_fetch(client, local, monkeypatch):
    monkeypatch.setattr(cluster, "POLL_SECONDS", 1e-6)
    assert_same(in_time(lambda: learner(client).fit(*collections())), local)


# Memory.


def test_dask_knows_how_large_shards_are(threads, monkeypatch):
    _, client = threads
    sizes = []

    def compare(shards):
        known = client.run_on_scheduler(lambda dask_scheduler: {k: t.nbytes for k, t in dask_scheduler.tasks.items()})
        sizes.extend((known[shard.key], shard.result().bits.nbytes) for shard in shards)

    at_round(monkeypatch, 1, before=compare)
    learner(client).fit(*collections())
    assert len(sizes) == ROWS // BLOCK
    assert all(0 < actual <= known < actual + 1000 for known, actual in sizes), sizes


def resident_bytes():
    import psutil

    return psutil.Process().memory_info().rss


def test_memory_does_not_grow_from_fit_to_fit(client):
    def make(block, block_info=None):
        n, d = block_info[None]["chunk-shape"]
        return np.random.default_rng(block_info[None]["chunk-location"]).integers(0, 99, (n, d)).astype(float)

    X = da.empty((320_000, 20), chunks=(20_000, -1)).map_blocks(make, dtype=float, meta=np.empty((0, 0)))
    y = (X[:, 0] + X[:, 1] > 99).astype(int)
    clf = learner(client, k=2, max_depth=2)
    sizes = []
    for _ in range(5):
        clf.fit(X, y)
        assert_free(client)
        sizes.append(np.array(list(client.run(resident_bytes).values())))
    shards = 320_000 * 20 * 32 // 8 / 2  # of one fit, on one worker
    assert np.all(sizes[4] - sizes[1] < 2 * shards), sizes


def write_parquet(folder, n_rows, n_features, n_parts):
    """Files of the same rows, written once; returns the rows and the bytes of all files."""
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    X = rng.integers(0, 1000, (n_rows, n_features)).astype(float)
    y = ((X[:, 0] < 500) ^ (X[:, 1] < 300) ^ (rng.random(n_rows) < 0.1)).astype(int)
    table = pa.table({f"x{j}": X[:, j] for j in range(n_features)} | {"y": y})
    pq.write_table(table, folder / "part-000.parquet", compression="none", use_dictionary=False)
    for i in range(1, n_parts):
        os.link(folder / "part-000.parquet", folder / f"part-{i:03}.parquet")
    return X, y, n_parts * os.path.getsize(folder / "part-000.parquet")


def disk_bytes(dask_worker):
    return dask_worker.data.cumulative_metrics["disk-write", "bytes"]


def test_more_rows_than_memory(tmp_path):
    # An idle worker takes 280 MB. Results beyond the target go to disk at once; by default that is 60% of the limit,
    # and a worker may be killed before Dask has noticed that it has to write more.
    limit, n_parts = 600_000_000, 152
    X, y, n_bytes = write_parquet(tmp_path, 50_000, 20, n_parts)
    assert n_bytes > 2 * limit
    early = dask.config.set({"distributed.worker.memory.target": 0.2})
    with early, start(2, memory_limit=limit) as machines, distributed.Client(machines) as client:
        pids = client.run(os.getpid)
        frame = dd.read_parquet(tmp_path)
        clf = learner(client, k=2, max_depth=2)
        clf.fit(frame.drop(columns="y"), frame["y"])
        assert client.run(os.getpid) == pids, "a worker was killed"
        assert all(client.run(disk_bytes).values())
        assert_free(client)
    local = TopKTreeClassifier(k=2, max_depth=2).fit(X, y)
    assert clf.search_["n_partitions"] == n_parts
    assert clf.search_["threshold_error"] == 0
    for name in ("feature", "threshold", "children_left", "children_right"):
        np.testing.assert_array_equal(getattr(clf.tree_, name), getattr(local.tree_, name))
    np.testing.assert_array_equal(clf.tree_.n_node_samples, n_parts * local.tree_.n_node_samples)
    assert clf.cost_ == n_parts * local.cost_
