"""`load`: the estimator of a model file, whichever kind it is.

In: a file. Out: a fitted estimator, its parameters validated as if a user had given them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from ._base import FittedClassifier, set_fitted
from ._classifier import TopKTreeClassifier
from ._runtime import checks
from ._runtime.files import PathLike
from ._search.fitter import FoundTree
from ._search.spec import check_parameters
from ._tree.model_file import FOREST, SavedEnsemble, SavedModel, SavedTree, read_model

if TYPE_CHECKING:
    from .ensemble import TopKBoostingClassifier, TopKForestClassifier
    from .ensemble.base import FittedEnsemble

# Parameters that ensembles once had; files that hold them still load.
DROPPED = {"warm_start", "max_features_per_tree", "n_iter_no_change", "validation_fraction", "tol", "random_state"}

Restored = TypeVar("Restored", bound=BaseEstimator)


def load(path: PathLike) -> TopKTreeClassifier | TopKForestClassifier | TopKBoostingClassifier:
    """Return the classifier, forest or boosting that `save` wrote. Nothing in the file is run as code.

    Examples
    --------
    >>> import topktree
    >>> monks = topktree.datasets.load_monks(1)
    >>> topktree.TopKTreeClassifier(max_depth=3).fit(monks.data, monks.target).save("model.json")
    >>> topktree.load("model.json").get_n_leaves()
    7
    """
    saved = read_model(path)
    try:
        if isinstance(saved, SavedModel):
            classifier = _with_parameters(TopKTreeClassifier, saved.parameters, check_parameters)
            _set_names(classifier, saved)
            set_fitted(classifier, _found(saved, saved.tree))
            return classifier
        return _load_forest(saved) if saved.kind == FOREST else _load_boosting(saved)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} is not a model that this version can read: {error}") from None


def _load_forest(saved: SavedEnsemble) -> TopKForestClassifier:
    from .ensemble.forest import TopKForestClassifier, check_forest  # a single tree does without

    forest = _with_parameters(TopKForestClassifier, saved.parameters, check_forest)
    _set_trees(forest, saved)
    if saved.oob_score is not None:
        forest.oob_score_ = saved.oob_score
    return forest


def _load_boosting(saved: SavedEnsemble) -> TopKBoostingClassifier:
    from .ensemble.boosting import TopKBoostingClassifier, check_boosting

    boosting = _with_parameters(TopKBoostingClassifier, saved.parameters, check_boosting)
    _set_trees(boosting, saved)
    boosting.estimator_weights_ = np.array(saved.votes)
    boosting.estimator_errors_ = np.array(saved.errors)
    boosting.stopped_ = saved.stopped
    return boosting


def _with_parameters(kind: type[Restored], from_file: dict[str, Any], check: Callable[..., None]) -> Restored:
    """Return an estimator with the parameters of a file, validated."""
    known = kind().get_params().keys()
    ignored = DROPPED - known
    parameters = {name: value for name, value in checks.from_json(from_file).items() if name not in ignored}
    unknown = sorted(parameters.keys() - known)
    if unknown:
        raise ValueError(f"it has the parameter {unknown[0]!r}, which this version does not know")
    estimator: Restored = kind(**parameters)
    check(estimator, criterion_is_lost=from_file.get("criterion", "") is None)
    return estimator


def _set_names(estimator: FittedClassifier, saved: SavedModel | SavedEnsemble) -> None:
    """Set what reading the training table had set."""
    estimator.n_features_in_ = len(saved.features)
    if saved.feature_names is not None:
        estimator.feature_names_in_ = np.array(saved.feature_names, dtype=object)


def _set_trees(ensemble: FittedEnsemble, saved: SavedEnsemble) -> None:
    from .ensemble.base import set_trees

    _set_names(ensemble, saved)
    set_trees(ensemble, [_found(saved, tree) for tree in saved.trees])
    ensemble.status_ = saved.status


def _found(saved: SavedModel | SavedEnsemble, tree: SavedTree) -> FoundTree:
    return FoundTree(
        tree.tree,
        saved.features,
        saved.classes,
        tree.cost,
        tree.train_errors,
        tree.status,
        tree.search,
        pruned_alpha=tree.pruned_alpha,
    )
