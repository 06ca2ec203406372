"""One tree of an ensemble: a search of data that all trees share.

In: training data made ready once, and the integer problem of this tree. Out: a `FoundTree`, and the leaf of every row.
The one idea: which rows a tree has, and how often, is a vector of integer weights, so that nothing is copied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import IntArray
from .._data.columns import packed
from .._data.training import TrainingData
from .._runtime.limits import COMPLETE, OPTIMAL
from .._search import engine
from .._search.fitter import FoundTree, count_errors, found_tree, yes_first
from .._search.objective import Objective
from .._search.root_choices import without_choices
from .._search.spec import TreeSpec


@dataclass(frozen=True, eq=False)
class Member:
    """A tree of an ensemble, and the leaf of every training row."""

    found: FoundTree
    leaves: NDArray[np.int32]

    def predicted(self) -> IntArray:
        """Return the index of the predicted class of every training row."""
        return np.asarray(np.argmax(self.found.tree.value, axis=1)[self.leaves])


def search_member(data: TrainingData, spec: TreeSpec, objective: Objective, options: engine.SearchOptions) -> Member:
    """Search for the tree. The rows of the data are packed."""
    columns = data.columns
    solution = engine.solve(data.rows, columns.n_bits, data.y, objective, options, ranked=columns.ranked)
    solution = yes_first(solution, columns)
    # The candidates of the root are not kept for every tree of an ensemble.
    found = found_tree(data, spec, objective, without_choices(solution))
    if found.status == OPTIMAL and objective.draw is not None:
        found = replace(found, status=COMPLETE)  # it is optimal only among the features that were drawn
    member = Member(found, _leaves(solution, data) if columns.ranked else solution.apply(data.rows))
    # The search counts the errors of the rows that have weight in it, and a sample does not have all rows.
    n_wrong = int(np.count_nonzero(member.predicted() != data.y)) + count_errors(found.tree, data.left_out)
    return replace(member, found=replace(found, train_errors=n_wrong))


def _leaves(solution: engine.Solution, data: TrainingData) -> NDArray[np.int32]:
    """Return the leaf of each row, where columns have no bits."""
    leaves = np.zeros(len(data.y), dtype=np.int32)
    rows_of = {0: np.arange(len(data.y))}
    for node, column in enumerate(solution.column.tolist()):  # parents come first
        rows = rows_of.pop(node)
        leaves[rows] = node
        if column >= 0:
            is_true = data.columns.bits(column, packed(data.rows), rows)
            rows_of |= {int(solution.false_child[node]): rows[~is_true], int(solution.true_child[node]): rows[is_true]}
    return leaves
