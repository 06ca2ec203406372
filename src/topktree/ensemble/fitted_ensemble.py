"""What a fitted ensemble can do, whichever way its trees vote.

In: an estimator with `estimators_`, `features_` and `classes_`. Out: leaves, importances, texts.
The one idea: a table is encoded once, and then walked down every tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._classifier import TopKTreeClassifier
from .._data.arrays import FloatArray, IntArray
from .._data.features import encode
from .._data.table import read_table
from .._fitted_classifier import FittedClassifier
from .._runtime import checks
from .._tree.naming import make_model
from .._tree.tree_dict import export_dict


class FittedEnsemble(FittedClassifier):
    """Base of forests and boosting."""

    estimators_: list[TopKTreeClassifier]
    n_estimators: int
    status_: str

    def apply(self, X: ArrayLike) -> IntArray:
        """Index of the leaf that each row ends up in, (n_rows, n_trees).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = TopKForestClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
        >>> forest.apply(X[[0, 60, 120]]).shape
        (3, 3)
        """
        encoded = self._encode(X)
        return np.stack([tree.tree_.apply(encoded) for tree in self.estimators_], axis=1)

    def get_n_leaves(self) -> int:
        """Leaves of all trees together: what a reader has to read.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKBoostingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> TopKBoostingClassifier(n_estimators=3, max_depth=1).fit(X, y).get_n_leaves()
        6
        """
        check_is_fitted(self)
        return sum(tree.get_n_leaves() for tree in self.estimators_)

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the trees' own importances, by the weight of their votes. Their sum is 1, or 0 if no tree splits.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = TopKForestClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X, y)
        >>> bool(forest.feature_importances_[2:].sum() > 0.5)  # the petals
        True
        """
        check_is_fitted(self)
        importances = np.array([tree.feature_importances_ for tree in self.estimators_])
        weighted = np.average(importances, axis=0, weights=self._votes())
        total = weighted.sum()
        return np.asarray(weighted / total if total > 0 else weighted)

    def export_text(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """The trees as indented text, one after the other, each with the weight of its vote.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKBoostingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> boosting = TopKBoostingClassifier(n_estimators=2, max_depth=1).fit(X, y)
        >>> print(boosting.export_text(class_names=["setosa", "versicolor", "virginica"]))
        tree 1 of 2, 37.6% of the votes
        |--- x2 <= 2.45
        |   |--- class: setosa (100.0% of 50 rows; setosa 50)
        |--- x2 > 2.45
        |   |--- class: versicolor (50.0% of 100 rows; versicolor 50, virginica 50)
        <BLANKLINE>
        tree 2 of 2, 62.4% of the votes
        |--- x2 <= 4.45
        |   |--- class: setosa (63.3% of weight 39.5 in 79 rows; setosa 25, versicolor 14.5)
        |--- x2 > 4.45
        |   |--- class: virginica (90.5% of weight 110.5 in 71 rows; versicolor 10.5, virginica 100)
        <BLANKLINE>
        """
        check_is_fitted(self)
        parts = []
        for i, (tree, vote) in enumerate(zip(self.estimators_, self._votes(), strict=True)):
            heading = f"tree {i + 1} of {len(self.estimators_)}, {100 * vote:.1f}% of the votes"
            parts.append(f"{heading}\n{tree.export_text(feature_names, class_names)}")
        return "\n".join(parts)

    def export_dict(self) -> dict[str, Any]:
        """Features, classes and, per tree, its share of the votes and its nodes, as plain Python objects.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = TopKForestClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
        >>> [len(tree["nodes"]) for tree in forest.export_dict()["trees"]]
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

    def _encode(self, X: ArrayLike) -> NDArray[Any]:
        check_is_fitted(self)
        return encode(read_table(self, X, reset=False), self.features_)

    def _votes(self) -> FloatArray:
        """The share of each tree in the vote."""
        raise NotImplementedError

    def _template(self) -> TopKTreeClassifier:
        """A tree with the parameters that it has in common with the ensemble; limits and threads are not its own."""
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in TopKTreeClassifier().get_params() if name in own}
        return TopKTreeClassifier(**shared | {"time_limit": None, "n_jobs": None, "verbose": 0})

    def _check_shared_parameters(self, criterion_is_lost: bool) -> None:
        self._template()._check_parameters(criterion_is_lost)
        checks.check_int("n_estimators", self.n_estimators, 1)
        for name, check in (
            ("time_limit", checks.check_time_limit),
            ("n_jobs", checks.check_n_jobs),
            ("verbose", checks.check_verbose),
            ("random_state", checks.check_random_state),
        ):
            check(getattr(self, name))


def copy_names(source: FittedClassifier, target: FittedClassifier) -> None:
    """What `prepare` has set of the table's features."""
    target.n_features_in_ = source.n_features_in_
    if hasattr(source, "feature_names_in_"):
        target.feature_names_in_ = source.feature_names_in_


def sum_of_shares(trees: Sequence[TopKTreeClassifier], encoded: NDArray[Any], n_classes: int) -> FloatArray:
    """Sum over the trees, one after the other, of the class shares of each row's leaf."""
    total = np.zeros((len(encoded), n_classes))
    for tree in trees:
        total += tree.tree_.shares()[tree.tree_.apply(encoded)]
    return total
