"""Helpers for the tests of ensembles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from topktree import TopKTreeClassifier


def assert_same_tree(tree: TopKTreeClassifier, expected: TopKTreeClassifier, but: tuple[str, ...] = ()) -> None:
    """The same arrays; `but`: those that may differ."""
    for field in fields(expected.tree_):
        if field.name not in but:
            own, other = getattr(tree.tree_, field.name), getattr(expected.tree_, field.name)
            np.testing.assert_array_equal(own, other, err_msg=field.name)
    if not but:
        assert tree.cost_ == expected.cost_
        assert tree.train_errors_ == expected.train_errors_


def assert_same_forest(forest: Sequence[TopKTreeClassifier], expected: Sequence[TopKTreeClassifier]) -> None:
    assert len(forest) == len(expected)
    for tree, other in zip(forest, expected, strict=True):
        assert_same_tree(tree, other)


def noisy(n: int = 300, n_features: int = 6, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and classes that follow some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).round(1)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)
    return X, (y + (X[:, -1] > 0.5) * (n_classes > 2)) % n_classes


def binary(n: int = 300, n_columns: int = 8, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Booleans: no thresholds depend on which rows there are."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_columns)) < 0.5
    y = (X[:, 0] ^ X[:, 1]).astype(int) + (X[:, 2] & X[:, 3]) + (rng.random(n) < 0.2)
    return X, y % n_classes
