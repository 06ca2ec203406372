"""The study of missing values on a small table made here: its runs against fits made by hand, and its page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from topktree_evidence.store import read_table
from topktree_evidence.studies import missing

from topktree import TopKTreeClassifier
from topktree._cli.main import main


@pytest.fixture
def folder(tmp_path):
    """A table named churn whose answer is yes for tall people; those without a height are all yes."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"height": random.normal(170, 10, 300).round(), "town": random.choice(["Basle", "Berne"], 300)})
    X["y"] = np.where(X["height"] > 172, "yes", "no")
    X.loc[::5, ["height", "y"]] = np.nan, "yes"
    X.to_csv(tmp_path / "churn.csv.gz", index=False)
    return tmp_path


def test_cells_are_blanked_and_the_answer_is_not(folder):
    X, X_test, y, y_test = missing.split("churn", 0.4, 42, str(folder))
    assert list(X) == ["height", "town"]
    assert X["town"].isna().mean() == pytest.approx(0.4, abs=0.1)
    assert (len(X), len(X_test)) == (240, 60)
    assert not y.isna().any()
    assert not y_test.isna().any()


def test_the_rule_without_choice(folder):
    X, _, y, _ = missing.split("churn", 0.2, 42, str(folder))
    filled = missing.as_no_test_holds(X)
    assert not filled.isna().any(axis=None)
    tree = TopKTreeClassifier(max_depth=1).fit(filled[["height"]], y).tree_
    assert not tree.missing_go_to_left.any()
    assert filled["height"][X["height"].isna()].eq(np.inf).all()
    assert filled["town"][X["town"].isna()].eq(missing.ABSENT).all()


def test_runs_and_page(folder, tmp_path):
    out = tmp_path / "docs"
    arguments = ["missing-values", "--datasets", "churn", "--splits", "2", "--data", str(folder), "--out", str(out)]
    result = CliRunner().invoke(main, ["reproduce", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    runs = read_table(out / "missing-values.csv")
    assert len(runs) == 4 * 2 * 3 * len(missing.METHODS)
    assert runs["status"].eq("finished").all()
    row = runs.query("share == 0.2 and seed == 43 and depth == 3 and method == 'Top-8'").iloc[0]
    X, X_test, y, y_test = missing.split("churn", 0.2, 43, str(folder))
    clf = TopKTreeClassifier(k=8, max_depth=3).fit(X, y)
    assert (row["train"], row["test"]) == (round(clf.score(X, y), 6), round(clf.score(X_test, y_test), 6))
    page = (out / "missing-values.md").read_text("utf-8")
    mean = runs.query("share == 0.2 and method == 'scikit-learn'")["test"].mean()
    (line,) = [line for line in page.splitlines() if "churn, 20% blanked |" in line][:1]
    assert f"{100 * mean:.1f} |" in line
    assert "1 table with numbers and categories (churn)" in page


def test_without_the_tables(tmp_path, monkeypatch):
    monkeypatch.delenv("TOPKTREE_DATA", raising=False)
    for arguments in ([], ["--data", str(tmp_path)]):
        result = CliRunner().invoke(main, ["reproduce", "missing-values", "--out", str(tmp_path / "out"), *arguments])
        assert result.exit_code == 2
        assert "adult: left out." in result.output
        assert "Not made for want of data: missing-values." in result.output
