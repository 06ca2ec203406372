"""The candidates of many nodes, from their counts alone.

In: the class weights of every column, node by node. Out: the columns of each node by descending score, with the
errors of a split on each. Ties, rounding and limits are those of the local search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._core import rank_columns as core_rank_columns
from .._data.arrays import BoolArray, IntArray
from .._search import engine
from .._search.objective import Objective, ScoreFunction

NO_LIMIT = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """The weight per class in some nodes, with class weights applied."""

    true_weight: IntArray  # (n_nodes, n_classes, n_columns): weight of the rows for which a column is true
    totals: IntArray  # (n_nodes, n_classes)
    usable: BoolArray | None  # (n_nodes, n_columns): which columns leave enough rows on both sides; None: all
    limit: IntArray  # (n_nodes,): a node is ranked only if its best split has fewer errors than this
    k: IntArray  # (n_nodes,): the places for its candidates


# Errors are weights of misclassified rows. The fewest errors of a split of each node (n_nodes,), NO_LIMIT if there is
# none; the candidates of each node, -1 after the last; and the errors of a split on each of these.
Ranked = tuple[IntArray, NDArray[np.int32], IntArray]


def rank_columns(nodes: NodeCounts, objective: Objective, total_weight: int) -> Ranked:
    """Return the candidates of the nodes; `total_weight` is the weight of all rows of the search.

    With `distinct_splits`, return all columns that could be candidates.
    """
    if callable(objective.criterion):
        return _rank_by_callable(nodes, objective, objective.criterion)
    return core_rank_columns(
        counts=nodes.true_weight,
        totals=nodes.totals,
        usable=None if nodes.usable is None else nodes.usable.view(np.uint8),
        limit=nodes.limit,
        k=nodes.k,
        every_column=objective.distinct_splits,
        criterion=objective.criterion,
        min_weight=objective.min_weight_leaf,
        total_weight=total_weight,
        second_reading=objective.second_reading,
    )


def tests_of_columns(second_reading: NDArray[np.int32] | None, n_columns: int) -> IntArray:
    """Return a number per column that the two readings of a test share."""
    tests = np.arange(n_columns)
    if second_reading is not None:
        first = np.flatnonzero(second_reading)
        tests[first + second_reading[first]] = first
    return tests


def _rank_by_callable(nodes: NodeCounts, objective: Objective, criterion: ScoreFunction) -> Ranked:
    """Rank by the user's own criterion, node by node."""
    n_columns = nodes.true_weight.shape[2]
    tests = tests_of_columns(objective.second_reading, n_columns)
    columns = np.full((len(nodes.totals), n_columns), -1, dtype=np.int32)
    errors = np.zeros((len(nodes.totals), n_columns), dtype=np.int64)
    fewest = np.full(len(nodes.totals), NO_LIMIT)
    score, weight = engine.checked_criterion(criterion), np.float64(objective.weight_unit)
    for i, (true_side, whole) in enumerate(zip(nodes.true_weight, nodes.totals, strict=True)):
        right = np.ascontiguousarray(true_side.T)  # as in the engine: NumPy's sums depend on the memory order
        left = whole - right
        usable = np.minimum(left.sum(axis=1), right.sum(axis=1)) >= objective.min_weight_leaf
        if nodes.usable is not None:
            usable &= nodes.usable[i]
        split_errors = whole.sum() - left.max(axis=1) - right.max(axis=1)
        admissible = np.flatnonzero(usable)
        fewest[i] = split_errors[admissible].min(initial=NO_LIMIT)
        if fewest[i] >= nodes.limit[i]:
            continue
        scores = score(left * weight, right * weight, usable.view(np.uint8))
        ranked = admissible[np.lexsort((admissible, -scores[admissible]))]
        if nodes.k[i] < n_columns:
            repeats = usable & usable[tests] & (tests < np.arange(n_columns)) & (scores == scores[tests])
            ranked = ranked[~repeats[ranked]]
        if not objective.distinct_splits:
            ranked = ranked[: count_within(tests[ranked], nodes.k[i])]
        columns[i, : len(ranked)] = ranked
        errors[i, : len(ranked)] = split_errors[ranked]
    return fewest, columns, errors


def count_within(tests: IntArray, k: int) -> int:
    """Return how many columns are candidates, given their tests by descending score: up to the k-th test."""
    _, first = np.unique(tests, return_index=True)
    first.sort()
    return int(first[k - 1]) + 1 if len(first) > k - 1 else len(tests)
