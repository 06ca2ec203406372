"""Features: learned from training data, then used to encode every later table in the same way.

In: a `Table`. Out: a `Feature` per column; the encoded matrix (n_rows, n_features). The one idea: a missing value is
NaN, a category its index among the categories of the training data, a new one `UNSEEN`, true is 1; so columns and
trees deal with numbers only.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.checks import short, shorten
from .arrays import FloatArray
from .encoding import (
    Category,
    canonical,
    categories_of,
    category_codes,
    is_missing,
    kind_of_types,
    numbers_of,
    object_types,
)
from .table import BOOLEAN, CATEGORY, NUMBER, RawColumn, Table

KINDS = (NUMBER, BOOLEAN, CATEGORY)

# The code of a category that the training data did not have: it is neither equal to nor below any other code.
UNSEEN = np.inf
# A table with this many rows or more gets a warning if most of them have a category of their own.
MANY_ROWS = 20
# Fewer dates than this in a column of text may be categories.
FEW_DATES = 3
_DATE = re.compile(
    r"(\d{4}([-/])\d{1,2}\2\d{1,2}|\d{1,2}([./])\d{1,2}\3\d{4})"  # 2020-01-31, 2020/01/31, 31.01.2020, 31/01/2020
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)
# A warning about new values names at most this many features.
MANY_WARNINGS = 10
# Every integer up to this one is exact as a float64, however it is converted.
LARGEST_EXACT_INT = 2.0**53


@dataclass(frozen=True)
class Feature:
    """A column of the training data: its name, its kind and the values to expect in it.

    Examples
    --------
    >>> from topktree import Binarizer
    >>> age, colour = Binarizer().fit([[18, "red"], [None, "blue"], [35, "red"]]).features_
    >>> age.kind, age.has_missing, colour.kind, colour.categories
    ('number', True, 'category', ('blue', 'red'))
    """

    name: str
    kind: str  # one of KINDS
    categories: tuple[Category, ...] = ()  # in their own order if they have one; else numbers, then strings, sorted
    has_missing: bool = False
    has_extreme: bool = False  # infinities, or numbers beyond LARGEST_EXACT_INT
    ordered: bool = False  # a category whose values have an order

    @property
    def has_thresholds(self) -> bool:
        """True if its tests are `value <= threshold`; the thresholds of an ordered category are indices."""
        return self.kind == NUMBER or self.ordered


def learn_features(table: Table, categorical_features: Any, feature_names: Sequence[str] | None) -> tuple[Feature, ...]:
    """Return the features of training data."""
    is_category = check_categorical_features(categorical_features, len(table.names), feature_names)
    if table.array is not None and True not in is_category:
        if _is_plain(table.array):
            return _plain_features(table.names, BOOLEAN if table.array.dtype.kind == "b" else NUMBER)
        numbers = zip(table.names, *missing_and_extreme(table.array), strict=True)
        return tuple(Feature(name, NUMBER, (), *flags) for name, *flags in numbers)
    columns = zip(table.names, table.split(), is_category, strict=True)
    return tuple(_learn_feature(*column) for column in columns)


def encode(table: Table, features: Sequence[Feature]) -> NDArray[Any]:
    """Return the table as numbers, (n_rows, n_features): the array itself where nothing needs to be encoded."""
    kinds = {feature.kind for feature in features}
    if table.array is not None and (kinds == {NUMBER} or (kinds == {BOOLEAN} and _holds_booleans(table.array))):
        return table.array
    encoded = np.empty((len(features), table.n_rows))
    for row, column, feature in zip(encoded, table.split(), features, strict=True):
        row[:] = _category_indices(column, feature) if feature.kind == CATEGORY else numbers_of(column, feature.name)
        if feature.kind == BOOLEAN and not _holds_booleans(row):
            odd = next(value for value in row.tolist() if not math.isnan(value) and value not in (0, 1))
            raise ValueError(f"X must have booleans in {short(feature.name)}, as in fit, got {odd}")
    return encoded.T


def one_line(text: str) -> str:
    """Return the text with line breaks and other control characters as Python writes them."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def warn_about_new_values(features: Sequence[Feature], encoded: NDArray[Any], used: Sequence[int]) -> None:
    """Warn once, with a line per feature, about values that the training data did not have.

    `used` are the features that matter for a prediction.
    """
    lines = []
    for f in used:
        feature, values, found = features[f], encoded[:, f], []
        n_missing = 0 if feature.has_missing or values.dtype.kind != "f" else int(np.count_nonzero(np.isnan(values)))
        if n_missing:
            rows = f"{n_missing:,} row{'s' if n_missing > 1 else ''}"
            found.append(f"{shorten(feature.name)} is missing in {rows}; training had no missing values")
        n_new = int(np.count_nonzero(values == UNSEEN)) if feature.kind == CATEGORY else 0
        if n_new:
            rows = f"{n_new:,} row{'s' if n_new > 1 else ''}"
            found.append(f"{'It' if found else shorten(feature.name)} has a value in {rows} that training did not have")
        if found:
            lines.append(one_line(". ".join(found)))
    if lines:
        more = len(lines) - MANY_WARNINGS
        tail = [f"{more:,} more of this kind"] if more > 0 else []
        warnings.warn("\n".join(lines[:MANY_WARNINGS] + tail), UserWarning, stacklevel=4)


def warn_about_categories(features: Sequence[Feature], n_rows: int) -> None:
    """Warn about categories that are probably not meant: almost one per row, or numbers among texts."""
    for feature in features:
        if feature.kind != CATEGORY:
            continue
        n_categories = len(feature.categories)
        if n_rows >= MANY_ROWS and n_categories > n_rows / 2 and not feature.ordered:
            warnings.warn(
                f"X has {n_categories:,} categories in {short(feature.name)}, in {n_rows:,} rows. If these are "
                "numbers, convert the column to numbers; if they identify the rows, leave it out: every category is a "
                "column to search.",
                UserWarning,
                stacklevel=2,
            )
        texts = [category for category in feature.categories if isinstance(category, str)]
        if 0 < len(texts) < n_categories:
            number = next(category for category in feature.categories if not isinstance(category, str))
            warnings.warn(
                f"X has texts and other values among the categories of {short(feature.name)}, such as "
                f"{short(texts[0])} and {short(number)}: {short(number)} and {short(str(number))} are different "
                "categories.",
                UserWarning,
                stacklevel=2,
            )


def check_categorical_features(
    categorical_features: Any, n_features: int, feature_names: Sequence[str] | None
) -> list[bool | None]:
    """Return for each feature whether the user wants it to be a category; None where its type decides."""
    allowed = '"from_dtype", None, or a list of names, of indices or of one bool per feature'
    message = f"categorical_features must be {allowed}, got {short(categorical_features)}"
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return [None] * n_features
    if categorical_features is None:
        return [False] * n_features
    try:
        listed = np.asarray(categorical_features)
    except ValueError:
        raise ValueError(message) from None
    if listed.ndim != 1:
        raise ValueError(message)
    if listed.dtype.kind == "b":
        if len(listed) != n_features:
            raise ValueError(f"{message}: {len(listed)} bools for {n_features} features")
        return [bool(wanted) for wanted in listed]
    names = [] if feature_names is None else list(feature_names)
    indices = set()
    for entry in listed.tolist():
        if isinstance(entry, str) and entry not in names:
            raise ValueError(f"{message}: X has no feature named {short(entry)}")
        index = names.index(entry) if isinstance(entry, str) else entry
        if not isinstance(index, int) or not -n_features <= index < n_features:
            raise ValueError(f"{message}: there is no feature {short(entry)} among {n_features}")
        indices.add(index % n_features)
    return [i in indices for i in range(n_features)]


def check_no_category(column: RawColumn, name: str) -> None:
    """Refuse text in a column that `categorical_features` leaves out; missing values are allowed."""
    example = next((value for value in column.values if not is_missing(value)), None)
    if example is not None:
        raise ValueError(
            f"X must have numbers in {short(name)}, which categorical_features leaves out, got {short(example)}; list "
            'it there, or leave categorical_features at "from_dtype"'
        )


def check_no_dates(categories: Sequence[Category], name: str) -> None:
    """Refuse text that holds dates: every day would be a category."""
    if len(categories) >= FEW_DATES and all(isinstance(c, str) and _DATE.fullmatch(c) for c in categories):
        raise TypeError(
            f"X must have numbers, booleans or categories in {short(name)}, got dates as text such as "
            f"{short(categories[0])}: turn them into numbers, or list the column in categorical_features"
        )


def category_feature(
    name: str, categories: Iterable[Category], has_missing: bool, order: Sequence[Any] | None
) -> Feature:
    """Return the feature of a category with these values; `order` has all that it may have, if they are ordered."""
    if order is not None:
        return Feature(name, CATEGORY, tuple(map(canonical, order)), has_missing, ordered=True)
    in_order = sorted(categories, key=lambda c: (isinstance(c, str), c))
    return Feature(name, CATEGORY, tuple(in_order), has_missing)


def missing_and_extreme(values: NDArray[Any]) -> tuple[Any, Any]:
    """Return whether a number is missing, and whether one is extreme: a bool, or for (n_rows, n_features) a list."""
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = (reduce(values, axis=0).astype(np.float64) for reduce in (np.fmin.reduce, np.fmax.reduce))
    return np.isnan(values).any(axis=0).tolist(), ((low < -LARGEST_EXACT_INT) | (high > LARGEST_EXACT_INT)).tolist()


def _is_plain(values: NDArray[Any]) -> bool:
    """Return whether no number is missing or extreme."""
    if values.dtype.itemsize == 1:
        return True
    with np.errstate(invalid="ignore"):
        low, high = float(values.min()), float(values.max())
    return low >= -LARGEST_EXACT_INT and high <= LARGEST_EXACT_INT  # false for NaN


@lru_cache(maxsize=4)
def _plain_features(names: tuple[str, ...], kind: str) -> tuple[Feature, ...]:
    """Return features without missing or extreme values."""
    return tuple(Feature(name, kind) for name in names)


def _learn_feature(name: str, column: RawColumn, wanted: bool | None) -> Feature:
    kind = CATEGORY if wanted else column.kind or kind_of_types(object_types(column.values, name))
    if wanted is False and kind == CATEGORY:
        check_no_category(column, name)
        kind = NUMBER
    if kind == CATEGORY:
        categories, has_missing = categories_of(column, name)
        if wanted is None and column.kind is None:
            check_no_dates(categories, name)
        return category_feature(name, categories, has_missing, column.order)
    return Feature(name, kind, (), *missing_and_extreme(numbers_of(column, name)))


def _category_indices(column: RawColumn, feature: Feature) -> FloatArray:
    """Return the index of each value among the feature's categories: NaN if missing, UNSEEN if it is not among them."""
    codes, categories = category_codes(column, feature.name)
    index = {category: float(i) for i, category in enumerate(feature.categories)}
    return np.array([np.nan, *(index.get(category, UNSEEN) for category in categories)])[codes]


def _holds_booleans(values: NDArray[Any]) -> bool:
    """Return whether there is nothing but 0, 1 and NaN."""
    return values.dtype == np.bool_ or bool(np.all((values == 0) | (values == 1) | np.isnan(values)))
