"""The base of forests and boosting: everything that does not depend on how the trees are found and how they vote.

In: a table and class labels, as for one tree. Out: `estimators_`, their leaves, importances and texts, a file.
The one idea: the table is binarized and packed once, and every tree searches the same data.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._base import FittedClassifier, copy_names, fitted_copy, found_tree_of
from .._classifier import TopKTreeClassifier, tree_like
from .._data.arrays import FloatArray, IntArray
from .._data.training import TrainingData, prepare
from .._runtime import checks
from .._runtime.files import PathLike
from .._runtime.limits import COMPLETE, TIME_LIMIT, Limits, restored_on_error
from .._search.fitter import FoundTree
from .._search.objective import ScoreFunction
from .._tree.model_file import ENSEMBLE_FORMAT, write_model


class FittedEnsemble(FittedClassifier):
    """The base of forests and boosting."""

    estimators_: list[TopKTreeClassifier]
    status_: str
    criterion: str | ScoreFunction
    time_limit: float | None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Search for the trees. An error or Ctrl-C leaves an earlier fit as it was."""
        limits = Limits.starting(self.time_limit)
        self._check()
        with restored_on_error(self):
            data = prepare(self, X, y, sample_weight)
            self._find_trees(data.work.call(data.packed), limits)
        return self

    def apply(self, X: ArrayLike) -> IntArray:
        """Return the index of the leaf that each row ends up in, (n_rows, n_trees)."""
        encoded = self._encode(X)
        return np.stack([tree.tree_.apply(encoded) for tree in self.estimators_], axis=1)

    def _used_features(self) -> list[int]:
        return sorted(set[int]().union(*(tree.tree_.used_features() for tree in self.estimators_)))

    def get_n_leaves(self) -> int:
        """Return the number of leaves of all trees together."""
        check_is_fitted(self)
        return sum(tree.get_n_leaves() for tree in self.estimators_)

    @property
    def feature_importances_(self) -> FloatArray:
        """The mean of the trees' importances, weighted by their votes; they sum to 1, or to 0 if no tree splits."""
        check_is_fitted(self)
        importances = np.array([tree.feature_importances_ for tree in self.estimators_])
        weighted = np.average(importances, axis=0, weights=self._votes())
        total = weighted.sum()
        return np.asarray(weighted / total if total > 0 else weighted)

    def export_text(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """Return the trees as indented text, one after the other, each with its share of the votes."""
        check_is_fitted(self)
        parts = []
        for i, (tree, vote) in enumerate(zip(self.estimators_, self._votes(), strict=True)):
            heading = f"tree {i + 1} of {len(self.estimators_)}, {100 * vote:.1f}% of the votes"
            parts.append(f"{heading}\n{tree.export_text(feature_names, class_names)}")
        return "\n".join(parts)

    def export_dict(self) -> dict[str, Any]:
        """Return features, classes and, per tree, its share of the votes and its nodes, as plain Python objects."""
        check_is_fitted(self)
        known = [tree.export_dict() for tree in self.estimators_]
        votes = self._votes().tolist()
        trees = [{"vote": vote, "nodes": tree["nodes"]} for vote, tree in zip(votes, known, strict=True)]
        return {"features": known[0]["features"], "classes": known[0]["classes"], "trees": trees}

    def save(self, path: PathLike) -> None:
        """Write the fitted ensemble to a JSON file, which `topktree.load` reads.

        Custom functions (a criterion, an `oob_score`), a `random_state` that is not a number, and
        `oob_decision_function_` are not saved.
        """
        check_is_fitted(self)
        self._check(criterion_is_lost=self.criterion is None)
        known = self.export_dict()
        own, of_trees = self._for_file()
        content = {
            **own,
            "topktree": version("topktree"),
            "parameters": checks.to_json(self.get_params(deep=False)),
            "features": known["features"],
            "classes": known["classes"],
            "has_feature_names": hasattr(self, "feature_names_in_"),
            "status": self.status_,
            "trees": [
                {**of_tree, **found_tree_of(tree).for_file(), "nodes": entry["nodes"]}
                for of_tree, tree, entry in zip(of_trees, self.estimators_, known["trees"], strict=True)
            ],
        }
        write_model(path, content, self.classes_, ENSEMBLE_FORMAT)

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def _check(self, criterion_is_lost: bool = False) -> None:
        """Validate all parameters. A file does not keep a custom criterion."""
        raise NotImplementedError

    def _find_trees(self, data: TrainingData, limits: Limits) -> None:
        """Find the trees and become fitted. The rows of the data are packed."""
        raise NotImplementedError

    def _votes(self) -> FloatArray:
        """Return the share of each tree in the vote."""
        raise NotImplementedError

    def _for_file(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return what only files of this kind of ensemble hold: for the ensemble, and for each tree."""
        raise NotImplementedError


def set_trees(ensemble: FittedEnsemble, found: Sequence[FoundTree]) -> None:
    """Set the attributes that a fit of any kind of ensemble sets, except those that reading the table has set.

    The trees get the parameters that they have in common with the ensemble, except for limits and threads.
    """
    template = tree_like(ensemble, time_limit=None, n_jobs=None, verbose=0)
    copy_names(ensemble, template)
    ensemble.estimators_ = [fitted_copy(template, tree) for tree in found]
    ensemble.features_, ensemble.classes_ = found[0].features, found[0].classes
    ensemble.status_ = TIME_LIMIT if any(tree.status == TIME_LIMIT for tree in found) else COMPLETE
