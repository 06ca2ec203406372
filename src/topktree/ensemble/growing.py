"""One tree of an ensemble: a search over some of the rows and columns of data that all trees share.

In: training data made ready once, and what this tree sees of it. Out: a fitted `TopKTreeClassifier`. The one idea:
which rows and how often is a vector of integer weights, and which columns a list of indices: nothing is copied.
"""

from __future__ import annotations

import math
import time
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._classifier import TopKTreeClassifier
from .._data.arrays import FloatArray, IntArray, PackedRows
from .._data.columns import Columns
from .._data.features import Feature
from .._data.training import EncodedRows, TrainingData, encode_left_out
from .._search import engine
from .._search.column_tree import column_tree
from .._search.objective import FeatureDraw, Objective, make_objective, objective_of_totals
from .._search.root_choices import without_choices
from .._selection.grid import COMPLETE, Limits

OPTIMAL = "optimal"


@dataclass(frozen=True, eq=False)
class SharedData:
    """What all searches of an ensemble need of the training data: not the table."""

    rows: PackedRows
    columns: Columns
    y: NDArray[np.int32]
    classes: NDArray[Any]
    class_weight: FloatArray | str | None
    features: tuple[Feature, ...]
    left_out: EncodedRows | None  # rows without weight


def shared_data(data: TrainingData) -> SharedData:
    """Of training data."""
    training = data.training
    return SharedData(
        engine.packed(data.rows),
        data.columns,
        training.y,
        training.classes,
        training.class_weight,
        training.features,
        encode_left_out(training),
    )


@dataclass(frozen=True, eq=False)
class View:
    """What one tree sees of the shared data."""

    weight: FloatArray | None = None  # (n,), positive; None: every row weighs 1
    counts: IntArray | None = None  # (n,), instead of weights: how often a row is there; 0: it is not
    columns: NDArray[np.int32] | None = None  # rising; None: all
    n_node_features: int | None = None  # drawn at every node; None: all
    seed: int = 0  # of the draws
    unit: float = 1.0  # what a weight of 1 is in the user's weights
    has_class_weight: bool = True  # False: class weights are part of the weights


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree, and the leaf of every training row."""

    tree: TopKTreeClassifier
    leaves: NDArray[np.int32]

    def predicted(self) -> IntArray:
        """The class of every training row, by its index."""
        return np.asarray(np.argmax(self.tree.tree_.value, axis=1)[self.leaves])


def limits_of(time_limit: float | None, start: float) -> Limits:
    """Those of a fit that began at `start`, of time.monotonic."""
    return Limits(deadline=math.inf if time_limit is None else start + time_limit)


def share_of_time(limits: Limits, part: float) -> float | None:
    """Seconds for a search that starts now: a part of those that are left. None: any number."""
    return None if math.isinf(limits.deadline) else max((limits.deadline - time.monotonic()) * part, 1e-9)


def grow(tree: TopKTreeClassifier, data: SharedData, view: View, options: engine.SearchOptions) -> Grown:
    """The tree of the view; `tree` has the parameters, and what `prepare` has set."""
    n_columns = len(data.columns) if view.columns is None else len(view.columns)
    objective = replace(_objective(tree, data, view, n_columns), draw=_draw(data, view))
    solution = engine.solve(data.rows, len(data.columns), data.y, objective, options, view.columns)
    columns = data.columns if view.columns is None else data.columns.take(view.columns)
    classifier = copy(tree)
    # What was considered at the root is not kept for every tree of an ensemble.
    classifier._become(without_choices(solution), objective, columns, data.features, data.classes)
    if classifier.status_ == OPTIMAL and (columns is not data.columns or objective.draw is not None):
        classifier.status_ = COMPLETE  # of what it saw only
    grown = Grown(classifier, column_tree(solution, view.columns).apply(data.rows))
    n_wrong = int(np.count_nonzero(grown.predicted() != data.y))
    classifier.train_errors_ = n_wrong + classifier._errors_without_weight(data.left_out)
    return grown


def _objective(tree: TopKTreeClassifier, data: SharedData, view: View, n_columns: int) -> Objective:
    """Of the rows that are there; the others weigh 0 in it."""
    class_weight = data.class_weight if view.has_class_weight else None
    n_classes, counts = len(data.classes), view.counts
    if counts is None:
        wishes = {"class_weight": class_weight, **tree._wishes(len(data.y), n_columns)}
        objective = make_objective(data.y, n_classes, sample_weight=view.weight, **wishes)
        return replace(objective, weight_unit=objective.weight_unit * view.unit)
    n_rows = int(np.count_nonzero(counts))
    return objective_of_totals(
        np.bincount(data.y, counts, n_classes).astype(np.int64),
        n_rows,
        row_weight=counts,
        rows_weigh=bool(counts.max() > 1),
        unit=view.unit,
        class_weight=class_weight,
        **tree._wishes(n_rows, n_columns),
    )


def _draw(data: SharedData, view: View) -> FeatureDraw | None:
    if view.n_node_features is None:
        return None
    of_column = data.columns.feature if view.columns is None else data.columns.feature[view.columns]
    return FeatureDraw(view.n_node_features, of_column.astype(np.int32), view.seed)
