"""One tree of an ensemble: a search over some of the rows and columns of data that all trees share.

In: training data made ready once, and the view that this tree has of it. Out: a `FoundTree`, and the leaf of every row.
The one idea: which rows, and how often, is a vector of integer weights, and which columns is a list of indices, so that
nothing is copied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.training import TrainingData
from .._runtime.limits import COMPLETE, OPTIMAL
from .._search import engine
from .._search.column_tree import column_tree
from .._search.fitter import FoundTree, count_errors, found_tree
from .._search.objective import FeatureDraw, Objective, make_objective, objective_of_totals
from .._search.root_choices import without_choices
from .._search.spec import TreeSpec


@dataclass(frozen=True, eq=False)
class View:
    """The part of the shared data that one tree sees."""

    weight: FloatArray | None = None  # (n,), positive; None: every row weighs 1
    counts: IntArray | None = None  # (n,), instead of weights: how often a row is in the sample
    columns: NDArray[np.int32] | None = None  # ascending; None: all
    n_node_features: int | None = None  # features drawn at every node; None: all
    seed: int = 0  # of these draws
    unit: float = 1.0  # what a weight of 1 is in the user's weights
    has_class_weight: bool = True  # False: class weights are part of the weights


@dataclass(frozen=True, eq=False)
class Member:
    """A tree of an ensemble, and the leaf of every training row."""

    found: FoundTree
    leaves: NDArray[np.int32]

    def predicted(self) -> IntArray:
        """Return the index of the predicted class of every training row."""
        return np.asarray(np.argmax(self.found.tree.value, axis=1)[self.leaves])


def search_member(data: TrainingData, spec: TreeSpec, view: View, options: engine.SearchOptions) -> Member:
    """Search for the tree of a view. The rows of the data are packed."""
    columns = data.columns if view.columns is None else data.columns.take(view.columns)
    objective = replace(_objective(data, spec, view, len(columns)), draw=_draw(data, view))
    solution = engine.solve(data.rows, len(data.columns), data.y, objective, options, view.columns)
    # The candidates of the root are not kept for every tree of an ensemble.
    found = found_tree(data, spec, objective, without_choices(solution), columns)
    if found.status == OPTIMAL and (columns is not data.columns or objective.draw is not None):
        found = replace(found, status=COMPLETE)  # it is optimal only for what it saw
    member = Member(found, column_tree(solution, view.columns).apply(data.rows))
    n_wrong = int(np.count_nonzero(member.predicted() != data.y)) + count_errors(found.tree, data.left_out)
    return replace(member, found=replace(found, train_errors=n_wrong))


def _objective(data: TrainingData, spec: TreeSpec, view: View, n_columns: int) -> Objective:
    """Return the integer problem of the view; rows that it does not have weigh 0 in it."""
    class_weight = data.class_weight if view.has_class_weight else None
    n_classes, counts = len(data.classes), view.counts
    if counts is None:
        own = spec.objective_options(len(data.y), n_columns)
        objective = make_objective(data.y, n_classes, sample_weight=view.weight, class_weight=class_weight, **own)
        return replace(objective, weight_unit=objective.weight_unit * view.unit)
    n_rows = int(np.count_nonzero(counts))
    return objective_of_totals(
        np.bincount(data.y, counts, n_classes).astype(np.int64),
        n_rows,
        row_weight=counts,
        rows_weigh=bool(counts.max() > 1),
        unit=view.unit,
        class_weight=class_weight,
        **spec.objective_options(n_rows, n_columns),
    )


def _draw(data: TrainingData, view: View) -> FeatureDraw | None:
    if view.n_node_features is None:
        return None
    of_column = data.columns.feature if view.columns is None else data.columns.feature[view.columns]
    return FeatureDraw(view.n_node_features, of_column.astype(np.int32), view.seed)
