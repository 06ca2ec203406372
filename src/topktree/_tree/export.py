"""A fitted tree as text for people and programs: text, rules, DOT, SQL, a dict.

In: a `Model`, which is the tree with the names of its features and classes. Out: strings, or a dict of plain objects.
The one idea: a node's test is one `Test` of a feature, worded once, and every format shows the same counts per leaf.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._data.arrays import FloatArray
from .._data.columns import value_text
from .._data.encoding import canonical
from .._data.features import LARGEST_EXACT_INT, Feature
from .._data.table import BOOLEAN
from .._data.thresholds import format_number, threshold_texts
from .tree import TREE_LEAF, Tree

AT_MOST = "<="
EQUALS = "="
IS_MISSING = "is missing"

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999")


@dataclass(frozen=True)
class Test:
    """What an inner node asks of one feature."""

    feature: int
    name: str
    kind: str  # AT_MOST, EQUALS or IS_MISSING
    text: str  # what it compares with, as people read it
    value: Any  # what it compares with: a threshold, a category or True; None for IS_MISSING
    yes_goes_left: bool

    @property
    def literal(self) -> str:
        """The question, as in `age <= 40.5`."""
        return f"{self.name} {self.kind}" if self.kind == IS_MISSING else f"{self.name} {self.kind} {self.text}"

    @property
    def negation(self) -> str:
        """What holds where the literal does not; a missing value may be among it."""
        if self.kind == IS_MISSING:
            return f"{self.name} is not missing"
        if self.kind == EQUALS and self.value is True:
            return f"{self.name} = False"
        return f"{self.name} {'>' if self.kind == AT_MOST else '!='} {self.text}"


@dataclass(frozen=True, eq=False)
class Model:
    """A tree and the names of what it tests and predicts."""

    tree: Tree
    features: tuple[Feature, ...]
    labels: tuple[Any, ...]  # the classes as Python objects
    class_names: tuple[str, ...]
    threshold_texts: dict[tuple[int, float], str]  # by feature and threshold

    def is_leaf(self, node: int) -> bool:
        """Whether the node has no children."""
        return bool(self.tree.children_left[node] == TREE_LEAF)

    def children(self, node: int) -> tuple[int, int]:
        """The left child and the right child."""
        return int(self.tree.children_left[node]), int(self.tree.children_right[node])

    def test(self, node: int) -> Test:
        """What an inner node asks."""
        f = int(self.tree.feature[node])
        feature, threshold, category = self.features[f], self.tree.threshold[node], self.tree.category[node]
        if category >= 0:
            text = value_text(feature, category)
            return Test(f, feature.name, EQUALS, text, feature.categories[category], yes_goes_left=False)
        if np.isinf(threshold):
            return Test(f, feature.name, IS_MISSING, "", None, yes_goes_left=False)
        if feature.kind == BOOLEAN:
            return Test(f, feature.name, EQUALS, "True", True, yes_goes_left=False)
        return Test(f, feature.name, AT_MOST, self.threshold_texts[f, threshold], float(threshold), yes_goes_left=True)

    def branches(self, node: int, present: frozenset[int] = frozenset()) -> tuple[str, str]:
        """What holds on the left of an inner node and on its right.

        Says "or missing" where training data had missing values, unless the feature is among those known to be present.
        """
        test = self.test(node)
        no = test.negation
        if test.kind != IS_MISSING and self.features[test.feature].has_missing and test.feature not in present:
            no += " or missing"
        return (test.literal, no) if test.yes_goes_left else (no, test.literal)

    def predicted(self, node: int) -> int:
        """Index of the class that a leaf here predicts."""
        return int(np.argmax(self.tree.value[node]))

    def shares(self, node: int) -> FloatArray:
        """Share of each class in the node's training weight."""
        return np.asarray(self.tree.value[node] / self.tree.value[node].sum())

    def confidence(self, node: int) -> str:
        """Share of the predicted class and size: `86.7% of 60 rows`, with weights `65.2% of weight 9.5 in 60 rows`."""
        rows = int(self.tree.n_node_samples[node])
        size = f"{rows} row{'' if rows == 1 else 's'}"
        if not self.counts_are_rows():
            size = f"weight {_short(self.tree.weighted_n_node_samples[node])} in {size}"
        return f"{100 * self.shares(node).max():.1f}% of {size}"

    def counts(self, node: int) -> str:
        """The weight of each class that is there: `no 8, yes 52`."""
        value = self.tree.value[node]
        return ", ".join(f"{self.class_names[c]} {_short(value[c])}" for c in np.flatnonzero(value))

    def summary(self, node: int) -> str:
        """Confidence and counts: `86.7% of 60 rows; no 8, yes 52`."""
        return f"{self.confidence(node)}; {self.counts(node)}"

    def counts_are_rows(self) -> bool:
        """Whether every row weighs 1."""
        return bool(np.array_equal(self.tree.weighted_n_node_samples, self.tree.n_node_samples))


def literal(model: Model, feature: int, kind: str, value: Any) -> str:
    """What a test asks that may not be in the tree; `kind` and `value` as `Test` has them."""
    tested = model.features[feature]
    text = ""
    if kind == EQUALS:
        text = "True" if tested.kind == BOOLEAN else value_text(tested, tested.categories.index(value))
    elif kind == AT_MOST:
        text = model.threshold_texts.get((feature, value)) or format_number(value)
    return Test(feature, tested.name, kind, text, value, yes_goes_left=False).literal


def make_model(
    tree: Tree,
    features: Sequence[Feature],
    classes: NDArray[Any],
    feature_names: ArrayLike | None = None,
    class_names: ArrayLike | None = None,
) -> Model:
    """The model, under other names if these are given."""
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in classes.tolist())
    names = _names("feature_names", feature_names, [feature.name for feature in features])
    return Model(
        tree,
        tuple(replace(feature, name=name) for feature, name in zip(features, names, strict=True)),
        labels,
        tuple(_names("class_names", class_names, [str(label) for label in labels])),
        _threshold_texts(tree, len(features)),
    )


def export_text(model: Model) -> str:
    """The tree as indented lines, as scikit-learn's `export_text` draws it, with counts."""
    lines = []
    # Node, depth, what holds there, features that have a value there.
    todo: list[tuple[int, int, str, frozenset[int]]] = [(0, 0, "", frozenset())]
    while todo:
        node, depth, text, present = todo.pop()
        if text:
            lines.append("|   " * (depth - 1) + f"|--- {text}")
        if model.is_leaf(node):
            name = model.class_names[model.predicted(node)]
            lines.append("|   " * depth + f"|--- class: {name} ({model.summary(node)})")
        else:
            test = model.test(node)
            (left, right), (on_left, on_right) = model.children(node), model.branches(node, present)
            known = present | {test.feature}  # where the answer is yes, or no to `is missing`
            left_is_known = test.yes_goes_left or test.kind == IS_MISSING
            todo.append((right, depth + 1, on_right, present if left_is_known else known))
            todo.append((left, depth + 1, on_left, known if left_is_known else present))
    return "".join(f"{one_line(line)}\n" for line in lines)


def export_rules(model: Model) -> str:
    """One line per leaf: its conditions, those on one feature merged into one; its class; confidence and counts."""
    lines = [
        f"{rule_text(conditions)} -> {model.class_names[model.predicted(leaf)]} ({model.summary(leaf)})"
        for leaf, conditions in rules(model)
    ]
    return "".join(f"{one_line(line)}\n" for line in lines)


def rule_text(conditions: Sequence[str]) -> str:
    """The conditions of a leaf as one text."""
    return " and ".join(conditions) or "always"


def rules(model: Model) -> Iterator[tuple[int, list[str]]]:
    """Every leaf, from left to right, and its conditions, at most one per feature; none at the root."""
    for leaf, path in _paths(model):
        texts = [condition.text(model.features[f].name) for f, condition in path.items()]
        yield leaf, [text for text in texts if text]


def export_dot(model: Model) -> str:
    """The tree for Graphviz."""
    lines = [
        "digraph Tree {",
        'node [shape=box, style="filled, rounded", fontname="helvetica"];',
        'edge [fontname="helvetica"];',
    ]
    for node in range(model.tree.node_count):
        predicted = model.predicted(node)
        head = model.class_names[predicted] if model.is_leaf(node) else f"{model.test(node).literal}?"
        label = "\n".join([head, model.confidence(node), model.counts(node)])
        colour = tint(predicted, float(model.shares(node)[predicted]))
        lines.append(f"{node} [label={_dot_string(label)}, fillcolor={_dot_string(colour)}];")
        if not model.is_leaf(node):
            yes_goes_left = model.test(node).yes_goes_left
            for child, text in zip(
                model.children(node), ("yes", "no") if yes_goes_left else ("no", "yes"), strict=True
            ):
                lines.append(f'{node} -> {child} [label="{text}"];')
    return "\n".join([*lines, "}", ""])


def export_sql(model: Model, table: str | Sequence[str] | None = None) -> str:
    """One CASE expression, a WHEN per leaf; with a table, the SELECT that gives it as `prediction`.

    NULL is a missing value. A table in a schema is given as a sequence of names. Confidence and counts are comments.
    """
    names = [feature.name for feature in model.features]
    used = {names[f] for f in model.tree.feature[model.tree.feature >= 0]}
    repeated = sorted(name for name in used if names.count(name) > 1)
    if repeated:
        raise ValueError(f"feature_names must be different for SQL, got {repeated[0]!r} more than once")
    lines = []
    for leaf, path in _paths(model):
        condition = " AND ".join(_sql_condition(part, names[f], names) for f, part in path.items()) or "1 = 1"
        label = _sql_value(model.labels[model.predicted(leaf)], names)
        lines.append(f"  WHEN {condition}\n    THEN {label} {_sql_comment(model.summary(leaf))}\n")
    expression = f"CASE\n{''.join(lines)}END"
    return expression if table is None else f"SELECT {expression} AS prediction\nFROM {_sql_table(table)}"


def export_dict(model: Model) -> dict[str, Any]:
    """Names, classes and nodes as plain Python objects."""
    return {
        "features": [_feature_dict(feature) for feature in model.features],
        "classes": list(model.labels),
        "nodes": [_node_dict(model, node) for node in range(model.tree.node_count)],
    }


def tint(class_index: int, share: float) -> str:
    """The colour of a class, the paler the smaller its share of a node."""
    base = COLOURS[class_index % len(COLOURS)]
    strength = 0.15 + 0.6 * max(0.0, min(1.0, share))
    channels = [int(base[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - channel) * strength):02x}" for channel in channels)


@dataclass(frozen=True)
class _Condition:
    """What a path says of one feature."""

    has_missing: bool  # in the training data
    above: Test | None = None
    at_most: Test | None = None
    equals: Test | None = None
    excluded: tuple[Test, ...] = field(default=())
    missing: bool | None = None  # None: may be missing

    def narrowed(self, test: Test, holds: bool) -> _Condition:
        """The condition with one more test."""
        if test.kind == IS_MISSING:
            return replace(self, missing=holds)
        if test.kind == AT_MOST:
            if holds:
                keep = self.at_most is not None and self.at_most.value <= test.value
                return replace(self, at_most=self.at_most if keep else test, missing=False)
            keep = self.above is not None and self.above.value >= test.value
            return replace(self, above=self.above if keep else test)
        if holds:
            return replace(self, equals=test, missing=False)
        return replace(self, excluded=(*self.excluded, test))

    def text(self, name: str) -> str:
        """In words; empty if nothing is said."""
        if self.missing:
            return f"{name} is missing"
        if self.equals is not None:
            return self.equals.literal
        said = self._range(name) or self._exclusion(name)
        if self.missing is None and self.has_missing and said:
            return f"({said} or missing)"
        return said or (f"{name} is not missing" if self.missing is False else "")

    def _range(self, name: str) -> str:
        if self.above is not None and self.at_most is not None:
            return f"{self.above.text} < {name} <= {self.at_most.text}"
        if self.above is not None:
            return f"{name} > {self.above.text}"
        return f"{name} <= {self.at_most.text}" if self.at_most is not None else ""

    def _exclusion(self, name: str) -> str:
        if len(self.excluded) == 1:
            return self.excluded[0].negation
        return f"{name} not in {{{', '.join(test.text for test in self.excluded_in_order())}}}" if self.excluded else ""

    def excluded_in_order(self) -> list[Test]:
        """Numbers first, then strings."""
        return sorted(self.excluded, key=lambda test: (isinstance(test.value, str), test.value))


def _paths(model: Model) -> Iterator[tuple[int, dict[int, _Condition]]]:
    """Every leaf, from left to right, and what its path says of each feature, in the order of the first test."""
    todo: list[tuple[int, dict[int, _Condition]]] = [(0, {})]
    while todo:
        node, path = todo.pop()
        if model.is_leaf(node):
            yield node, path
            continue
        test = model.test(node)
        before = path.get(test.feature) or _Condition(model.features[test.feature].has_missing)
        left, right = model.children(node)
        for child, holds in ((right, not test.yes_goes_left), (left, test.yes_goes_left)):
            todo.append((child, {**path, test.feature: before.narrowed(test, holds)}))


def _names(parameter: str, given: ArrayLike | None, own: list[str]) -> list[str]:
    if given is None:
        return own
    names = [str(name) for name in np.asarray(given, dtype=object).ravel()]
    if len(names) != len(own):
        raise ValueError(f"{parameter} must have {len(own)} names, got {len(names)}")
    return names


def _threshold_texts(tree: Tree, n_features: int) -> dict[tuple[int, float], str]:
    is_threshold = (tree.category < 0) & np.isfinite(tree.threshold)
    result = {}
    for f in range(n_features):
        thresholds = np.unique(tree.threshold[is_threshold & (tree.feature == f)])
        result.update({(f, t): text for t, text in zip(thresholds.tolist(), threshold_texts(thresholds), strict=True)})
    return result


def _short(count: float) -> str:
    return str(int(count)) if float(count).is_integer() else f"{count:.6g}"


def one_line(text: str) -> str:
    """Line breaks and other control characters as Python writes them."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _dot_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _sql_table(table: Any) -> str:
    parts = [table] if isinstance(table, str) else table
    if not isinstance(parts, (list, tuple)) or not parts or not all(isinstance(part, str) and part for part in parts):
        raise ValueError(f"table must be a name, a sequence of names or None, got {table!r}")
    return ".".join(_sql_name(part) for part in parts)


def _sql_condition(condition: _Condition, feature_name: str, names: Sequence[str]) -> str:
    """True of the rows that the condition holds for, NULL among them if a missing value may be."""
    name = _sql_name(feature_name)
    if condition.missing:
        return f"{name} IS NULL"
    if condition.equals is not None:
        return f"{name} = {_sql_value(condition.equals.value, names)}"
    parts = []
    if condition.above is not None:
        parts.append(f"{name} > {_sql_threshold(condition.above.value)}")
    if condition.at_most is not None:
        parts.append(f"{name} <= {_sql_threshold(condition.at_most.value)}")
    excluded = [_sql_value(test.value, names) for test in condition.excluded_in_order()]
    if excluded:
        parts.append(f"{name} NOT IN ({', '.join(excluded)})" if len(excluded) > 1 else f"{name} <> {excluded[0]}")
    said = " AND ".join(parts)
    if condition.missing is None:
        return f"({said} OR {name} IS NULL)"
    return said or f"{name} IS NOT NULL"


def _sql_threshold(threshold: float) -> str:
    if abs(threshold) < LARGEST_EXACT_INT or not -(2.0**63) <= threshold < 2.0**63:
        return repr(threshold)
    # Databases compare integers exactly, we their float64: take the largest integer that rounds to the threshold.
    low, high = int(threshold), int(np.nextafter(threshold, np.inf))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(middle) <= threshold else (low, middle)
    return str(low)


def _sql_value(value: Any, names: Sequence[str]) -> str:
    if isinstance(value, bool):
        if any(name.lower() in ("true", "false") for name in names):  # which SQLite would read as a column
            return "(1 = 1)" if value else "(1 = 0)"
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            raise ValueError(f"SQL must have finite numbers, got the label or category {value!r}")
        return repr(value)
    return "'" + str(canonical(value)).replace("'", "''") + "'"


def _sql_comment(text: str) -> str:
    return f"/* {one_line(text).replace('*/', '* /').replace('/*', '/ *')} */"


def _sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _feature_dict(feature: Feature) -> dict[str, Any]:
    return {
        "name": feature.name,
        "kind": feature.kind,
        "categories": list(feature.categories),
        "has_missing": feature.has_missing,
        "has_extreme": feature.has_extreme,
    }


def _node_dict(model: Model, node: int) -> dict[str, Any]:
    counts = model.tree.value[node].tolist()
    result: dict[str, Any] = {
        "rows": int(model.tree.n_node_samples[node]),
        "counts": counts,
        "prediction": model.labels[model.predicted(node)],
        "confidence": float(model.shares(node).max()),
        "impurity": float(model.tree.impurity[node]),
    }
    if model.is_leaf(node):
        return result
    test = model.test(node)
    left, right = model.children(node)
    question = {"feature": test.name, "feature_index": test.feature, "test": test.kind}
    return {**question, "value": test.value, "left": left, "right": right, **result}
