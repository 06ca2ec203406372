"""Lookahead and refining as a user meets them: what they cost, their statuses, what they are combined with."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from support.problems import make_problem, problems, switches
from support.profiles import examples
from hypothesis import given

from topktree import TopKForestClassifier, TopKTreeClassifier, load


def table(seed: int = 0, n: int = 600, flip: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        n, 8, n_informative=5, n_redundant=0, n_classes=3, flip_y=flip, random_state=seed
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("parameters", [{}, {"leaf_penalty": 0.01}, {"min_samples_leaf": 10}, {"max_thresholds": None}])
def test_more_candidates_never_cost_more(seed: int, parameters: dict) -> None:
    X, y = table(seed)
    costs = [
        TopKTreeClassifier(k=k, max_depth=4, criterion="lookahead", lookahead_columns=20, **parameters).fit(X, y).cost_
        for k in (1, 2, 4, 20)
    ]
    assert costs == sorted(costs, reverse=True)
