"""`topktree bench`: its errors against fits made here, slow or missing contestants; and the page of `make bench`."""

import json
import shutil

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.people import assert_mistake, run
from topktree_evidence import peers
from topktree_evidence.machine import REPOSITORY
from topktree_evidence.stopwatch import Outcome
from topktree_evidence.store import read_table
from topktree_evidence.studies import speed
from topktree_evidence.studies.speed import plans, quick
from topktree_evidence.study import FAILED, FINISHED, TIMEOUT, Settings

from topktree import TopKTreeClassifier

FEW = quick.generated_problems()[1:3]


class Always:
    """A stopwatch that runs nothing."""

    def __init__(self, outcomes):
        self.outcomes = outcomes
        self.asked = []

    def run(self, function, solver, *arguments, limit):
        self.asked.append(solver)
        return self.outcomes[solver]


def finished(seconds, done=True):
    return Outcome(FINISHED, value=peers.Fit(seconds, done, 3, 2))


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr("topktree_evidence.commands.bench.generated_problems", lambda: FEW)
    monkeypatch.delenv("TOPKTREE_DATA", raising=False)


def test_json(few):
    result = run("bench", "--repeat", "2", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["depth"], found["repeat"]) == (quick.DEPTH, 2)
    cells = {(cell["dataset"], cell["contestant"]): cell for cell in found["results"]}
    assert len(cells) == 2 * 4
    for problem in FEW:
        greedy = DecisionTreeClassifier(criterion="entropy", max_depth=quick.DEPTH, random_state=0)
        errors = np.count_nonzero(greedy.fit(problem.X, problem.y).predict(problem.X) != problem.y)
        assert cells[problem.name, "scikit-learn"]["errors"] == errors
        assert cells[problem.name, "scikit-learn"]["ratio"] is None
        for k in (1, 8, "all"):
            clf = TopKTreeClassifier(k=k, max_depth=quick.DEPTH).fit(problem.X, problem.y)
            cell = cells[problem.name, f"topktree k = {k}"]
            assert (cell["errors"], cell["leaves"]) == (clf.train_errors_, clf.get_n_leaves())
            assert cell["status"] == "finished"
            assert cell["ratio"] == pytest.approx(cell["seconds"] / cells[problem.name, "scikit-learn"]["seconds"])


def test_text(few, monkeypatch):
    monkeypatch.setattr(peers, "is_installed", lambda name: False)
    result = run("bench", "--repeat", "1", "--peers", env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[3].split() == ["dataset", "size", "tree", "errors", "leaves", "seconds", "ratio"]
    assert lines[5].startswith("monks-1")
    assert [line.split()[:3] for line in lines[6:9]] == [["k", "=", "1"], ["k", "=", "8"], ["k", "=", "all"]]
    assert lines[-1].endswith("To measure them: pip install pytrees-rs pystreed")
    assert "\x1b" not in result.output


def test_contestants_take_turns_and_the_slow_are_asked_once():
    slow, lame, broken = (quick.Contestant(name) for name in ("slow", "lame", "broken"))
    stopwatch = Always(
        {
            "scikit-learn": finished(0.5),
            "slow": finished(quick.SLOW),
            "lame": Outcome(TIMEOUT, "stopped at the limit of 1 s"),
            "broken": Outcome(FAILED, "exit code 3"),
        }
    )
    turns = []
    cells = quick.measure(FEW[0], [quick.GREEDY, slow, lame, broken], 3, 1.0, stopwatch, turns.append)
    assert stopwatch.asked == ["scikit-learn", "slow", "lame", "broken", *["scikit-learn"] * 2]
    assert turns == [quick.GREEDY, slow, lame, broken] * 3
    assert [cell.status for cell in cells] == [FINISHED, FINISHED, TIMEOUT, FAILED]
    assert [cell.ratio for cell in cells] == [None, 2.0, None, None]
    assert [cell.errors for cell in cells] == [3, 3, None, None]


def test_what_is_stopped_or_fails_is_said(few, monkeypatch):
    def measure(problem, contestants, repeat, limit, stopwatch, advance):
        stopwatch = Always(
            {
                "scikit-learn": finished(0.5),
                "topktree": Outcome(TIMEOUT, "stopped"),
                "pytrees-rs": Outcome(FAILED, "exit code 3"),
                "pystreed": finished(9.0, done=False),
            }
        )
        return quick.measure(problem, contestants, repeat, limit, stopwatch, advance)

    monkeypatch.setattr("topktree_evidence.commands.bench.measure", measure)
    monkeypatch.setattr(peers, "is_installed", lambda name: True)
    text = run("bench", "--peers", "--time-limit", "7").stdout
    assert "-: stopped at the limit of 7 seconds (--time-limit)" in text
    assert "pytrees-rs k = 8 failed on monks-1, balance-scale: exit code 3\n" in text
    assert [line.split()[1:] for line in text.splitlines() if line.split()[:1] == ["pystreed"]] == [["3", "2", "-"]] * 2


@pytest.mark.parametrize("peer", quick.PEERS)
def test_peers_find_what_we_find(peer):
    if not peers.is_installed(peer.solver):
        pytest.skip(f"{peer.solver} is not installed")
    problem = FEW[0]
    ours = TopKTreeClassifier(k=peer.k or "all", max_depth=3).fit(problem.X, problem.y)
    theirs = peers.fit(peer.solver, problem.X, problem.y, peers.Problem(3, k=peer.k or "all"))
    assert (theirs.finished, theirs.errors) == (True, ours.train_errors_)


def test_mistakes(few, tmp_path):
    assert_mistake(run("bench", "--data", tmp_path), f"--data {tmp_path}", "spambase.csv.gz")
    assert_mistake(run("bench", env={"TOPKTREE_DATA": str(tmp_path)}), f"$TOPKTREE_DATA {tmp_path}")
    assert_mistake(run("bench", "--data", tmp_path / "none"), "does not exist")
    assert_mistake(run("bench", "--repeat", "0"), "--repeat")
    (tmp_path / "spambase.csv.gz").write_bytes(b"nothing")
    assert_mistake(run("bench", "--data", tmp_path), f"--data {tmp_path}")


@pytest.fixture
def kept(tmp_path):
    """The runs of the quick profile that are kept in docs, and a folder for a page that is made from them."""
    docs = REPOSITORY / "docs"
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(docs / "benchmarks" / "quick-kernels.csv", tmp_path / "benchmarks")
    return tmp_path, {study.name: read_table(study.table(docs), study.table_columns) for study in speed.STUDIES}


def test_the_page_in_docs_is_made_from_the_kept_runs(kept):
    out, tables = kept
    pages, wrong = speed.write_pages(out, tables)
    assert (pages, wrong) == ([out / "benchmarks.md"], [])
    assert pages[0].read_text() == (REPOSITORY / "docs" / "benchmarks.md").read_text()


def test_wrong_errors_and_failures_are_found(kept):
    out, tables = kept
    runs = tables["speed"]
    ours = (runs["solver"] == "topktree") & (runs["dataset"] == "kr-vs-kp")
    runs.loc[ours & (runs["section"] == "optimal") & (runs["depth"] == 3), "errors"] += 1
    runs.loc[ours & (runs["section"] == "topk") & (runs["k"] == 8), ["status", "message"]] = FAILED, "ValueError: no"
    (page,), wrong = speed.write_pages(out, tables)
    assert wrong == [
        "kr-vs-kp, k = 8, depth 5: topktree failed: ValueError: no",
        "kr-vs-kp, k = all, depth 3: topktree 199 training errors, pystreed 198 training errors",
    ]
    lines = page.read_text().splitlines()
    assert [f"- {sentence}" in lines for sentence in wrong] == [True, True]
    assert "9 of 10" in next(line for line in lines if line.startswith("| every optimum that both prove"))


def test_a_profile_measures_what_was_asked_for():
    everything = plans.tasks(plans.QUICK, Settings())
    car = plans.tasks(plans.QUICK, Settings(datasets=("car",)))
    assert car == [task for task in everything if task["dataset"] == "car"]
    greedy = [(task["solver"], task["k"]) for task in car if (task["section"], task["round"]) == ("greedy", 0)]
    assert greedy == [("topktree", "1"), ("topktree", "8"), ("topktree", "16"), ("scikit-learn", "")]
    study = speed.STUDIES[0]
    stopped = {**everything[-1], "k": 8, "depth": 4, "section": "topk"}  # numbers come back from a file as numbers
    harder = {**stopped, "k": "16", "round": 0}
    assert study.is_hopeless(harder, {**stopped, "round": 0})
    assert not study.is_hopeless({**harder, "depth": 3}, {**stopped, "round": 0})
