"""One tree of an ensemble: a search over some of the rows and columns of data that all trees share.

In: training data made ready once, and what this tree sees of it. Out: a fitted `TopKTreeClassifier`. The one idea:
which rows and how often is a vector of integer weights, and which columns a list of indices: nothing is copied.
"""

from __future__ import annotations

import math
import time
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import _engine
from .._problem import FeatureDraw, FloatArray, IntArray, Objective, make_objective
from ..classifier import TopKTreeClassifier
from ..column_tree import column_tree
from ..cross_validation import Limits
from ..root_choices import without_choices
from ..training import TrainingData, encode_left_out


@dataclass(frozen=True, eq=False)
class View:
    """What one tree sees of the shared data."""

    weight: FloatArray | None  # (n,), 0: the row is not there; None: every row weighs 1
    columns: NDArray[np.int32] | None = None  # rising; None: all
    n_node_features: int | None = None  # drawn at every node; None: all
    seed: int = 0  # of the draws
    unit: float = 1.0  # what a weight of 1 is in the user's weights


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


def grow(tree: TopKTreeClassifier, data: TrainingData, view: View, options: _engine.SearchOptions) -> Grown:
    """The tree of the view; `tree` has the parameters, and what `prepare` has set."""
    training = data.training
    n_columns = len(data.columns) if view.columns is None else len(view.columns)
    objective = replace(_objective(tree, data, view, n_columns), draw=_draw(data, view))
    solution = _engine.solve(data.rows, len(data.columns), training.y, objective, options, view.columns)
    columns = data.columns if view.columns is None else data.columns.take(view.columns)
    classifier = copy(tree)
    classifier._become(without_choices(solution), objective, columns, training.features, training.classes)
    grown = Grown(classifier, column_tree(solution, view.columns).apply(data.rows))
    n_wrong = int(np.count_nonzero(grown.predicted() != training.y))
    classifier.train_errors_ = n_wrong + classifier._errors_without_weight(encode_left_out(training))
    return grown


def _objective(tree: TopKTreeClassifier, data: TrainingData, view: View, n_columns: int) -> Objective:
    """Of the rows that are there; the others weigh 0 in it."""
    training, weight = data.training, view.weight
    there = None if weight is None or weight.all() else weight > 0
    n_rows = len(training.y) if there is None else int(np.count_nonzero(there))
    objective = make_objective(
        training.y if there is None else training.y[there],
        len(training.classes),
        class_weight=training.class_weight,
        sample_weight=weight if weight is None or there is None else weight[there],
        **tree._wishes(n_rows, n_columns),
    )
    objective = replace(objective, weight_unit=objective.weight_unit * view.unit)
    if there is None:
        return objective
    row_weight = np.zeros(len(training.y), dtype=np.int64)
    row_weight[there] = 1 if objective.row_weight is None else objective.row_weight
    return replace(objective, row_weight=row_weight)


def _draw(data: TrainingData, view: View) -> FeatureDraw | None:
    if view.n_node_features is None:
        return None
    of_column = data.columns.feature if view.columns is None else data.columns.feature[view.columns]
    return FeatureDraw(view.n_node_features, of_column.astype(np.int32), view.seed)
