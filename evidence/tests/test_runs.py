"""The harness: files of runs that survive kills and damage, waves that spare hopeless runs, failures that are rows."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import pytest
from joblib import parallel_config
from topktree_evidence.runner import make_runs
from topktree_evidence.store import Damaged, Store, as_text, as_value, read_table, start_from, write_table
from topktree_evidence.study import FAILED, FINISHED, SKIPPED, TIMEOUT, Settings, Study

KEYS = ("name", "k")
TOY = Study("toy", KEYS, ("value",), lambda settings: [])
COLUMNS = TOY.run_columns


class Quiet:
    """A progress that remembers."""

    def start(self, name, total, done):
        self.total, self.done, self.rows = total, done, []

    def advance(self, row):
        self.rows.append(row)

    def stop(self):
        pass


def row(name="a", k=1, value=0.5, status=FINISHED, limit=60.0, message=None):
    return dict(name=name, k=k, value=value, status=status, limit=limit, message=message)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "toy.csv"


def filled(path, *rows):
    store = Store(path, TOY)
    for item in rows:
        store.add(item)
    store.close()
    return path


@pytest.mark.parametrize("value", [None, 0, -3, 7, 0.1, 1e-9, 2.5, "all", "dry-bean", 'a, "b"'])
def test_a_value_comes_back_from_text(value):
    assert as_value(as_text(value)) == value


def test_rows_come_back(path):
    rows = [row(), row("b, c", "all", None, TIMEOUT), row(message='say "hi",\nthen go')]
    store = Store(filled(path, *rows), TOY)
    assert not store.damage
    assert store.find({"name": "b, c", "k": "all"}) == rows[1]
    # the third row has the key of the first: the last one counts, line breaks become blanks
    assert store.find({"name": "a", "k": 1})["message"] == 'say "hi", then go'
    assert store.find({"name": "a", "k": 2}) is None


@pytest.mark.parametrize(
    ("spoil", "lost"),
    [
        (lambda text: text[:-4], 1),  # killed in the middle of the last line
        (lambda text: text.rstrip(b"\n"), 1),  # all there but the end of the line, so perhaps not all
        (lambda text: text.replace(b"b,2,0.5,finished", b"b,2,0.5"), 1),
        (lambda text: text.replace(b"finished,60.0,\nb", b"finish\xff,60.0,\nb"), 1),
        (lambda text: text + b"c,3,0.5,perhaps,60.0,\n", 1),
        (lambda text: text + b'c,3,0.5,finished,60.0,"open\n', 1),
        (lambda text: text + b"\0\0\0\0\n\n", 2),
    ],
    ids=["cut", "no-newline", "few-fields", "bytes", "status", "quote", "zeros"],
)
def test_damaged_lines_are_lost_alone(path, spoil, lost):
    filled(path, row(), row("b", 2), row("c", 3))
    path.write_bytes(spoil(path.read_bytes()))
    damaged = path.read_bytes()
    store = Store(path, TOY)
    assert f"{lost} line" in store.damage
    assert path.name in store.damage
    assert path.with_name("toy.csv.1").read_bytes() == damaged  # nothing is thrown away
    survivors = set(store.rows)
    assert survivors == set(Store(path, TOY).rows)
    assert not Store(path, TOY).damage
    assert len({("a", "1"), ("b", "2"), ("c", "3")} & survivors) >= 2
    store.add(row("d", 4))
    store.close()
    assert set(Store(path, TOY).rows) == survivors | {("d", "4")}


@pytest.mark.parametrize("content", [b"", b"\n", b"other,columns\n1,2\n", b"\x89PNG\r\n\x1a\n", b"name,k,value"])
def test_a_file_of_something_else_is_set_aside(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    store = Store(path, TOY)
    assert "toy.csv.1" in store.damage
    assert path.with_name("toy.csv.1").read_bytes() == content
    store.add(row())
    store.close()
    assert set(Store(path, TOY).rows) == {("a", "1")}


def test_packed_runs_come_back(path):
    packed = path.with_name("runs.csv.xz")
    start_from(packed, path)
    assert not path.exists()
    rows = [row(k=k) for k in range(3)]
    write_table(packed, COLUMNS, rows)
    start_from(packed, path)
    assert list(Store(path, TOY).rows.values()) == rows
    write_table(packed, COLUMNS, rows[:1])
    start_from(packed, path)  # runs that are there are not replaced
    assert len(Store(path, TOY).rows) == 3
    path.unlink()
    packed.write_bytes(packed.read_bytes()[:50])
    with pytest.raises(Damaged, match=r"runs\.csv\.xz is damaged"):
        start_from(packed, path)


def test_tables_come_back(tmp_path):
    rows = [row(), row("b", "all", None)]
    write_table(tmp_path / "deep" / "table.csv", COLUMNS, rows)
    found = read_table(tmp_path / "deep" / "table.csv")
    assert found["k"].tolist() == [1, "all"]
    assert found["value"].fillna(-1).tolist() == [0.5, -1]
    assert found["limit"].tolist() == [60.0, 60.0]
    assert len(read_table(tmp_path / "none.csv")) == 0


def search(task, settings):
    """A run whose cost is k to the power of the depth, stopped at the limit."""
    if task["k"] == 13:
        raise ArithmeticError("thirteen\nis unlucky")
    cost = task["k"] ** task["depth"]
    return {"cost": cost, "status": TIMEOUT if cost > settings.time_limit else FINISHED}


def toy(run=search):
    return Study(
        "toy",
        ("k", "depth"),
        ("cost",),
        lambda settings: [{"k": k, "depth": depth} for k in (1, 2, 3) for depth in (1, 2, 3, 4)],
        run=run,
        limit=10.0,
        effort=lambda task: (task["depth"], task["k"]),
        is_hopeless=lambda task, stopped: task["k"] >= stopped["k"] and task["depth"] >= stopped["depth"],
    )


def made(experiment, path, settings=None, jobs=1, tasks=None):
    settings = settings or Settings()
    progress = Quiet()
    store = Store(path, experiment)
    tally = make_runs(experiment, tasks or experiment.tasks(settings), settings, store, jobs, progress)
    return store, tally, progress


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_harder_than_a_stopped_run_is_skipped(path, jobs):
    store, tally, progress = made(toy(), path, jobs=jobs)
    status = {key: row["status"] for key, row in store.rows.items()}
    assert status[("3", "2")] == FINISHED  # 9
    assert status[("2", "3")] == FINISHED  # 8
    assert status[("3", "3")] == TIMEOUT  # 27
    assert status[("2", "4")] == TIMEOUT  # 16
    assert status[("3", "4")] == SKIPPED
    assert (tally.total, tally.made, tally.finished, tally.stopped, tally.failed) == (12, 12, 9, 3, 0)
    assert len(progress.rows) == 12
    assert store.rows[("3", "4")]["cost"] is None
    assert store.rows[("3", "4")]["limit"] == 10.0


def test_a_second_time_nothing_is_run(path):
    made(toy(), path)
    before = path.read_bytes()
    _, tally, progress = made(toy(run=None), path)
    assert (tally.made, tally.finished, tally.stopped) == (0, 9, 3)
    assert (progress.total, progress.done) == (12, 12)
    assert path.read_bytes() == before


def test_a_longer_limit_tries_stopped_runs_again(path):
    made(toy(), path)
    store, tally, _ = made(toy(), path, Settings(time_limit=30.0))
    assert (tally.made, tally.finished, tally.stopped) == (3, 11, 1)
    assert store.rows[("3", "3")]["cost"] == 27
    assert store.rows[("3", "4")]["status"] == TIMEOUT  # no longer skipped: 81
    # a shorter limit does not undo what is known
    _, tally, _ = made(toy(), path, Settings(time_limit=1.0))
    assert (tally.made, tally.finished) == (0, 11)


def test_a_run_that_fails_is_a_row_and_is_tried_again(path):
    tasks = [{"k": k, "depth": 1} for k in (1, 13, 2)]
    store, tally, _ = made(toy(), path, tasks=tasks)
    assert (tally.finished, tally.failed) == (2, 1)
    assert store.rows[("13", "1")]["status"] == FAILED
    assert Store(path, toy()).rows[("13", "1")]["message"] == "ArithmeticError: thirteen is unlucky"
    _, tally, _ = made(toy(run=lambda task, settings: {"cost": 0}), path, tasks=tasks)
    assert (tally.made, tally.finished, tally.failed) == (1, 3, 0)


SLOW = """
    import sys, time
    from pathlib import Path
    from topktree_evidence.study import Settings, Study
    from topktree_evidence.runner import make_runs
    from topktree_evidence.store import Store

    class Quiet:
        def start(self, *_): pass
        def advance(self, *_): pass
        def stop(self): pass

    def run(task, settings):
        time.sleep(0.05)
        return {"square": task["n"] ** 2}

    slow = Study("slow", ("n",), ("square",), lambda settings: [{"n": n} for n in range(200)], run=run)
    store = Store(Path(sys.argv[1]), slow)
    make_runs(slow, slow.tasks(Settings()), Settings(), store, 1, Quiet())
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_killed_command_goes_on_where_it_was(path):
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SLOW), str(path)])
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_text().count("\n") > 5):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    slow = Study("slow", ("n",), ("square",), lambda settings: [], run=lambda task, settings: {"square": -1})
    store = Store(path, slow)
    kept = len(store.rows)
    assert 5 <= kept < 200
    tally = make_runs(slow, [{"n": n} for n in range(20)], Settings(), store, 1, Quiet())
    assert tally.made == max(0, 20 - kept)
    assert [row["square"] for row in Store(path, slow).rows.values()][:kept] == [n**2 for n in range(kept)]


def test_runs_go_to_the_backend_that_joblib_is_told(path):
    """As a user's Dask or Ray cluster would be told."""
    threads = set()

    def run(task, settings):
        threads.add(threading.current_thread())
        time.sleep(0.02)
        return {"cost": 0}

    one_wave = replace(toy(run), effort=lambda task: ())
    with parallel_config(backend="threading", n_jobs=2):
        _, tally, _ = made(one_wave, path, jobs=None, tasks=[{"k": k, "depth": 1} for k in range(20)])
    assert tally.finished == 20
    assert threading.main_thread() not in threads
