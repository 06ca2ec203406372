"""The experiment on choosing k: runs on small datasets, its summary and its page, on made rows too."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from topktree_evidence.splits import RAW, split
from topktree_evidence.store import Store, as_text, as_value
from topktree_evidence.studies.choosing import STUDIES, page, pictures, summary
from topktree_evidence.studies.choosing import runs as choosing
from topktree_evidence.studies.choosing.runs import DEPTHS, DISTINCT, KS, PENALTY, SKLEARN, STREED, TOPK
from topktree_evidence.study import FINISHED, TIMEOUT, Row, Settings
from topktree_evidence.text import where

from topktree import TopKTreeClassifier, TopKTreeClassifierCV

DATA = Path(os.environ.get("TOPKTREE_DATA") or Path(__file__).parents[3] / "shared" / "datasets")
SETTINGS = Settings(data_home=str(DATA), time_limit=60.0, splits=2)

needs_data = pytest.mark.skipif(not (DATA / "hayes-roth.csv.gz").is_file(), reason="no hayes-roth in $TOPKTREE_DATA")


def run(method: str, dataset: str = "hayes-roth", seed: int = 42) -> Row:
    task = {"dataset": dataset, "seed": seed, "method": method}
    return task | {"status": FINISHED, "limit": SETTINGS.time_limit} | choosing.run(task, SETTINGS)


@needs_data
def test_a_run_is_what_the_class_chooses() -> None:
    row = run(TOPK)
    X_train, X_test, y_train, y_test = split("hayes-roth", RAW, 42, str(DATA))
    cv = TopKTreeClassifierCV(categorical_features=list(range(X_train.shape[1]))).fit(X_train, y_train)
    assert (row["k"], row["depth"], row["penalty"]) == tuple(cv.best_params_.values())
    assert row["leaves"] == cv.get_n_leaves()
    assert row["test_errors"] == np.count_nonzero(cv.predict(X_test) != y_test)
    grid = json.loads(row["grid"])
    assert [(cell["k"], cell["max_depth"]) for cell in grid] == [(k, depth) for k in KS for depth in DEPTHS]
    np.testing.assert_allclose([np.mean(cell["scores"]) for cell in grid], cv.cv_results_["mean_test_score"], atol=1e-6)
    cell = grid[7]
    direct = TopKTreeClassifier(k=cell["k"], max_depth=cell["max_depth"], categorical_features=cv.categorical_features)
    direct.fit(X_train, y_train)
    assert cell["test_errors"] == np.count_nonzero(direct.predict(X_test) != y_test)
    assert cell["train_errors"] == direct.train_errors_
    for rule in ("1se", "best"):
        choice = summary.chosen(grid, rule)
        fitted = TopKTreeClassifierCV(rule=rule, categorical_features=cv.categorical_features).fit(X_train, y_train)
        assert {name: choice[name] for name in fitted.best_params_} == fitted.best_params_
        assert choice["leaves"] == fitted.get_n_leaves()


@needs_data
def test_scikit_learn_is_tuned_by_the_same_folds() -> None:
    row = run(SKLEARN, dataset="fico-1000")
    X_train, X_test, y_train, y_test = split("fico-1000", RAW, 42, str(DATA))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    grid = {"max_depth": DEPTHS, "ccp_alpha": choosing.ALPHAS}
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), grid, cv=folds).fit(X_train, y_train)
    assert row["test_errors"] == np.count_nonzero(search.predict(X_test) != y_test)
    assert (row["depth"], row["penalty"]) == (search.best_params_["max_depth"], search.best_params_["ccp_alpha"])


@needs_data
@pytest.mark.skipif(importlib.util.find_spec("pystreed") is None, reason="pystreed is not installed")
def test_pystreed() -> None:
    row = run(STREED)
    assert row["depth"] == 4
    assert all(row[name] is not None for name in choosing.RESULTS)
    assert 2 <= row["leaves"] <= 16
    assert 0 <= row["test_errors"] < row["test_rows"] / 2
    task = {"dataset": "hayes-roth", "seed": 42, "method": STREED}
    late = choosing.run(task, Settings(data_home=str(DATA), time_limit=1e-3))
    assert late["status"] == TIMEOUT


@needs_data
def test_every_method_fills_all_columns(tmp_path: Path) -> None:
    """A finished run without some of them would count as damaged when it is read again."""
    experiment = STUDIES[0]
    rows = [run(method) | {"limit": 60.0, "message": None} for method in (TOPK, SKLEARN)]
    store = Store(tmp_path / "runs.csv", experiment)
    for row in rows:
        store.add(row)
    store.close()
    again = Store(tmp_path / "runs.csv", experiment)
    assert not again.damage
    assert all(again.find(row) is not None for row in rows)


@needs_data
def test_the_page_of_real_runs(tmp_path: Path) -> None:
    rows = [run(method) for method in (TOPK, DISTINCT, PENALTY, SKLEARN)]
    rows += [row | {"seed": 43} for row in rows]
    found = as_read(summary.summarise(pd.DataFrame(rows)))
    assert where(found, method=PENALTY, rule="1se")["cells"].iloc[0] == 25 + 24
    text = written(tmp_path, found)
    for title in ("In short", "Against a fixed k and depth", "Leaf penalties", "Distinct splits", "What was run"):
        assert f"## {title}" in text
    assert "hayes-roth | 2 |" in text
    figures = pictures.draw(found)
    assert set(figures) == {"gains", "sizes"}


def as_read(table: pd.DataFrame) -> pd.DataFrame:
    """As it comes back from a CSV file."""
    return pd.DataFrame(
        [[as_value(as_text(value)) for value in row] for row in table.to_numpy()], columns=table.columns
    )


def written(folder: Path, table: pd.DataFrame) -> str:
    (path,), _ = page.write_pages(folder, {"choosing": table})
    return path.read_text()


def made(dataset: str, seed: int, method: str, errors: int, leaves: int, cells: Any = None) -> Row:
    return {
        "dataset": dataset,
        "seed": seed,
        "method": method,
        "status": FINISHED,
        "test_rows": 100,
        "test_errors": errors,
        "leaves": leaves,
        "seconds": 1.0,
        "limit": 60.0,
        "grid": json.dumps(cells),
    }


def cell(k: int, depth: int, scores: list[float], errors: int, leaves: int, penalty: float = 0.0) -> dict:
    return {
        "k": k,
        "max_depth": depth,
        "leaf_penalty": penalty,
        "scores": scores,
        "fold_leaves": float(leaves),
        "seconds": 0.5,
        "test_errors": errors,
        "leaves": leaves,
    }


def made_rows() -> list[Row]:
    rows = []
    for seed in (42, 43, 44):
        noise = seed - 43
        grid = [cell(1, 2, [0.80, 0.84], 20 + noise, 4), cell(4, 3, [0.82, 0.86], 10, 8), cell(8, 3, [0.5, 0.5], 60, 2)]
        fewer = [cell(4, 3, [0.82, 0.86], 11, 5, penalty=0.01)]
        rows += [
            made("a", seed, SKLEARN, 30, 8),
            made("a", seed, TOPK, 10, 8, grid),
            made("a", seed, DISTINCT, 10, 8, [grid[0], cell(4, 3, [0.82, 0.86], 5, 8)]),
            made("a", seed, PENALTY, 11, 5, fewer),
        ]
    return rows


def test_the_summary_of_made_rows() -> None:
    found = summary.summarise(pd.DataFrame(made_rows()))
    records = found.astype(object).where(found.notna(), None).to_dict("records")
    by = {(row["method"], row["rule"], row["k"], row["depth"]): row for row in records}
    one_se, best = by[TOPK, "1se", None, None], by[TOPK, "best", None, None]
    assert best["test_mean"] == pytest.approx(0.9)  # k = 4
    assert (best["gain_mean"], best["gain_sd"], best["leaves"]) == (pytest.approx(0.2), pytest.approx(0), 8)
    assert one_se["test_mean"] == pytest.approx(0.8)  # k = 1, within one standard error and with fewer leaves
    assert one_se["gain_sd"] == pytest.approx(0.01)
    assert one_se["leaves"] == 4
    assert by[TOPK, "fixed", 8, 3]["test_mean"] == pytest.approx(0.4)
    assert by[DISTINCT, "fixed", 4, 3]["plain_mean"] == pytest.approx(0.05)
    assert by[DISTINCT, "best", None, None]["plain_mean"] == pytest.approx(0.05)
    assert by[TOPK, "best", None, None]["plain_mean"] is None
    assert by[PENALTY, "best", None, None]["leaves"] == 5  # of equal scores the fewer leaves
    assert by[PENALTY, "best", None, None]["cells"] == 4
    assert by[PENALTY, "best", None, None]["plain_mean"] == pytest.approx(-0.01)
    assert by[PENALTY, "best", None, None]["seconds"] == 2.0
    assert (PENALTY, "fixed", 4, 3) not in by


def test_a_choice_is_not_larger_than_the_best_in_the_end() -> None:
    grid = [cell(1, 2, [0.80, 0.84], 20, 9) | {"fold_leaves": 3.0}, cell(4, 3, [0.82, 0.86], 10, 8)]
    assert summary.chosen(grid, "1se")["k"] == 4


def test_runs_that_did_not_finish_do_not_count() -> None:
    rows = made_rows()
    rows[0]["status"] = TIMEOUT
    found = summary.summarise(pd.DataFrame(rows))
    assert where(found, method=SKLEARN)["splits"].iloc[0] == 2
    assert where(found, method=TOPK, rule="best")["splits"].iloc[0] == 3


def test_what_the_page_says_of_made_rows(tmp_path: Path) -> None:
    found = as_read(summary.summarise(pd.DataFrame(made_rows())))
    text = written(tmp_path, found)
    assert (
        '**Chosen by "best"**, against the tuned scikit-learn tree: +20.0 points in the mean, ahead on 1 of 1' in text
    )
    assert "| a | 3 | 70.0 (8) | 80.0 (4) | **+10.0** | 90.0 (8) | **+20.0** |  |  |" in text
    assert "8.0 leaves against 8.0 in the mean, 1.00 times as many in the geometric mean" in text


def test_a_page_without_runs(tmp_path: Path) -> None:
    assert "Not run yet" in written(tmp_path, pd.DataFrame(columns=summary.SUMMARY))


def test_comparable_cells() -> None:
    rows = [{"dataset": name, "method": TOPK, "rule": "best", "k": None, "depth": None, "splits": 2} for name in "ab"]
    for name in "ab":
        for k in KS:
            for depth in DEPTHS:
                if not (name == "b" and depth == DEPTHS[-1]):
                    rows.append({"dataset": name, "method": TOPK, "rule": "fixed", "k": k, "depth": depth, "splits": 2})
    names, cells = summary.comparable(pd.DataFrame(rows))
    assert names == ["a", "b"]
    assert cells == [(k, depth) for k in KS for depth in DEPTHS[:-1]]
    rows[-1]["splits"] = 1  # of a cell of b at a smaller depth
    assert summary.comparable(pd.DataFrame(rows))[0] == ["a"]
