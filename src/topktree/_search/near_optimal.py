"""The near-optimal trees: those that cost little more than the best one, and what they agree on.

In: data that a search has seen, or could. Out: `NearOptimalTrees`, fitted classifiers in the order of their costs. Its
one idea: where many trees are about as good as the best, what they have in common says more than any one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from .._data.arrays import FloatArray, IntArray
from .._tree.charts import plot_importances
from . import engine

if TYPE_CHECKING:
    from .._classifier import TopKTreeClassifier
    from .._data.training import SearchedData
    from ..ensemble import TopKForestClassifier

# What may tell two trees apart.
DIFFERENT = ("predictions", "splits")


@dataclass(frozen=True, eq=False)
class NearOptimalTrees(Sequence["TopKTreeClassifier"]):
    """Fitted classifiers whose trees differ, by rising cost: a sequence, the best one first.

    All arrays have one entry per tree: `costs`, `train_errors`, `n_leaves` and `depths`. Every tree costs at most
    `1 + epsilon` times what the first does. If not `complete`, time was up: there may be other trees between these.
    A slice is of the same kind.

    Examples
    --------
    >>> from topktree import TopKTreeClassifier, datasets
    >>> X, y = datasets.load_monks(1, return_X_y=True)
    >>> trees = TopKTreeClassifier(max_depth=3).fit(X, y).near_optimal(n=20, epsilon=0.25)
    >>> len(trees), trees.complete
    (14, True)
    >>> trees.train_errors.tolist()
    [48, 48, 48, 48, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60]
    >>> trees[0].get_n_leaves()
    7
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
        return replace(
            self,
            estimators=self.estimators[index],
            costs=self.costs[index],
            train_errors=self.train_errors[index],
            n_leaves=self.n_leaves[index],
            depths=self.depths[index],
        )

    def importances(self) -> FloatArray:
        """The `feature_importances_` of every tree, (n_trees, n_features).

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> trees = TopKTreeClassifier(max_depth=3).fit(X, y).near_optimal(n=3, epsilon=0.25)
        >>> trees.importances().round(2)
        array([[0.19, 0.26, 0.  , 0.  , 0.55, 0.  ],
               [0.19, 0.26, 0.  , 0.  , 0.55, 0.  ],
               [0.26, 0.19, 0.  , 0.  , 0.55, 0.  ]])
        """
        n_features = self.estimators[0].n_features_in_ if self.estimators else 0
        return np.array([tree.feature_importances_ for tree in self]).reshape(len(self), n_features)

    def importance_table(self) -> dict[str, NDArray[Any]]:
        """By feature, over the trees: smallest, mean and largest importance, and the share of trees that use it.

        As `pandas.DataFrame` takes it; the features with the largest mean come first.

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> trees = TopKTreeClassifier(max_depth=3).fit(X, y).near_optimal(n=20, epsilon=0.25)
        >>> table = trees.importance_table()
        >>> for feature, share in zip(table["feature"], table["share"]):
        ...     print(feature, share)
        x4 1.0
        x1 1.0
        x0 1.0
        x2 0.0
        x3 0.0
        x5 0.0
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
        """A row per tree, as `pandas.DataFrame` takes it; `features` names those that the tree looks at.

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> table = TopKTreeClassifier(max_depth=3).fit(X, y).near_optimal(n=3).table()
        >>> list(table)
        ['rank', 'cost', 'errors', 'n_leaves', 'depth', 'features']
        """
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
        """Draw the importance of the features across the trees, on `ax` or a new figure; returns the Axes.

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> ax = TopKTreeClassifier(max_depth=3).fit(X, y).near_optimal(n=20, epsilon=0.25).plot()
        >>> ax.figure.savefig("importances.png")
        """
        return plot_importances(self._names(), self.importances(), ax)

    def forest(self) -> TopKForestClassifier:
        """A forest of these trees: the mean of their shares decides. Nothing in it is random.

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> trees = TopKTreeClassifier(max_depth=3).fit(X, y).near_optimal(n=4)
        >>> forest = trees.forest()
        >>> len(forest), forest.score(X, y) >= trees[0].score(X, y)
        (4, True)
        """
        from ..ensemble import TopKForestClassifier

        return TopKForestClassifier.of_trees(self)

    def __str__(self) -> str:
        formats = {"cost": "{}" if self.costs.dtype.kind == "i" else "{:.6g}"}
        columns = [
            [name, *(formats.get(name, "{}").format(value) for value in values.tolist())]
            for name, values in self.table().items()
        ]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]]).rstrip()
            for row in zip(*columns, strict=True)
        ]
        return "\n".join(lines if self.complete else [*lines, "not complete: there may be other trees between these"])

    def _names(self) -> list[str]:
        return [feature.name for feature in self.estimators[0].features_] if self.estimators else []

    def _uses(self) -> NDArray[np.bool_]:
        """Whether a tree splits on a feature, (n_trees, n_features); also where the split changes nothing."""
        features = np.arange(len(self._names()))
        return np.array([np.isin(features, tree.tree_.feature) for tree in self], bool).reshape(
            len(self), len(features)
        )


def find_trees(
    classifier: TopKTreeClassifier, data: SearchedData, wishes: engine.NearOptimalWishes, start: float
) -> NearOptimalTrees:
    """The trees of a classifier with these parameters, over its own data; `start` is when its time began to run."""
    options = classifier._search_options(start)
    solutions = engine.near_optimal(data.rows, len(data.columns), data.y, data.objective, wishes, options)
    estimators = [_fitted(classifier, data, solution) for solution in solutions]
    return NearOptimalTrees(
        estimators=estimators,
        costs=np.array([tree.cost_ for tree in estimators]),
        train_errors=np.array([tree.train_errors_ for tree in estimators], dtype=np.int64),
        n_leaves=np.array([tree.get_n_leaves() for tree in estimators], dtype=np.int64),
        depths=np.array([tree.get_depth() for tree in estimators], dtype=np.int64),
        epsilon=wishes.epsilon,
        complete=solutions[0].complete,
    )


def _fitted(classifier: TopKTreeClassifier, data: SearchedData, solution: engine.Solution) -> TopKTreeClassifier:
    tree = copy(classifier)
    tree._become(solution, data.objective, data.columns, data.features, data.classes)
    tree.train_errors_ = solution.n_wrong + tree._errors_without_weight(data.left_out)
    return tree
