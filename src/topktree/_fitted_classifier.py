"""What every fitted classifier of ours has: accuracy on all labels that `fit` takes, and missing values allowed."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length

from ._data.features import Feature
from ._data.labels import read_labels, read_weights


class FittedClassifier(ClassifierMixin, BaseEstimator):
    """Base of trees and of ensembles of them."""

    features_: tuple[Feature, ...]
    classes_: NDArray[Any]
    n_features_in_: int

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy. All labels that `fit` takes can be scored, which scikit-learn's own function does not allow.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> clf.score(X, y)
        0.96
        """
        return self._accuracy(self.predict(X), y, sample_weight)

    def _accuracy(self, predicted: NDArray[Any], y: ArrayLike, sample_weight: ArrayLike | None) -> float:
        labels = read_labels(copy(self), y)  # a copy: scikit-learn's check of y makes it forget the feature names
        check_consistent_length(predicted, labels)
        return float(np.average(predicted == labels, weights=read_weights(sample_weight, len(labels))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
