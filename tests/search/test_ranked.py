"""Ranked features: the engine finds the tree that the definition finds with every threshold as a column."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import oracle
from support.problems import CRITERIA, assert_same_tree, switches
from support.profiles import examples
from support.ranked import RankedProblem, prepared, ranked_problems

from topktree import TopKTreeClassifier
from topktree._search import engine
from topktree._search.spec import read_spec

most = examples(2)
some = examples(0.5)


def assert_describes(solution, problem):
    """Walking the rows down the tree gives every number of the solution."""
    bits, rows = problem.expanded(), {0: np.arange(len(problem.data.y))}
    weights = problem.objective.class_weight[problem.data.y]
    if problem.objective.row_weight is not None:
        weights = weights * problem.objective.row_weight
    for node, column in enumerate(solution.column.tolist()):
        here = rows.pop(node)
        assert solution.n_rows[node] == len(here)
        totals = np.bincount(problem.data.y[here], weights[here], problem.objective.n_classes)
        np.testing.assert_array_equal(solution.class_weight[node], totals)
        if column >= 0:
            side = bits[here, column]
            rows |= {int(solution.false_child[node]): here[~side], int(solution.true_child[node]): here[side]}


@most
@given(ranked_problems(), switches)
def test_engine_is_the_definition(problem, options):
    solution = problem.engine(**options)
    assert solution.complete
    assert_same_tree(solution, problem.reference())
    assert_describes(solution, problem)


@some
@given(ranked_problems(max_rows=150, max_depth=2, all_depth=1), switches)
def test_more_rows_than_a_grid_has_thresholds(problem, options):
    assert_same_tree(problem.engine(**options), problem.reference())


@some
@given(
    ranked_problems(max_rows=25, max_depth=2, all_depth=1),
    st.builds(
        engine.NearOptimalOptions,
        n=st.sampled_from([1, 3, 50, 10**6]),
        epsilon=st.sampled_from([0.0, 0.1, 1.0]),
        different=st.sampled_from(["predictions", "splits"]),
    ),
    switches,
)
def test_near_optimal_trees_are_those_of_the_definition(problem, asked, options):
    most_trees = 1
    for k in reversed(problem.objective.k):
        most_trees = 1 + min(2 * k, len(problem.data.columns)) * most_trees**2
    assume(most_trees <= 20_000)
    data, columns = problem.data, problem.data.columns
    options = engine.SearchOptions(**{name: value for name, value in options.items() if name != "packed"})
    found = engine.near_optimal(
        data.rows, columns.n_bits, data.y, problem.objective, asked, options, ranked=columns.ranked
    )
    own = problem.for_oracle()
    expected = oracle.near_optimal(problem.expanded(), data.y, own, asked.n, asked.epsilon, asked.different)
    assert len(found) == len(expected)
    for solution, one in zip(found, expected, strict=True):
        assert_same_tree(solution, one)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("k", [1, 3, "all"])
def test_a_table_of_many_values(criterion, k):
    """More rows than the definition can search in a moment: against the same search with a column of bits for each."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=600), rng.integers(300, size=600), np.exp(rng.normal(size=600))])
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=600) > 0).astype(int)
    data = prepared(X, y)
    assert len(data.columns.ranked) == 3
    depth = 2 if k == "all" else 3
    spec = read_spec(TopKTreeClassifier(k=k, max_depth=depth, criterion=criterion, min_samples_leaf=3))
    problem = RankedProblem(X, data, spec.objective(data))
    bits = np.ascontiguousarray(problem.expanded()).view(np.uint8)
    expected = engine.solve(bits, bits.shape[1], data.y, problem.for_oracle())
    for options in ({}, {"threads": 2}, {"use_bounds": False, "use_cache": False}, {"arrange": "always"}):
        if k == "all" and options.get("use_bounds") is False:
            continue  # takes minutes
        assert_same_tree(problem.engine(**options), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": -1}, None),
        ({"ranks": np.zeros(3, dtype=np.uint32)}, "every group must have a rank per row"),
        ({"feature": -1}, "every group must have a rank per row"),
    ],
)
def test_arguments_are_checked(change, message):
    rng = np.random.default_rng(0)
    data = prepared(rng.normal(size=(30, 1)), np.arange(30) % 2)
    objective = read_spec(TopKTreeClassifier(k=1, max_depth=1)).objective(data)
    ranked = [replace(data.columns.ranked[0], **change)]
    with pytest.raises(TypeError if message is None else ValueError, match=message):
        engine.solve(data.rows, data.columns.n_bits, data.y, objective, ranked=ranked)


def test_columns_have_numbers_of_32_bits():
    data = prepared(np.arange(30.0)[:, None], np.arange(30) % 2)
    objective = read_spec(TopKTreeClassifier(k=1, max_depth=1)).objective(data)
    ranked = [replace(data.columns.ranked[0], n_ranks=2**31 + 1)]
    with pytest.raises(ValueError, match=r"X must have fewer than 2\^31 columns, all thresholds included"):
        engine.solve(data.rows, data.columns.n_bits, data.y, objective, ranked=ranked)


def test_a_function_needs_bits():
    data = prepared(np.arange(30.0)[:, None], np.arange(30) % 2)
    tree = TopKTreeClassifier(k=1, max_depth=1, criterion=lambda left, right: left[:, 0])
    with pytest.raises(ValueError, match="criterion must not be a function"):
        engine.solve(
            data.rows, data.columns.n_bits, data.y, read_spec(tree).objective(data), ranked=data.columns.ranked
        )
