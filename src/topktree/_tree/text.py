"""A tree as text for people: indented lines, and one rule per leaf. In: a `Model`. Out: strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.features import UNSEEN, one_line
from .conditions import leaf_conditions, walk_conditions
from .naming import Model


def rules(model: Model) -> Iterator[tuple[int, list[str]]]:
    """Yield every leaf, from left to right, and its conditions in words, at most one per feature."""
    for leaf, conditions in leaf_conditions(model):
        texts = [condition.text() for condition in conditions.values()]
        yield leaf, [text for text in texts if text]


def rule_text(conditions: Sequence[str]) -> str:
    """Return the conditions of a leaf as one text."""
    return " and ".join(conditions) or "always"


def export_rules(model: Model) -> str:
    """Return a line per leaf: its conditions, its class, confidence and counts."""
    lines = [
        f"{rule_text(conditions)} -> {model.class_names[model.predicted(leaf)]} ({model.summary(leaf)})"
        for leaf, conditions in rules(model)
    ]
    return "".join(f"{one_line(line)}\n" for line in lines)


def row_rules(model: Model, encoded: NDArray[Any]) -> NDArray[np.object_]:
    """Return the rule of each row's leaf; it says what values that training did not have are treated as."""
    leaves = model.tree.apply(encoded)
    result = np.empty(len(encoded), dtype=object)
    for leaf, conditions in leaf_conditions(model):
        rows = np.flatnonzero(leaves == leaf)
        values = encoded[rows][:, list(conditions)].astype(np.float64)
        kinds = np.where(np.isnan(values), 1, np.where(values == UNSEEN, 2, 0))  # all that the texts depend on
        for kind in set(map(tuple, kinds.tolist())):
            pairs = zip(conditions.values(), kind, strict=True)
            texts = [condition.text_of((0.0, np.nan, UNSEEN)[i]) for condition, i in pairs]
            result[rows[(kinds == kind).all(axis=1)]] = one_line(rule_text([text for text in texts if text]))
    return result


def export_text(model: Model) -> str:
    """Return the tree as indented lines, as scikit-learn's `export_text` draws it, with counts."""
    lines = []
    for node, depth, _, added in walk_conditions(model):
        if depth > 0:
            lines.append("|   " * (depth - 1) + f"|--- {added}")
        if model.is_leaf(node):
            name = model.class_names[model.predicted(node)]
            lines.append("|   " * depth + f"|--- class: {name} ({model.summary(node)})")
    return "".join(f"{one_line(line)}\n" for line in lines)
