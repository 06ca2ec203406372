"""Thresholds used by a small boosted ensemble (the guesses of McTavish et al., AAAI 2022).

In: encoded features and classes. Out: the thresholds of each numeric feature. The one idea: an ensemble that sees all
thresholds shows which few matter; they are ranked by the gain of the splits that use them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from .arrays import FloatArray
from .features import Feature
from .thresholds import Target, find_boundaries

# The size of scikit-learn's ensemble: 40 trees per class, of depth 3.
ROUNDS = 40
DEPTH = 3
MAX_CATEGORIES = 255  # scikit-learn's limit: a feature with more is a number to the ensemble


def guess_thresholds(
    encoded: FloatArray,
    features: Sequence[Feature],
    sample_weight: FloatArray | None,
    target: Target,
    max_thresholds: int | None,
    max_columns: int | None,
) -> list[FloatArray]:
    """Return ascending thresholds per feature: at most `max_thresholds` each, `max_columns` in all."""
    ranked: list[tuple[float, int, float]] = []  # -gain, feature, threshold: the best first
    for f, gains in enumerate(_split_gains(encoded, features, sample_weight, target)):
        ranked += sorted((-gain, f, threshold) for threshold, gain in gains.items())[:max_thresholds]
    chosen: list[list[float]] = [[] for _ in features]
    for _, f, threshold in sorted(ranked)[:max_columns]:
        chosen[f].append(threshold)
    return [np.array(sorted(thresholds), dtype=np.float64) for thresholds in chosen]


def _is_categorical(feature: Feature) -> bool:
    return not feature.has_thresholds and 0 < len(feature.categories) < MAX_CATEGORIES


def _split_gains(
    encoded: FloatArray, features: Sequence[Feature], sample_weight: FloatArray | None, target: Target
) -> list[dict[float, float]]:
    """Return per feature the total gain of each of our thresholds that the ensemble splits at."""
    # Imported here, because it would add a tenth to the time that `import topktree` takes, and few need it.
    from sklearn.ensemble import HistGradientBoostingClassifier

    gains: list[dict[float, float]] = [{} for _ in features]
    # The ensemble refuses features without any value.
    used = [f for f in range(len(features)) if not np.isnan(encoded[f]).all()]
    if target.n_classes < 2 or not used:
        return gains
    ensemble = HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        max_depth=DEPTH,
        min_samples_leaf=min(20, max(1, encoded.shape[1] // 50)),
        early_stopping=False,
        categorical_features=[_is_categorical(features[f]) for f in used],
        random_state=0,
    )
    with threadpool_limits(limits=1, user_api="openmp"):  # one thread, the default everywhere
        ensemble.fit(encoded[used].T, target.classes, sample_weight=sample_weight)
    boundaries = {f: find_boundaries(encoded[f], None) for f in used if features[f].has_thresholds}
    # scikit-learn has no public access to the trees of this ensemble.
    nodes = np.concatenate([tree.nodes for trees in vars(ensemble)["_predictors"] for tree in trees])
    for node in nodes[nodes["is_leaf"] == 0]:
        f = used[node["feature_idx"]]
        if f not in boundaries:
            continue
        gaps = boundaries[f]
        # Find the gap of the split; a split between missing and present values is in none.
        gap = int(np.searchsorted(gaps.ordered[gaps.below + 1], node["num_threshold"], side="right"))
        if gap < len(gaps):
            threshold = float(gaps.thresholds(slice(gap, gap + 1))[0])
            gains[f][threshold] = gains[f].get(threshold, 0.0) + float(node["gain"])
    return gains
