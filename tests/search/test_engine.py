"""The engine against the reference, tree for tree, under every switch; and properties that need no reference."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from support.paths import REFERENCE
from support.problems import (
    CRITERIA,
    LARGE_KINDS,
    STATISTICS,
    Problem,
    assert_describes,
    assert_identical,
    assert_same_tree,
    cancelling,
    hard_problems,
    large_problem,
    make_problem,
    optimal_problem,
    problems,
    random_classes,
    random_columns,
    switches,
    user_criterion,
)
from support.profiles import examples, seed_range

from topktree import TopKTreeClassifier, _core
from topktree._core import kernels, pack_flags
from topktree._search import engine

many = examples(20)
some = examples(2)
few = examples(0.6)

seeds = st.integers(0, 2**32 - 1)


@many
@given(problems(), switches)
def test_engine_finds_the_tree_of_the_reference(problem: Problem, options: dict) -> None:
    assert_same_tree(problem.engine(**options), problem.reference())


@some
@given(problems(max_rows=200, max_columns=5, max_depth=5), switches)
def test_deeper_trees_and_more_rows(problem: Problem, options: dict) -> None:
    assert_same_tree(problem.engine(**options), problem.reference())


@few
@given(problems(max_rows=300, max_columns=150, max_depth=2), switches)
def test_several_words_of_columns(problem: Problem, options: dict) -> None:
    assert_same_tree(problem.engine(**options), problem.reference())


@many
@given(hard_problems, switches)
def test_long_searches_find_the_tree_of_the_plain_engine(problem: Problem, options: dict) -> None:
    solution = problem.engine(**options | {"use_cache": True, "use_bounds": True})
    assert_identical(solution, plain_solution(problem))


@few
@given(hard_problems)
def test_plain_engine_finds_the_tree_of_the_reference(problem: Problem) -> None:
    shorter = with_k(problem, problem.objective.k[:3])
    assert_same_tree(plain_solution(shorter), shorter.reference())


@some
@given(problems(max_rows=100, max_depth=4), switches)
def test_node_arrays_describe_the_tree(problem: Problem, options: dict) -> None:
    assert_describes(problem.engine(**options), problem)


@some
@given(problems(max_depth=4), switches)
def test_cost_never_rises_with_k(problem: Problem, options: dict) -> None:
    depth, n_columns = problem.objective.depth, problem.columns.shape[1]
    costs = [with_k(problem, (k,) * depth).engine(**options).cost for k in (1, 2, 3, 5, n_columns)]
    assert costs == sorted(costs, reverse=True)


@some
@given(problems(max_depth=5), switches)
def test_cost_never_rises_with_depth(problem: Problem, options: dict) -> None:
    k = problem.objective.k
    costs = [with_k(problem, k[:depth]).engine(**options).cost for depth in range(len(k) + 1)]
    assert costs == sorted(costs, reverse=True)


def with_k(problem: Problem, k: tuple[int, ...]) -> Problem:
    return replace(problem, objective=replace(problem.objective, k=k))


def with_criterion(problem: Problem, criterion: Any) -> Problem:
    return replace(problem, objective=replace(problem.objective, criterion=criterion))


Tree = tuple  # () is a leaf, (column, false side, true side) a split


@cache
def every_tree(n_columns: int, depth: int) -> list[Tree]:
    """All trees of at most this depth, spelled out: also those that leave a side without rows."""
    if depth == 0:
        return [()]
    below = every_tree(n_columns, depth - 1)
    return [(), *itertools.product(range(n_columns), below, below)]


def leaf_rows(tree: Tree, columns: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    if not tree:
        return [rows]
    side = columns[rows, tree[0]]
    return leaf_rows(tree[1], columns, rows[~side]) + leaf_rows(tree[2], columns, rows[side])


def cheapest_of_every_tree(
    columns: np.ndarray, classes: np.ndarray, weights: np.ndarray, depth: int, min_rows: int, penalty: Fraction
) -> Fraction:
    """The lowest cost in the user's weights, exactly; `penalty` is a fraction of their total."""
    lowest = None
    for tree in every_tree(columns.shape[1], depth):
        leaves = leaf_rows(tree, columns, np.arange(len(classes)))
        if tree and min(map(len, leaves)) < min_rows:
            continue
        errors = sum(
            int(weights[rows].sum() - max(weights[rows[classes[rows] == c]].sum() for c in np.unique(classes)))
            for rows in leaves
        )
        cost = errors + len(leaves) * penalty * int(weights.sum())
        lowest = cost if lowest is None else min(lowest, cost)
    return lowest


@some
@given(
    seed=seeds,
    n=st.integers(1, 20),
    shape=st.sampled_from([(5, 1), (2, 2), (4, 2), (2, 3)]),  # columns, depth
    weighted=st.booleans(),
    criterion=st.sampled_from(CRITERIA),
    min_rows=st.sampled_from([1, 1, 2, 4]),
    penalty=st.sampled_from([Fraction(0), Fraction(1, 64), Fraction(3, 64), Fraction(1, 4)]),
    options=switches,
)
def test_all_candidates_find_the_best_of_all_trees(
    seed: int,
    n: int,
    shape: tuple[int, int],
    weighted: bool,
    criterion: str,
    min_rows: int,
    penalty: Fraction,
    options: dict,
) -> None:
    rng = np.random.default_rng(seed)
    n_columns, depth = shape
    columns = random_columns(rng, n, n_columns)
    classes = random_classes(rng, columns, 3)
    weights = rng.integers(1, 6, n) if weighted else np.ones(n, dtype=np.int64)
    problem = make_problem(
        columns,
        classes,
        k=(n_columns,) * depth,
        criterion=criterion,
        min_samples_leaf=min_rows,
        leaf_penalty=float(penalty),
        sample_weight=weights.astype(float) if weighted else None,
    )
    solution = problem.engine(**options)
    cost = Fraction(solution.cost, problem.objective.cost_scale) * Fraction(problem.objective.weight_unit)
    assert cost == cheapest_of_every_tree(columns, classes, weights, depth, min_rows, penalty)


@some
@given(problems(max_depth=4), switches, seeds)
def test_order_of_the_rows_does_not_matter(problem: Problem, options: dict, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(problem.classes))
    weights = problem.objective.row_weight
    shuffled = Problem(
        problem.columns[order],
        problem.classes[order],
        replace(problem.objective, row_weight=None if weights is None else weights[order]),
    )
    assert_identical(shuffled.engine(**options), problem.engine(**options))


def nested(solution: engine.Solution, negated: np.ndarray, node: int = 0) -> tuple:
    """The tree as nested tuples, the sides of negated columns swapped."""
    column = int(solution.column[node])
    if column == -1:
        return tuple(solution.class_weight[node])
    sides = [nested(solution, negated, int(child[node])) for child in (solution.false_child, solution.true_child)]
    return (column, *(reversed(sides) if negated[column] else sides))


@some
@given(problems(max_depth=4, criteria=CRITERIA), switches, seeds)
def test_negated_columns_only_swap_the_sides(problem: Problem, options: dict, seed: int) -> None:
    negated = np.random.default_rng(seed).random(problem.columns.shape[1]) < 0.5
    solution = problem.engine(**options)
    other = replace(problem, columns=problem.columns ^ negated).engine(**options)
    assert other.cost == solution.cost
    assert nested(other, negated) == nested(solution, np.zeros_like(negated))


@some
@given(
    seed=seeds,
    n=st.integers(2, 40),
    d=st.integers(1, 9),
    k=st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple),
    criterion=st.sampled_from([*CRITERIA, user_criterion]),
    leaf_penalty=st.sampled_from([0.0, 0.001, 0.05, "tie"]),
    class_weight=st.sampled_from([None, "balanced"]),
    options=switches,
)
def test_integer_weights_are_repeated_rows(
    seed: int, n: int, d: int, k: tuple[int, ...], options: dict, **parameters: Any
) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, n, d)
    classes = random_classes(rng, columns, 3)
    times = rng.integers(1, 6, n)
    times[0] = 1  # no common factor: the weights stay what they are
    weighted = make_problem(columns, classes, k=k, sample_weight=times.astype(float), **parameters)
    repeated = make_problem(np.repeat(columns, times, axis=0), np.repeat(classes, times), k=k, **parameters)
    solution, expected = weighted.engine(**options), repeated.engine(**options)
    for name in ("column", "false_child", "true_child", "class_weight"):
        np.testing.assert_array_equal(getattr(solution, name), getattr(expected, name), err_msg=name)
    if parameters["leaf_penalty"] != "tie":  # there the scale of the costs depends on the number of rows
        assert solution.cost == expected.cost


def plain_solution(problem: Problem) -> engine.Solution:
    """By the plainest engine there is."""
    return problem.engine(kernel="scalar", use_cache=False, use_bounds=False)


def middle_problem(**parameters: Any) -> Problem:
    """500 rows, 40 columns, three classes, depth 4, k = 5; mostly noise: bounds do not end the search at once."""
    rng = np.random.default_rng(7)
    columns = np.hstack([rng.random((500, 20)) < 0.5, random_columns(rng, 500, 20)])
    noise = rng.integers(3, size=500)
    classes = np.where(rng.random(500) < 0.6, noise, random_classes(rng, columns, 3)).astype(np.int32)
    return make_problem(columns, classes, k=(5,) * 4, **parameters)


WEIGHTS = {
    "unweighted": {},
    "rows": {"sample_weight": np.random.default_rng(1).integers(1, 9, 500).astype(float)},
    # A total above 2**31: counts of 64 bits.
    "heavy rows": {"sample_weight": np.random.default_rng(2).integers(1, 2**26, 500).astype(float)},
    "classes": {"class_weight": np.array([1.0, 3.0, 2.0]), "min_samples_leaf": 5},
}


@cache
def middle_solution(criterion: Any, weights: str) -> tuple[Problem, engine.Solution]:
    """The middle problem, and its solution: the plain engine's, with the tree of the reference."""
    problem = middle_problem(criterion=criterion, **WEIGHTS[weights])
    solution = plain_solution(problem)
    assert_same_tree(solution, problem.reference())
    assert_describes(solution, problem)
    return problem, solution


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("criterion", [*CRITERIA, user_criterion])
@pytest.mark.parametrize("kernel", kernels())
def test_kernels_and_threads_agree(kernel: str, criterion: Any, weights: str) -> None:
    problem, expected = middle_solution(criterion, weights)
    for threads in (1, 2, 4):
        solution = problem.engine(kernel=kernel, threads=threads)
        assert_identical(solution, expected)
        assert solution.statistics["kernel"] == kernel
        assert solution.statistics["n_threads"] == threads


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cache_bytes", [0, 1, 1_000, 30_000, 100_000, 1_000_000, 2**40])
def test_memory_limits_agree(cache_bytes: int, threads: int) -> None:
    problem, expected = middle_solution("entropy", "unweighted")
    solution = problem.engine(cache_bytes=cache_bytes, threads=threads)
    assert_identical(solution, expected)
    assert solution.statistics["cache_bytes"] <= cache_bytes


@pytest.mark.parametrize("kernel", kernels())
def test_many_rows(kernel: str) -> None:
    """Long columns, nearly full ones among them: sums that are too narrow overflow."""
    rng = np.random.default_rng(13)
    columns = rng.random((20_000, 40)) < np.linspace(0.5, 1.0, 40)
    problem = make_problem(columns, random_classes(rng, columns, 2), k=(2,) * 3)
    solution = problem.engine(kernel=kernel)
    assert_same_tree(solution, problem.reference())
    assert_describes(solution, problem)


# Large data, where the machinery for it switches itself on; and optimal trees.


def unarranged_solution(problem: Problem) -> engine.Solution:
    """Row by row as they come, and every split tried; the kernel is a fast one."""
    return problem.engine(use_cache=False, use_bounds=False, arrange="never", large_node_bytes=2**62)


@pytest.mark.parametrize("seed", seed_range(8))
@pytest.mark.parametrize("kind", LARGE_KINDS)
def test_large_data_has_the_tree_of_the_plain_engine(kind: str, seed: int) -> None:
    problem = large_problem(kind, seed)
    expected = unarranged_solution(problem)
    default = engine.SearchOptions()
    for threads, packed in ((1, seed % 2 == 0), (2, seed % 2 == 1)):
        threads_after = default.threads_after if seed % 4 < 2 else 0.0
        assert_identical(problem.engine(threads=threads, packed=packed, threads_after=threads_after), expected)


@pytest.mark.parametrize("kind", LARGE_KINDS)
def test_large_data_is_described(kind: str) -> None:
    problem = large_problem(kind, 100)
    assert_describes(problem.engine(), problem)


@pytest.mark.parametrize("kind", ["few distinct rows", "clusters"])
@pytest.mark.parametrize("seed", [200, 201])
def test_large_data_has_the_tree_of_the_reference(kind: str, seed: int) -> None:
    problem = with_k(large_problem(kind, seed), (3, 2, 2))
    assert_same_tree(
        problem.engine(arrange="always", max_fingerprinted_rows=0, large_node_bytes=0), problem.reference()
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("seed", seed_range(40))
def test_optimal_trees_are_those_of_the_plain_engine(seed: int, depth: int, threads: int) -> None:
    problem = optimal_problem(1000 * depth + seed, 120, depth)
    assert_identical(problem.engine(threads=threads, packed=seed % 2 == 0), unarranged_solution(problem))


@pytest.mark.parametrize("seed", seed_range(6))
def test_deep_optimal_trees_are_those_of_the_plain_engine(seed: int) -> None:
    problem = optimal_problem(seed, 40, 4)
    expected = unarranged_solution(problem)
    for threads in (1, 2):
        assert_identical(problem.engine(threads=threads), expected)


@few
@given(seeds, switches)
def test_optimal_trees_are_those_of_the_reference(seed: int, options: dict) -> None:
    problem = optimal_problem(seed, 24, 2)
    assert_same_tree(problem.engine(**options | {"use_bounds": True}), problem.reference())


@pytest.mark.parametrize("seed", seed_range(3))
def test_deeper_optimal_trees_are_those_of_the_reference(seed: int) -> None:
    problem = optimal_problem(seed, 10, 3)
    assert_same_tree(problem.engine(), problem.reference())


def test_fixed_point_logarithms_are_those_of_the_core() -> None:
    """Every bit of many values, in a number that tests/cpp/score/test_scoring.cpp computes from the core."""
    factor = 0x9E3779B97F4A7C15
    large = np.array([(i * factor % 2**64) >> (11 + i % 50) for i in range(1, 10_001)])  # up to 2**53
    checksum = 0
    for counts, unit in ((np.arange(50_000), 2.0**28), (large, 2.0**-9)):
        for value in oracle.xlog2x(counts, unit).tolist():
            checksum = (checksum * factor + value) % 2**64
    assert checksum == 0x1080BEAAE7FB4D35


@pytest.mark.parametrize("threads_after", [0.0, 0.001, 1e9])
def test_threads_start_when_the_search_is_long(threads_after: float) -> None:
    problem, expected = middle_solution("entropy", "unweighted")
    solution = problem.engine(threads=2, threads_after=threads_after)
    assert_identical(solution, expected)
    if threads_after != 0.001:
        assert solution.statistics["n_threads"] == (2 if threads_after == 0 else 1)


def tied_problem(seed: int) -> Problem:
    """Few rows, noise for classes: many trees have the lowest cost, and which one it is depends on every tie."""
    rng = np.random.default_rng(seed)
    columns = rng.random((150, 14)) < 0.5
    columns[:, 11:] = columns[:, :3] ^ [False, True, False]
    return make_problem(columns, rng.integers(2, size=150).astype(np.int32), k=(6,) * 5)


def test_a_hundred_schedules_agree() -> None:
    rng = np.random.default_rng(0)
    tied = [tied_problem(seed) for seed in range(10)]
    expected = [plain_solution(problem) for problem in tied]
    for run in range(100):
        options = {
            "threads": int(rng.integers(2, 9)),
            "cache_bytes": int(rng.choice([0, 20_000, 2**30])),
            "kernel": str(rng.choice(kernels())),
        }
        assert_identical(tied[run % 10].engine(**options), expected[run % 10])


def test_schedules_with_random_delays_agree() -> None:
    rng = np.random.default_rng(0)

    def delayed(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        if rng.random() < 0.02:
            time.sleep(rng.random() * 0.001)
        return user_criterion(left, right)

    for seed in range(5):
        problem = tied_problem(seed)
        expected = plain_solution(with_criterion(problem, user_criterion))
        late = with_criterion(problem, delayed)
        for threads in (2, 3, 5):
            assert_identical(late.engine(threads=threads), expected)


# The user's criterion.


def small_problem(criterion: Any, **parameters: Any) -> Problem:
    rng = np.random.default_rng(3)
    columns = rng.random((200, 10)) < 0.5
    columns[:, 9] = True
    return make_problem(columns, random_classes(rng, columns, 3), criterion=criterion, **{"k": (4,) * 4, **parameters})


class Recorder:
    """A criterion that keeps what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        self.calls.append((left, right))
        return user_criterion(left, right)


@pytest.mark.parametrize("threads", [1, 2])
def test_criterion_gets_the_counts_of_all_columns_of_one_node(threads: int) -> None:
    recorder = Recorder()
    weights = np.random.default_rng(5).integers(1, 5, 200) / 4
    problem = small_problem(recorder, sample_weight=weights)
    solution = problem.engine(threads=threads)
    for left, right in recorder.calls:
        assert left.shape == right.shape == (10, 3)
        assert left.dtype == right.dtype == np.float64
        assert np.ptp(left + right, axis=0).max() == 0  # quarters: exact
    is_true, of_class = problem.columns, problem.classes[:, None] == np.arange(3)
    roots = [right for left, right in recorder.calls if (left + right)[0].sum() == weights.sum()]
    np.testing.assert_array_equal(roots[0], is_true.T.astype(float) @ (weights[:, None] * of_class))
    assert 0 < len(recorder.calls) <= solution.statistics["nodes"]


def test_greedy_search_calls_the_criterion_once_per_node() -> None:
    recorder = Recorder()
    solution = small_problem(recorder, k=(1,) * 4).engine()
    assert len(recorder.calls) == solution.statistics["nodes"]
    totals = [tuple((left + right)[0]) for left, right in recorder.calls]
    inner = solution.class_weight[solution.column >= 0]
    assert {tuple(map(float, total)) for total in inner} <= set(totals)


def test_criterion_may_write_into_its_arrays_and_keep_them() -> None:
    kept = []

    def careless(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        scores = user_criterion(left, right)
        left[:] = right[:] = -1
        kept.append((left, right))
        return scores

    assert_identical(small_problem(careless).engine(), small_problem(user_criterion).engine())
    assert all((left == -1).all() and (right == -1).all() for left, right in kept)


@pytest.mark.parametrize("convert", [list, lambda scores: scores.astype(np.float32), lambda scores: scores.astype(int)])
def test_scores_may_be_any_numbers(convert: Any) -> None:
    converted = small_problem(lambda left, right: convert(user_criterion(left, right))).engine()
    assert_identical(converted, small_problem(user_criterion).engine())


def test_infinite_scores_rank_like_others() -> None:
    ranks = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], dtype=float)
    infinite = np.where(ranks > 5, np.inf, np.where(ranks < 2, -np.inf, ranks))
    clipped = np.clip(ranks, 1, 6)
    assert_identical(
        small_problem(lambda left, right: infinite).engine(), small_problem(lambda left, right: clipped).engine()
    )


def test_scores_of_useless_columns_are_ignored() -> None:
    def nan_for_empty_sides(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        empty = (left.sum(axis=1) == 0) | (right.sum(axis=1) == 0)
        return np.where(empty, np.nan, user_criterion(left, right))

    assert_identical(small_problem(nan_for_empty_sides).engine(), small_problem(user_criterion).engine())


class CriterionError(Exception):
    pass


@pytest.mark.parametrize("error", [CriterionError("of the user"), KeyboardInterrupt("of the user")])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("calls_before", [0, 1, 50])
def test_errors_of_the_criterion_come_through(error: BaseException, threads: int, calls_before: int) -> None:
    calls = itertools.count()

    def failing(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        if next(calls) >= calls_before:
            raise error
        return user_criterion(left, right)

    problem = small_problem(failing)
    with pytest.raises(type(error), match="of the user"):
        problem.engine(threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda left, right: left, r"one score per column, shape \(10,\), got \(10, 3\)"),
        (lambda left, right: left[:-1, 0], r"one score per column, shape \(10,\), got \(9,\)"),
        (lambda left, right: 1.0, r"one score per column, shape \(10,\), got"),
        (lambda left, right: np.full(10, np.nan), "got NaN"),
        (lambda left, right: ["a"] * 10, "array of numbers, got list"),
        (lambda left, right: None, "criterion must return"),
    ],
)
def test_bad_answers_of_the_criterion(answer: Any, message: str, threads: int) -> None:
    with pytest.raises(ValueError, match=message):
        small_problem(answer).engine(threads=threads)


# Statistics, progress, limits.


@pytest.mark.parametrize("threads", [1, 3])
def test_statistics(threads: int) -> None:
    problem = middle_problem()
    start = time.perf_counter()
    solution = problem.engine(threads=threads)
    elapsed = time.perf_counter() - start
    statistics = solution.statistics
    assert set(statistics) == STATISTICS
    assert solution.complete
    assert 0 < statistics["seconds"] <= elapsed
    assert statistics["nodes"] >= np.count_nonzero(solution.column >= 0)
    assert statistics["pruned"] > 0
    assert statistics["cache_hits"] > 0
    assert statistics["cache_bytes"] > 0
    assert statistics["k_reached"] == 5
    assert statistics["n_threads"] == threads
    assert statistics["kernel"] in kernels()


def test_switches_show_in_the_statistics() -> None:
    problem = middle_problem()
    everything = problem.engine().statistics
    no_cache = problem.engine(use_cache=False).statistics
    no_bounds = problem.engine(use_bounds=False).statistics
    assert no_cache["cache_hits"] == no_cache["cache_bytes"] == 0
    assert no_bounds["pruned"] == 0
    assert everything["nodes"] < min(no_cache["nodes"], no_bounds["nodes"])


@cache
def endless_problem(criterion: Any = "entropy") -> Problem:
    """Noise: hours of search."""
    rng = np.random.default_rng(11)
    columns = rng.random((3000, 120)) < 0.5
    return make_problem(columns, rng.integers(3, size=3000).astype(np.int32), k=(120,) * 7, criterion=criterion)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("time_limit", [1e-9, 0.3])
def test_time_limit_returns_the_tree_of_the_last_k_that_was_finished(time_limit: float, threads: int) -> None:
    problem = endless_problem()
    solution = problem.engine(time_limit=time_limit, threads=threads)
    assert not solution.complete
    assert_describes(solution, problem)
    k = solution.statistics["k_reached"]
    assert 1 <= k < 120
    assert solution.statistics["seconds"] >= time_limit
    if k <= 2:
        assert_identical(solution, with_k(problem, (k,) * 7).engine())
    assert solution.cost <= with_k(problem, (1,) * 7).engine().cost


def test_time_limit_that_is_not_hit() -> None:
    problem, expected = middle_solution("entropy", "unweighted")
    solution = problem.engine(time_limit=600)
    assert solution.complete
    assert solution.statistics["k_reached"] == 5
    assert_identical(solution, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_is_reported(threads: int) -> None:
    reports: list[tuple[float, int, int, int]] = []
    caller = threading.get_ident()

    def progress(seconds: float, k: int, nodes: int, cost: int) -> None:
        assert threading.get_ident() == caller
        reports.append((seconds, k, nodes, cost))

    solution = endless_problem().engine(time_limit=0.5, threads=threads, progress=progress)
    seconds, ks, nodes, costs = map(list, zip(*reports, strict=True))
    assert seconds == sorted(seconds)
    assert ks == sorted(ks)
    assert nodes == sorted(nodes)
    assert nodes[-1] <= solution.statistics["nodes"]
    known = [cost for cost in costs if cost >= 0]
    assert known == sorted(known, reverse=True)
    assert known[-1] <= solution.cost


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_of_the_progress_report_come_through(threads: int) -> None:
    def progress(*_: Any) -> None:
        raise CriterionError("of the report")

    with pytest.raises(CriterionError, match="of the report"):
        endless_problem().engine(time_limit=30, threads=threads, progress=progress)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("criterion", ["entropy", user_criterion])
def test_ctrl_c_ends_the_search(ctrl_c: Callable[[], list[float]], threads: int, criterion: Any) -> None:
    problem = endless_problem(criterion)
    sent = ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        problem.engine(threads=threads, time_limit=60)
    assert time.perf_counter() - sent[0] < 2
    tied = tied_problem(0)
    assert_identical(tied.engine(threads=threads), plain_solution(tied))


# The border: arrays that do not fit together are refused.


def engine_arguments(**changes: Any) -> dict[str, Any]:
    """Arguments of `engine.solve` for three rows and two columns; those of the objective and the options by name."""
    columns = np.array([[True, False], [False, True], [True, True]])
    problem = make_problem(columns, np.array([0, 1, 1]), k=(1,))
    objective, options = problem.objective, engine.SearchOptions()
    arguments = {
        "rows": pack_flags(columns.view(np.uint8)),
        "n_columns": 2,
        "classes": problem.classes,
        "objective": replace(objective, **{name: v for name, v in changes.items() if hasattr(objective, name)}),
        "options": replace(options, **{name: v for name, v in changes.items() if hasattr(options, name)}),
    }
    return arguments | {name: value for name, value in changes.items() if name in arguments}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": (2, 0)}, "k must be"),
        ({"min_samples_leaf": 0}, "min_rows"),
        ({"cost_scale": 0}, "cost_scale must be"),
        ({"leaf_penalty": -1}, "leaf_penalty"),
        ({"threads": 0}, "threads must be"),
        ({"kernel": "abacus"}, "abacus"),
        ({"criterion": "beauty"}, "beauty"),
        ({"n_columns": 65}, "rows must have"),
        ({"classes": np.array([0, 1, 2])}, "classes must be"),
        ({"classes": np.array([0, -1, 1])}, "classes must be"),
        ({"classes": np.array([0, 1])}, "classes must have"),
        ({"row_weight": np.array([1, 2])}, "row_weight must have"),
        ({"row_weight": np.array([1, -1, 1])}, "row_weight must not be"),
        ({"row_weight": np.array([0, 0, 0])}, "some row must have weight"),
        ({"class_weight": np.array([0, 1])}, "class_weight must be"),
        ({"rows": np.zeros((0, 1), dtype=np.uint64), "classes": np.zeros(0)}, "n_rows must be"),
    ],
)
def test_the_core_refuses(changes: dict[str, Any], message: str) -> None:
    assert engine.solve(**engine_arguments()).cost == 0
    with pytest.raises(ValueError, match=message):
        engine.solve(**engine_arguments(**changes))


@some
@given(problems(max_rows=100, max_depth=4), switches, st.sampled_from([-3, -1, 0, 1, 50]))
def test_a_known_cost_changes_nothing_right_or_wrong(problem: Problem, options: dict, off: int) -> None:
    plain = problem.engine()
    known = max(plain.cost + off, 0)
    assert_identical(problem.engine(**options, known_cost=known), plain)


def test_a_known_cost_saves_work() -> None:
    nodes = {"plain": 0, "bounded": 0}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        columns = rng.random((300, 20)) < 0.5
        problem = make_problem(columns, rng.integers(2, size=300).astype(np.int32), k=(6,) * 5)
        plain = problem.engine()
        nodes["plain"] += plain.statistics["nodes"]
        nodes["bounded"] += problem.engine(known_cost=plain.cost).statistics["nodes"]
    assert nodes["bounded"] < nodes["plain"]


@some
@given(problems(max_depth=4), switches)
def test_trees_on_the_way(problem: Problem, options: dict) -> None:
    seen: list[engine.Solution] = []
    solution = problem.engine(**options, on_tree=seen.append)
    assert_identical(solution, problem.engine(**options))
    trace = solution.statistics["trace"]
    costs = [cost for _, _, cost in trace]
    assert costs == sorted(costs, reverse=True)
    assert [s.cost for s in seen] == sorted(set(costs), reverse=True)
    assert costs[-1] == solution.cost
    assert trace[-1][1] == solution.statistics["k_reached"]
    for _, k, cost in trace:
        narrow = with_k(problem, tuple(min(max(k, 1), width) for width in problem.objective.k))
        if k == 0:  # the greedy tree, which comes before a lookahead
            narrow = replace(narrow, objective=replace(narrow.objective, lookahead=0))
        assert narrow.engine().cost == cost
    for s in seen:
        assert_describes(s, problem)


def test_what_the_caller_of_the_trees_raises_ends_the_search() -> None:
    def stop(solution: engine.Solution) -> None:
        raise KeyError("enough")

    rng = np.random.default_rng(0)
    problem = make_problem(rng.random((50, 8)) < 0.5, rng.integers(2, size=50).astype(np.int32), k=(4, 4))
    with pytest.raises(KeyError, match="enough"):
        problem.engine(on_tree=stop)


@some
@given(problems(criteria=CRITERIA), switches)
def test_distinct_splits_of_all_columns_change_nothing(problem: Problem, options: dict) -> None:
    every = with_k(problem, (problem.columns.shape[1],) * problem.objective.depth)
    trees = [
        replace(every, objective=replace(every.objective, distinct_splits=distinct)).engine(**options)
        for distinct in (False, True)
    ]
    assert_identical(*trees)


@some
@given(seeds, st.integers(1, 3), switches)
def test_copies_of_columns_are_no_choices(seed: int, k: int, options: dict) -> None:
    """With distinct splits, copies and complements behind the columns leave the tree as it is."""
    rng = np.random.default_rng(seed)
    columns = rng.random((60, 6)) < rng.choice([0.2, 0.5], size=6)
    classes = random_classes(rng, columns, 2)
    more = np.hstack([columns, ~columns, columns[:, ::-1]])
    alone = make_problem(columns, classes, k=(k,) * 3, distinct_splits=True).engine(**options)
    among = make_problem(more, classes, k=(k,) * 3, distinct_splits=True).engine(**options)
    assert_identical(among, alone)


@some
@given(problems(max_rows=80), switches, st.booleans())
def test_candidates_of_the_root(problem: Problem, options: dict, exact_root: bool) -> None:
    solution = problem.engine(**options, exact_root=exact_root)
    assert_identical(solution, problem.engine())
    root, expected = solution.statistics["root"], problem.root_costs()
    if len(root["column"]) == 0:  # equal rows may tell at once that no split is worth anything
        assert solution.column[0] == -1
        return
    assert root["column"].tolist() == list(expected)
    for column, cost, exact in zip(root["column"], root["cost"], root["exact"], strict=True):
        assert cost == expected[column] if exact else cost <= expected[column]
    for column, true_weight in zip(root["column"][:20], root["true_weight"], strict=True):
        np.testing.assert_array_equal(true_weight, class_totals(problem, problem.columns[:, column]))
    assert root["exact"].all() or not exact_root
    chosen = solution.column[0]
    if chosen >= 0:
        at = root["column"].tolist().index(chosen)
        assert root["exact"][at]
        assert root["cost"][at] == solution.cost


@pytest.mark.parametrize("seed", seed_range(6))
def test_candidates_of_the_root_among_all_columns(seed: int) -> None:
    """Where shallower trees are looked for first."""
    problem = optimal_problem(seed, 300, 3)
    plain = problem.engine(use_cache=False, use_bounds=False).statistics["root"]
    root = problem.engine(exact_root=True, threads=2).statistics["root"]
    assert root["exact"].all()
    for name in ("column", "cost"):
        np.testing.assert_array_equal(root[name], plain[name])


@some
@given(problems(max_rows=80), st.integers(1, 3))
def test_candidates_of_the_root_after_narrower_passes(problem: Problem, threads: int) -> None:
    expected = problem.engine(exact_root=True).statistics["root"]
    root = problem.engine(exact_root=True, time_limit=3600.0, threads=threads).statistics["root"]
    for name in root:
        np.testing.assert_array_equal(root[name], expected[name])


# Tables made to deceive the cache: two subsets of theirs would share a fingerprint if rows had public fingerprints.


def crafted_table() -> tuple[np.ndarray, np.ndarray]:
    """Return a table whose best tree of depth 3 has no errors; see crafted_problem() in tests/cpp/support."""
    y = np.repeat(np.arange(2), (600, 300))
    X = np.zeros((900, 5), dtype=bool)
    X[600:, 4] = True
    place_of_class_1 = 640  # every class starts a new word of 64 rows
    rows = np.r_[:70, 600:670]
    for row in rows[cancelling(np.where(rows < 600, rows, rows - 600 + place_of_class_1))]:
        X[row] = np.arange(5) == y[row]
    X[100:160], X[160:220] = [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]
    X[700:760], X[760:880] = [1, 1, 1, 0, 0], [1, 1, 0, 1, 0]
    return X, y


@pytest.mark.parametrize("memory_limit", [0, None])
def test_a_table_cannot_be_made_to_deceive_the_cache(memory_limit: int | None) -> None:
    X, y = crafted_table()
    tree = TopKTreeClassifier(k="all", max_depth=3, memory_limit=memory_limit).fit(X, y)
    assert tree.score(X, y) == 1.0


@pytest.mark.skipif(not (REFERENCE / "fingerprint_collision.npz").exists(), reason="needs fingerprint_collision.npz")
def test_the_table_that_deceived_the_cache() -> None:
    with np.load(REFERENCE / "fingerprint_collision.npz") as arrays:
        X, y = arrays["X"], arrays["y"]
    assert TopKTreeClassifier(k="all", max_depth=3).fit(X, y).score(X, y) == 1.0


def test_the_salt_does_not_change_with_the_switches_or_from_run_to_run() -> None:
    """A cache that is too small loses entries by their fingerprints, so equal statistics mean equal salts."""
    problem = large_problem(LARGE_KINDS[0], 3)
    first = problem.engine(cache_bytes=20_000).statistics
    for kernel in kernels():
        again = problem.engine(cache_bytes=20_000, kernel=kernel).statistics
        assert all(again[name] == first[name] for name in ("nodes", "pruned", "cache_hits"))


# The compiled module refuses what would read beyond an array; a crash here ends the test process.

TABLE = {
    "features": np.zeros((2, 5)),
    "entries": np.array([0.5, 0.5]),
    "offsets": np.array([0, 1, 2]),
    "feature": np.array([0, 1]),
    "test": np.zeros(2, dtype=np.uint8),
    "or_missing": np.zeros(2, dtype=np.uint8),
}
CELLS = {
    "values": np.zeros(4),
    "edges": np.zeros(1),
    "classes": np.zeros(4, dtype=np.int32),
    "n_classes": 2,
    "row_weight": None,
}
WALK = {
    "rows": np.zeros((3, 1), dtype=np.uint64),
    "n_columns": 5,
    "column": np.array([4, -1, -1], dtype=np.int32),
    "false_child": np.array([1, -1, -1], dtype=np.int32),
    "true_child": np.array([2, -1, -1], dtype=np.int32),
}
SHARD = {
    "rows": np.zeros((3, 1), dtype=np.uint64),
    "n_columns": 5,
    "classes": np.zeros(3, dtype=np.int32),
    "n_classes": 2,
    "row_weight": None,
    "block_bytes": 0,
}
COUNT = {
    "shard": _core.make_shard(**SHARD),
    "n_columns": 5,
    "n_classes": 2,
    "depth": np.zeros(1, dtype=np.int32),
    "column": np.zeros(1, dtype=np.int32),
    "side": np.zeros(1, dtype=np.uint8),
    "answers": np.zeros(1, dtype=np.int64),
    "n_answers": 1,
    "count_rows": False,
}
RANK = {
    "counts": np.ones((1, 2, 3), dtype=np.int64),
    "totals": np.full((1, 2), 2),
    "usable": None,
    "limit": np.full(1, 9),
    "k": np.full(1, 2),
    "every_column": False,
    "criterion": "entropy",
    "min_weight": 1,
    "total_weight": 4,
    "second_reading": None,
}
BAD_ARGUMENTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("pack_features", TABLE, {"or_missing": np.full(2, 2, dtype=np.uint8)}),
    ("pack_features", TABLE, {"test": np.full(2, 255, dtype=np.uint8)}),
    ("pack_features", TABLE, {"feature": np.array([0, 2])}),
    ("pack_features", TABLE, {"feature": np.array([-1, 1])}),
    ("pack_features", TABLE, {"offsets": np.array([0, -1, 2])}),
    ("pack_features", TABLE, {"offsets": np.array([0, 3, 2])}),
    ("pack_features", TABLE, {"offsets": np.array([0, 2])}),
    ("hash_columns", TABLE, {"offsets": np.array([0, 1, 2**62])}),
    ("hash_columns", TABLE, {"features": np.zeros((1, 5))}),
    ("class_cells", CELLS, {"n_classes": 0}),
    ("class_cells", CELLS, {"n_classes": -1}),
    ("class_cells", CELLS, {"n_classes": 2**63, "values": np.zeros(0), "classes": np.zeros(0, dtype=np.int32)}),
    ("class_cells", CELLS, {"classes": np.full(4, 2, dtype=np.int32)}),
    ("class_cells", CELLS, {"classes": np.full(4, -1, dtype=np.int32)}),
    ("class_cells", CELLS, {"row_weight": np.zeros(3)}),
    ("split_order", {"cells": np.zeros((3, 2)), "n": 2}, {"cells": np.zeros((3, 0))}),
    ("walk", WALK, {"rows": np.zeros((3, 0), dtype=np.uint64), "n_columns": 2**64 - 1}),
    ("walk", WALK, {"n_columns": 65}),
    ("walk", WALK, {"column": np.array([5, -1, -1], dtype=np.int32)}),
    ("walk", WALK, {"true_child": np.array([0, -1, -1], dtype=np.int32)}),
    ("make_shard", SHARD, {"n_classes": 2**32 + 2}),
    ("make_shard", SHARD, {"n_classes": 0}),
    ("make_shard", SHARD, {"n_columns": 65}),
    ("count_shard", COUNT, {"n_classes": 2**40}),
    ("count_shard", COUNT, {"n_answers": 2**62}),
    ("count_shard", COUNT, {"n_answers": 0}),
    ("count_shard", COUNT, {"n_columns": 17}),
    ("count_shard", COUNT, {"shard": COUNT["shard"][:-1]}),
    ("rank_columns", RANK, {"totals": np.zeros((1, 2), dtype=np.int64)}),
    ("rank_columns", RANK, {"k": np.zeros(1, dtype=np.int64)}),
    ("rank_columns", RANK, {"k": np.full(2, 2)}),
    ("rank_columns", RANK, {"second_reading": np.zeros(2, dtype=np.int32)}),
    ("rank_columns", RANK, {"second_reading": np.array([3, 0, 0], dtype=np.int32)}),
    ("rank_columns", RANK, {"second_reading": np.array([-1, 0, 0], dtype=np.int32)}),
    ("rank_columns", RANK, {"total_weight": 3}),
    ("rank_columns", RANK, {"limit": np.zeros(2, dtype=np.int64)}),
]


@pytest.mark.parametrize(("function", "arguments", "change"), BAD_ARGUMENTS)
def test_the_compiled_module_refuses_bad_arguments(function: str, arguments: dict, change: dict) -> None:
    call = getattr(_core, function)
    call(**arguments)
    with pytest.raises((ValueError, TypeError, MemoryError)):
        call(**arguments | change)


def class_totals(problem: Problem, rows: np.ndarray) -> np.ndarray:
    weights = problem.objective.class_weight[problem.classes].astype(np.int64)
    if problem.objective.row_weight is not None:
        weights = weights * problem.objective.row_weight
    totals = np.zeros(problem.objective.n_classes, dtype=np.int64)
    np.add.at(totals, problem.classes[rows], weights[rows])
    return totals
