"""Figure 3: the solvers agree on small problems, runs end as they should, and what is told of them is right."""

import csv
import gzip
import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from topktree_evidence import peers
from topktree_evidence.peers import Problem
from topktree_evidence.stopwatch import Outcome, Stopwatch
from topktree_evidence.studies.paper import fig3
from topktree_evidence.study import Settings

from topktree.datasets import PAPER

LIMIT = 20.0


def noise(n_rows, n_columns, seed=0):
    """Rows whose class is a bit more often 1 where two columns agree."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_columns)) < 0.5
    return X, ((X[:, 0] == X[:, 1]) ^ (rng.random(n_rows) < 0.3)).astype(np.int64)


def task(**changes):
    return {"sweep": "features", "size": 60, "solver": "topktree", "k": 2, "depth": 4, "penalty": 0.001} | changes


def row(status="finished", seconds=None, message=None, limit=5.0, **changes):
    return task(**changes) | {
        "status": status,
        "seconds": seconds,
        "errors": 7 if status == "finished" else None,
        "leaves": 3 if status == "finished" else None,
        "limit": limit,
        "message": message,
    }


def run(asked, folder, limit, stopwatch):
    return fig3.run(asked, Settings(data_home=folder and str(folder), time_limit=limit), stopwatch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of FICO's size: 23 columns of noise, of 61 values each."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, 61, (1000, 23)), rng.integers(0, 2, 1000)])
    with gzip.open(folder / PAPER[fig3.DATASET].files[0], "wt", newline="") as stream:
        csv.writer(stream).writerows([[f"f{i}" for i in range(23)] + ["class"], *rows])
    return folder


@pytest.fixture(scope="module")
def stopwatch(folder):
    """Its process has the data already, so that a small limit is one of the fit alone."""
    with Stopwatch(grace=0.3) as stopwatch:
        assert stopwatch.run(fig3.matrix, str(folder), limit=LIMIT).status == "finished"
        yield stopwatch


class Inline:
    """A stopwatch that runs nothing."""

    def __init__(self, outcome):
        self.outcome = outcome

    def run(self, function, *arguments, limit):
        return self.outcome


# The solvers.


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("name", peers.OPTIMAL)
def test_optimal_trees_of_peers_cost_what_ours_do(name, depth):
    pytest.importorskip(name)
    X, y = noise(200, 12)
    penalty = 0.004  # 0.8 of a row, so that no two trees of other errors or leaves cost the same up to 4 leaves
    ours = peers.fit("topktree", X, y, Problem(depth, penalty, LIMIT))
    theirs = peers.fit(name, X, y, Problem(depth, penalty, LIMIT))
    assert ours.finished
    assert theirs.finished
    assert theirs.errors + 0.8 * theirs.leaves == pytest.approx(ours.errors + 0.8 * ours.leaves)
    if depth <= 2:
        assert (theirs.errors, theirs.leaves) == (ours.errors, ours.leaves)


@pytest.mark.parametrize("name", peers.OPTIMAL)
def test_depth_counts_the_same_for_all(name):
    """Parity of three columns needs depth 3: at depth 2 there are errors, at depth 3 none, in 8 leaves."""
    pytest.importorskip(name)
    X = np.array(list(itertools.product([False, True], repeat=3)) * 10)
    y = X.sum(axis=1) % 2
    assert peers.fit(name, X, y, Problem(2, 0.001, LIMIT)).errors == 40
    deep = peers.fit(name, X, y, Problem(3, 0.001, LIMIT))
    assert (deep.errors, deep.leaves) == (0, 8)


def test_topktree_minimises_errors_and_leaves_together():
    """A second split saves 2 of 100 rows: it is made if a leaf costs less than that."""
    X = np.zeros((100, 2), dtype=bool)
    X[:50, 0] = True
    X[:2, 1] = True
    y = np.where(X[:, 0] & ~X[:, 1], 1, 0)
    for penalty, errors, leaves in [(0.019, 0, 3), (0.021, 2, 2), (0.49, 48, 1)]:
        fit = peers.fit("topktree", X, y, Problem(4, penalty, LIMIT))
        assert (fit.errors, fit.leaves, fit.finished) == (errors, leaves, True)


def test_a_larger_k_costs_no_more():
    X, y = noise(300, 20, seed=3)
    fits = [peers.fit("topktree", X, y, Problem(4, 0.001, LIMIT, k)) for k in (1, 2, 4, 8, "all")]
    costs = [fit.errors + 0.3 * fit.leaves for fit in fits]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_a_peer_that_stops_itself_has_not_finished():
    pytest.importorskip("pystreed")
    X, y = noise(400, 300)
    fit = peers.fit("pystreed", X, y, Problem(5, 0.001, 0.3))
    assert not fit.finished
    assert 0.2 < fit.seconds < 5


def test_only_what_can_be_imported_is_installed(monkeypatch):
    there = replace(peers.PEERS["gosdt"], module="json")
    monkeypatch.setattr(peers, "PEERS", {"there": there, "absent": replace(there, module="no_such_solver")})
    assert [name for name in peers.PEERS if peers.is_installed(name)] == ["there"]


# The runs.


def test_sizes_are_the_authors():
    features, samples = fig3.sizes("features", 30), fig3.sizes("samples", 30)
    assert (len(features), features[:3], features[-1]) == (30, [10, 58, 106], 1407)
    assert (len(samples), samples[:3], samples[-1]) == (30, [10, 44, 78], 1000)


def test_tasks_grow(monkeypatch):
    monkeypatch.setattr(peers, "is_installed", lambda name: name == "gosdt")
    tasks = fig3.tasks(Settings(sizes=3))
    assert len(tasks) == 2 * 3 * 3 * (5 + 1)
    assert all(tuple(task) == fig3.KEYS for task in tasks)
    assert {task["k"] for task in tasks if task["solver"] == "gosdt"} == {""}
    assert not any(fig3.is_harder(a, b) for a, b in itertools.combinations(tasks, 2))  # no run before an easier one
    assert tasks[0] == task(size=10, k=1)


def test_tasks_are_of_solvers_that_are_installed(monkeypatch):
    monkeypatch.setattr(peers, "is_installed", lambda name: False)
    assert {task["solver"] for task in fig3.tasks(Settings())} == {"topktree"}
    assert len(fig3.tasks(Settings())) == 2 * 30 * 3 * 5


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"size": 61}, True),
        ({"depth": 5}, True),
        ({"k": 4}, True),
        ({"size": 100, "depth": 6, "k": 16}, True),
        ({}, False),  # the run itself: with another limit it may be made again
        ({"size": 59}, False),
        ({"depth": 3}, False),
        ({"k": 1}, False),
        ({"size": 100, "depth": 3}, False),
        ({"size": 100, "k": 1}, False),
        ({"size": 100, "sweep": "samples"}, False),
        ({"size": 100, "solver": "gosdt", "k": ""}, False),
        ({"size": 100, "penalty": 0.01}, False),
    ],
)
def test_hopeless_is_what_is_harder_than_a_timeout(changes, expected):
    assert fig3.is_harder(task(**changes), task()) is expected


@pytest.mark.parametrize("empty", ["", None])  # as given, and as read from a file
def test_hopeless_for_peers(empty):
    stopped = task(solver="gosdt", k=empty)
    assert fig3.is_harder(task(solver="gosdt", k="", size=61), stopped)
    assert not fig3.is_harder(task(solver="pystreed", k="", size=61), stopped)
    assert not fig3.is_harder(task(solver="gosdt", k="", size=59), stopped)


@pytest.mark.filterwarnings("ignore:.*not the content")
def test_the_matrix_has_the_papers_columns(folder):
    X, y = fig3.matrix(str(folder))
    assert X.shape == (1000, 23 * 61)
    assert X.dtype == bool
    assert set(y) == {0, 1}


@pytest.mark.filterwarnings("ignore:.*not the content")
@pytest.mark.parametrize("sweep", ["features", "samples"])
def test_a_run_is_the_fit_of_the_first_columns_or_rows(folder, stopwatch, sweep):
    X, y = fig3.matrix(str(folder))
    part = (X[:, :60], y) if sweep == "features" else (X[:60], y[:60])
    fit = peers.fit("topktree", *part, Problem(4, 0.001, LIMIT, 2))
    result = run(task(sweep=sweep), folder, LIMIT, stopwatch)
    assert 0 < result["seconds"] < LIMIT
    assert result == {"seconds": result["seconds"], "errors": fit.errors, "leaves": fit.leaves}


@pytest.mark.parametrize("name", peers.OPTIMAL)
def test_a_run_of_a_peer(folder, stopwatch, name):
    pytest.importorskip(name)
    warm = run(task(solver=name, k="", size=10), folder, LIMIT, stopwatch)  # its import may take seconds
    assert "status" not in warm
    ours = stopwatch.run(fig3.measure, task(k=None, size=10), str(folder), LIMIT, limit=LIMIT).value
    assert warm["errors"] + warm["leaves"] == ours.errors + ours.leaves  # a leaf costs as much as a row of 1000


def test_a_run_that_hits_the_limit(folder, stopwatch):
    hard = task(size=1000, sweep="samples", depth=6, k=100)
    result = run(hard, folder, 0.2, stopwatch)
    assert result == {"status": "timeout", "message": "stopped at the limit of 0.2 s"}
    assert "seconds" in run(task(size=10), folder, LIMIT, stopwatch)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome("finished", value=peers.Fit(5.0, True, 1, 2)), {"seconds": 5.0, "errors": 1, "leaves": 2}),
        (
            Outcome("finished", value=peers.Fit(5.1, True, 1, 2)),
            {"status": "timeout", "message": "finished after 5.1 s"},
        ),
        (
            Outcome("finished", value=peers.Fit(4.9, False, 1, 2)),
            {"status": "timeout", "message": "stopped itself after 4.9 s"},
        ),
        (Outcome("failed", "out of memory"), {"status": "timeout", "message": "out of memory"}),
        (Outcome("failed", "killed by SIGSEGV"), {"status": "failed", "message": "killed by SIGSEGV"}),
    ],
)
def test_what_counts_as_finished(outcome, expected):
    assert run(task(), None, 5.0, Inline(outcome)) == expected


def test_a_missing_file_is_told(tmp_path, stopwatch):
    result = run(task(), tmp_path / "nowhere", LIMIT, stopwatch)
    assert result["status"] == "failed"
    assert "is not a folder" in result["message"]


def test_short_fits_are_repeated_and_the_first_not_counted(monkeypatch):
    seconds = iter([0.2, *[0.01] * 20, *[0.04] * 20])
    monkeypatch.setattr(fig3, "matrix", lambda data_home: noise(20, 10))
    monkeypatch.setattr(fig3, "warm_up", lambda name: None)
    monkeypatch.setattr(peers, "fit", lambda *arguments: peers.Fit(next(seconds), True, 1, 2))
    assert fig3.measure(task(), None, LIMIT) == peers.Fit(0.01, True, 1, 2)
    assert len(list(seconds)) == 17  # 0.01 s twenty times, 0.04 s three times: 0.3 s


def test_long_fits_are_not_repeated(monkeypatch):
    seconds = iter([0.4, 1.0])
    monkeypatch.setattr(fig3, "matrix", lambda data_home: noise(20, 10))
    monkeypatch.setattr(fig3, "warm_up", lambda name: None)
    monkeypatch.setattr(peers, "fit", lambda *arguments: peers.Fit(next(seconds), True, 1, 2))
    assert fig3.measure(task(), None, LIMIT).seconds == 0.4


# What is told.

ROWS = [
    row(seconds=0.002, size=10),
    row(seconds=0.4, size=700),
    row(seconds=0.9, size=1407),
    row(seconds=1.0, size=10, k=16),
    row("timeout", size=700, k=16),
    row("skipped", size=1407, k=16),
    row("timeout", size=700, solver="gosdt", k=None),
    row(seconds=0.01, size=10, solver="gosdt", k=None),
    row("timeout", size=10, depth=6, solver="gosdt", k=None),
    row("skipped", size=700, depth=6, k=16),
    row(seconds=0.25, size=10, sweep="samples"),
    row("failed", size=44, sweep="samples", message="out of memory"),
]


FRAME = pd.DataFrame(ROWS)


def test_table():
    assert fig3.table(FRAME).splitlines() == [
        "| solver | features, depth 4 | features, depth 6 | samples, depth 4 |",
        "| --- | ---: | --- | ---: |",
        "| Top-2 | 1407 in 0.9 s | none | 10 in 0.25 s |",
        "| Top-16 | 10 in 1 s | none | none |",
        "| GOSDT | 10 in 0.01 s | none | none |",
    ]
    assert fig3.notes(FRAME) == [
        "Failed: Top-2, 44 samples, depth 4: out of memory.",
        "Not installed, so not run: pystreed.",
    ]


def points(line):
    return [(int(x), float(y)) for x, y in line.get_xydata()]


def test_picture():
    pytest.importorskip("matplotlib")
    figure = fig3.draw(FRAME)
    panels = figure.axes
    assert [panel.get_title() for panel in panels] == [
        f"depth {depth}, growing {sweep}" for sweep in ("features", "samples") for depth in (4, 6)
    ]
    assert all(panel.get_yscale() == "log" for panel in panels)
    drawn = [points(line) for line in panels[0].get_lines()]
    assert [(10, 0.002), (700, 0.4), (1407, 0.9)] in drawn  # Top-2
    assert [(10, 1.0), (700, 5.0)] in drawn  # Top-16 ends at the limit
    assert [(10, 0.01), (700, 5.0)] in drawn  # GOSDT too
    crosses = [line for line in panels[0].get_lines() if line.get_marker() == "x"]
    assert [points(line) for line in crosses] == [[(700, 5.0)], [(700, 5.0)]]
    assert len({line.get_markersize() for line in crosses}) == len({line.get_color() for line in crosses}) == 2
    assert [points(line) for line in panels[2].get_lines() if line.get_marker() == "+"] == [[(44, 5.0)]]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["Top-2", "Top-16", "GOSDT", "not finished within the limit", "failed"]


@pytest.mark.parametrize("rows", [FRAME, FRAME[:1], FRAME[:0]], ids=["all", "one", "none"])
def test_picture_and_table_of_whatever_there_is(rows, tmp_path):
    pytest.importorskip("matplotlib")
    fig3.draw(rows).savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 0
    assert fig3.table(rows).startswith("| solver |")
