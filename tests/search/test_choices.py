"""Lookahead and refining as a user meets them: costs, statuses, outputs, what they are combined with."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import make_classification
from support import oracle
from support.problems import CRITERIA, Problem, assert_describes, assert_identical, problems, switches
from support.profiles import examples

from topktree import TopKForestClassifier, TopKTreeClassifier, datasets, load

some = examples(2)


def table(seed: int = 0, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n, 8, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.05, random_state=seed)


@some
@given(problems(max_rows=60, max_depth=4, criteria=CRITERIA), switches)
def test_refined_trees(problem: Problem, options: dict[str, Any]) -> None:
    """They cost no more, lie between the best tree of the search and the best of all, and no switch changes them."""
    refined = replace(problem, objective=replace(problem.objective, refine=True))
    solution = refined.engine(**options)
    assert_describes(solution, refined)
    assert solution.cost <= problem.engine().cost
    assert_identical(solution, refined.engine())


@some
@given(problems(max_rows=40, max_columns=6, max_depth=3, criteria=CRITERIA))
def test_no_tree_of_all_columns_costs_less_than_a_refined_one_of_two_levels(problem: Problem) -> None:
    d, depth = problem.columns.shape[1], problem.objective.depth
    of_all = replace(problem, objective=replace(problem.objective, k=(d,) * depth, lookahead=0))
    refined = replace(problem, objective=replace(problem.objective, refine=True))
    lowest = oracle.solve(of_all.columns, of_all.classes, of_all.objective).cost
    assert refined.engine().cost >= lowest
    if depth <= 2:
        assert refined.engine().cost == lowest


@pytest.mark.parametrize("parameters", [{}, {"leaf_penalty": 0.01}, {"min_samples_leaf": 10}, {"max_thresholds": None}])
def test_with_a_lookahead_more_candidates_never_cost_more(parameters: dict[str, Any]) -> None:
    X, y = table()
    costs = [
        TopKTreeClassifier(k=k, max_depth=4, criterion="lookahead", lookahead_columns=20, **parameters).fit(X, y).cost_
        for k in (1, 2, 4, 20)
    ]
    assert costs == sorted(costs, reverse=True)


def test_looking_at_one_column_is_no_lookahead() -> None:
    """A greedy tree, but for the last two levels: one column and the best split below it."""
    X, y = table()
    greedy = TopKTreeClassifier(k=[1, 1, 1, "all"], max_depth=4).fit(X, y)
    tree = TopKTreeClassifier(k=1, max_depth=4, criterion="lookahead", lookahead_columns=1).fit(X, y)
    assert tree.export_text() == greedy.export_text()


def test_as_many_candidates_as_columns_are_all_columns() -> None:
    X, y = datasets.load_monks(1, return_X_y=True)
    optimal = TopKTreeClassifier(k="all", max_depth=3).fit(X, y)
    tree = TopKTreeClassifier(k="all", max_depth=3, criterion="lookahead").fit(X, y)
    assert (tree.export_text(), tree.status_) == (optimal.export_text(), "optimal")


@pytest.mark.parametrize("parameters", [{"criterion": "lookahead"}, {"refine": True}], ids=str)
def test_outputs_know_about_it(parameters: dict[str, Any], tmp_path: Any) -> None:
    X, y = table()
    clf = TopKTreeClassifier(k=2, max_depth=3, **parameters).fit(X, y)
    assert clf.status_ == ("refined" if "refine" in parameters else "complete")
    (chosen,) = [choice for choice in clf.search_["root"] if choice["chosen"]]
    assert chosen["cost"] == clf.cost_
    scores = [choice["score"] for choice in clf.search_["root"] if choice["rank"] <= 2]
    assert scores == sorted(scores, reverse=True)
    clf.report(str(tmp_path / "report.html"), X, y)
    clf.save(tmp_path / "tree.json")
    again = load(tmp_path / "tree.json")
    assert (again.get_params(), again.status_) == (clf.get_params(), clf.status_)
    assert clf.to_sklearn().score(X, y) == clf.score(X, y)


def test_the_score_of_a_lookahead_is_what_the_greedy_tree_saves() -> None:
    X, y = table()
    clf = TopKTreeClassifier(k=3, max_depth=3, criterion="lookahead").fit(X, y)
    leaf = len(y) - np.bincount(y).max()
    for choice in clf.search_["root"]:
        assert not choice["exact"] or choice["cost"] <= leaf - choice["score"]


def test_a_time_limit_leaves_the_greedy_tree_or_a_better_one() -> None:
    X, y = table(n=20_000)
    greedy = TopKTreeClassifier(k=1, max_depth=6).fit(X, y)
    for parameters in ({"criterion": "lookahead"}, {"refine": True}):
        clf = TopKTreeClassifier(k=8, max_depth=6, time_limit=0.02, max_thresholds=200, **parameters).fit(X, y)
        assert clf.status_ == "time_limit"
        assert clf.cost_ <= greedy.cost_ or clf.search_["k_reached"] <= 1
    seen: list[TopKTreeClassifier] = []
    clf = TopKTreeClassifier(k=2, max_depth=4, criterion="lookahead", refine=True).fit(X, y, callback=seen.append)
    assert all(a.cost_ > b.cost_ for a, b in pairwise(seen))
    assert seen[-1].cost_ == clf.cost_


def test_near_optimal_trees_of_a_lookahead() -> None:
    X, y = datasets.load_monks(1, return_X_y=True)
    clf = TopKTreeClassifier(k=2, max_depth=4, criterion="lookahead", refine=True)
    trees = clf.near_optimal(X, y, n=5).estimators
    plain = TopKTreeClassifier(k=2, max_depth=4, criterion="lookahead").fit(X, y)
    assert trees[0].export_text() == plain.export_text()
    assert not trees[0].refine


def test_the_path_of_a_lookahead_has_trees_that_fit_finds() -> None:
    X, y = table()
    clf = TopKTreeClassifier(k=1, max_depth=5, criterion="lookahead", refine=True, max_leaf_nodes=9)
    path = clf.leaf_penalty_path(X, y)
    assert not path.complete
    assert len(path) > 4
    assert np.all(np.diff(path.n_leaves) < 0)
    assert np.all(np.diff(path.errors) > 0)
    for penalty, tree in zip(path.leaf_penalties.tolist(), path.estimators, strict=True):
        again = TopKTreeClassifier(k=1, max_depth=5, criterion="lookahead", leaf_penalty=penalty).fit(X, y)
        assert again.export_text() == tree.export_text()
        assert (again.cost_, again.get_params()) == (tree.cost_, tree.get_params())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lookahead_columns": 0}, "lookahead_columns must be"),
        ({"lookahead_columns": 1.5}, "lookahead_columns must be"),
        ({"refine": "yes"}, "refine must be"),
        ({"criterion": "look"}, "criterion must be .*lookahead"),
    ],
)
def test_wrong_values_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TopKTreeClassifier(**parameters).fit([[0], [1]], [0, 1])


def test_forests_have_no_lookahead() -> None:
    with pytest.raises(ValueError, match="criterion must be"):
        TopKForestClassifier(criterion="lookahead").fit([[0], [1]], [0, 1])
