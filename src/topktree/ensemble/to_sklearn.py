"""A fitted ensemble as scikit-learn's own, with the same predictions.

In: our trees and their votes. Out: a `RandomForestClassifier` or an `AdaBoostClassifier`, or a `Pipeline` of an encoder
and one of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from .._tree.to_sklearn import TreeEncoder, to_sklearn_trees

if TYPE_CHECKING:
    from .base import FittedEnsemble
    from .boosting import TopKBoostingClassifier
    from .forest import TopKForestClassifier


def to_random_forest(ours: TopKForestClassifier) -> RandomForestClassifier | Pipeline:
    """Return a forest that adds the trees' shares in the same order as ours."""
    encoder, trees = _trees(ours, pass_nan=True)
    forest = RandomForestClassifier(len(trees), criterion=trees[0].criterion, max_depth=_depth(trees))
    forest.n_outputs_ = 1
    return _finish(forest, ours, encoder, trees)


def to_adaboost(ours: TopKBoostingClassifier) -> AdaBoostClassifier | Pipeline:
    """Return boosting with the same votes. It takes no missing values, so an encoder decides where they go."""
    encoder, trees = _trees(ours, pass_nan=False)
    boosting = AdaBoostClassifier(DecisionTreeClassifier(max_depth=_depth(trees)), n_estimators=len(trees))
    boosting.estimator_weights_ = ours.estimator_weights_.copy()
    boosting.estimator_errors_ = ours.estimator_errors_.copy()
    return _finish(boosting, ours, encoder, trees)


def _trees(ours: FittedEnsemble, pass_nan: bool) -> tuple[TreeEncoder | None, list[DecisionTreeClassifier]]:
    check_is_fitted(ours)
    trees, names = [tree.tree_ for tree in ours.estimators_], getattr(ours, "feature_names_in_", None)
    return to_sklearn_trees(trees, ours.features_, ours.classes_, str(ours.criterion), names, pass_nan=pass_nan)


def _depth(trees: list[DecisionTreeClassifier]) -> int:
    return int(max(tree.max_depth for tree in trees))


def _finish(theirs: Any, ours: FittedEnsemble, encoder: TreeEncoder | None, trees: list[DecisionTreeClassifier]) -> Any:
    """Set what scikit-learn's `fit` would have set, and return the pipeline if there is an encoder."""
    theirs.estimators_, theirs.estimator_ = trees, trees[0]
    theirs.classes_, theirs.n_classes_ = ours.classes_, len(ours.classes_)
    theirs.n_features_in_ = trees[0].n_features_in_
    theirs.random_state = 0
    if encoder is not None:
        return Pipeline([("encode", encoder), ("ensemble", theirs)])
    if hasattr(ours, "feature_names_in_"):
        theirs.feature_names_in_ = ours.feature_names_in_
    return theirs
