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
from .._data.columns import AT_MOST, EQUALS, IN, IS_MISSING, set_text, value_text
from .._data.features import Feature
from .._data.table import BOOLEAN
from .tree import TREE_LEAF, NodeTest, Tree

# How texts, dicts and files write the kind of a test.
SYMBOLS = {AT_MOST: "<=", EQUALS: "=", IS_MISSING: "is missing", IN: "in"}

# Okabe and Ito's colours, which colour-blind readers can tell apart; the last is a grey.
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999")

MANY_CLASSES = 30  # texts and the report list at most this many classes of a node


@dataclass(frozen=True)
class Literal:
    """A test in the user's terms."""

    test: NodeTest
    feature: Feature  # with the name that the user gave it

    @property
    def name(self) -> str:
        """The name of the feature."""
        return self.feature.name

    @property
    def asked(self) -> str:
        """The literal without the name of its feature, as in `<= 40` or, if training says so, `<= 40 or missing`."""
        takes_missing = self.test.missing and self.feature.has_missing and self.test.kind != IS_MISSING
        symbol = "=" if self._is_boolean else SYMBOLS[self.test.kind]
        return self._comparison(symbol) + (" or missing" if takes_missing else "")

    @property
    def denied(self) -> str:
        """The negation of the literal without the name; of two values it names the other."""
        if self.test.kind == IS_MISSING:
            return "is not missing"
        if self._is_boolean or (self.test.kind == EQUALS and len(self.feature.categories) == 2):
            return f"= {value_text(self.feature, 1 - self.test.value)}"
        return self._comparison({AT_MOST: ">", EQUALS: "!=", IN: "not in"}[self.test.kind])

    @property
    def yes(self) -> str:
        """The literal, as in `age <= 40`."""
        return f"{self.name} {self.asked}"

    @property
    def no(self) -> str:
        """The negation of the literal."""
        return f"{self.name} {self.denied}"

    @property
    def _is_boolean(self) -> bool:
        return self.feature.kind == BOOLEAN and self.test.kind != IS_MISSING

    def _comparison(self, symbol: str) -> str:
        if self.test.kind == IN:
            return f"{symbol} {set_text(self.feature, self.test.categories)}"
        return symbol if self.test.kind == IS_MISSING else f"{symbol} {value_text(self.feature, self.test.value)}"


@dataclass(frozen=True, eq=False)
class Model:
    """A tree and the names of what it tests and predicts."""

    tree: Tree
    features: tuple[Feature, ...]
    labels: tuple[Any, ...]  # the classes as Python objects
    class_names: tuple[str, ...]

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
        return Literal(test, self.features[test.feature])

    def predicted(self, node: int) -> int:
        """Return the index of the class that a leaf here predicts."""
        return int(np.argmax(self.tree.value[node]))

    def shares(self, node: int) -> FloatArray:
        """Return the share of each class in the node's training weight."""
        return np.asarray(self.tree.value[node] / self.tree.value[node].sum())

    def confidence(self, node: int) -> str:
        """Return the predicted class's share, `86.7% of 60 rows`; with weights `65.2% of weight 9.5 in 60 rows`."""
        rows = int(self.tree.n_node_samples[node])
        size = f"{rows:,} row{'' if rows == 1 else 's'}"
        if not self.counts_are_rows():
            size = f"weight {_short(self.tree.weighted_n_node_samples[node])} in {size}"
        return f"{100 * self.shares(node).max():.1f}% of {size}"

    def counts(self, node: int) -> str:
        """Return the weight of each class that is present: `no 8, yes 52`; of many classes, only of the heaviest."""
        value = self.tree.value[node]
        named = heaviest_classes(value)
        texts = [f"{self.class_names[c]} {_short(value[c])}" for c in sorted(named)]
        n_others = np.count_nonzero(value) - len(named)
        if n_others:
            rest = float(value.sum() - value[named].sum())
            texts.append(f"{n_others:,} other class{'' if n_others == 1 else 'es'} {_short(rest)}")
        return ", ".join(texts)

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
    )


def heaviest_classes(weights: NDArray[Any]) -> list[int]:
    """Return the classes with some weight, heaviest first, at most `MANY_CLASSES`; `weights`: (n_classes,)."""
    order = np.argsort(-weights, kind="stable")[:MANY_CLASSES]
    return [c for c in order.tolist() if weights[c] > 0]


def colours_of_heaviest(weights: NDArray[Any], colours: Sequence[str]) -> dict[int, str]:
    """Return a colour for each of the heaviest classes, as many as there are colours; `weights`: (n_classes,)."""
    heaviest = np.sort(np.argsort(-weights, kind="stable")[: len(colours)]).tolist()
    return dict(zip(heaviest, colours, strict=False))


def _names(parameter: str, given: ArrayLike | None, own: list[str]) -> list[str]:
    if given is None:
        return own
    names = [str(name) for name in np.asarray(given, dtype=object).ravel()]
    if len(names) != len(own):
        raise ValueError(f"{parameter} must have {len(own)} names, got {len(names)}")
    return names


def _short(count: float) -> str:
    return f"{count:,.0f}" if float(count).is_integer() or count >= 1e6 else f"{count:,.6g}"
