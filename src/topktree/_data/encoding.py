"""Encode one raw column as numbers: NaN for a missing value, the category's index for a category, 1 for true.

In: a `RawColumn`. Out: float64 numbers, or categories and a code per row. The one idea: a category is known by its
`canonical` value, so that 1 and 1.0 are one category whatever type of table they come from.
"""

from __future__ import annotations

import datetime
import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.checks import short
from .arrays import PART, FloatArray, IntArray
from .table import BOOLEAN, CATEGORY, NUMBER, RawColumn, column_type_error

Category = str | int | float  # or a bool, which is an int

MISSING = 0  # the code of a missing value; category i has the code i + 1

_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN of any type, or pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (numbers.Number, np.datetime64, np.timedelta64)) and bool(value != value)


def canonical(value: Any) -> Category:
    """Return the category of a value: the same for equal numbers, and the text of anything but numbers and strings.

    A category that is a boolean stays one.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, (Decimal, Fraction)):
        value = float(value)
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        return value
    return int(value) if isinstance(value, (int, float)) else str(value)


def object_types(values: NDArray[Any], name: str) -> frozenset[str]:
    """Return the kinds of the values of an object column; CATEGORY alone if there is a string."""
    types = set(map(type, values))
    if str in types:
        return frozenset({CATEGORY})
    types = {type(value) for value in values if not is_missing(value)}
    if types and all(issubclass(t, _DATES) or t.__name__ == "Period" for t in types):
        raise column_type_error(types.pop().__name__, name, True)
    kinds = set()
    for t in types:
        if issubclass(t, (bool, np.bool_)):
            kinds.add(BOOLEAN)
        else:
            kinds.add(NUMBER if issubclass(t, (numbers.Number, np.number)) else CATEGORY)
    return frozenset(kinds)


def kind_of_types(types: frozenset[str]) -> str:
    """Return the kind of a column that holds these kinds of values; without any value, CATEGORY."""
    if not types or CATEGORY in types:
        return CATEGORY
    return BOOLEAN if types == {BOOLEAN} else NUMBER


def numbers_of(column: RawColumn, name: str) -> FloatArray:
    """Return the column as float64."""
    if column.values.dtype != object:
        return column.values.astype(np.float64)
    result = np.full(len(column.values), np.nan)
    for i, value in enumerate(column.values):
        if is_missing(value):
            continue
        try:
            if isinstance(value, (str, bytes)):
                raise TypeError
            result[i] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"X must have numbers in {short(name)}, got {short(value)}") from None
    return result


def category_codes(column: RawColumn, name: str) -> tuple[IntArray, list[Category]]:
    """Return a code per row, MISSING or i + 1, and the categories i in order of appearance."""
    codes, values = _Codes(), column.values
    if values.dtype != object:
        distinct, inverse = np.unique(values, return_inverse=True)
        return np.array([codes[value] for value in distinct.tolist()], dtype=np.int64)[inverse], list(codes.categories)
    numbered = np.empty(len(values), dtype=np.int64)
    try:
        for start in range(0, len(values), PART):  # NumPy holds the interpreter during each call
            part = values[start : start + PART]
            numbered[start : start + PART] = np.fromiter(map(codes.__getitem__, part), np.int64, len(part))
    except TypeError as error:
        raise TypeError(
            f"X must hold numbers and strings in {short(name)}: argument must be a string or a number ({error})"
        ) from None
    return numbered, list(codes.categories)


def categories_of(column: RawColumn, name: str) -> tuple[list[Category], bool]:
    """Return the categories of a column in order of appearance, and whether values are missing."""
    codes, categories = category_codes(column, name)
    return categories, bool((codes == MISSING).any())


class _Codes(dict[Any, int]):
    """A dict from value to code that numbers new categories as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.categories: dict[Category, int] = {}

    def __missing__(self, value: Any) -> int:
        if is_missing(value):
            return MISSING
        code = self.categories.setdefault(canonical(value), len(self.categories) + 1)
        if isinstance(value, (str, int, float)):  # equal values of other types may have different texts
            self[value] = code
        return code
