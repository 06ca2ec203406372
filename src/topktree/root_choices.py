"""What a search considered at the root, in the user's own terms.

In: the candidates of the root, as the engine lists them. Out: a dict per candidate, of plain objects: they are part of
`search_`, and of model files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _engine, export
from ._problem import FloatArray, Objective, ScoreFunction
from .binarizer import EQUALS, IS_MISSING, Columns
from .table import BOOLEAN, Feature
from .tree import node_impurity

N_LISTED = 20  # the best by score, and the one that was chosen


def list_choices(
    solution: _engine.Solution,
    columns: Columns,
    features: Sequence[Feature],
    objective: Objective,
    criterion: str | ScoreFunction,
) -> list[dict[str, Any]]:
    """The candidates by score: rank, feature, test and value, score, cost of the best tree below, whether chosen.

    `exact` says whether the cost is that of the best tree, or a lower bound of it.
    """
    root = solution.statistics["root"]
    chosen = int(solution.column[0])
    shown = [i for i, column in enumerate(root["column"].tolist()) if i < N_LISTED or column == chosen]
    weights = solution.class_weight[0] * objective.weight_unit
    true_weights = np.asarray(root["true_weight"][shown] * objective.weight_unit, dtype=np.float64)
    scores = split_scores(weights, true_weights, criterion)
    return [
        {
            "rank": i + 1,
            **_literal(columns, int(root["column"][i]), features),
            "score": float(score) if math.isfinite(score) else None,
            "cost": objective.user_cost(int(root["cost"][i])),
            "exact": bool(root["exact"][i]),
            "chosen": int(root["column"][i]) == chosen,
        }
        for i, score in zip(shown, scores.tolist(), strict=True)
    ]


def split_scores(whole: FloatArray, true_side: FloatArray, criterion: str | ScoreFunction) -> FloatArray:
    """Scores of splits from class weights: of all rows (n_classes,), and of the true side (n, n_classes).

    By how much a split lowers the impurity; for "gain_ratio" that by the bits of the split itself; or what the user's
    own criterion says.
    """
    if len(true_side) == 0:
        return np.empty(0)
    false_side = whole - true_side
    if not isinstance(criterion, str):
        with np.errstate(all="ignore"):
            return np.asarray(criterion(false_side, true_side), dtype=np.float64)
    total = whole.sum()
    shares = np.stack([false_side.sum(axis=1), true_side.sum(axis=1)], axis=1) / total
    below = shares[:, 0] * node_impurity(false_side, criterion) + shares[:, 1] * node_impurity(true_side, criterion)
    gain = np.maximum(node_impurity(whole[None], criterion)[0] - below, 0.0)
    return np.asarray(gain / node_impurity(shares, "entropy") if criterion == "gain_ratio" else gain)


def _literal(columns: Columns, column: int, features: Sequence[Feature]) -> dict[str, Any]:
    """What a column asks: the feature's index, and test and value as in `export_dict`."""
    f = int(columns.feature[column])
    test, value = columns.test[column], columns.value[column]
    if test == IS_MISSING:
        return {"feature": f, "test": export.IS_MISSING, "value": None}
    if test == EQUALS:
        feature = features[f]
        return {
            "feature": f,
            "test": export.EQUALS,
            "value": True if feature.kind == BOOLEAN else feature.categories[int(value)],
        }
    return {"feature": f, "test": export.AT_MOST, "value": float(value)}
