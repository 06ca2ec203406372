"""Thresholds that a small boosted ensemble uses (the guesses of McTavish et al., AAAI 2022).

In: encoded features and classes. Out: the thresholds of each numeric feature. The one idea: an ensemble that sees all
thresholds tells which few matter; they are ranked by the gain of the splits that use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .._search.objective import FloatArray
from .table import NUMBER, Feature
from .thresholds import Target, find_boundaries

# Of scikit-learn's ensemble: 40 rounds of trees with three levels.
ROUNDS = 40
DEPTH = 3
MAX_CATEGORIES = 255  # as many or more are numbers to scikit-learn's ensemble


def guess_thresholds(
    encoded: FloatArray,
    features: Sequence[Feature],
    sample_weight: FloatArray | None,
    target: Target,
    max_thresholds: int | None,
    max_columns: int | None,
) -> list[FloatArray]:
    """Ascending thresholds per feature: at most `max_thresholds` for each, `max_columns` in all."""
    gains = _split_gains(encoded, features, sample_weight, target)
    chosen: list[list[float]] = []
    for of_feature in gains:
        ranked = sorted(of_feature, key=lambda threshold: (-of_feature[threshold], threshold))
        chosen.append(ranked[:max_thresholds])
    every = sorted((-gains[f][t], f, t) for f, thresholds in enumerate(chosen) for t in thresholds)
    kept = {(f, t) for _, f, t in every[:max_columns]}
    return [
        np.array(sorted(t for t in thresholds if (f, t) in kept), dtype=np.float64)
        for f, thresholds in enumerate(chosen)
    ]


def _split_gains(
    encoded: FloatArray, features: Sequence[Feature], sample_weight: FloatArray | None, target: Target
) -> list[dict[float, float]]:
    """Per feature: total gain of each of our thresholds that the ensemble splits at."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # a tenth of the time that importing topktree takes

    gains: list[dict[float, float]] = [{} for _ in features]
    if target.n_classes < 2:
        return gains
    boundaries = [find_boundaries(encoded[f], None) if x.kind == NUMBER else None for f, x in enumerate(features)]
    # scikit-learn's ensemble does not take features without any value.
    used = [f for f in range(len(features)) if not np.isnan(encoded[f]).all()]
    if not used:
        return gains
    ensemble = HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        max_depth=DEPTH,
        min_samples_leaf=min(20, max(1, encoded.shape[1] // 50)),
        early_stopping=False,
        categorical_features=[0 < len(features[f].categories) < MAX_CATEGORIES for f in used],
        random_state=0,
    )
    with threadpool_limits(limits=1, user_api="openmp"):  # as everything here that is not told otherwise
        ensemble.fit(encoded[used].T, target.classes, sample_weight=sample_weight)
    for node in _split_nodes(ensemble):
        f = used[node["feature_idx"]]
        gaps = boundaries[f]
        if gaps is None:
            continue
        # The gap that the split is in; a split of missing from present values is in none.
        gap = int(np.searchsorted(gaps.ordered[gaps.below + 1], node["num_threshold"], side="right"))
        if gap < len(gaps):
            threshold = float(gaps.thresholds(slice(gap, gap + 1))[0])
            gains[f][threshold] = gains[f].get(threshold, 0.0) + float(node["gain"])
    return gains


def _split_nodes(ensemble: Any) -> Iterator[Any]:
    """The inner nodes of all trees; scikit-learn has no public way to them."""
    for trees in ensemble._predictors:
        for tree in trees:
            yield from tree.nodes[tree.nodes["is_leaf"] == 0]
