"""The base of fitted ensembles, however their trees vote.

In: an estimator with `estimators_`, `features_` and `classes_`. Out: leaves, importances, texts, a file.
The one idea: a table is encoded once, and then sent down every tree.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._base import FittedClassifier, found_tree_of
from .._classifier import TopKTreeClassifier
from .._data.arrays import FloatArray, IntArray
from .._runtime import checks
from .._runtime.files import PathLike
from .._search.spec import check_parameters
from .._tree.model_file import ENSEMBLE_FORMAT, export_dict, write_model
from .._tree.naming import make_model


class FittedEnsemble(FittedClassifier):
    """The base of forests and boosting."""

    estimators_: list[TopKTreeClassifier]
    n_estimators: int
    random_state: Any
    status_: str

    def apply(self, X: ArrayLike) -> IntArray:
        """Return the index of the leaf that each row ends up in, (n_rows, n_trees).

        Examples
        --------
        >>> clf.apply(X[[0, 60, 120]]).shape
        (3, 3)
        """
        encoded = self._encode(X)
        return np.stack([tree.tree_.apply(encoded) for tree in self.estimators_], axis=1)

    def get_n_leaves(self) -> int:
        """Return the number of leaves of all trees together: what a reader has to read.

        Examples
        --------
        >>> clf.get_n_leaves()
        9
        """
        check_is_fitted(self)
        return sum(tree.get_n_leaves() for tree in self.estimators_)

    @property
    def feature_importances_(self) -> FloatArray:
        """The mean of the trees' own importances, by the weight of their votes; they sum to 1, or 0 if no tree splits.

        Examples
        --------
        >>> bool(clf.feature_importances_[2:].sum() > 0.5)  # the petals
        True
        """
        check_is_fitted(self)
        importances = np.array([tree.feature_importances_ for tree in self.estimators_])
        weighted = np.average(importances, axis=0, weights=self._votes())
        total = weighted.sum()
        return np.asarray(weighted / total if total > 0 else weighted)

    def export_text(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """Return the trees as indented text, one after the other, each with the weight of its vote.

        Examples
        --------
        >>> print(clf.export_text().partition("|")[0].strip())
        tree 1 of 3, 33.3% of the votes
        """
        check_is_fitted(self)
        parts = []
        for i, (tree, vote) in enumerate(zip(self.estimators_, self._votes(), strict=True)):
            heading = f"tree {i + 1} of {len(self.estimators_)}, {100 * vote:.1f}% of the votes"
            parts.append(f"{heading}\n{tree.export_text(feature_names, class_names)}")
        return "\n".join(parts)

    def export_dict(self) -> dict[str, Any]:
        """Return features, classes and, per tree, its share of the votes and its nodes, as plain Python objects.

        Examples
        --------
        >>> [len(tree["nodes"]) for tree in clf.export_dict()["trees"]]
        [5, 5, 5]
        """
        check_is_fitted(self)
        models = [make_model(tree.tree_, self.features_, self.classes_) for tree in self.estimators_]
        known = [export_dict(model) for model in models]
        trees = [
            {"vote": vote, "nodes": entry["nodes"]} for vote, entry in zip(self._votes().tolist(), known, strict=True)
        ]
        return {"features": known[0]["features"], "classes": known[0]["classes"], "trees": trees}

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def _votes(self) -> FloatArray:
        """Return the share of each tree in the vote."""
        raise NotImplementedError

    def _save(self, path: PathLike, kind: str, own: dict[str, Any], of_trees: list[dict[str, Any]]) -> None:
        """Write a file; `own` and `of_trees` are what this kind of ensemble has beside what all have."""
        known = self.export_dict()
        content = {
            "kind": kind,
            "topktree": version("topktree"),
            "parameters": checks.to_json(self.get_params(deep=False)),
            "features": known["features"],
            "classes": known["classes"],
            "has_feature_names": hasattr(self, "feature_names_in_"),
            "status": self.status_,
            **own,
            "trees": [
                {**of_tree, **found_tree_of(tree).for_file(), "nodes": entry["nodes"]}
                for of_tree, tree, entry in zip(of_trees, self.estimators_, known["trees"], strict=True)
            ],
        }
        write_model(path, content, self.classes_, ENSEMBLE_FORMAT)


def check_ensemble(ensemble: FittedEnsemble, criterion_is_lost: bool) -> None:
    """Validate the parameters that all ensembles have."""
    check_parameters(ensemble, criterion_is_lost)
    checks.check_int("n_estimators", ensemble.n_estimators, 1)
    checks.check_random_state(ensemble.random_state)


def member_template(ensemble: FittedEnsemble) -> TopKTreeClassifier:
    """Return a tree with the parameters that it has in common with the ensemble; limits and threads are not its own."""
    own = ensemble.get_params(deep=False)
    shared = {name: own[name] for name in TopKTreeClassifier().get_params() if name in own}
    return TopKTreeClassifier(**shared | {"time_limit": None, "n_jobs": None, "verbose": 0})
