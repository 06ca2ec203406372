"""The benchmarks on raw numbers, on a small table made here: runs against fits made by hand, and their section."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.tree import DecisionTreeClassifier
from topktree_evidence import matrices, peers
from topktree_evidence.store import read_table
from topktree_evidence.studies.speed import measuring, numbers
from topktree_evidence.study import FINISHED, SKIPPED, TIMEOUT, Settings
from topktree_evidence.text import where

from topktree import TopKTreeClassifier
from topktree._cli.main import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table named bank: the class is the sign of a product, with noise."""
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    y = (X[:, 0] * X[:, 1] > 0) ^ (random.random(80) < 0.1)
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y.astype(int)).to_csv(tmp_path / "bank.csv.gz", index=False)
    monkeypatch.setenv(matrices.QUANT_BNB_VARIABLE, str(tmp_path))
    return tmp_path


def row(section, solver, depth, errors, seconds, dataset="bank", **more):
    """A run as the store has it, the first of its contestant."""
    k = {"topktree": "all"}.get(solver, "")
    key = {"section": section, "dataset": dataset, "solver": solver, "k": k, "depth": depth, "threads": 1, "round": 0}
    status = {"status": FINISHED, "limit": 60.0, "message": "", "version": "1", "engine": "e", "machine": "m"}
    found = dict.fromkeys(measuring.RESULTS, 1.0) | {"errors": errors, "seconds": seconds, "rows": 200, "columns": 3}
    return key | found | status | more


def test_tables_of_quant_bnb(folder, tmp_path, monkeypatch):
    X, y = matrices.raw("bank", None)
    assert (X.shape, X.dtype, y.dtype, set(y)) == ((80, 3), np.float64, np.int32, {0, 1})
    with pytest.raises(FileNotFoundError):
        matrices.raw("eeg", None)
    monkeypatch.delenv(matrices.QUANT_BNB_VARIABLE)
    monkeypatch.delenv("TOPKTREE_DATA", raising=False)
    np.testing.assert_array_equal(matrices.raw("bank", str(tmp_path))[0], X)
    with pytest.raises(ValueError, match="none is named by --data"):
        matrices.raw("bank", None)


def test_the_plan():
    bank = numbers.plan(Settings(datasets=("bank",)))
    assert [task["solver"] for task in bank[:4]] == ["topktree", "pycontree", "pycontree", "topktree"]
    assert {(t["section"], t["depth"]) for t in bank} == {*numbers.ORDER[1:]}
    assert {t["depth"] for t in numbers.plan(Settings(datasets=("bank",), max_depth=3))} == {2, 3}
    scale = [task for task in numbers.plan(Settings()) if task["section"] == numbers.SCALE]
    assert {(t["solver"], t["k"], t["threads"]) for t in scale} == {*numbers.SCALE_CONTESTANTS}
    assert {task["section"] for task in map(dict, bank) if numbers.STUDY.needs(task) is None} == set()
    assert numbers.STUDY.needs(scale[0]) is None
    stopped = bank[0]
    assert numbers.is_hopeless({**stopped, "depth": 4}, stopped)
    for other in ({"depth": 1}, {"solver": "pycontree"}, {"dataset": "eeg"}, {"section": numbers.LIMITED}):
        assert not numbers.is_hopeless({**stopped, **other}, stopped)


def test_generated_numbers_are_distinct_and_can_be_learned():
    X, y = measuring.normal(measuring.CHUNK + 500, 5)
    assert all(len(np.unique(feature)) == len(X) for feature in X.T)
    assert TopKTreeClassifier(k=1, max_depth=5).fit(X, y).score(X, y) > y.mean() + 0.1


def test_runs_and_section(folder, tmp_path, monkeypatch):
    if not peers.is_installed(peers.CONTREE):
        pytest.skip(f"{peers.CONTREE} is not installed")
    monkeypatch.setattr(numbers, "ROUNDS", 1)
    out = tmp_path / "docs"
    arguments = ["speed-numbers", "--datasets", "bank", "--max-depth", "5", "--time-limit", "2", "--out", str(out)]
    result = CliRunner().invoke(main, ["reproduce", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    runs = read_table(out / "benchmarks" / "numbers.csv").astype({"k": str})
    X, y = matrices.raw("bank", None)
    optimal = where(runs, section="optimal", depth=3)
    best = TopKTreeClassifier(k="all", max_depth=3, max_thresholds=None).fit(X, y).train_errors_
    assert optimal["errors"].tolist() == [best, best]
    greedy = DecisionTreeClassifier(criterion="entropy", max_depth=5, random_state=0).fit(X, y)
    own = where(runs, section="greedy-numbers", solver="scikit-learn")
    assert own["errors"].tolist() == [np.count_nonzero(greedy.predict(X) != y)]
    page = (out / "benchmarks.md").read_text("utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("| bank ") and line.split("|")[4].strip() == "3"]
    assert [cell.strip() for cell in line.split("|")[8:10]] == [str(best)] * 2
    assert "Both finished 1, with the same training errors in 1." in page


def test_counts_of_the_section():
    runs = [row("optimal", solver, 2, 5, seconds) for solver, seconds in (("topktree", 2.0), ("pycontree", 1.0))]
    runs += [row("optimal", solver, 2, 5, 1.0, "eeg", status=TIMEOUT) for solver in ("topktree", "pycontree")]
    runs += [row("limited", "topktree", 4, 7, 30.0), row("limited", "pycontree", 4, 6, 30.0)]
    runs += [row("limited", "topktree", 4, 3, 30.0, "eeg"), row("limited", "pycontree", 4, None, None, "eeg")]
    hopeless = {"status": SKIPPED, "engine": None, "machine": None, "version": None}
    runs += [row("optimal", solver, 3, None, None, "eeg", **hopeless) for solver in ("topktree", "pycontree")]
    text, wrong = numbers.section(pd.DataFrame(runs))
    assert wrong == []
    assert "topktree is slower on: bank (0.50x)." in text
    assert "Neither finished: eeg at depth 2 and eeg at depth 3." in text
    assert "fewer errors on 1 of 2, as many on 0, more on 1: bank (7 against 6)." in text
    assert "fits made of those planned: optimal at depth 2: 4 of 48; optimal at depth 3: 2 of 48;" in text
    runs[0]["errors"] = 6
    _, wrong = numbers.section(pd.DataFrame(runs))
    assert wrong == ["bank, k = all, depth 2: topktree 6 training errors, pycontree 5 training errors"]


def test_a_search_for_the_best_tree_is_finished_by_the_limit(monkeypatch):
    found = {"errors": 3, "status": TIMEOUT, "seconds": 30.0}
    asked = []
    monkeypatch.setattr(measuring, "measure", lambda task, *others: asked.append(task) or dict(found))
    task = numbers.plan(Settings(datasets=("bank",)))[0]
    limited = {**task, "section": numbers.LIMITED}
    for limit, cap, status in ((300.0, 30.0, FINISHED), (8.0, 8.0, TIMEOUT)):
        assert numbers.measure(limited, Settings(time_limit=limit), None)["status"] == status
        assert (asked[-1]["cap"], asked[-1]["anytime"]) == (cap, True)
    assert numbers.measure(task, Settings(time_limit=60.0), None)["status"] == TIMEOUT
    assert (asked[-1]["cap"], asked[-1]["anytime"]) == (60.0, False)
