"""A fitted tree as scikit-learn's own, with the same predictions.

In: our tree and its features. Out: a `DecisionTreeClassifier`, or a `Pipeline` of a `TreeEncoder` and one. The one
idea: scikit-learn rounds numbers to float32 before it compares them, so a feature is passed on as it is only where
thresholds have no more digits than float32 has; everything else (categories, missing values, numbers that float32
cannot tell apart) is decided in the encoder and passed on as 0 or 1.
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

from .._data import columns
from .._data.arrays import FloatArray, IntArray
from .._data.features import LARGEST_EXACT_INT, Feature, encode
from .._data.table import CATEGORY, read_table
from .._data.thresholds import is_short
from .naming import Literal
from .tree import NodeTest, Tree, node_impurity

# A column of the encoder: a feature itself, by its index, or a test.
Output = int | NodeTest

# Larger than every threshold of a feature that is passed on; it replaces infinities, which scikit-learn refuses.
_LARGEST_VALUE = 2 * LARGEST_EXACT_INT


class TreeEncoder(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A transformer that turns a table into the numbers that the tree behind it compares.

    Parameters
    ----------
    features : sequence of Feature
        The features of the training data.
    outputs : sequence of int and NodeTest
        The columns: a feature itself, given by its index (NaN where it is missing), or a test: 1 where it holds and 0
        where it does not; the other way round for a test `<=`, so that the column rises with the feature.
    feature_names : sequence of str or None
        The names that the columns of a frame must have.
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
        """Return the encoder itself: there is nothing to learn."""
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return a float64 array (n_rows, n_outputs)."""
        encoded = encode(read_table(self, X, reset=False), self.features)
        result = np.empty((len(encoded), len(self.outputs)))
        for j, output in enumerate(self.outputs):
            if isinstance(output, NodeTest):
                result[:, j] = output.holds(encoded[:, output.feature]) ^ (output.kind == columns.AT_MOST)
            else:
                values = encoded[:, output].astype(np.float64)
                result[:, j] = np.clip(values, -_LARGEST_VALUE, _LARGEST_VALUE)
        return result

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return what each column is, in words."""
        return np.array([self._name(output) for output in self.outputs], dtype=object)

    def _name(self, output: Output) -> str:
        if not isinstance(output, NodeTest):
            return self.features[output].name
        literal = Literal(output, self.features[output.feature])
        return literal.no if output.kind == columns.AT_MOST else literal.yes

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
    """Return a scikit-learn tree over the features themselves, or behind a `TreeEncoder` where it needs one."""
    encoder, (classifier,) = to_sklearn_trees([tree], features, classes, criterion, feature_names)
    if encoder is not None:
        return Pipeline([("encode", encoder), ("tree", classifier)])
    if feature_names is not None:
        classifier.feature_names_in_ = feature_names
    return classifier


def to_sklearn_trees(
    trees: Sequence[Tree],
    features: Sequence[Feature],
    classes: NDArray[Any],
    criterion: str,
    feature_names: NDArray[np.object_] | None,
    *,
    pass_nan: bool = True,
) -> tuple[TreeEncoder | None, list[DecisionTreeClassifier]]:
    """Return an encoder and the scikit-learn trees behind it; None and the trees if they need no encoder.

    Without `pass_nan` the encoder gives them no missing values.
    """
    if _needs_no_encoder(trees, features):
        return None, [_classifier(t, t.feature, t.threshold, len(features), classes, criterion) for t in trees]
    tests = sorted({tree.test(node) for tree in trees for node in tree.inner_nodes()})
    passed_on = _passed_on(tests, features, pass_nan)
    outputs = _outputs(tests, passed_on)
    behind = [
        _classifier(tree, *_tests_of_outputs(tree, outputs, passed_on), len(outputs), classes, criterion)
        for tree in trees
    ]
    names = None if feature_names is None else tuple(feature_names)
    return TreeEncoder(tuple(features), tuple(outputs), names), behind


def _needs_no_encoder(trees: Sequence[Tree], features: Sequence[Feature]) -> bool:
    if any(f.kind == CATEGORY or f.has_missing or f.has_extreme for f in features):
        return False
    return all(is_short(tree.threshold).all() for tree in trees)


def _passed_on(tests: Sequence[NodeTest], features: Sequence[Feature], pass_nan: bool) -> set[int]:
    """Return the features whose numbers the trees can compare themselves."""
    at_most = [test for test in tests if test.kind == columns.AT_MOST]
    is_passed = is_short(np.array([test.value for test in at_most], dtype=np.float64))
    in_encoder = {test.feature for test, passed in zip(at_most, is_passed, strict=True) if not passed}
    numbers = {f for f, feature in enumerate(features) if feature.kind != CATEGORY and not feature.has_extreme}
    missing = {f for f, feature in enumerate(features) if feature.has_missing and not pass_nan}
    return numbers - in_encoder - missing


def _output(test: NodeTest, passed_on: set[int]) -> Output:
    """Return the column of the encoder that decides a test."""
    return test.feature if test.kind == columns.AT_MOST and test.feature in passed_on else test


def _outputs(tests: Sequence[NodeTest], passed_on: set[int]) -> list[Output]:
    """Return the columns that the encoder has to provide, feature by feature."""
    outputs: list[Output] = [*passed_on, *(_output(test, passed_on) for test in tests)]
    # scikit-learn wants a column even for a single leaf
    distinct = dict.fromkeys(outputs) or [NodeTest(0, columns.IS_MISSING, 0.0, True, False)]
    return sorted(distinct, key=lambda output: output.feature if isinstance(output, NodeTest) else output)


def _tests_of_outputs(tree: Tree, outputs: Sequence[Output], passed_on: set[int]) -> tuple[IntArray, FloatArray]:
    """Return the column that each node tests, and the threshold."""
    index = {output: j for j, output in enumerate(outputs)}
    column, threshold = tree.feature.copy(), tree.threshold.copy()
    for node in tree.inner_nodes():
        output = _output(tree.test(node), passed_on)
        column[node] = index[output]
        threshold[node] = 0.5 if isinstance(output, NodeTest) else threshold[node]
    return column, threshold


def _classifier(
    tree: Tree, feature: IntArray, threshold: FloatArray, n_features: int, classes: NDArray[Any], criterion: str
) -> DecisionTreeClassifier:
    """Return a fitted classifier around a `Tree` of scikit-learn's: the same nodes, with small numbers on the left."""
    criterion = "gini" if criterion == "gini" else "entropy"
    nodes = np.zeros(tree.node_count, dtype=sklearn_tree.NODE_DTYPE)
    tests_numbers = (tree.category < 0) & ~tree.category_set.any(axis=1) & ~np.isnan(tree.threshold)
    is_swapped = ~tree.is_leaf & ~tests_numbers  # 1 is yes, and goes right
    nodes["left_child"] = np.where(is_swapped, tree.children_right, tree.children_left)
    nodes["right_child"] = np.where(is_swapped, tree.children_left, tree.children_right)
    nodes["feature"], nodes["threshold"] = feature, threshold
    nodes["impurity"] = node_impurity(tree.value, criterion)
    for name in ("n_node_samples", "weighted_n_node_samples"):
        nodes[name] = getattr(tree, name)
    nodes["missing_go_to_left"] = tree.missing_go_to_left ^ is_swapped
    built = sklearn_tree.Tree(n_features, np.array([len(classes)], dtype=np.intp), 1)
    values = tree.shares()[:, None, :]
    built.__setstate__({"max_depth": tree.max_depth, "node_count": tree.node_count, "nodes": nodes, "values": values})
    classifier = DecisionTreeClassifier(criterion=criterion, max_depth=max(tree.max_depth, 1), random_state=0)
    classifier.classes_, classifier.n_classes_ = classes, np.int64(len(classes))
    classifier.n_features_in_ = classifier.max_features_ = n_features
    classifier.n_outputs_, classifier.tree_ = 1, built
    return classifier
