"""A tree with the names of what it tests and predicts, and the wording of a node.

In: a `Tree`, its features and classes, and other names for them if the user gives some. Out: a `Model`, which every
text, picture and page is made from. The one idea: a node's test is put into words once, as a `Literal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._data.arrays import FloatArray
from .._data.columns import AT_MOST, EQUALS, IS_MISSING, value_text
from .._data.features import Feature
from .._data.table import BOOLEAN
from .._data.thresholds import format_number, threshold_texts
from .tree import TREE_LEAF, NodeTest, Tree

# How texts, dicts and files write the kind of a test.
SYMBOLS = {AT_MOST: "<=", EQUALS: "=", IS_MISSING: "is missing"}

# Okabe and Ito's colours, which colour-blind readers can tell apart; the last is a grey.
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999")


@dataclass(frozen=True)
class Literal:
    """A test in the user's terms."""

    test: NodeTest
    name: str  # of the feature
    text: str  # what the feature is compared with, as people read it; empty for IS_MISSING
    value: Any  # the same as an object: threshold, category or True; None for IS_MISSING

    @property
    def asked(self) -> str:
        """The literal without the name of its feature, as in ` <= 40.5`."""
        return f" {SYMBOLS[self.test.kind]}" + (f" {self.text}" if self.test.kind != IS_MISSING else "")

    @property
    def yes(self) -> str:
        """The literal, as in `age <= 40.5`."""
        return self.name + self.asked

    @property
    def no(self) -> str:
        """The negation of the literal; it also holds for a missing value."""
        if self.test.kind == IS_MISSING:
            return f"{self.name} is not missing"
        if self.value is True:
            return f"{self.name} = False"
        return f"{self.name} {'>' if self.test.kind == AT_MOST else '!='} {self.text}"


@dataclass(frozen=True, eq=False)
class Model:
    """A tree and the names of what it tests and predicts."""

    tree: Tree
    features: tuple[Feature, ...]
    labels: tuple[Any, ...]  # the classes as Python objects
    class_names: tuple[str, ...]
    threshold_texts: dict[tuple[int, float], str]  # by feature and threshold

    def is_leaf(self, node: int) -> bool:
        """Return True if the node has no children."""
        return bool(self.tree.children_left[node] == TREE_LEAF)

    def children(self, node: int) -> tuple[int, int]:
        """Return the left child and the right child."""
        return int(self.tree.children_left[node]), int(self.tree.children_right[node])

    def literal(self, node: int) -> Literal:
        """Return what an inner node asks."""
        return self.name_test(self.tree.test(node))

    def name_test(self, test: NodeTest) -> Literal:
        """Return a test in the user's terms, whether the tree has it or not."""
        feature = self.features[test.feature]
        text = ""
        if test.kind == EQUALS:
            text = value_text(feature, test.value)
        elif test.kind == AT_MOST:
            text = self.threshold_texts.get((test.feature, test.value)) or format_number(test.value)
        return Literal(test, feature.name, text, user_value(test, feature))

    def branches(self, node: int, present: frozenset[int] = frozenset()) -> tuple[str, str]:
        """Return the conditions of the left and the right branch of an inner node.

        It says "or missing" where the training data had missing values, unless the feature is among `present`, the
        features that are known not to be missing.
        """
        literal = self.literal(node)
        feature, no = literal.test.feature, literal.no
        if literal.test.kind != IS_MISSING and self.features[feature].has_missing and feature not in present:
            no += " or missing"
        return (literal.yes, no) if literal.test.yes_goes_left else (no, literal.yes)

    def answers(self, node: int) -> tuple[tuple[int, str], tuple[int, str]]:
        """Return the left child and the right child of an inner node, each with the answer that leads to it."""
        left, right = self.children(node)
        on_left, on_right = ("yes", "no") if self.tree.test(node).yes_goes_left else ("no", "yes")
        return (left, on_left), (right, on_right)

    def predicted(self, node: int) -> int:
        """Return the index of the class that a leaf here predicts."""
        return int(np.argmax(self.tree.value[node]))

    def shares(self, node: int) -> FloatArray:
        """Return the share of each class in the node's training weight."""
        return np.asarray(self.tree.value[node] / self.tree.value[node].sum())

    def confidence(self, node: int) -> str:
        """Return the predicted class's share, `86.7% of 60 rows`; with weights `65.2% of weight 9.5 in 60 rows`."""
        rows = int(self.tree.n_node_samples[node])
        size = f"{rows} row{'' if rows == 1 else 's'}"
        if not self.counts_are_rows():
            size = f"weight {_short(self.tree.weighted_n_node_samples[node])} in {size}"
        return f"{100 * self.shares(node).max():.1f}% of {size}"

    def counts(self, node: int) -> str:
        """Return the weight of each class that is present: `no 8, yes 52`."""
        value = self.tree.value[node]
        return ", ".join(f"{self.class_names[c]} {_short(value[c])}" for c in np.flatnonzero(value))

    def summary(self, node: int) -> str:
        """Return confidence and counts: `86.7% of 60 rows; no 8, yes 52`."""
        return f"{self.confidence(node)}; {self.counts(node)}"

    def counts_are_rows(self) -> bool:
        """Return True if every training row weighs 1."""
        return bool(np.array_equal(self.tree.weighted_n_node_samples, self.tree.n_node_samples))


def make_model(
    tree: Tree,
    features: Sequence[Feature],
    classes: NDArray[Any],
    feature_names: ArrayLike | None = None,
    class_names: ArrayLike | None = None,
) -> Model:
    """Return the model, with other names if they are given."""
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in classes.tolist())
    names = _names("feature_names", feature_names, [feature.name for feature in features])
    return Model(
        tree,
        tuple(replace(feature, name=name) for feature, name in zip(features, names, strict=True)),
        labels,
        tuple(_names("class_names", class_names, [str(label) for label in labels])),
        _threshold_texts(tree),
    )


def user_value(test: NodeTest, feature: Feature) -> Any:
    """Return what a test compares its feature with: threshold, category or True; None for IS_MISSING."""
    if test.kind == IS_MISSING:
        return None
    if test.kind == AT_MOST:
        return float(test.value)
    return True if feature.kind == BOOLEAN else feature.categories[int(test.value)]


def colours_of_heaviest(weights: NDArray[Any], colours: Sequence[str]) -> dict[int, str]:
    """Return a colour for each of the heaviest classes, as many as there are colours; `weights`: (n_classes,)."""
    heaviest = np.sort(np.argsort(-weights, kind="stable")[: len(colours)]).tolist()
    return dict(zip(heaviest, colours, strict=False))


def one_line(text: str) -> str:
    """Return the text with line breaks and other control characters as Python writes them."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _names(parameter: str, given: ArrayLike | None, own: list[str]) -> list[str]:
    if given is None:
        return own
    names = [str(name) for name in np.asarray(given, dtype=object).ravel()]
    if len(names) != len(own):
        raise ValueError(f"{parameter} must have {len(own)} names, got {len(names)}")
    return names


def _threshold_texts(tree: Tree) -> dict[tuple[int, float], str]:
    """Return a text for each threshold: short, but different from those of the feature's other thresholds."""
    thresholds: dict[int, set[float]] = {}
    for node in tree.inner_nodes():
        f, kind, value = tree.test(node)
        if kind == AT_MOST:
            thresholds.setdefault(f, set()).add(value)
    return {
        (f, value): text
        for f, values in thresholds.items()
        for value, text in zip(values, threshold_texts(list(values)), strict=True)
    }


def _short(count: float) -> str:
    return str(int(count)) if float(count).is_integer() else f"{count:.6g}"
