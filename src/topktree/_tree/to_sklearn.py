"""A fitted tree as scikit-learn's own, with the same predictions for every input.

In: our tree and its features. Out: a `DecisionTreeClassifier`, or a `Pipeline` of a `TreeEncoder` and one. The one
idea: scikit-learn compares float32 with a float64 threshold, so a feature is passed on as it is only where that decides
as we do; everything else (categories, missing values, numbers that float32 cannot tell apart) is decided in the encoder
and passed on as 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree import _tree as sklearn_tree

from .._data.arrays import FloatArray, IntArray
from .._data.columns import value_text
from .._data.features import LARGEST_EXACT_INT, Feature, encode
from .._data.table import BOOLEAN, CATEGORY, NUMBER, read_table
from .._data.thresholds import format_number, is_float32_edge
from .tree import TREE_UNDEFINED, Tree, node_impurity

# What a column of the encoder is: (feature, kind, threshold or code).
VALUE = "value"
ABOVE = "above"  # 1 unless value <= threshold
EQUALS = "equals"
IS_MISSING = "is missing"
Output = tuple[int, str, float]

# Beyond all thresholds of a feature that is passed on as it is; infinities, which scikit-learn refuses, become this.
_LARGEST_VALUE = 2 * LARGEST_EXACT_INT


class TreeEncoder(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A table as the numbers that the tree behind it compares.

    Parameters
    ----------
    features : sequence of Feature
        What the training data was like.
    outputs : sequence of (feature index, kind, value)
        What each column is: the feature itself ("value"; NaN where missing), or 1 where it is "above" a threshold or
        missing, "equals" a category, "is missing", and 0 elsewhere.
    feature_names : sequence of str or None
        Names that the columns of a frame must have.
    """

    def __init__(
        self, features: Sequence[Feature], outputs: Sequence[Output], feature_names: Sequence[str] | None = None
    ) -> None:
        self.features = features
        self.outputs = outputs
        self.feature_names = feature_names
        self.n_features_in_ = len(features)
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)

    def fit(self, X: Any, y: Any = None) -> Self:
        """There is nothing to learn."""
        return self

    def transform(self, X: Any) -> FloatArray:
        """float64 array (n_rows, n_outputs)."""
        encoded = encode(read_table(self, X, reset=False), self.features)
        result = np.empty((len(encoded), len(self.outputs)))
        for j, (feature, kind, value) in enumerate(self.outputs):
            values = encoded[:, feature].astype(np.float64)
            if kind == VALUE:
                result[:, j] = np.clip(values, -_LARGEST_VALUE, _LARGEST_VALUE)
            elif kind == ABOVE:
                result[:, j] = ~(values <= value)
            else:
                result[:, j] = values == value if kind == EQUALS else np.isnan(values)
        return result

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """What each column is, in words."""
        return np.array([_output_name(self.features[f], kind, value) for f, kind, value in self.outputs], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags


def to_sklearn(
    tree: Tree,
    features: Sequence[Feature],
    classes: NDArray[Any],
    criterion: str,
    feature_names: NDArray[np.object_] | None,
) -> DecisionTreeClassifier | Pipeline:
    """The tree over the features themselves if scikit-learn decides as we do, else behind a `TreeEncoder`."""
    encoder, (classifier,) = to_sklearn_trees([tree], features, classes, criterion, feature_names)
    return classifier if encoder is None else Pipeline([("encode", encoder), ("tree", classifier)])


def to_sklearn_trees(
    trees: Sequence[Tree],
    features: Sequence[Feature],
    classes: NDArray[Any],
    criterion: str,
    feature_names: NDArray[np.object_] | None,
    *,
    pass_nan: bool = True,
) -> tuple[TreeEncoder | None, list[DecisionTreeClassifier]]:
    """Trees over the features themselves where scikit-learn decides as we do, else an encoder that all are behind.

    Without `pass_nan` the encoder gives them no missing values.
    """
    if _needs_no_encoder(trees, features):
        plain = [_classifier(tree, tree.feature, tree.threshold, len(features), classes, criterion) for tree in trees]
        for classifier in plain if feature_names is not None else ():
            classifier.feature_names_in_ = feature_names
        return None, plain
    outputs = _outputs(trees, features, pass_nan)
    names = None if feature_names is None else tuple(feature_names)
    behind = [_classifier(tree, *_tests_of_outputs(tree, outputs), len(outputs), classes, criterion) for tree in trees]
    return TreeEncoder(tuple(features), tuple(outputs), names), behind


def _needs_no_encoder(trees: Sequence[Tree], features: Sequence[Feature]) -> bool:
    if any(f.kind == CATEGORY or f.has_missing or f.has_extreme for f in features):
        return False
    is_number = np.array([feature.kind == NUMBER for feature in features] + [False] * -TREE_UNDEFINED)
    return all(is_float32_edge(tree.threshold[is_number[tree.feature]]).all() for tree in trees)


def _outputs(trees: Sequence[Tree], features: Sequence[Feature], pass_nan: bool) -> list[Output]:
    """The columns that the encoder has to provide, feature by feature."""
    tested, threshold, category = (
        np.concatenate([getattr(tree, name) for tree in trees]) for name in ("feature", "threshold", "category")
    )
    outputs: list[Output] = []
    for f, feature in enumerate(features):
        nodes = np.flatnonzero(tested == f)
        thresholds = np.unique(threshold[nodes][category[nodes] < 0])
        finite = thresholds[np.isfinite(thresholds)]
        if feature.kind == CATEGORY:
            codes = np.unique(category[nodes][category[nodes] >= 0])
            outputs.extend((f, EQUALS, float(code)) for code in codes)
        elif feature.kind == BOOLEAN:
            outputs.append((f, EQUALS, 1.0))
        elif is_float32_edge(finite).all() and not feature.has_extreme and (pass_nan or not feature.has_missing):
            outputs.append((f, VALUE, 0.0))
        else:
            outputs.extend((f, ABOVE, float(threshold)) for threshold in finite)
        if np.isinf(thresholds).any():
            outputs.append((f, IS_MISSING, 0.0))
    return outputs or [(0, IS_MISSING, 0.0)]  # scikit-learn wants a column even if nothing is tested


def _tests_of_outputs(tree: Tree, outputs: Sequence[Output]) -> tuple[IntArray, FloatArray]:
    """The column that each node tests, and the threshold."""
    index = {output: j for j, output in enumerate(outputs)}
    column, threshold = tree.feature.copy(), tree.threshold.copy()
    for node in np.flatnonzero(tree.feature >= 0):
        f = int(tree.feature[node])
        if (f, VALUE, 0.0) in index and np.isfinite(tree.threshold[node]):
            column[node] = index[f, VALUE, 0.0]
            continue
        if tree.category[node] >= 0:
            output = (f, EQUALS, float(tree.category[node]))
        elif np.isinf(tree.threshold[node]):
            output = (f, IS_MISSING, 0.0)
        else:
            output = (f, EQUALS, 1.0) if (f, EQUALS, 1.0) in index else (f, ABOVE, float(tree.threshold[node]))
        column[node] = index[output]
        threshold[node] = 0.5
    return column, threshold


def _classifier(
    tree: Tree, feature: IntArray, threshold: FloatArray, n_features: int, classes: NDArray[Any], criterion: str
) -> DecisionTreeClassifier:
    """A fitted classifier around a `Tree` of scikit-learn's."""
    criterion = "gini" if criterion == "gini" else "entropy"
    nodes = np.zeros(tree.node_count, dtype=sklearn_tree.NODE_DTYPE)
    nodes["left_child"] = tree.children_left
    nodes["right_child"] = tree.children_right
    nodes["feature"] = feature
    nodes["threshold"] = threshold
    nodes["impurity"] = node_impurity(tree.value, criterion)
    nodes["n_node_samples"] = tree.n_node_samples
    nodes["weighted_n_node_samples"] = tree.weighted_n_node_samples
    nodes["missing_go_to_left"] = tree.missing_go_to_left
    shares = tree.value / tree.value.sum(axis=1, keepdims=True)
    state = {"max_depth": tree.max_depth, "node_count": tree.node_count, "nodes": nodes, "values": shares[:, None, :]}
    built = sklearn_tree.Tree(n_features, np.array([len(classes)], dtype=np.intp), 1)
    built.__setstate__(state)
    classifier = DecisionTreeClassifier(criterion=criterion, max_depth=max(tree.max_depth, 1), random_state=0)
    classifier.classes_ = classes
    classifier.n_classes_ = np.int64(len(classes))
    classifier.n_features_in_ = n_features
    classifier.n_outputs_ = 1
    classifier.max_features_ = n_features
    classifier.tree_ = built
    return classifier


def _output_name(feature: Feature, kind: str, value: float) -> str:
    if kind == VALUE:
        return feature.name
    if kind == IS_MISSING:
        return f"{feature.name} is missing"
    return f"{feature.name} {f'> {format_number(value)}' if kind == ABOVE else f'= {value_text(feature, value)}'}"
