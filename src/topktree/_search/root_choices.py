"""The candidates that a search considered at the root, in the user's own terms.

In: the candidates of the root, as the engine lists them. Out: a dict per candidate, of plain objects: they are part of
`search_`, and of model files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._data.arrays import FloatArray
from .._data.columns import IN, IS_MISSING, Columns
from .._data.features import Feature
from .._tree.model_file import describe_test
from .._tree.tree import NodeTest, node_impurity
from . import engine
from .objective import Objective


def without_choices(solution: engine.Solution) -> engine.Solution:
    """Return the solution without the candidates of its root."""
    root: Any = solution.statistics["root"]
    none: Any = {name: 0 if name == "n_candidates" else values[:0] for name, values in root.items()}
    return replace(solution, statistics={**solution.statistics, "root": none})


def list_choices(
    solution: engine.Solution, columns: Columns, features: Sequence[Feature], objective: Objective
) -> list[dict[str, Any]]:
    """Return the candidates with the best scores, whose weights the engine has, and the chosen one.

    Each is a dict: rank, feature, test and value, score, cost of the best tree below, exact, chosen. `exact` says
    whether the cost is that of the best tree, or a lower bound on it. A custom criterion is not called again: the
    score is None.
    """
    root, chosen = solution.statistics["root"], int(solution.column[0])
    ranks = list(range(len(root["true_weight"])))
    listed = root["column"][: len(ranks)].tolist()
    if chosen not in listed:
        ranks += np.flatnonzero(root["column"] == chosen).tolist()
        listed = root["column"][ranks].tolist()
    columns.look_up({*listed, *solution.column[solution.column >= 0].tolist()})
    tests = [column_test(columns, column) for column in listed]
    scores = _scores(solution, objective, ranks)
    return [
        {
            "rank": rank + 1,
            "feature": test.feature,
            **describe_test(test, features),
            "score": score,
            "cost": objective.user_cost(root["cost"].item(rank)),
            "exact": bool(root["exact"].item(rank)),
            "chosen": column == chosen,
        }
        for rank, column, test, score in zip(ranks, listed, tests, scores, strict=True)
    ]


def column_test(columns: Columns, column: int) -> NodeTest:
    """Return the test that a column stands for."""
    feature, kind, value, or_missing, categories = columns.literal(column)
    own_value = 0.0 if kind in (IS_MISSING, IN) else value
    return NodeTest(feature, kind, own_value, kind == IS_MISSING or or_missing, False, categories)


def _scores(solution: engine.Solution, objective: Objective, ranks: list[int]) -> list[float | None]:
    """Return the scores of the listed candidates, the chosen one last if the engine has no weights for it.

    With a lookahead, the score is how much cost the greedy tree below the candidate saves, compared with a leaf.
    """
    root = solution.statistics["root"]
    if not isinstance(objective.criterion, str) or not ranks:
        return [None] * len(ranks)
    if len(root["greedy_cost"]):
        weights = solution.class_weight[0]
        leaf = int(weights.sum() - weights.max()) * objective.cost_scale + objective.leaf_penalty
        saved = [objective.user_cost(leaf - cost) for cost in root["greedy_cost"].tolist()]
        return [saved[rank] if rank < len(saved) else None for rank in ranks]
    true_side = root["true_weight"]
    if len(ranks) > len(true_side):
        true_side = np.concatenate([true_side, solution.class_weight[solution.true_child[:1]]])
    whole = solution.class_weight[0].astype(np.float64)
    return list(split_scores(whole, true_side.astype(np.float64), objective.criterion).tolist())


def split_scores(whole: FloatArray, true_side: FloatArray, criterion: str) -> FloatArray:
    """Return scores of splits, given the class weights of all rows (n_classes,) and of the true sides (n, n_classes).

    A score is the decrease of impurity; for "gain_ratio" it is divided by the entropy of the split itself.
    """
    parts = np.concatenate([whole - true_side, true_side, whole[None]])
    weight, impurity = parts.sum(axis=1), node_impurity(parts, criterion)
    shares = weight[:-1].reshape(2, -1) / weight[-1]
    gain = np.maximum(impurity[-1] - (shares * impurity[:-1].reshape(2, -1)).sum(axis=0), 0.0)
    return np.asarray(gain / node_impurity(shares.T, "entropy") if criterion == "gain_ratio" else gain)
