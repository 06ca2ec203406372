"""Searches over some of the rows and columns of shared arrays, and with a draw of features at every node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from support.problems import (
    Problem,
    assert_identical,
    assert_same_tree,
    hard_problems,
    make_problem,
    problems,
    random_classes,
    random_columns,
    switches,
)
from support.profiles import examples

from topktree._core import pack_flags
from topktree._search import engine
from topktree._search.objective import FeatureDraw

some = examples(1.5)
few = examples(0.4)
seeds = st.integers(0, 2**32 - 1)


def packed(columns: np.ndarray) -> np.ndarray:
    rows = pack_flags(np.ascontiguousarray(columns).view(np.uint8))
    assert rows is not None
    return rows


def solve_some(problem: Problem, kept: np.ndarray, options: dict) -> engine.Solution:
    options = dict(options)
    as_bits = options.pop("packed", True)
    rows = packed(problem.columns) if as_bits else np.ascontiguousarray(problem.columns).view(np.uint8)
    n_columns, search = problem.columns.shape[1], engine.SearchOptions(**options)
    return engine.solve(rows, n_columns, problem.classes, problem.objective, search, kept)


def with_draw(problem: Problem, seed: int) -> Problem:
    """Features of one to three columns each, of which some are drawn."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 2, problem.columns.shape[1])
    if problem.objective.second_reading is not None:
        steps[1:][problem.objective.second_reading[:-1] == 1] = 0  # both readings are columns of one feature
    of_column = np.cumsum(steps).astype(np.int32)
    draw = FeatureDraw(int(rng.integers(1, 4)), of_column, int(rng.integers(2**63)) * 2 + 1)
    return replace(problem, objective=replace(problem.objective, draw=draw, lookahead=0))


@some
@given(problems(), switches, seeds)
def test_draws_are_those_of_the_reference(problem: Problem, options: dict, seed: int) -> None:
    problem = with_draw(problem, seed)
    assert_same_tree(problem.engine(**options), problem.reference())


@some
@given(hard_problems, switches, seeds)
def test_draws_do_not_depend_on_cache_bounds_and_threads(problem: Problem, options: dict, seed: int) -> None:
    problem = with_draw(problem, seed)
    plain = problem.engine(use_cache=False, use_bounds=False, kernel="scalar", arrange="never")
    assert_identical(problem.engine(**options | {"use_cache": True, "use_bounds": True}), plain)


def test_a_draw_of_all_features_is_no_draw() -> None:
    rng = np.random.default_rng(0)
    columns = random_columns(rng, 200, 12)
    draw = FeatureDraw(12, np.arange(12, dtype=np.int32), 5)
    classes = random_classes(rng, columns, 3)
    totals = np.bincount(classes)
    kept = oracle.drawn_columns(draw, np.arange(12), totals)
    np.testing.assert_array_equal(kept, np.arange(12))


def test_draws_vary_with_the_seed_and_the_node_and_favour_no_feature() -> None:
    of_column = np.arange(10, dtype=np.int32)
    times = np.zeros(10)
    for seed in range(2000):
        for totals in ([30, 20], [0, 20]):
            times[oracle.drawn_columns(FeatureDraw(3, of_column, seed), np.arange(10), np.array(totals))] += 1
    # 4000 draws of 3 from 10: 1200 each, with a standard deviation of 29.
    assert np.all(np.abs(times - 1200) < 5 * 29)


def test_features_that_cannot_split_are_not_drawn() -> None:
    """One feature is drawn, and of six only one is not constant: it is the one."""
    columns = np.zeros((50, 6), dtype=bool)
    columns[:, 4] = np.arange(50) < 20
    classes = columns[:, 4].astype(np.int32)
    problem = make_problem(columns, classes, k=(1,))
    for seed in range(20):
        draw = FeatureDraw(1, np.arange(6, dtype=np.int32), seed)
        drawn = replace(problem, objective=replace(problem.objective, draw=draw, lookahead=0))
        assert drawn.engine().cost == 0


@some
@given(problems(), switches, seeds)
def test_rows_without_weight_are_not_there(problem: Problem, options: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(problem.classes)
    weight = rng.integers(0, 4, n) * (1 if problem.objective.row_weight is None else problem.objective.row_weight)
    weight[rng.integers(n)] = 3
    problem = replace(problem, objective=replace(problem.objective, row_weight=weight.astype(np.int64)))
    there = weight > 0
    only = replace(
        problem,
        columns=problem.columns[there],
        classes=problem.classes[there],
        objective=replace(problem.objective, row_weight=weight[there].astype(np.int64)),
    )
    solution = problem.engine(**options)
    assert_identical(solution, only.engine())
    assert solution.n_wrong == only.engine().n_wrong
    assert_same_tree(solution, problem.reference())


@some
@given(problems(max_columns=150, max_depth=2), switches, seeds)
def test_some_of_the_columns(problem: Problem, options: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = problem.columns.shape[1]
    kept = np.flatnonzero(rng.random(d) < rng.choice([0.0, 0.3, 0.9])).astype(np.int32)
    problem = replace(problem, objective=replace(problem.objective, second_reading=None))
    solution = solve_some(problem, kept, options)
    assert_same_tree(solution, replace(problem, columns=problem.columns[:, kept]).reference())


@few
@given(hard_problems, switches, seeds)
def test_some_of_the_columns_of_a_long_search(problem: Problem, options: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = problem.columns.shape[1]
    kept = np.flatnonzero(rng.random(d) < 0.7).astype(np.int32)
    problem = replace(problem, objective=replace(problem.objective, second_reading=None))
    solution = solve_some(problem, kept, options)
    only = packed(problem.columns[:, kept])
    plain = engine.SearchOptions(use_cache=False, use_bounds=False, arrange="never")
    assert_identical(solution, engine.solve(only, len(kept), problem.classes, problem.objective, plain))


@pytest.mark.parametrize(
    ("columns", "message"),
    [([1, 0], "rise"), ([0, 0], "rise"), ([-1, 0], r"in \[0"), ([0, 3], r"in \[0")],
)
def test_columns_that_are_not_there(columns: list[int], message: str) -> None:
    problem = make_problem(np.eye(3, dtype=bool), np.array([0, 1, 1], dtype=np.int32), k=(1,))
    with pytest.raises(ValueError, match=message):
        engine.solve(
            packed(problem.columns), 3, problem.classes, problem.objective, None, np.array(columns, dtype=np.int32)
        )
