"""Features and columns of rows that are in parts.

In: the table of one part. Out: a `FeatureSummary` per feature, which merges; from those of all parts the features and
the Boolean columns that all rows in one place would have, as far as the summaries of their values are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._data.arrays import BoolArray, FloatArray
from .._data.columns import Columns, binary_columns, make_columns
from .._data.encoding import Category, categories_of, kind_of_types, numbers_of, object_types
from .._data.features import Feature, category_feature, check_no_category, check_no_dates, missing_and_extreme
from .._data.table import BOOLEAN, CATEGORY, NUMBER, RawColumn, Table, read_table
from .._data.thresholds import Target
from .._runtime.checks import short
from .cluster import sized
from .target import RowTarget, Weighing
from .value_summary import ValueSummary, merge, summarize

# Different numbers among objects that are kept in case strings of other parts make them categories.
MAX_OBJECT_NUMBERS = 100_000


@dataclass(frozen=True, eq=False)
class PartRules:
    """The rules by which every part is read."""

    weighing: Weighing
    names: tuple[str, ...] | None
    is_category: list[bool | None]  # whether the user wants a feature to be a category; None: its type decides
    max_values: int | None  # that the summary of a feature may have; None: all

    def read_target(self, X: Any, y: Any, sample_weight: Any, part: int) -> RowTarget:
        """Return the target of the part with this number."""
        for name, column in (("y", y), ("sample_weight", sample_weight)):
            if column is not None and len(column) != len(X):
                found = f"{len(column)} for {len(X)} in partition {part}"
                raise ValueError(f"{name} must have the rows of X in every partition, got {found}")
        return self.weighing.read(y, sample_weight)

    def boundary_target(self, target: RowTarget) -> Target:
        """Return the classes for placing thresholds; one class for all rows where every threshold is kept."""
        if self.max_values is None:
            return Target(np.zeros_like(target.classes), 1)
        return self.weighing.boundary_target(target.classes)

    def read_table(self, X: Any, rows: BoolArray | None) -> Table:
        """Return the table of a part, or its rows where `rows` is true."""
        estimator = BaseEstimator()
        table = read_table(estimator, X, reset=True)
        names = getattr(estimator, "feature_names_in_", None)
        found = None if names is None else tuple(names)
        if len(table.names) != len(self.is_category) or found != self.names:
            expected = (
                f"{len(self.is_category)} features" if self.names is None else f"the features {short(list(self.names))}"
            )
            raise ValueError(f"X must have {expected} in every partition, got {short(list(table.names))}")
        return table if rows is None else table.take(rows)


@sized
@dataclass(frozen=True, eq=False)
class FeatureSummary:
    """The values of one feature on some rows."""

    types: frozenset[str]  # kinds of the values, see `encoding.object_types`
    has_missing: bool
    has_extreme: bool = False
    categories: frozenset[Category] | None = None  # None: not collected, or too many numbers
    order: tuple[Any, ...] | None = None  # of an ordered category
    values: ValueSummary | None = None  # of numbers

    @property
    def is_empty(self) -> bool:
        """Tell whether all values are missing: then the type says nothing about other parts."""
        return self.types == {NUMBER} and (self.values is None or len(self.values.values) == 0)


def summarize_features(rules: PartRules, X: Any, y: Any, sample_weight: Any, part: int) -> list[FeatureSummary] | None:
    """Return the summary of each feature of one part; None if none of its rows has weight."""
    target = rules.read_target(X, y, sample_weight, part)
    if len(target.classes) == 0:
        return None
    table = rules.read_table(X, target.kept)
    columns = zip(table.names, table.split(), rules.is_category, strict=True)
    return [_summarize_column(*column, target, rules) for column in columns]


def _summarize_column(
    name: str, column: RawColumn, wanted: bool | None, target: RowTarget, rules: PartRules
) -> FeatureSummary:
    is_object = column.kind is None
    types = object_types(column.values, name) if is_object and not wanted else frozenset({column.kind or CATEGORY})
    kind = CATEGORY if wanted or types & {CATEGORY} or not types else NUMBER
    if kind == CATEGORY and wanted is False:
        check_no_category(column, name)
        return FeatureSummary(frozenset({NUMBER}), True)
    categories, missing = categories_of(column, name) if kind == CATEGORY or is_object else (None, False)
    if kind == CATEGORY:
        if is_object and wanted is None:
            check_no_dates(categories or (), name)
        found = frozenset({CATEGORY}) if wanted else types
        return FeatureSummary(found, missing, False, frozenset(categories or ()), column.order)
    numbers, boundary = numbers_of(column, name), rules.boundary_target(target)
    return FeatureSummary(
        types,
        *missing_and_extreme(numbers),
        _unless_many(frozenset(categories)) if categories is not None else None,
        None,
        summarize(numbers, boundary, target.threshold_weight, rules.max_values),
    )


def _unless_many(categories: frozenset[Category]) -> frozenset[Category] | None:
    return categories if len(categories) <= MAX_OBJECT_NUMBERS else None


def merge_features(parts: Sequence[list[FeatureSummary] | None], max_values: int | None) -> list[FeatureSummary] | None:
    """Return the summaries of the rows of all parts."""
    present = [part for part in parts if part is not None]
    return [_merge(feature, max_values) for feature in zip(*present, strict=True)] if present else None


def _merge(parts: Sequence[FeatureSummary], max_values: int | None) -> FeatureSummary:
    telling = [part for part in parts if not part.is_empty]
    types = frozenset[str]().union(*(part.types for part in telling or parts))
    with_values = [part.values for part in parts if part.values is not None]
    # Parts whose objects are all missing have no numbers; parts whose type is a number have no categories.
    categories: frozenset[Category] | None = frozenset()
    for part in telling:
        categories = None if categories is None or part.categories is None else categories | part.categories
    if categories is not None and CATEGORY not in types:
        categories = _unless_many(categories)
    return FeatureSummary(
        types,
        any(part.has_missing for part in parts),
        any(part.has_extreme for part in parts),
        categories,
        _common_order(telling),
        merge(with_values, max_values) if with_values else None,
    )


def _common_order(parts: Sequence[FeatureSummary]) -> tuple[Any, ...] | None:
    """Return the order of an ordered category, which all parts must have."""
    orders = {part.order for part in parts}
    if len(orders) > 1:
        raise TypeError(f"X must have one order of a category in all partitions, got {len(orders)} different ones")
    return orders.pop() if orders else None


def feature_of(summary: FeatureSummary, name: str) -> Feature:
    """Return a feature of all rows."""
    kind = kind_of_types(summary.types)
    if kind != CATEGORY:
        return Feature(name, kind, (), summary.has_missing, summary.has_extreme)
    if summary.categories is None:
        found = " and ".join(sorted(summary.types))
        raise TypeError(
            f"X must have one type in all partitions of {short(name)}, got {found}; make them all strings, or all "
            "numbers"
        )
    return category_feature(name, summary.categories, summary.has_missing, summary.order)


def columns_of(
    summaries: Sequence[FeatureSummary], features: Sequence[Feature], max_thresholds: int | None
) -> tuple[Columns, bool]:
    """Return the columns of all rows, and whether they are the features themselves, all of them 0 or 1."""
    if all(_is_binary(*pair) for pair in zip(summaries, features, strict=True)):
        return binary_columns(features), True

    def thresholds(f: int) -> FloatArray:
        values = summaries[f].values
        return np.empty(0) if values is None else values.thresholds(max_thresholds)

    return make_columns(features, thresholds, for_tree=True), False


def _is_binary(summary: FeatureSummary, feature: Feature) -> bool:
    if feature.kind == CATEGORY or feature.has_missing:
        return False
    return feature.kind == BOOLEAN or (summary.values is not None and summary.values.is_binary())


def threshold_error(summaries: Sequence[FeatureSummary]) -> float:
    """Return the fraction of the rows by which thresholds may be misplaced; 0: they are exact."""
    return max((summary.values.error for summary in summaries if summary.values is not None), default=0.0)
