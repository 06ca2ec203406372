"""A tree as text for people: indented lines, and one rule per leaf.

In: a `Model`. Out: strings; and the conditions of every leaf, which SQL is made from too. The one idea: a path may test
a feature several times, but says one thing about it, a `Condition`, which every test on the way narrows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .._data.columns import AT_MOST, IS_MISSING
from .naming import Literal, Model, one_line


@dataclass(frozen=True)
class Condition:
    """The values of one feature that a path allows."""

    name: str
    has_missing: bool  # in the training data
    above: Literal | None = None
    at_most: Literal | None = None
    equals: Literal | None = None
    excluded: tuple[Literal, ...] = ()  # in the order of the path
    missing: bool | None = None  # None: the value may be missing

    def narrowed(self, literal: Literal, holds: bool) -> Condition:
        """Return the condition with one more test, for the rows for which it holds or does not hold."""
        if literal.test.kind == IS_MISSING:
            return replace(self, missing=holds)
        if literal.test.kind == AT_MOST:
            if holds:
                keep = self.at_most is not None and self.at_most.value <= literal.value
                return replace(self, at_most=self.at_most if keep else literal, missing=False)
            keep = self.above is not None and self.above.value >= literal.value
            return replace(self, above=self.above if keep else literal)
        if holds:
            return replace(self, equals=literal, missing=False)
        return replace(self, excluded=(*self.excluded, literal))

    def text(self) -> str:
        """Return the condition in words; empty if it says nothing."""
        if self.missing:
            return f"{self.name} is missing"
        if self.equals is not None:
            return self.equals.yes
        said = self._range() or self._exclusion()
        if self.missing is None and self.has_missing and said:
            return f"({said} or missing)"
        return said or (f"{self.name} is not missing" if self.missing is False else "")

    def excluded_in_order(self) -> list[Literal]:
        """Return the excluded categories: numbers first, then strings."""
        return sorted(self.excluded, key=lambda literal: (isinstance(literal.value, str), literal.value))

    def _range(self) -> str:
        if self.above is not None and self.at_most is not None:
            return f"{self.above.text} < {self.name} <= {self.at_most.text}"
        if self.above is not None:
            return self.above.no
        return self.at_most.yes if self.at_most is not None else ""

    def _exclusion(self) -> str:
        if len(self.excluded) == 1:
            return self.excluded[0].no
        texts = ", ".join(literal.text for literal in self.excluded_in_order())
        return f"{self.name} not in {{{texts}}}" if texts else ""


def leaf_conditions(model: Model) -> Iterator[tuple[int, list[Condition]]]:
    """Yield every leaf, from left to right, and what its path says about each feature, in order of the first test."""
    todo: list[tuple[int, dict[int, Condition]]] = [(0, {})]
    while todo:
        node, path = todo.pop()
        if model.is_leaf(node):
            yield node, list(path.values())
            continue
        literal = model.literal(node)
        f, yes_goes_left = literal.test.feature, literal.test.yes_goes_left
        before = path.get(f) or Condition(literal.name, model.features[f].has_missing)
        left, right = model.children(node)
        todo.append((right, {**path, f: before.narrowed(literal, not yes_goes_left)}))
        todo.append((left, {**path, f: before.narrowed(literal, yes_goes_left)}))


def rules(model: Model) -> Iterator[tuple[int, list[str]]]:
    """Yield every leaf, from left to right, and its conditions in words, at most one per feature."""
    for leaf, conditions in leaf_conditions(model):
        texts = [condition.text() for condition in conditions]
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


def export_text(model: Model) -> str:
    """Return the tree as indented lines, as scikit-learn's `export_text` draws it, with counts."""
    lines = []
    # Node, depth, what holds there, features that are known not to be missing there.
    todo: list[tuple[int, int, str, frozenset[int]]] = [(0, 0, "", frozenset())]
    while todo:
        node, depth, text, present = todo.pop()
        if text:
            lines.append("|   " * (depth - 1) + f"|--- {text}")
        if model.is_leaf(node):
            name = model.class_names[model.predicted(node)]
            lines.append("|   " * depth + f"|--- class: {name} ({model.summary(node)})")
            continue
        test = model.tree.test(node)
        (left, right), (on_left, on_right) = model.children(node), model.branches(node, present)
        known = present | {test.feature}  # after a yes, or after a no to `is missing`
        left_is_known = test.yes_goes_left or test.kind == IS_MISSING
        todo.append((right, depth + 1, on_right, present if left_is_known else known))
        todo.append((left, depth + 1, on_left, known if left_is_known else present))
    return "".join(f"{one_line(line)}\n" for line in lines)
