"""The search by counts against the reference and the engine, however the rows are divided and the questions batched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from support.problems import (
    CRITERIA,
    Problem,
    assert_identical,
    assert_same_tree,
    hard_problems,
    make_problem,
    problems,
    user_criterion,
    without_lookahead,
)
from support.profiles import examples

from topktree._core import make_shard
from topktree._runtime.limits import OutOfTime
from topktree._search import engine
from topktree._search.objective import Objective
from topktree.dask import counted_search
from topktree.dask.counted_graph import ROWS, WEIGHT, Path
from topktree.dask.counted_ranking import NO_LIMIT, NodeCounts, Ranked, rank_columns
from topktree.dask.counted_search import CountedSearch

pytest.importorskip("distributed")

from topktree.dask.shards import Shard, add_counts, count_shards, make_question

many = examples(10)
some = examples(0.6)

batches = st.fixed_dictionaries(
    {
        "min_batch": st.sampled_from([1, 3, counted_search.MIN_BATCH]),
        "limits": st.fixed_dictionaries(
            {
                "batch_bytes": st.sampled_from([1, 1000, 2**24]),
                "held_bytes": st.sampled_from([0, 5000, 2**30]),
                "greedy_first": st.booleans(),
            }
        ),
        "n_parts": st.integers(1, 4),
    }
)


class Counter:
    """Answers questions about rows that are divided into shards."""

    def __init__(self, problem: Problem, n_parts: int = 1, n_rounds: int | None = None) -> None:
        part = np.random.default_rng(0).integers(n_parts, size=len(problem.classes))
        self.shards = [self._shard(problem, part == i) for i in range(n_parts) if (part == i).any()]
        self.questions: list[list[Path]] = []
        self.sums: list[tuple[str, ...]] = []  # of each question
        self.n_rounds = n_rounds

    @staticmethod
    def _shard(problem: Problem, rows: np.ndarray) -> Shard:
        weight, d, n_classes = problem.objective.row_weight, problem.columns.shape[1], problem.objective.n_classes
        bits = make_shard(
            rows=np.ascontiguousarray(problem.columns[rows]).view(np.uint8),
            n_columns=d,
            classes=problem.classes[rows],
            n_classes=n_classes,
            row_weight=None if weight is None else weight[rows],
            block_bytes=0,
        )
        return Shard(bits, d, n_classes)

    def __call__(self, paths: Sequence[Path], sums: Sequence[str], may_stop: bool) -> np.ndarray:
        if may_stop and self.n_rounds is not None and len(self.questions) >= self.n_rounds:
            raise OutOfTime
        self.questions.append(list(paths))
        self.sums.append(tuple(sums))
        question = make_question(paths, None, sums)
        return add_counts([count_shards([shard], question) for shard in self.shards])


def make_search(problem: Problem, counter: Counter, **limits: Any) -> CountedSearch:
    weight, n_classes = problem.objective.row_weight, problem.objective.n_classes
    class_weight = np.bincount(problem.classes, weight, n_classes).astype(np.int64)
    class_rows = None if weight is None else np.bincount(problem.classes, minlength=n_classes)
    return CountedSearch(class_weight, class_rows, problem.columns.shape[1], problem.objective, counter, **limits)


def run(problem: Problem, options: dict[str, Any]) -> engine.Solution:
    search = make_search(problem, Counter(problem, options["n_parts"]), **options["limits"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted_search, "MIN_BATCH", options["min_batch"])
        return search.run()


@many
@given(problems().map(without_lookahead), batches)
def test_finds_the_tree_of_the_reference(problem: Problem, options: dict) -> None:
    solution = run(problem, options)
    assert solution.complete
    assert_same_tree(solution, problem.reference())


@some
@given(hard_problems.map(without_lookahead), batches)
def test_finds_the_tree_of_the_engine_with_all_its_numbers(problem: Problem, options: dict) -> None:
    solution, expected = run(problem, options), problem.engine()
    assert_identical(solution, expected)
    assert solution.n_wrong == expected.n_wrong


@some
@given(problems(max_rows=200, max_columns=150, max_depth=2).map(without_lookahead), batches)
def test_many_columns(problem: Problem, options: dict) -> None:
    assert_identical(run(problem, options), problem.engine())


@some
@given(hard_problems.map(without_lookahead))
def test_no_path_is_asked_for_twice_and_batches_stay_within_their_limit(problem: Problem) -> None:
    counter = Counter(problem)
    class_bytes = 8 * problem.objective.n_classes * problem.columns.shape[1]
    limit = 20 * class_bytes
    search = make_search(problem, counter, batch_bytes=limit)
    search.run()
    questions = list(zip(counter.questions, counter.sums, strict=True))
    asked = [(frozenset(path), sums) for paths, sums in questions for path in paths]
    if not problem.objective.distinct_splits:
        assert len(set(asked)) == len(asked) == search.n_asked
        assert all(len(paths) * len(sums) * class_bytes <= limit for paths, sums in questions)


@some
@given(hard_problems.map(without_lookahead))
def test_rows_are_counted_last_where_only_their_weight_decides(problem: Problem) -> None:
    """Weights alone and weights with numbers of rows give the same tree; the numbers of rows are asked for once."""
    last, throughout = Counter(problem), Counter(problem)
    solution = make_search(problem, last).run()
    other = make_search(problem, throughout, greedy_first=True).run()
    assert_identical(solution, other)
    assert solution.n_wrong == other.n_wrong
    both = (WEIGHT, ROWS)
    if problem.objective.row_weight is None:
        assert set(last.sums) | set(throughout.sums) <= {(WEIGHT,)}
        return
    assert set(throughout.sums) <= {both}
    if problem.objective.min_samples_leaf > 1:
        assert set(last.sums) <= {both}
        return
    n_inner = np.count_nonzero(solution.column >= 0)
    n_paths = [len(paths) for paths, sums in zip(last.questions, last.sums, strict=True) if sums == (ROWS,)]
    assert n_paths == ([n_inner] if n_inner else [])
    assert set(last.sums[: len(last.sums) - len(n_paths)]) <= {(WEIGHT,)}


@examples(3)
@given(st.integers(0, 2**32 - 1), batches)
def test_nested_columns_and_nodes_that_many_paths_lead_to(seed: int, options: dict) -> None:
    """Sides of neighbouring thresholds bound each other, and bounds that were raised reach all nodes above."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(15, 60))
    values = rng.random((n, 3))
    columns = (values[:, :, None] <= np.linspace(0.2, 0.8, 4)).reshape(n, -1)
    signal = (values[:, 0] + values[:, 1] > 1) ^ (values[:, 2] < 0.2)
    classes = (signal ^ (rng.random(n) < 0.1)).astype(np.int32)
    classes[:2] = 0, 1
    penalty: float | str = [0.0, 0.02, "tie"][rng.integers(3)]
    problem = make_problem(columns, classes, k=(int(rng.integers(4, 13)),) * 3, leaf_penalty=penalty)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted_search, "MIN_BATCH", options["min_batch"])
        search = make_search(problem, Counter(problem, options["n_parts"]), **options["limits"])
        solution = search.run()
    assert solution.complete
    assert_identical(solution, problem.engine())
    for node in search.graph.nodes.values():
        if node.splits and not node.is_solved:
            assert node.lower == min([node.leaf, *(split.lower for split in node.splits)])


def contiguous_criterion(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Score columns; the order in memory is the order of NumPy's sums and so decides the last bits."""
    assert left.flags.c_contiguous
    assert right.flags.c_contiguous
    return user_criterion(left, right)


@some
@given(st.integers(0, 2**32 - 1))
def test_a_criterion_of_the_users_own_sees_the_same_arrays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.random((120, 12)) < 0.5
    problem = make_problem(columns, rng.integers(0, 9, 120).astype(np.int32), k=(3, 3), criterion=contiguous_criterion)
    assert_identical(make_search(problem, Counter(problem)).run(), problem.engine())


def test_bounds_spare_most_questions() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3000, 8))
    classes = ((values[:, 0] + values[:, 1] > 0.3) ^ (rng.random(3000) < 0.02)).astype(np.int32)
    columns = (values[:, :, None] <= np.linspace(-1.5, 1.5, 8)).reshape(3000, -1)
    problem = make_problem(columns, classes, k=(6,) * 5)
    search = make_search(problem, Counter(problem))
    assert_identical(search.run(), problem.engine())
    assert search.n_asked < (2 * 6) ** 5 / 40
    assert len(search.rounds) < 20


@some
@given(hard_problems.map(without_lookahead), st.integers(0, 6))
def test_when_there_is_no_time_the_best_tree_known_is_at_least_the_greedy_one(problem: Problem, n_rounds: int) -> None:
    counter = Counter(problem, n_rounds=n_rounds)
    solution = make_search(problem, counter, greedy_first=True).run()
    greedy = replace(problem, objective=replace(problem.objective, k=(1,) * problem.objective.depth)).engine()
    complete = problem.engine()
    assert complete.cost <= solution.cost <= greedy.cost
    if solution.complete:
        assert_identical(solution, complete)
    else:
        assert solution.statistics["k_reached"] == 1


@some
@given(hard_problems.map(without_lookahead))
def test_choices_at_the_root(problem: Problem) -> None:
    root = make_search(problem, Counter(problem)).run().statistics["root"]
    costs = problem.root_costs()
    found = dict(zip(root["column"].tolist(), root["cost"].tolist(), strict=True))
    if not problem.objective.distinct_splits and found:
        assert list(found) == list(costs)
    for column, cost, exact in zip(found, found.values(), root["exact"].tolist(), strict=True):
        assert cost == costs[column] if exact else cost <= costs[column]


def rank_by_oracle(nodes: NodeCounts, objective: Objective, total: int, width: int) -> Ranked:
    """`rank_columns` from its definition, node by node."""
    shape = (len(nodes.totals), width)
    ranked, ranked_errors = np.full(shape, -1, np.int32), np.zeros(shape, np.int64)
    fewest = np.full(len(nodes.totals), NO_LIMIT)
    for i, whole in enumerate(nodes.totals):
        right = nodes.true_weight[i].T
        left = whole - right
        usable = np.minimum(left.sum(axis=1), right.sum(axis=1)) >= objective.min_weight_leaf
        admissible = np.flatnonzero(usable if nodes.usable is None else usable & nodes.usable[i])
        errors = whole.sum() - left.max(axis=1) - right.max(axis=1)
        fewest[i] = errors[admissible].min(initial=NO_LIMIT)
        if fewest[i] < nodes.limit[i]:
            scores = oracle.column_scores(left, right, objective, oracle.fixed_point(total))[admissible]
            best = admissible[np.lexsort((admissible, -scores))][: nodes.k[i]]
            ranked[i, : len(best)], ranked_errors[i, : len(best)] = best, errors[best]
    return fewest, ranked, ranked_errors


@some
@given(st.integers(0, 2**32 - 1), st.sampled_from(CRITERIA))
def test_columns_are_ranked_as_in_numpy(seed: int, criterion: str) -> None:
    rng = np.random.default_rng(seed)
    n, n_classes, d = int(rng.integers(1, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 80))
    scale = int(rng.choice([3, 100, 10**6, 10**12]))
    totals = rng.integers(0, scale, (n, n_classes)) + (rng.random((n, n_classes)) < 0.7)
    counts = (totals[:, :, None] * rng.choice([0, 0.25, 0.5, 1], (n, n_classes, d))).astype(np.int64)
    two_rows = make_problem(np.zeros((2, 1), dtype=bool), np.array([0, 1], dtype=np.int32), criterion=criterion)
    objective = replace(two_rows.objective, min_weight_leaf=int(rng.choice([1, 1, scale])))
    usable = None if rng.random() < 0.5 else rng.random((n, d)) < 0.7
    limit = rng.choice([1, scale, NO_LIMIT], n).astype(np.int64)
    nodes = NodeCounts(counts, totals, usable, limit, rng.integers(1, d + 2, n))
    total = int(totals.sum()) + 1
    fast = rank_columns(nodes, objective, total)
    slow = rank_by_oracle(nodes, objective, total, fast[1].shape[1])
    assert fast[1].shape[1] == min(nodes.k.max(), d)
    for of_engine, of_oracle in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(of_engine, of_oracle)
