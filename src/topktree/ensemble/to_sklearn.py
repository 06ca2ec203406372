"""A fitted ensemble as scikit-learn's own, with the same predictions.

In: our trees and their votes. Out: a `RandomForestClassifier` or an `AdaBoostClassifier`, or a `Pipeline` of an encoder
and one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from .._classifier import TopKTreeClassifier
from .._data.arrays import FloatArray
from .._data.features import Feature
from .._tree.to_sklearn import TreeEncoder, to_sklearn_trees


def to_random_forest(
    trees: Sequence[TopKTreeClassifier], features: tuple[Feature, ...], names: NDArray[np.object_] | None
) -> RandomForestClassifier | Pipeline:
    """Return a forest that adds the trees' shares in the same order as ours."""
    encoder, members = _members(trees, features, names, pass_nan=True)
    forest = RandomForestClassifier(len(members), criterion=members[0].criterion, max_depth=_depth(members))
    forest.n_outputs_ = 1
    return _finish(forest, encoder, members, names)


def to_adaboost(
    trees: Sequence[TopKTreeClassifier],
    features: tuple[Feature, ...],
    names: NDArray[np.object_] | None,
    votes: FloatArray,
    errors: FloatArray,
) -> AdaBoostClassifier | Pipeline:
    """Return boosting with the same votes. It takes no missing values, so an encoder decides where they go."""
    encoder, members = _members(trees, features, names, pass_nan=False)
    boosting = AdaBoostClassifier(DecisionTreeClassifier(max_depth=_depth(members)), n_estimators=len(members))
    boosting.estimator_weights_ = votes.copy()
    boosting.estimator_errors_ = errors.copy()
    return _finish(boosting, encoder, members, names)


def _members(
    trees: Sequence[TopKTreeClassifier],
    features: tuple[Feature, ...],
    names: NDArray[np.object_] | None,
    pass_nan: bool,
) -> tuple[TreeEncoder | None, list[DecisionTreeClassifier]]:
    first = trees[0]
    encoder, members = to_sklearn_trees(
        [tree.tree_ for tree in trees], features, first.classes_, str(first.criterion), None, pass_nan=pass_nan
    )
    if encoder is not None and names is not None:
        encoder = TreeEncoder(encoder.features, encoder.outputs, tuple(names))
    return encoder, members


def _depth(members: Sequence[DecisionTreeClassifier]) -> int:
    return int(max(member.max_depth for member in members))


def _finish(
    ensemble: Any,
    encoder: TreeEncoder | None,
    members: list[DecisionTreeClassifier],
    names: NDArray[np.object_] | None,
) -> Any:
    """Set what scikit-learn's `fit` would have set, and return the pipeline if there is an encoder."""
    first = members[0]
    ensemble.estimator_ = first
    ensemble.estimators_ = members
    ensemble.classes_ = first.classes_
    ensemble.n_classes_ = len(first.classes_)
    ensemble.n_features_in_ = first.n_features_in_
    ensemble.random_state = 0
    if encoder is not None:
        return Pipeline([("encode", encoder), ("ensemble", ensemble)])
    if names is not None:
        ensemble.feature_names_in_ = names
    return ensemble
