"""Every midpoint against the grid, on a small table made here: runs against fits made by hand, and the section."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from topktree_evidence import matrices
from topktree_evidence.store import read_table
from topktree_evidence.studies import midpoints, thresholds
from topktree_evidence.text import where

from topktree import TopKTreeClassifier
from topktree._cli.main import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table named rice: the class is the sign of a product, with noise."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0) ^ (random.random(300) < 0.1)
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y.astype(int)).to_csv(tmp_path / "rice.csv.gz", index=False)
    monkeypatch.setenv(matrices.QUANT_BNB_VARIABLE, str(tmp_path))
    midpoints.split.cache_clear()
    return tmp_path


def runs_of(differences, seconds=(1.0, 2.0)):
    """Runs of one dataset per list of differences, one per split, for every k."""
    return pd.DataFrame(
        [
            {"dataset": f"d{i}", "seed": seed, "k": k, "depth": 3, "rule": rule, "test": 0.5 + extra, "train": 0.7}
            | {"seconds": s, "rows": 100, "status": "finished", "limit": 20.0, "engine": "e", "machine": "m"}
            for k in midpoints.KS
            for i, own in enumerate(differences)
            for seed, difference in enumerate(own)
            for rule, extra, s in zip(midpoints.MAX_THRESHOLDS, (0.0, difference), seconds, strict=True)
        ]
    )


def test_runs_and_section(folder, tmp_path):
    out = tmp_path / "docs"
    arguments = ["thresholds-midpoints", "--datasets", "rice", "--splits", "2", "--max-depth", "4", "--out", str(out)]
    result = CliRunner().invoke(main, ["reproduce", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    runs = read_table(out / "thresholds-midpoints.csv")
    assert len(runs) == 2 * 3 * 2 * 2
    assert runs["status"].eq("finished").all()
    X, X_test, y, y_test = midpoints.split("rice", 43, None)
    assert (len(X), len(X_test)) == (240, 60)
    for rule, most in midpoints.MAX_THRESHOLDS.items():
        (row,) = where(runs, seed=43, k=4, depth=3, rule=rule).to_dict("records")
        clf = TopKTreeClassifier(k=4, max_depth=3, max_thresholds=most).fit(X, y)
        assert (row["train"], row["test"]) == (round(clf.score(X, y), 6), round(clf.score(X_test, y_test), 6))
    page = (out / "thresholds.md").read_text("utf-8")
    assert "1 numerical datasets" in page
    assert "2 random splits" in page


def test_large_datasets_are_drawn_anew(monkeypatch):
    X = np.arange(500.0)[:, None]
    monkeypatch.setattr(midpoints, "raw", lambda name, data_home: (X, (X[:, 0] > 250).astype(int)))
    monkeypatch.setattr(midpoints, "MOST_ROWS", 100)
    midpoints.split.cache_clear()
    parts = [midpoints.split("any", seed, None) for seed in (1, 2)]
    midpoints.split.cache_clear()
    assert [(len(part[0]), len(part[1])) for part in parts] == [(80, 20)] * 2
    assert len({*parts[0][0].ravel(), *parts[0][1].ravel()}) == 100
    assert {*parts[0][0].ravel()} != {*parts[1][0].ravel()}


def test_differences_are_every_midpoint_minus_the_grid():
    runs = runs_of([[0.1, 0.11, 0.09, 0.1], [-0.1, -0.11, -0.09, -0.1], [0.1, -0.1, 0.1, -0.09]])
    pairs = where(midpoints.paired(runs), k=1)
    assert pairs["test"].tolist() == pytest.approx([0.1, -0.1, 0.0025])
    assert pairs["ratio"].tolist() == [2.0, 2.0, 2.0]
    summary = midpoints.verdicts(pairs)
    assert (summary["ahead"], summary["behind"], summary["sets"]) == (1, 1, (2, 1))
    (line,) = [line for line in midpoints.cell_table(pairs).splitlines() if line.startswith("| 1 ")]
    assert [cell.strip() for cell in line.split("|")[1:6]] == ["1", "3", "3", "+0.08", "1"]


@pytest.mark.parametrize(("sign", "words"), [(1, "Every midpoint predicts better"), (-1, "The grid predicts better")])
def test_the_conclusion_needs_many_datasets(sign, words):
    many = runs_of([[sign * 0.1, sign * 0.11]] * 8)
    assert f"**{words}.**" in midpoints.section(many)
    assert "**No clear difference in prediction.**" in midpoints.section(runs_of([[sign * 0.1, sign * 0.11]] * 3))


def test_the_page_needs_the_runs_of_the_grid_only_for_its_own_part(tmp_path):
    found = {"thresholds": pd.DataFrame(), "thresholds-midpoints": runs_of([[0.1, 0.2]])}
    (path,), _ = thresholds.write_pages(tmp_path, found)
    assert path.read_text("utf-8").startswith("## Every midpoint or a grid?")
