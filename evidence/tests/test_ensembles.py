"""The experiment on ensembles: models, runs on a small dataset, tests of differences, summary and page of made rows."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from math import sqrt
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import ttest_1samp, wilcoxon
from topktree_evidence.paired import compared, over_datasets, paired_test, signed_rank_test
from topktree_evidence.store import Store, as_text, as_value
from topktree_evidence.studies.ensembles import STUDIES, page
from topktree_evidence.studies.ensembles import equal as ensembles
from topktree_evidence.studies.ensembles import models as ensembles_models
from topktree_evidence.studies.ensembles import tuned as ensembles_tuned
from topktree_evidence.studies.ensembles.equal import ALL_SIZES, DEPTHS, KS, SIZES
from topktree_evidence.studies.ensembles.models import (
    ADABOOST,
    BOOSTING,
    FOREST,
    HIST,
    OURS,
    PEERS,
    RANDOM_FOREST,
    SKLEARN_TREE,
    TREE,
    Data,
    Recipe,
    at_sizes,
    errors_of,
    expected_cpu,
    leaves_of,
    make,
    stages,
)
from topktree_evidence.studies.ensembles.page import answer, in_a_cell, said, with_two_classes
from topktree_evidence.studies.ensembles.pictures import draw, draw_tuned, line_cells
from topktree_evidence.studies.ensembles.summary import summarise, summarise_tuned
from topktree_evidence.studies.ensembles.tuned import FREE, GREEDY, LEAGUES, READABLE, candidates, inner_split, methods
from topktree_evidence.study import FAILED, FINISHED, TIMEOUT, Row, Settings
from topktree_evidence.text import only

from topktree import TopKBoostingClassifier, TopKForestClassifier, datasets
from topktree._cli.main import main

EQUAL, TUNED = STUDIES

DATA = Path(os.environ.get("TOPKTREE_DATA") or Path(__file__).parents[3] / "shared" / "datasets")
SETTINGS = Settings(data_home=str(DATA), time_limit=60.0, splits=2)

needs_data = pytest.mark.skipif(not (DATA / "hayes-roth.csv.gz").is_file(), reason="no hayes-roth in $TOPKTREE_DATA")


@pytest.fixture(scope="module")
def boards() -> Data:
    X, y = datasets.load_tic_tac_toe(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    codes = np.unique(X.astype(str), return_inverse=True)[1].reshape(X.shape).astype(float)[order]
    hot = (codes[:, :, None] == np.arange(3)).reshape(len(X), -1).astype(float)
    y = np.unique(y, return_inverse=True)[1][order]
    return Data(codes[:600], codes[600:], hot[:600], hot[600:], y[:600], y[600:], list(range(X.shape[1])))


def fitted(data: Data, recipe: Recipe) -> Any:
    with ensembles_models.alone():
        return make(recipe, data.categories, seed=7).fit(data.training(recipe.method), data.y_train)


@pytest.mark.parametrize("method", [*OURS, *PEERS])
def test_the_first_trees_are_the_ensemble_of_so_many(boards: Data, method: str) -> None:
    recipe = Recipe(method, k=2 if method in OURS else 0, depth=3, trees=6)
    X = boards.testing(method)
    model = fitted(boards, recipe)
    predicted = list(stages(model, X))
    assert len(predicted) == len(leaves_of(model)) == 6
    assert any(np.any(predicted[0] != other) for other in predicted[1:])
    for trees in (1, 3, 6):
        direct = fitted(boards, replace(recipe, trees=trees))
        np.testing.assert_array_equal(predicted[trees - 1], direct.predict(X))
        assert leaves_of(model)[trees - 1] == leaves_of(direct)[-1]


def test_what_the_names_stand_for() -> None:
    forest = make(Recipe("forest-sqrt", k=4, depth=3, trees=5), [1], seed=9, time_limit=3.0)
    assert isinstance(forest, TopKForestClassifier)
    parameters = {"k": 4, "max_depth": 3, "n_estimators": 5, "max_features": "sqrt", "random_state": 9, "n_jobs": 1}
    parameters |= {"categorical_features": [1], "time_limit": 3.0}
    assert forest.get_params() == TopKForestClassifier().get_params() | parameters
    assert make(Recipe(FOREST, k=4, depth=3, trees=5), None, seed=9).max_features is None
    boosting = make(Recipe(BOOSTING, k=1, depth=2, trees=3, rate=0.3), None, seed=9)
    assert isinstance(boosting, TopKBoostingClassifier)
    assert (boosting.learning_rate, boosting.k) == (0.3, 1)
    assert make(Recipe(ADABOOST, depth=3, trees=3), None, seed=9).estimator.max_depth == 3
    assert make(Recipe(RANDOM_FOREST, trees=3), None, seed=9).max_depth is None
    hist = make(Recipe(HIST, depth=3, trees=4, rate=0.3), [0], seed=9)
    assert (hist.max_iter, hist.max_depth, hist.early_stopping, hist.learning_rate) == (4, 3, False, 0.3)


def test_boosting_that_ended_stays_as_it_is() -> None:
    X, y = datasets.load_monks(1, return_X_y=True)
    y = X[:, 0] == X[0, 0]
    boosting = TopKBoostingClassifier(n_estimators=9, k=2, max_depth=2).fit(X, y)
    assert errors_of(boosting, X, y) == [0]  # the first tree is perfect
    assert at_sizes([7], (1, 5, 10)) == [7, 7, 7]
    assert at_sizes([7, 5, 4], (1, 2, 5)) == [7, 5, 4]
    assert at_sizes(leaves_of(boosting), (5, 10)) == [boosting.get_n_leaves()] * 2


def test_seconds_are_on_a_line() -> None:
    assert ensembles.cpu_at((1, 3, 10), (1, 1.5), (10, 6.0)) == [1.5, 2.5, 6.0]
    assert ensembles.cpu_at((50, 100), (5, 1.0), (50, 10.0)) == [10.0, 10.0]  # ended early
    assert ensembles.cpu_at((1, 10), (1, 2.0), (10, 1.0)) == [1.0, 1.0]  # a clock that is not fine enough
    assert ensembles.cpu_at((1, 10), (1, 2.0), (1, 1.0)) == [1.0, 1.0]


def task(**changes: Any) -> dict[str, Any]:
    return {"dataset": "hayes-roth", "seed": 42, "method": FOREST, "k": 4, "depth": 3, "trees": 10} | changes


@needs_data
@pytest.mark.parametrize("method", [BOOSTING, ADABOOST])
def test_a_run_is_what_the_model_does(method: str, tmp_path: Path) -> None:
    asked = task(method=method, k=4 if method == BOOSTING else 0)
    row = asked | {"status": FINISHED, "limit": 60.0, "message": None} | ensembles.run(asked, SETTINGS)
    data = ensembles_models.coded("hayes-roth", 42, str(DATA))
    for i, trees in enumerate(SIZES[10]):
        with ensembles_models.alone():
            model = make(Recipe(method, asked["k"], 3, trees), data.categories, seed=42)
            model.fit(data.training(method), data.y_train)
        wrong = np.count_nonzero(model.predict(data.testing(method)) != data.y_test)
        assert json.loads(row["test_errors"])[i] == wrong
        assert json.loads(row["leaves"])[i] == leaves_of(model)[-1]
    assert (row["train_rows"], row["test_rows"]) == (128, 32)
    experiment = EQUAL
    store = Store(tmp_path / "runs.csv", experiment)
    store.add(row)
    store.close()
    again = Store(tmp_path / "runs.csv", experiment)
    assert not again.damage
    assert again.find(asked) is not None


@needs_data
def test_a_run_that_would_take_too_long_is_not_begun() -> None:
    row = ensembles.run(task(), replace(SETTINGS, time_limit=1e-6))
    assert row["status"] == TIMEOUT
    assert row["message"].startswith("10 trees would take about")


def test_which_runs_are_hopeless() -> None:
    stopped = task(depth=4, trees=100)
    for dearer in (task(depth=4, trees=100, seed=43), task(depth=5, trees=100), task(depth=4, trees=100, k=8)):
        assert ensembles.is_hopeless(dearer, stopped)
    for other in (task(depth=4), task(depth=3, trees=100, k=8), task(depth=4, trees=100, k=2)):
        assert not ensembles.is_hopeless(other, stopped)
    for other in (task(depth=4, trees=100, method=BOOSTING), task(depth=4, trees=100, dataset="car")):
        assert not ensembles.is_hopeless(other, stopped)


def test_the_order_of_the_runs() -> None:
    tasks = sorted(ensembles.tasks(Settings(splits=2)), key=ensembles.effort)
    assert len(tasks) == 2 * 16 * 5 * (2 * 21 + 2)  # 23 datasets, two of them with one split
    places = [(each["trees"], each["depth"] > 4, each["seed"]) for each in tasks if each["depth"] in (2, 5)]
    assert places == sorted(places)
    assert {each["depth"] for each in ensembles.tasks(Settings(max_depth=3))} == {2, 3}


def test_candidates() -> None:
    greedy = candidates(READABLE, f"{BOOSTING}{GREEDY}")
    assert {recipe.k for recipe in greedy} == {1}
    assert {(recipe.depth, recipe.rate) for recipe in greedy} == {(d, r) for d in (2, 3, 4) for r in (0.3, 1.0)}
    assert {recipe.k for recipe in candidates(READABLE, BOOSTING)} == set(ensembles_tuned.KS)
    assert all(recipe.trees == 1 for recipe in candidates(READABLE, TREE))
    assert all(recipe.trees == 100 for recipe in candidates(FREE, FOREST))
    assert candidates(FREE, RANDOM_FOREST)[-1].depth == 0  # unlimited, and the dearest
    assert TREE in methods(READABLE)
    assert TREE not in methods(FREE)


@needs_data
@pytest.mark.parametrize("method", [FOREST, f"{BOOSTING}{GREEDY}", TREE, SKLEARN_TREE, ADABOOST])
def test_what_is_chosen_has_the_fewest_errors(method: str) -> None:
    asked = {"dataset": "hayes-roth", "seed": 42, "league": READABLE, "method": method}
    row = ensembles_tuned.run(asked, SETTINGS)
    data = ensembles_models.coded("hayes-roth", 42, str(DATA))
    name, (train, test) = method.removesuffix(GREEDY), inner_split(data.y_train)
    X, y = data.training(name), data.y_train
    best = []
    for recipe in candidates(READABLE, method):
        for trees in (1,) if recipe.trees == 1 else LEAGUES[READABLE].sizes:
            with ensembles_models.alone():
                model = make(replace(recipe, trees=trees), data.categories, 42).fit(X[train], y[train])
            errors = np.count_nonzero(model.predict(X[test]) != y[test])
            best.append((errors, trees, recipe.depth, recipe.k, recipe.rate))
    _, trees, depth, k, rate = min(best)
    assert (row["trees"], row["depth"], row["k"], row["rate"]) == (trees, depth, k, rate)
    with ensembles_models.alone():
        model = make(Recipe(name, k, depth, trees, rate), data.categories, 42).fit(X, y)
    assert row["test_errors"] == np.count_nonzero(model.predict(data.testing(name)) != data.y_test)
    assert row["tried"] == row["planned"] == len(candidates(READABLE, method))
    assert all(row[column] is not None for column in ensembles_tuned.RESULTS)


def test_what_all_trees_will_take() -> None:
    assert expected_cpu(trees=100, few=5, of_few=1.4, of_one=1.0) == pytest.approx(10.9)
    assert expected_cpu(trees=100, few=5, of_few=0.9, of_one=1.0) == 0.9  # noise
    assert expected_cpu(trees=10, few=1, of_few=0.5, of_one=0.5) == 5.0


@needs_data
def test_candidates_that_are_too_dear_are_left_out() -> None:
    asked = {"dataset": "hayes-roth", "seed": 42, "league": FREE, "method": f"{FOREST}{GREEDY}"}
    row = ensembles_tuned.run(asked, replace(SETTINGS, time_limit=1e-6))
    assert (row["tried"], row["planned"], row["depth"]) == (1, 2, 4)


def test_the_inner_split() -> None:
    y = np.array([0] * 30 + [1] * 10)
    train, test = inner_split(y)
    assert sorted([*train, *test]) == list(range(40))
    assert (len(test), y[test].sum()) == (10, 2)
    lonely = np.array([0] * 39 + [2])  # a class of one row cannot be on both sides
    assert len(inner_split(lonely)[1]) == 10


def test_the_paired_test() -> None:
    differences = [0.01, 0.03, 0.02, -0.01, 0.02]
    assert paired_test(differences, 0.0) == pytest.approx(ttest_1samp(differences, 0).pvalue)
    factor = sqrt((1 / 5) / (1 / 5 + 0.25))
    statistic = ttest_1samp(differences, 0).statistic * factor
    scaled = np.array(differences) - np.mean(differences) * (1 - factor)
    assert ttest_1samp(scaled, 0).statistic == pytest.approx(statistic)
    assert paired_test(differences, 0.25) == pytest.approx(ttest_1samp(scaled, 0).pvalue)
    assert paired_test(differences, 0.25) > paired_test(differences, 0.0)
    assert paired_test([0.0, 0.0], 0.25) == 1.0
    assert paired_test([0.1, 0.1], 0.25) == 0.0
    assert paired_test([0.1], 0.25) is None
    assert compared({1: 0.5, 2: 0.75}, {2: 0.5, 3: 0.1}, 0.25) == (0.25, None)
    assert compared({1: 0.5}, {2: 0.5}, 0.25) == (None, None)


def test_comparisons_over_datasets() -> None:
    found = [("a", 0.05, 0.01), ("b", 0.02, 0.3), ("c", -0.01, 0.04), ("d", 0.0, 1.0), ("e", None, None)]
    found += [(name, 0.01 + 0.001 * i, None) for i, name in enumerate("fghij")]
    rows = pd.DataFrame([{"dataset": name, "gain": gain, "gain_p": p} for name, gain, p in found])
    result = over_datasets(rows, "gain")
    assert (result.n, result.tested, result.ahead, result.behind) == (9, 4, 7, 1)
    assert in_a_cell(replace(result, p=0.01)) == "**+1.3** (1, 1)"
    assert in_a_cell(over_datasets(rows[5:], "gain")) == "+1.2"  # nothing is tested
    assert "clearly" not in said(over_datasets(rows[5:], "gain"))
    assert (result.clearly_ahead, result.clearly_behind) == (("a",), ("c",))
    values = [0.05, 0.02, -0.01, *(0.01 + 0.001 * i for i in range(5))]
    assert result.p == pytest.approx(wilcoxon(values).pvalue)
    assert result.mean == pytest.approx(sum(values) / 9)
    assert replace(result, p=0.01).direction == 1
    assert replace(result, p=0.01, mean=-0.1).direction == -1
    assert replace(result, p=0.2).direction == 0
    assert over_datasets(rows[:3], "gain").p is None
    assert over_datasets(rows[:0], "gain").n == 0


def test_the_signed_rank_test() -> None:
    values = np.random.default_rng(5).normal(0.3, 1.0, 12)
    for differences in (values, -values, values[:6], np.arange(1, 9)):
        assert signed_rank_test(differences) == pytest.approx(wilcoxon(differences, method="exact").pvalue)
    assert signed_rank_test([1.0, 1.0, 1.0]) == 0.25  # two of eight ways
    assert signed_rank_test([1.0, -1.0]) == 1.0
    assert signed_rank_test([0.1 + 0.2, -0.3, 5.0]) == 0.75  # 0.1 + 0.2 ties with 0.3: sums of 1.5, 1.5 and 3


NAMES = "abcdefgh"


def made(gain: int = 6) -> list[Row]:
    """Runs of eight datasets: k = 8 has so many errors less than k = 1, out of a hundred; peers are in between."""
    fewer = {0: 1, 1: 0, 2: 0, 4: 0, 8: gain}
    rows = []
    for asked in ensembles.tasks(Settings(splits=3, datasets=("car",))):
        n, k = len(SIZES[asked["trees"]]), asked["k"]
        for number, name in enumerate(NAMES if asked["depth"] == 4 else ""):
            errors = 30 - fewer[k] + (asked["seed"] - 43 - number) * (k == 8)
            lists = {"test_errors": [errors] * n, "train_errors": [4] * n, "leaves": list(range(5, 5 + n))}
            lists["cpu"] = [0.5 * max(k, 1)] * n
            row = asked | {"dataset": name, "status": FINISHED, "limit": 60.0, "train_rows": 400, "test_rows": 100}
            rows.append(row | {column: json.dumps(values) for column, values in lists.items()})
    return rows


def summary(rows: list[Row]) -> pd.DataFrame:
    return summarise(pd.DataFrame(rows))


def tuned_summary(rows: list[Row]) -> pd.DataFrame:
    return summarise_tuned(pd.DataFrame(rows))


def as_read(table: pd.DataFrame) -> pd.DataFrame:
    """As it comes back from a CSV file."""
    return pd.DataFrame(
        [[as_value(as_text(value)) for value in row] for row in table.to_numpy()], columns=table.columns
    )


def written(folder: Path, table: pd.DataFrame, tuned: pd.DataFrame | None = None) -> str:
    tuned = pd.DataFrame(columns=TUNED.table_columns) if tuned is None else tuned
    (path,), _ = page.write_pages(folder, {"ensembles": table, "ensembles-tuned": tuned})
    return path.read_text()


def test_the_summary_of_made_rows() -> None:
    rows = made()
    for row in rows:
        if (row["dataset"], row["method"], row["k"], row["trees"]) == ("a", FOREST, 8, 100):
            row["status"] = FAILED if row["seed"] == 44 else TIMEOUT
    found = summary(rows)
    assert list(found) == list(EQUAL.table_columns)
    cell = {"dataset": "b", "method": FOREST, "depth": 4, "trees": 5}
    wide = only(found, k=8, **cell)
    assert wide is not None
    assert (wide["splits"], wide["stopped"]) == (3, 0)
    assert (wide["test_mean"], wide["train_mean"], wide["leaves"], wide["cpu"]) == (0.77, 0.99, 7.0, 4.0)
    assert wide["gain"] == pytest.approx(0.07)
    assert wide["gain_p"] == pytest.approx(paired_test([0.06, 0.07, 0.08], 0.25), rel=0.05)
    assert wide[HIST] == pytest.approx(0.06)
    narrow, peer = only(found, k=1, **cell), only(found, **cell | {"method": HIST})
    assert narrow is not None
    assert peer is not None
    assert np.isnan(narrow["gain"])
    assert (narrow[HIST], narrow[f"{HIST}_p"]) == (pytest.approx(-0.01), 0.0)
    assert np.isnan([peer["gain"], peer[HIST]]).all()
    stopped = only(found, dataset="a", method=FOREST, k=8, trees=100)
    assert stopped is not None
    assert (stopped["splits"], stopped["stopped"], stopped["limit"]) == (0, 2, 60.0)
    assert np.isnan(stopped["test_mean"])


def test_what_the_page_says_of_made_rows(tmp_path: Path) -> None:
    text = written(tmp_path, as_read(summary(made())))
    assert "* **Forests**: yes. Of 6 cells (depth x trees) k = 8 helps in 6, does harm in 0" in text
    said = "+9.5 points in the mean of 8 datasets, ahead on 8 (clearly on 8), behind on 0 (clearly on 0), p = 0.0078"
    assert f"5 trees of depth 4: it helps, {said}, for 8.0 times the CPU time." in text
    assert "| depth 4 | **+9.5** (8, 0) |" in text
    assert "| forest, k = 8 | **+8.5** (8, 0) |" in text
    assert "| forest, k = 8 | 8 | 8 | 8 | 8 |" in text  # times the CPU time
    assert "clearly ahead on h, g, f, e, d, c, b and a; clearly behind on no dataset" in text
    assert "k = 8 is better, +9.5 points, ahead on 8 of 8 datasets" in text
    assert "nothing was stopped by the limit" in text
    assert "| 100 trees | 0% | 0% | 30% | 0% | 0% |" in text  # three of ten splits


def test_the_page_says_what_the_limit_left_out(tmp_path: Path) -> None:
    rows = made()
    slow = [row for row in rows if (row["method"], row["k"], row["trees"]) == (FOREST, 8, 100)]
    for row in slow:
        limit = {"a": 60.0, "b": 15.0, "c": 30.0}.get(row["dataset"])
        if limit and (row["dataset"] == "a" or row["seed"] == 44):
            row |= {"status": TIMEOUT, "limit": limit}
    text = written(tmp_path, as_read(summary(rows)))
    assert "would have taken more than 15, 30 or 60 s was not made" in text
    assert "1 have no result: forest 1 (a). 2 have fewer splits than others, as few as 2: forest 2 (b and c)." in text


@pytest.mark.parametrize(("gain", "words"), [(-20, "it does harm, -16.5 points"), (-3, "it makes no clear difference")])
def test_the_page_says_so_if_k_does_not_help(tmp_path: Path, gain: int, words: str) -> None:
    text = written(tmp_path, as_read(summary(made(gain))))
    assert f"5 trees of depth 4: {words}" in text
    assert "of depth 4: it helps" not in text
    assert "* **Boosting**: no. Of 6 cells" in text


def test_boosting_of_as_many_trees() -> None:
    names = ("car", "tic-tac-toe", "telescope", "a")
    rows = pd.DataFrame([{"dataset": name, HIST: 0.01, f"{HIST}_p": 0.5} for name in names])
    assert "has +1.0 points in the mean of 2 datasets" in with_two_classes(rows)  # car has four classes
    assert with_two_classes(rows[:1]) == ""


@pytest.mark.parametrize(
    ("directions", "word"),
    [
        ([1, 1, 0], "yes"),
        ([1, 1, 1, 0, 0], "in part"),
        ([1, 1, 1, 1, -1], "in part"),
        ([1, -1, 0], "no"),
        ([0], "no"),
    ],
)
def test_the_answer_in_a_word(directions: list[int], word: str) -> None:
    assert answer(directions) == word


def test_a_page_without_runs(tmp_path: Path) -> None:
    assert "Not run yet" in written(tmp_path, pd.DataFrame(columns=EQUAL.table_columns))


def test_pictures_have_datasets_that_have_all_points() -> None:
    rows = as_read(summary(made()))
    assert line_cells(rows, FOREST, 4) == (list(NAMES), list(ALL_SIZES))
    assert line_cells(rows, FOREST, 5) == ([], [])
    last = np.where(rows["method"] == FOREST, "b", "h")
    rows.loc[(rows["k"] == 8) & (rows["trees"] >= 50) & (rows["dataset"] < last), "test_mean"] = None
    assert line_cells(rows, FOREST, 4) == (list(NAMES[1:]), list(ALL_SIZES))  # all but one have them
    assert line_cells(rows, BOOSTING, 4) == (list(NAMES), list(SIZES[10]))  # too few have them
    assert set(draw(rows)) == set(EQUAL.drawn)
    assert draw(rows[:0]) == {}


def made_tuned() -> list[Row]:
    rows = []
    for number, name in enumerate(NAMES):
        for league in LEAGUES:
            for method in methods(league):
                errors = 30 - 5 * (method in (FOREST, TREE)) - number * (method == FOREST)
                values = {"leaves": 8, "k": 1, "depth": 2, "trees": 3, "rate": 0.0, "cpu": 1.0, "fit_cpu": 0.1}
                is_cut = league == FREE and method == FOREST
                limit = 60.0 if league == READABLE else 18.0
                values |= {"tried": 3, "planned": 3 + is_cut, "status": FINISHED, "limit": limit}
                key = {"dataset": name, "league": league, "method": method}
                for seed in (42, 43):
                    rows.append(
                        key | values | {"seed": seed, "test_errors": errors, "train_rows": 400, "test_rows": 100}
                    )
    return rows


def test_the_tuned_part_of_the_page(tmp_path: Path) -> None:
    found = tuned_summary(made_tuned())
    assert list(found) == list(TUNED.table_columns)
    forest = only(found, dataset="c", league=READABLE, method=FOREST)
    assert forest is not None
    assert (forest["gain"], forest[TREE], forest[HIST]) == tuple(map(pytest.approx, (0.07, 0.02, 0.07)))
    text = written(tmp_path, as_read(summary(made())), as_read(found))
    assert "with k to choose instead of k = 1: forest: it helps, +8.5 points in the mean of 8 datasets" in text
    assert "| forest | 78.5 | 3.0 | 8 | 1 s | **+8.5** (8, 0) | **+3.5** (7, 0) |" in text
    assert "Left out of the free league: candidates whose trees would take more than 3 s of CPU time" in text
    assert "with a larger k or depth still: forest on a, b, c, d, e, f, g and h." in text
    assert "Left out of the readable league: nothing." in text
    assert set(draw_tuned(as_read(found))) == set(TUNED.drawn)


@needs_data
def test_reproduce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SIZES, 100)
    monkeypatch.setitem(LEAGUES, FREE, replace(LEAGUES[FREE], sizes=(2, 3)))
    arguments = ["--datasets", "hayes-roth", "--splits", "1", "--max-depth", "2", "--data", str(DATA)]
    command = ["reproduce", "ensembles", *arguments, "--out", str(tmp_path)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "ensembles: 16 of 16 runs finished" in result.output
    assert "ensembles-tuned: 23 of 23 runs finished" in result.output
    page = (tmp_path / "ensembles.md").read_text()
    assert "(ensembles/gains.png)" in page
    assert "| one tree, k = 1 |" in page
    assert (tmp_path / "ensembles" / "leaves.svg").is_file()
    again = CliRunner().invoke(main, command)
    assert "0 made now" in again.output
    rmtree(tmp_path / "runs")
    again = CliRunner().invoke(main, command)
    assert again.output.count("0 made now") == 2, "runs that were kept are made again"
    assert (tmp_path / "ensembles.md").read_text() == page
    assert {row["depth"] for row in ensembles.tasks(Settings(max_depth=2))} == {min(DEPTHS)}
    assert max(KS) == 8
