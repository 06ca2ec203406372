"""The near-optimal trees: those that cost little more than the best one, and what they agree on.

In: training data that is ready to be searched. Out: `NearOptimalTrees`, fitted classifiers in the order of their costs.
Its one idea: where many trees are about as good as the best, what they have in common says more than any one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._data.training import TrainingData
from . import engine
from .fitter import FoundTree, found_tree
from .spec import TreeSpec
from .text_table import text_table

if TYPE_CHECKING:
    from .._classifier import TopKTreeClassifier

# What may tell two trees apart.
DIFFERENT = ("predictions", "splits")


@dataclass(frozen=True, eq=False)
class NearOptimalTrees(Sequence["TopKTreeClassifier"]):
    """A sequence of fitted classifiers whose trees differ, in order of cost, the best one first.

    All arrays have one entry per tree: `costs`, `train_errors`, `n_leaves` and `depths`. Every tree costs at most
    `1 + epsilon` times what the first does. If `complete` is false, the time limit was reached: there may be other
    trees between these. A slice is a `NearOptimalTrees`, too.

    Examples
    --------
    >>> from topktree import TopKTreeClassifier, datasets
    >>> X, y = datasets.load_monks(1, return_X_y=True)
    >>> trees = TopKTreeClassifier(max_depth=3).near_optimal(X, y, n=20, epsilon=0.25)
    >>> len(trees), trees.complete
    (14, True)
    >>> trees.train_errors.tolist()
    [48, 48, 48, 48, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60]
    """

    estimators: list[TopKTreeClassifier] = field(repr=False)
    costs: NDArray[Any]  # int64 without weights and penalty, else float64
    train_errors: IntArray
    n_leaves: IntArray
    depths: IntArray
    epsilon: float
    complete: bool

    def __len__(self) -> int:
        return len(self.estimators)

    @overload
    def __getitem__(self, index: int) -> TopKTreeClassifier: ...

    @overload
    def __getitem__(self, index: slice) -> NearOptimalTrees: ...

    def __getitem__(self, index: int | slice) -> TopKTreeClassifier | NearOptimalTrees:
        if not isinstance(index, slice):
            return self.estimators[index]
        per_tree = ("estimators", "costs", "train_errors", "n_leaves", "depths")
        return replace(self, **{name: getattr(self, name)[index] for name in per_tree})

    def importances(self) -> FloatArray:
        """Return the `feature_importances_` of every tree, (n_trees, n_features)."""
        return np.array([tree.feature_importances_ for tree in self]).reshape(len(self), len(self._names()))

    def importance_table(self) -> dict[str, NDArray[Any]]:
        """Return the smallest, mean and largest importance of each feature, and the share of trees that use it.

        The result is a dict of columns for `pandas.DataFrame`; the features with the largest mean come first.

        Examples
        --------
        >>> table = trees.importance_table()
        >>> table["feature"].tolist(), table["share"].tolist()
        (['x4', 'x1', 'x0', 'x2', 'x3', 'x5'], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
        """
        importances = self.importances()
        n_trees = max(len(self), 1)
        means = importances.sum(axis=0) / n_trees
        order = np.argsort(-means, kind="stable")
        return {
            "feature": np.array(self._names(), dtype=object)[order],
            "min": importances.min(axis=0, initial=1.0)[order],
            "mean": means[order],
            "max": importances.max(axis=0, initial=0.0)[order],
            "share": self._uses().sum(axis=0)[order] / n_trees,
        }

    def table(self) -> dict[str, NDArray[Any]]:
        """Return a row per tree, as columns for `pandas.DataFrame`; `features` names those that the tree uses."""
        names = np.array(self._names(), dtype=object)
        return {
            "rank": np.arange(1, len(self) + 1),
            "cost": self.costs,
            "errors": self.train_errors,
            "n_leaves": self.n_leaves,
            "depth": self.depths,
            "features": np.array([", ".join(names[used]) for used in self._uses()], dtype=object),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the importance of the features across the trees, on `ax` or a new figure, and return the Axes."""
        from .._tree.charts import plot_importances

        return plot_importances(self._names(), self.importances(), ax)

    def __str__(self) -> str:
        note = "" if self.complete else "not complete: there may be other trees between these"
        return text_table(self.table(), {"cost": "{:.6g}"}, note)

    def _names(self) -> list[str]:
        return [feature.name for feature in self.estimators[0].features_] if self.estimators else []

    def _uses(self) -> NDArray[np.bool_]:
        """Tell which tree splits on which feature, (n_trees, n_features), even if the split changes nothing."""
        uses = np.zeros((len(self), len(self._names())), dtype=bool)
        for used, tree in zip(uses, self, strict=True):
            used[tree.tree_.feature[~tree.tree_.is_leaf]] = True
        return uses


def find_trees(
    data: TrainingData,
    spec: TreeSpec,
    options: engine.SearchOptions,
    asked: engine.NearOptimalOptions,
    as_classifier: Callable[[FoundTree], TopKTreeClassifier],
) -> NearOptimalTrees:
    """Return the near-optimal trees of a specification as fitted classifiers, which `as_classifier` makes."""
    objective, columns = spec.objective(data), data.columns
    solutions = engine.near_optimal(data.rows, columns.n_bits, data.y, objective, asked, options, ranked=columns.ranked)
    estimators = [as_classifier(found_tree(data, spec, objective, solution)) for solution in solutions]
    return NearOptimalTrees(
        estimators=estimators,
        costs=np.array([tree.cost_ for tree in estimators]),
        train_errors=np.array([tree.train_errors_ for tree in estimators], dtype=np.int64),
        n_leaves=np.array([tree.get_n_leaves() for tree in estimators], dtype=np.int64),
        depths=np.array([tree.get_depth() for tree in estimators], dtype=np.int64),
        epsilon=asked.epsilon,
        complete=solutions[0].complete,
    )
