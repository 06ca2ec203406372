"""Trees with at most so many leaves: against all trees that the search chooses from, and as a user meets them."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from support import oracle
from support.problems import CRITERIA, Problem, assert_describes, problems, solve, without_lookahead
from support.profiles import examples

from topktree import TopKTreeClassifier, datasets, load
from topktree._search import engine, leaf_budget
from topktree._search.leaf_budget import best_part, solve_within

some = examples(4)


def within(problem: Problem, max_leaves: int, **options: Any) -> Any:
    def search(objective: Any, **changes: Any) -> engine.Solution:
        return solve(problem.columns, problem.classes, objective, **options | changes)

    return solve_within(search, problem.objective, max_leaves)


def all_costs(problem: Problem, max_leaves: int) -> list[int]:
    """The costs of all trees that the search chooses from, with at most so many leaves."""
    columns, weights = oracle._with_weight(problem.columns, problem.classes, problem.objective)
    trees = oracle._all_trees(columns, weights, 0, problem.objective, oracle.fixed_point(int(weights.sum())))
    return [tree.cost for tree, _ in trees if n_leaves(tree) <= max_leaves]


def n_leaves(tree: Any) -> int:
    return 1 if tree.children is None else sum(map(n_leaves, tree.children))


@some
@given(problems(max_rows=25, max_columns=5, max_depth=2, criteria=CRITERIA), st.integers(2, 4))
def test_no_tree_within_the_budget_costs_less_than_the_bound(problem: Problem, max_leaves: int) -> None:
    problem = without_lookahead(problem)
    found = within(problem, max_leaves)
    costs = all_costs(problem, max_leaves)
    assert np.count_nonzero(found.solution.column == -1) <= max_leaves
    assert found.lower_bound is not None
    assert found.lower_bound <= min(costs) <= found.solution.cost
    assert_describes(found.solution, problem)
    if max_leaves == 4:
        assert found.solution.cost == found.lower_bound == min(costs)


@some
@given(problems(max_rows=80, max_depth=4, criteria=CRITERIA), st.integers(2, 9))
def test_the_tree_is_what_it_says_it_is(problem: Problem, max_leaves: int) -> None:
    found = within(problem, max_leaves)
    assert np.count_nonzero(found.solution.column == -1) <= max_leaves
    assert_describes(found.solution, problem)
    refined = Problem(problem.columns, problem.classes, replace(problem.objective, refine=True))
    better = within(refined, max_leaves)
    assert better.solution.cost <= found.solution.cost
    assert np.count_nonzero(better.solution.column == -1) <= max_leaves
    assert_describes(better.solution, refined)


@some
@given(problems(max_rows=80, max_depth=4, criteria=CRITERIA), st.integers(2, 12))
def test_the_best_part_is_the_best_of_all_parts(problem: Problem, max_leaves: int) -> None:
    solution = problem.engine()
    part = best_part(solution, problem.objective, max_leaves)
    assert_describes(part, problem)
    assert np.count_nonzero(part.column == -1) <= max_leaves
    assert part.cost == min(costs_of_parts(solution, problem, 0, max_leaves).values())


def costs_of_parts(solution: engine.Solution, problem: Problem, node: int, max_leaves: int) -> dict[int, int]:
    """By the number of leaves: the lowest cost of a pruned subtree."""
    objective, weights = problem.objective, solution.class_weight[node]
    costs = {1: int(weights.sum() - weights.max()) * objective.cost_scale + objective.leaf_penalty}
    if solution.column[node] == -1:
        return costs
    sides = [
        costs_of_parts(solution, problem, int(child[node]), max_leaves)
        for child in (solution.false_child, solution.true_child)
    ]
    for a, cost_a in sides[0].items():
        for b, cost_b in sides[1].items():
            if a + b <= max_leaves:
                costs[a + b] = min(costs.get(a + b, 2**62), cost_a + cost_b)
    return costs


def table(seed: int = 0, n: int = 800) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n, 8, n_informative=6, n_redundant=0, n_classes=3, flip_y=0.05, random_state=seed)


PARAMETERS: list[dict[str, Any]] = [
    {},
    {"k": 1},
    {"k": [4, 2, 2, 1, 1, 1, 1]},
    {"criterion": "lookahead", "k": 1, "lookahead_columns": 30},
    {"refine": True},
    {"leaf_penalty": 0.002, "class_weight": "balanced", "refine": True},
    {"leaf_penalty": "tie"},
    {"min_samples_leaf": 20},
    {"max_thresholds": None, "k": 2},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_more_leaves_never_cost_more(parameters: dict[str, Any]) -> None:
    X, y = table()
    fits = [
        TopKTreeClassifier(max_depth=7, max_leaf_nodes=n, **parameters).fit(X, y, np.arange(800) % 3 + 1)
        for n in (2, 5, 12, 40)
    ]
    for fit, n in zip(fits, (2, 5, 12, 40), strict=True):
        assert 1 < fit.get_n_leaves() <= n
        assert fit.train_errors_ == np.count_nonzero(fit.predict(X) != y)
        assert fit.search_["lower_bound"] is None or parameters.get("refine") or fit.search_["lower_bound"] <= fit.cost_
    assert all(a.cost_ >= b.cost_ for a, b in pairwise(fits))


def test_a_budget_that_does_not_bind_changes_nothing() -> None:
    X, y = table()
    free = TopKTreeClassifier(max_depth=4, leaf_penalty=0.01).fit(X, y)
    for n in (free.get_n_leaves(), 16, 1000):
        tree = TopKTreeClassifier(max_depth=4, leaf_penalty=0.01, max_leaf_nodes=n).fit(X, y)
        assert tree.export_text() == free.export_text()
        assert (tree.cost_, tree.status_, tree.search_["lower_bound"]) == (free.cost_, free.status_, free.cost_)


def test_a_budget_of_as_many_leaves_as_the_depth_allows_leaves_k_alone() -> None:
    X, y = datasets.load_tic_tac_toe(return_X_y=True)
    free = TopKTreeClassifier(k=4, max_depth=6).fit(X, y)
    assert TopKTreeClassifier(k=4, max_depth=6, max_leaf_nodes=64).fit(X, y).train_errors_ == free.train_errors_
    thin = TopKTreeClassifier(k=[4, 2, 2, 1, 1, 1], max_depth=6, max_leaf_nodes=63).fit(X, y)
    for k in (4, np.int64(4)):
        assert TopKTreeClassifier(k=k, max_depth=6, max_leaf_nodes=63).fit(X, y).export_text() == thin.export_text()


def test_time_that_ends_between_two_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status says so, whatever the last search said."""
    X, y = table()
    run = leaf_budget._Search.run

    def slow_run(self: Any, *arguments: Any, **keywords: Any) -> Any:
        found = run(self, *arguments, **keywords)
        time.sleep(0.3)
        return found

    monkeypatch.setattr(leaf_budget._Search, "run", slow_run)
    for refine in (False, True):
        clf = TopKTreeClassifier(k=4, max_leaf_nodes=9, time_limit=0.25, refine=refine).fit(X, y)
        assert (clf.status_, clf.search_["lower_bound"]) == ("time_limit", None)
        assert clf.get_n_leaves() <= 9


def test_penalties_whose_costs_would_not_fit_64_bits() -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(5000, 5)), rng.integers(0, 2, 5000), rng.random(5000)
    clf = TopKTreeClassifier(k=1, max_depth=20, class_weight="balanced", max_leaf_nodes=3).fit(X, y, weights)
    assert clf.get_n_leaves() <= 3


def test_all_columns_within_a_budget_may_be_proved_best() -> None:
    X, y = datasets.load_monks(1, return_X_y=True)
    tree = TopKTreeClassifier(k="all", max_depth=3, max_leaf_nodes=4).fit(X, y)
    assert (tree.status_, tree.train_errors_, tree.search_["lower_bound"]) == ("complete", 72, 72)
    between = TopKTreeClassifier(k="all", max_depth=3, max_leaf_nodes=3).fit(X, y)
    assert between.status_ == "complete"
    assert between.search_["lower_bound"] < between.train_errors_


def test_limits_and_callbacks(tmp_path: Any) -> None:
    X, y = table(n=3000)
    seen: list[TopKTreeClassifier] = []
    clf = TopKTreeClassifier(max_depth=9, max_leaf_nodes=10, refine=True, verbose=0)
    clf.fit(X, y, callback=seen.append)
    assert clf.status_ == "refined"
    assert {tree.status_ for tree in seen} == {"partial"}
    assert all(tree.get_n_leaves() <= 10 for tree in seen)
    assert all(a.cost_ > b.cost_ for a, b in pairwise(seen))
    assert seen[-1].cost_ == clf.cost_
    clf.save(tmp_path / "tree.json")
    assert load(tmp_path / "tree.json").get_params() == clf.get_params()
    start = time.perf_counter()
    late = TopKTreeClassifier(k=16, max_depth=9, max_leaf_nodes=10, time_limit=0.05).fit(X, y)
    assert time.perf_counter() - start < 5
    assert late.status_ == "time_limit"
    assert late.get_n_leaves() <= 10
    assert late.search_["lower_bound"] is None


@pytest.mark.parametrize("value", [1, 0, -3, 2.5, "8"])
def test_wrong_values_are_named(value: Any) -> None:
    with pytest.raises(ValueError, match="max_leaf_nodes must be"):
        TopKTreeClassifier(max_leaf_nodes=value).fit([[0], [1]], [0, 1])
