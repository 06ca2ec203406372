"""Features and columns of rows that are in parts: what the parts say, merged, and what follows for each of them.

In: the table of one part. Out: a `FeatureSummary` per feature, which merges; from those of all parts the features and
the Boolean columns that all rows at once would have, as far as the summaries of their values are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._data.columns import Columns, binary_columns, make_columns
from .._data.encoding import Category, categories_of, kind_of_types, numbers_of, object_types
from .._data.features import (
    Feature,
    check_categorical_features,
    check_no_category,
    missing_and_extreme,
    sorted_categories,
)
from .._data.table import BOOLEAN, CATEGORY, NUMBER, RawColumn, Table, read_table
from .target import RowTarget, Weighing
from .value_summary import MAX_VALUES, ValueSummary, merge, summarize

# So many different numbers among objects are no longer held as categories, which they are if strings come as well.
MAX_OBJECT_NUMBERS = 100_000


@dataclass(frozen=True)
class FeatureRules:
    """What the user says of the features."""

    names: tuple[str, ...] | None
    n_features: int
    categorical_features: Any
    max_thresholds: int | None

    @property
    def max_values(self) -> int | None:
        """Values that the summary of a feature may have; None: all."""
        return None if self.max_thresholds is None else max(MAX_VALUES, 4 * self.max_thresholds)

    def wanted(self) -> list[bool | None]:
        """Per feature: whether it must be one of categories; None: its type decides."""
        return check_categorical_features(self.categorical_features, self.n_features, self.names)


@dataclass(frozen=True, eq=False)
class FeatureSummary:
    """Of one feature on some rows."""

    types: frozenset[str]  # of its values, as `table.object_types` names them
    has_missing: bool
    has_extreme: bool = False
    categories: frozenset[Category] | None = None  # None: not looked for, or too many numbers
    values: ValueSummary | None = None  # of numbers

    @property
    def is_empty(self) -> bool:
        """Whether all values are missing: then the type, float64 or what is asked for, says nothing of the others."""
        return self.types == {NUMBER} and (self.values is None or len(self.values.values) == 0)


def read_part(X: Any, rules: FeatureRules, rows: NDArray[np.bool_] | None) -> Table:
    """The table of a part, or the rows of it where `rows` is true."""
    estimator = BaseEstimator()
    table = read_table(estimator, X, reset=True)
    names = getattr(estimator, "feature_names_in_", None)
    found = None if names is None else tuple(names)
    if len(table.names) != rules.n_features or found != rules.names:
        expected = f"{rules.n_features} features" if rules.names is None else f"the features {list(rules.names)}"
        raise ValueError(f"X must have {expected} in every partition, got {list(table.names)}")
    return table if rows is None else table.take(rows)


def summarize_features(
    X: Any, target: RowTarget, weighing: Weighing, rules: FeatureRules
) -> list[FeatureSummary] | None:
    """Of one part; None if none of its rows has weight."""
    if len(target.classes) == 0:
        return None
    table = read_part(X, rules, target.kept)
    columns = zip(table.names, table.split(), rules.wanted(), strict=True)
    return [_summarize_column(*column, target, len(weighing.classes), rules.max_values) for column in columns]


def _summarize_column(
    name: str, column: RawColumn, wanted: bool | None, target: RowTarget, n_classes: int, max_values: int | None
) -> FeatureSummary:
    is_object = column.kind is None
    types = object_types(column.values, name) if is_object and not wanted else frozenset({column.kind or CATEGORY})
    kind = CATEGORY if wanted or types & {CATEGORY} or not types else NUMBER
    if kind == CATEGORY and wanted is False:
        check_no_category(column, name)
        return FeatureSummary(frozenset({NUMBER}), True)
    categories, missing = categories_of(column, name) if kind == CATEGORY or is_object else (None, False)
    if kind == CATEGORY:
        return FeatureSummary(frozenset({CATEGORY}) if wanted else types, missing, False, frozenset(categories or ()))
    numbers = numbers_of(column, name)
    return FeatureSummary(
        types,
        *missing_and_extreme(numbers),
        _unless_many(frozenset(categories)) if categories is not None else None,
        summarize(numbers, target.classes, n_classes, target.threshold_weight, max_values),
    )


def _unless_many(categories: frozenset[Category]) -> frozenset[Category] | None:
    return categories if len(categories) <= MAX_OBJECT_NUMBERS else None


def merge_features(parts: Sequence[list[FeatureSummary] | None], max_values: int | None) -> list[FeatureSummary] | None:
    """Of the rows of all parts."""
    present = [part for part in parts if part is not None]
    return [_merge(feature, max_values) for feature in zip(*present, strict=True)] if present else None


def _merge(parts: Sequence[FeatureSummary], max_values: int | None) -> FeatureSummary:
    telling = [part for part in parts if not part.is_empty]
    types = frozenset[str]().union(*(part.types for part in telling or parts))
    with_values = [part.values for part in parts if part.values is not None]
    # Parts of nothing but missing objects have no numbers; parts of numbers by their type have no categories.
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
        merge(with_values, max_values) if with_values else None,
    )


def features_of(summaries: Sequence[FeatureSummary], names: Sequence[str]) -> tuple[Feature, ...]:
    """The features of all rows."""
    return tuple(_feature_of(*pair) for pair in zip(summaries, names, strict=True))


def _feature_of(summary: FeatureSummary, name: str) -> Feature:
    kind = kind_of_types(summary.types)
    if kind != CATEGORY:
        return Feature(name, kind, (), summary.has_missing, summary.has_extreme)
    if summary.categories is None:
        found = " and ".join(sorted(summary.types))
        raise TypeError(
            f"X must have one type in all partitions of {name!r}, got {found}; make them all strings, or all numbers"
        )
    return Feature(name, kind, sorted_categories(summary.categories), summary.has_missing)


def columns_of(
    summaries: Sequence[FeatureSummary], features: Sequence[Feature], max_thresholds: int | None
) -> tuple[Columns, bool]:
    """The columns of all rows, and whether these are the features themselves, all of them 0 or 1."""
    if _is_binary(summaries, features):
        return binary_columns(features), True

    def thresholds(f: int) -> NDArray[np.float64]:
        values = summaries[f].values
        return np.empty(0) if values is None else values.thresholds(max_thresholds)

    return make_columns(features, thresholds), False


def _is_binary(summaries: Sequence[FeatureSummary], features: Sequence[Feature]) -> bool:
    if any(feature.kind == CATEGORY or feature.has_missing for feature in features):
        return False
    return all(
        feature.kind == BOOLEAN or (summary.values is not None and summary.values.is_binary())
        for summary, feature in zip(summaries, features, strict=True)
    )


def threshold_error(summaries: Sequence[FeatureSummary]) -> float:
    """By how much of the rows the thresholds may be elsewhere than those of all rows at once; 0: not at all."""
    return max((summary.values.error for summary in summaries if summary.values is not None), default=0.0)
