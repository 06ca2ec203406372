"""Boolean columns: the literal that each stands for (`age <= 40.5`, `colour = red`, `income is missing`) and its bits.

In: features and their encoded values, float64 (n_features, n_rows). Out: `Columns`, their texts, and packed rows. A
missing value makes every test false except `is missing`. The one idea: the columns of a feature are adjacent and
ascending, so that a row's bits follow from one binary search per feature and no byte matrix is ever held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import hash_columns as core_hash_columns
from .._core import pack_booleans, pack_features, pack_flags
from .arrays import BoolArray, FloatArray, IntArray, PackedRows, Rows
from .features import Feature
from .table import BOOLEAN, CATEGORY
from .thresholds import binary_threshold, format_number

# The test that a column applies to its feature.
AT_MOST = 0
EQUALS = 1
IS_MISSING = 2
AT_LEAST = 3

# Values of a table that are copied at once while it is packed.
_PART = 2**22


@dataclass(frozen=True, eq=False)
class Columns:
    """The tests of the Boolean columns, grouped by feature: values ascending, then `is missing`."""

    feature: IntArray
    test: NDArray[np.uint8]  # AT_MOST, EQUALS, IS_MISSING or AT_LEAST
    value: FloatArray  # the threshold or the code; NaN for IS_MISSING

    def __len__(self) -> int:
        return len(self.feature)

    def take(self, kept: BoolArray | NDArray[np.int32] | slice) -> Columns:
        """Return the columns of a slice, of indices, or where `kept` is true."""
        return Columns(self.feature[kept], self.test[kept], self.value[kept])


def make_columns(features: Sequence[Feature], thresholds: Callable[[int], FloatArray]) -> Columns:
    """Return every column of every feature, given the thresholds of the numeric ones."""

    def tests(f: int) -> tuple[int, FloatArray]:
        if features[f].kind == CATEGORY:
            return EQUALS, np.arange(len(features[f].categories), dtype=np.float64)
        return (EQUALS, np.ones(1)) if features[f].kind == BOOLEAN else (AT_MOST, thresholds(f))

    return join_columns(features, tests)


def join_columns(features: Sequence[Feature], tests: Callable[[int], tuple[int, FloatArray]]) -> Columns:
    """Return the columns of all features; `tests` gives the test of each and its values."""
    parts: list[tuple[int, int, FloatArray]] = []
    for f, feature in enumerate(features):
        parts.append((f, *tests(f)))
        if feature.has_missing:
            parts.append((f, IS_MISSING, np.full(1, np.nan)))
    sizes = [len(values) for _, _, values in parts]
    return Columns(
        np.repeat(np.array([f for f, _, _ in parts], dtype=np.int64), sizes),
        np.repeat(np.array([test for _, test, _ in parts], dtype=np.uint8), sizes),
        np.concatenate([values for _, _, values in parts]),
    )


def binary_columns(features: Sequence[Feature]) -> Columns:
    """Return one column per feature, for features of 0 and 1 only."""
    test = np.array([EQUALS if feature.kind == BOOLEAN else AT_MOST for feature in features], dtype=np.uint8)
    return Columns(np.arange(len(features), dtype=np.int64), test, np.where(test == EQUALS, 1.0, binary_threshold()))


def by_feature(encoded: NDArray[Any], features: Sequence[Feature]) -> FloatArray:
    """Return the encoded table (n_rows, n_features) as contiguous float64 (n_features, n_rows), without infinities."""
    result = np.ascontiguousarray(encoded.T, dtype=np.float64)
    if any(feature.has_extreme for feature in features):  # thresholds stay finite: none is above the largest float64
        largest = np.finfo(np.float64).max
        result = np.clip(result, -largest, largest)
    return result


def pack(encoded: FloatArray, columns: Columns) -> PackedRows:
    """Return packed rows; for AT_MOST a bit is set where the test is false, so that a set bit sends a row right."""
    return pack_features(features=encoded, **_core_arguments(columns, len(encoded)))


def packed(rows: Rows) -> PackedRows:
    """Return the rows packed; bytes must be 0 or 1."""
    return rows.view(np.uint64) if rows.dtype == np.uint64 else pack_flags(rows.view(np.uint8))


def pack_binary(encoded: NDArray[Any], features: Sequence[Feature]) -> tuple[Rows, Columns] | None:
    """Return a table (n_rows, n_features) of 0 and 1 only as rows, one column per feature; None for any other."""
    if any(feature.kind == CATEGORY or feature.has_missing for feature in features):
        return None
    rows = _zeros_and_ones(encoded)
    return None if rows is None else (rows, binary_columns(features))


def find_redundant(encoded: FloatArray, columns: Columns) -> BoolArray:
    """Return which columns are constant, or equal or opposite to an earlier one, on these rows."""
    return redundant_hashes(hash_columns(encoded, columns))


def hash_columns(encoded: FloatArray, columns: Columns) -> PackedRows:
    """Return a hash per column and one of its complement, (n_columns + 1, 4); the last row is that of a constant 1.

    Equal columns have equal hashes, but only within one call: these depend on all values of the rows.
    """
    own = core_hash_columns(features=encoded, **_core_arguments(columns, len(encoded)))
    return np.hstack([own, own ^ own[-1]])


def merge_hashes(parts: Sequence[PackedRows]) -> PackedRows:
    """Return the hashes of the columns on the rows of all parts, given those of every part."""
    by_column = np.stack([part.reshape(-1, 2) for part in parts], axis=1)
    digests = b"".join(sha256(hashes.tobytes()).digest()[:16] for hashes in by_column)
    return np.frombuffer(digests, dtype=np.uint64).reshape(parts[0].shape)


def redundant_hashes(hashes: PackedRows) -> BoolArray:
    """Return which columns are constant, or equal or opposite to an earlier one, given their hashes."""
    own, opposite = hashes[:, :2], hashes[:, 2:]
    # A column and its complement share the smaller hash of the two.
    smaller = (own[:, 0] < opposite[:, 0]) | ((own[:, 0] == opposite[:, 0]) & (own[:, 1] <= opposite[:, 1]))
    shared = np.where(smaller[:, None], own, opposite)
    _, first = np.unique(np.roll(shared, 1, axis=0), axis=0, return_index=True)  # the constant comes first
    redundant = np.ones(len(hashes), dtype=bool)
    redundant[first] = False
    return redundant[1:]


def hash_rows(rows: PackedRows, classes: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a hash per row that depends on the row's columns and class only."""
    hashes = _splitmix64(classes.astype(np.uint64))
    for words in rows.T:
        hashes = _splitmix64(hashes ^ words)
    return hashes


def _splitmix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def is_true(values: NDArray[Any], test: int, value: float) -> BoolArray:
    """Return for which encoded values a column's literal is true."""
    if test == AT_MOST:
        return np.asarray(values <= value)
    if test == AT_LEAST:
        return np.asarray(values >= value)
    return np.asarray(values == value if test == EQUALS else np.isnan(values))


def value_text(feature: Feature, value: float) -> str:
    """Return the text of the value in `feature = value`; a string that reads like a number is quoted."""
    if feature.kind == BOOLEAN:
        return "True"
    if feature.kind != CATEGORY:
        return format_number(value)
    category = feature.categories[int(value)]
    if isinstance(category, str) and any(str(c) == category for c in feature.categories if not isinstance(c, str)):
        return repr(category)
    return str(category)


def _core_arguments(columns: Columns, n_features: int) -> dict[str, Any]:
    tests_value = columns.test != IS_MISSING
    equality, tests_missing = np.zeros((2, n_features), dtype=np.uint8)
    equality[columns.feature[columns.test == EQUALS]] = 1
    tests_missing[columns.feature[~tests_value]] = 1
    sizes = np.bincount(columns.feature[tests_value], minlength=n_features)
    return {
        "entries": columns.value[tests_value],
        "offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "equality": equality,
        "tests_missing": tests_missing,
    }


def _zeros_and_ones(X: NDArray[Any]) -> Rows | None:
    """Return the rows if every value is 0 or 1: bytes as they are, other types packed part by part. Else None."""
    if X.dtype.itemsize == 1 and X.flags.c_contiguous:
        flags: NDArray[np.uint8] = X.view(np.uint8)
        return flags if X.dtype == np.bool_ or flags.max() <= 1 else None
    some_rows = X[:: max(1, len(X) // 64)]
    if not np.all((some_rows == 0) | (some_rows == 1)):
        return None
    packed = np.empty((len(X), -(-X.shape[1] // 64)), dtype=np.uint64)
    step = max(1, _PART // X.shape[1])
    for start in range(0, len(X), step):
        part = X[start : start + step]
        if not np.all((part == 0) | (part == 1)):
            return None
        packed[start : start + step] = pack_booleans(np.ascontiguousarray(part, dtype=np.uint8))
    return packed
