"""What a fitted tree can do: predict, explain itself, become something else.

In: an estimator with `tree_`, `features_` and `classes_`. Out: predictions, texts, scikit-learn's own tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from . import export
from ._problem import FloatArray, IntArray, ScoreFunction
from .labels import read_labels, read_weights
from .sklearn_tree import to_sklearn
from .table import Feature, encode, read_table
from .tree import Tree


class FittedTree(ClassifierMixin, BaseEstimator):
    """Base of the classifiers that are one tree."""

    tree_: Tree
    features_: tuple[Feature, ...]
    classes_: NDArray[Any]
    n_features_in_: int
    criterion: str | ScoreFunction

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The heaviest class of each row's leaf; ties go to the first class."""
        check_is_fitted(self)
        leaf_class = self.classes_[np.argmax(self.tree_.value, axis=1)]
        return np.asarray(leaf_class[self.apply(X)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class shares of the training weight in each row's leaf."""
        check_is_fitted(self)
        shares = self.tree_.value / self.tree_.value.sum(axis=1, keepdims=True)
        return np.asarray(shares[self.apply(X)])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy. All labels that `fit` takes can be scored, which scikit-learn's own function does not allow."""
        predicted = self.predict(X)
        labels = read_labels(copy(self), y)  # a copy: scikit-learn's check of y makes it forget the feature names
        check_consistent_length(predicted, labels)
        return float(np.average(predicted == labels, weights=read_weights(sample_weight, len(labels))))

    def apply(self, X: ArrayLike) -> IntArray:
        """Index of the leaf that each row ends up in."""
        check_is_fitted(self)
        return self.tree_.apply(encode(read_table(self, X, reset=False), self.features_))

    def decision_path(self, X: ArrayLike) -> scipy.sparse.csr_matrix:
        """CSR matrix (n, node_count): 1 where a row passes through a node."""
        check_is_fitted(self)
        return scipy.sparse.csr_matrix(self.tree_.ancestors().astype(np.int64))[self.apply(X)]

    def get_depth(self) -> int:
        """Splits on the longest path."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def to_sklearn(self) -> DecisionTreeClassifier | Pipeline:
        """A fitted scikit-learn object with the same predictions and probabilities for every input.

        A `DecisionTreeClassifier` if all features are numbers or booleans without missing values, and of a size that
        scikit-learn's float32 can tell apart; else a `Pipeline` whose last step is one.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return to_sklearn(self.tree_, self.features_, self.classes_, str(self.criterion), names)

    def export_text(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """The tree as indented text, with confidence and counts in the leaves."""
        return export.export_text(self._model(feature_names, class_names))

    def export_rules(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """One line per leaf: conditions, class, confidence and counts."""
        return export.export_rules(self._model(feature_names, class_names))

    def export_dot(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """The tree in the language of Graphviz."""
        return export.export_dot(self._model(feature_names, class_names))

    def export_sql(self, table: str | Sequence[str] | None = None, feature_names: ArrayLike | None = None) -> str:
        """`SELECT CASE ... END AS prediction FROM table`; without a table, the CASE expression alone.

        NULL is a missing value. A table in a schema is given as a sequence of names.
        """
        return export.export_sql(self._model(feature_names, None), table)

    def export_dict(self) -> dict[str, Any]:
        """Features, classes and nodes as plain Python objects."""
        return export.export_dict(self._model(None, None))

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the total decrease of weighted impurity."""
        check_is_fitted(self)
        return self.tree_.feature_importances(self.n_features_in_)

    def _model(self, feature_names: ArrayLike | None, class_names: ArrayLike | None) -> export.Model:
        check_is_fitted(self)
        return export.make_model(self.tree_, self.features_, self.classes_, feature_names, class_names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
