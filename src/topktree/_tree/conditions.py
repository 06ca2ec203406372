"""The values of each feature that a path of a tree allows.

In: a `Model`. Out: for every node, a `Condition` per feature that its path tests. The one idea: a path may test a
feature several times, but allows one set of values, which every test on the way narrows: numbers in a range or some of
the categories, missing values or not, new categories or not. Texts, rules, SQL and report are made from these sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .._data.columns import AT_MOST, EQUALS, IN, IS_MISSING, set_text, value_text
from .._data.features import UNSEEN, Feature
from .._data.table import BOOLEAN, CATEGORY, NUMBER
from .naming import Model
from .tree import NodeTest


@dataclass(frozen=True)
class Condition:
    """The values of one feature that a path allows. Precondition: the path has tested the feature."""

    feature: Feature
    above: float | None = None  # a threshold
    at_most: float | None = None
    excluded: frozenset[int] = frozenset()  # codes of categories; 0 or 1 of a boolean
    is_set: bool = False  # True: `in {...}` was answered with yes
    present: bool = True  # False: `is missing` was answered with yes
    missing: bool = True
    unseen: bool = True  # categories that the training data did not have

    def narrowed(self, test: NodeTest, holds: bool) -> Condition:
        """Return the condition with one more test, for the values for which it holds or does not hold."""
        narrower = replace(
            self, missing=self.missing and test.missing == holds, unseen=self.unseen and test.unseen == holds
        )
        if test.kind == IS_MISSING:
            return replace(narrower, present=self.present and not holds)
        if self.feature.kind == BOOLEAN:
            return replace(narrower, excluded=self.excluded | {int(holds)})
        if test.kind == AT_MOST:
            if holds:
                return replace(narrower, at_most=min(test.value, math.inf if self.at_most is None else self.at_most))
            return replace(narrower, above=max(test.value, -math.inf if self.above is None else self.above))
        codes = frozenset(test.categories if test.kind == IN else [int(test.value)])
        excluded = self.excluded | (self._codes() - codes if holds else codes)
        return replace(narrower, excluded=excluded, is_set=self.is_set or (test.kind == IN and holds))

    def text(self) -> str:
        """Return the condition in words."""
        return self._with_missing(self._full())

    def text_of(self, value: float) -> str:
        """Return the condition in words, for a row with this encoded value: it says what a new value is treated as."""
        is_new = math.isnan(value) and not self.feature.has_missing
        if not is_new and not (value == UNSEEN and self.feature.kind == CATEGORY):
            return self.text()
        what = "is missing" if is_new else "is not among the training values"
        return f"{self.feature.name} {what} (treated as {self.treated_as()})"

    def treated_as(self) -> str:
        """Return the condition without the name of the feature, as in `> 20 and <= 40`."""
        low = [] if self.above is None else [f"> {value_text(self.feature, self.above)}"]
        high = [] if self.at_most is None else [f"<= {value_text(self.feature, self.at_most)}"]
        return " and ".join(low + high) or self._membership() or "present"

    def local_text(self, test: NodeTest, holds: bool) -> str:
        """Return what the last test on the path adds, given that this is the condition after it."""
        if test.kind == IS_MISSING:
            return f"{self.feature.name} is {'' if holds else 'not '}missing"
        if test.kind in (EQUALS, IN) or self.feature.kind == BOOLEAN:
            return self._with_missing(self._full(), in_brackets=False)
        return self._with_missing(
            f"{self.feature.name} {'<=' if holds else '>'} {value_text(self.feature, test.value)}", in_brackets=False
        )

    def allowed(self) -> list[int]:
        """Return the codes of the categories, or 0 and 1 of a boolean, that are allowed, ascending."""
        low = -math.inf if self.above is None else self.above
        high = math.inf if self.at_most is None else self.at_most
        return sorted(code for code in self._codes() - self.excluded if low < code <= high)

    def has_known_values(self) -> bool:
        """Return whether a value that training had is allowed, other than a missing one."""
        if self.feature.kind != NUMBER:
            return self.present and len(self.allowed()) > 0
        return self.present and (self.above is None or self.at_most is None or self.above < self.at_most)

    def _codes(self) -> frozenset[int]:
        return frozenset(range(2 if self.feature.kind == BOOLEAN else len(self.feature.categories)))

    def _full(self) -> str:
        if self.above is not None and self.at_most is not None:
            low, high = (value_text(self.feature, value) for value in (self.above, self.at_most))
            return f"{low} < {self.feature.name} <= {high}"
        said = self.treated_as() if self.above is not None or self.at_most is not None else self._membership()
        return f"{self.feature.name} {said}" if said else ""

    def _membership(self) -> str:
        if not self.excluded:
            return ""
        allowed = self.allowed()
        if len(allowed) == 1:
            return f"= {value_text(self.feature, allowed[0])}"
        if self.is_set:
            return f"in {set_text(self.feature, allowed)}"
        excluded = sorted(self.excluded)
        if len(excluded) == 1:
            return f"!= {value_text(self.feature, excluded[0])}"
        return f"not in {set_text(self.feature, excluded)}"

    def _with_missing(self, said: str, in_brackets: bool = True) -> str:
        """Return the text with its word about missing values, which only those features have that had some."""
        name = self.feature.name
        if self.missing and self.feature.has_missing and not self.has_known_values():
            return f"{name} is missing"
        if not self.feature.has_missing:
            return said
        if not self.missing:
            return said or f"{name} is not missing"
        if not said:
            return ""
        return f"({said} or missing)" if in_brackets else f"{said} or missing"


def walk_conditions(model: Model) -> Iterator[tuple[int, int, dict[int, Condition], str]]:
    """Yield every node in preorder: its number, its depth, the conditions of its path, and what the last one added.

    The conditions are by feature, in the order of their first test.
    """
    todo: list[tuple[int, int, dict[int, Condition], str]] = [(0, 0, {}, "")]
    while todo:
        node, depth, path, added = todo.pop()
        yield node, depth, path, added
        if model.is_leaf(node):
            continue
        test = model.tree.test(node)
        before = path.get(test.feature) or Condition(model.features[test.feature])
        for child, holds in zip(reversed(model.children(node)), (False, True), strict=True):
            after = before.narrowed(test, holds)
            todo.append((child, depth + 1, {**path, test.feature: after}, after.local_text(test, holds)))


def leaf_conditions(model: Model) -> Iterator[tuple[int, dict[int, Condition]]]:
    """Yield every leaf, from left to right, and the conditions of its path by feature."""
    return ((node, path) for node, _, path, _ in walk_conditions(model) if model.is_leaf(node))
