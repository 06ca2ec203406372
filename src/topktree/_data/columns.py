"""Boolean columns: the literal that each stands for (`age <= 40`, `colour = red`, `income is missing`) and its bits.

In: features and their encoded values, float64 (n_features, n_rows). Out: `Columns`, and packed rows. A feature with
missing values has every test in two readings, with the missing values on either side: `income <= 40`, which is false
for them, and `income <= 40 or missing`. The one idea: the columns of a feature are adjacent and ascending, so that a
row's bits follow from a binary search and no byte matrix is ever held. Features that are ranked have columns, too, but
no bits: see `ranks.py`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core import hash_columns as core_hash_columns
from .._core import pack_features, pack_flags, redundant_columns
from .arrays import PART, BoolArray, FloatArray, IntArray, PackedRows, Rows
from .features import Feature
from .ranks import MISSING, RankedFeature
from .table import BOOLEAN, CATEGORY
from .thresholds import format_number, separators

# The test that a column applies to its feature.
AT_MOST = 0
EQUALS = 1
IS_MISSING = 2
AT_LEAST = 3
IN = 4  # a set of categories

# Tests whose columns have a bit set where they are false, so that a set bit sends a row right.
SET_IF_FALSE = (AT_MOST, IN)

# Categories that are not quoted: a word that means nothing else.
_PLAIN = re.compile(r"[^\W\d_][\w-]*")
_WORDS = frozenset(
    ["true", "false", "missing", "nan", "none", "null", "na", "inf", "infinity", "and", "or", "not", "in", "is"]
)


class Literal(NamedTuple):
    """The test that a column stands for."""

    feature: int
    test: int  # AT_MOST, EQUALS, IS_MISSING, AT_LEAST or IN
    value: float  # the threshold or the code; NaN for IS_MISSING and IN
    or_missing: bool  # the second reading of a test: it also holds for missing values; False for IS_MISSING
    categories: tuple[int, ...] = ()  # the codes of a set, ascending; empty unless the test is IN


@dataclass(frozen=True, eq=False)
class Columns:
    """The tests of the columns, grouped by feature: ascending values, these `or missing`, then `is missing`.

    The arrays have an entry for each column of bits. Those of ranked features are numbered with them, in the order of
    the features.
    """

    feature: IntArray
    test: NDArray[np.uint8]  # the other arrays are as in `Literal`
    value: FloatArray
    or_missing: BoolArray
    ranked: tuple[RankedFeature, ...] = ()  # ascending
    _known: dict[int, Literal] = field(default_factory=dict, init=False, repr=False)  # of columns that were asked about

    def __len__(self) -> int:
        return self.n_bits + sum(own.n_columns for own in self.ranked)

    @property
    def n_bits(self) -> int:
        """The number of columns of bits."""
        return len(self.feature)

    def take(self, kept: BoolArray | NDArray[np.int32] | IntArray | slice) -> Columns:
        """Return the columns of bits of a slice, of indices, or where `kept` is true."""
        return Columns(self.feature[kept], self.test[kept], self.value[kept], self.or_missing[kept])

    def joined(self, ranked: Sequence[RankedFeature]) -> Columns:
        """Return these columns of bits, and those of ranked features between them; sets follow the bits of theirs."""
        placed, n_before = [], 0
        bits_before = np.searchsorted(self.feature, [own.feature for own in ranked], side="right").tolist()
        for own, n_bits in zip(ranked, bits_before, strict=True):
            placed.append(replace(own, first=n_before + n_bits))
            n_before += own.n_columns
        return replace(self, ranked=tuple(placed))

    def place(self, column: int) -> tuple[RankedFeature | None, int]:
        """Return the ranked feature of a column and its index in it; None: its index among the columns of bits."""
        if not self.ranked:
            return None, column
        i = bisect_right(self.ranked, column, key=attrgetter("first"))
        if i > 0 and (j := column - self.ranked[i - 1].first) < self.ranked[i - 1].n_columns:
            return self.ranked[i - 1], j
        return None, column - sum([own.n_columns for own in self.ranked[:i]])

    def literal(self, column: int) -> Literal:
        """Return what a column stands for."""
        if column not in self._known:
            self.look_up([column])
        return self._known[column]

    def look_up(self, columns: Iterable[int]) -> None:
        """Find out what some columns stand for: many thresholds take hardly longer than one."""
        around: defaultdict[bool, dict[int, tuple[float, float]]] = defaultdict(dict)  # the values next to the gaps
        for column in columns:
            own, j = self.place(column)
            if own is None:
                test, or_missing = int(self.test[j]), bool(self.or_missing[j])
                self._known[column] = Literal(int(self.feature[j]), test, float(self.value[j]), or_missing)
                continue
            gap, or_missing = own.reading(j)
            test = IS_MISSING if gap < 0 else IN if own.order else AT_MOST
            codes = own.categories(gap) if test == IN else ()
            self._known[column] = Literal(own.feature, test, np.nan, or_missing, codes)
            if test == AT_MOST:
                around[own.is_whole][column] = own.value_at(gap), own.value_at(gap + 1)
        for whole, ends in around.items():
            low, high = np.array(list(ends.values())).T
            for column, value in zip(ends, separators(low, high, whole).tolist(), strict=True):
                self._known[column] = self._known[column]._replace(value=value)

    def bits(self, column: int, packed_rows: PackedRows, some: IntArray) -> BoolArray:
        """Return the bits of a column in some of the rows that are searched; of a threshold: true on its right."""
        own, j = self.place(column)
        if own is None:
            return np.asarray(packed_rows[some, j // 64] >> np.uint64(j % 64) & np.uint64(1) != 0)
        ranks, (gap, or_missing) = own.ranks[some], own.reading(j)
        is_missing = ranks == MISSING
        return is_missing if gap < 0 else np.asarray((ranks > gap) & ~(is_missing & or_missing))

    def second_readings(self) -> NDArray[np.int32] | None:
        """Return for each column of bits how many of them later its test is read again; 0 or None: nowhere."""
        if not self.or_missing.any():
            return None
        tests = list(zip(self.feature.tolist(), self.test.tolist(), self.value.tolist(), strict=True))
        first = {test: j for j, test in enumerate(tests) if not self.or_missing[j]}
        offsets = np.zeros(self.n_bits, dtype=np.int32)
        for j in np.flatnonzero(self.or_missing).tolist():
            if tests[j] in first:
                offsets[first[tests[j]]] = j - first[tests[j]]
        return offsets


def make_columns(
    features: Sequence[Feature], thresholds: Callable[[int], FloatArray], *, for_tree: bool = False
) -> Columns:
    """Return every column of every feature, given the thresholds of those that have some.

    For a tree, tests have both readings, and a boolean is cut like a number, so that "false" goes left.
    """

    def tests(f: int) -> tuple[int, FloatArray]:
        if features[f].has_thresholds:
            return AT_MOST, thresholds(f)
        if features[f].kind == BOOLEAN:
            return (AT_MOST, np.zeros(1)) if for_tree else (EQUALS, np.ones(1))
        return EQUALS, np.arange(len(features[f].categories), dtype=np.float64)

    return join_columns(features, tests, both_readings=for_tree)


def join_columns(
    features: Sequence[Feature], tests: Callable[[int], tuple[int, FloatArray]], *, both_readings: bool = False
) -> Columns:
    """Return the columns of all features; `tests` gives the test of each and its values."""
    parts: list[tuple[int, int, FloatArray, bool]] = []
    for f, feature in enumerate(features):
        test, values = tests(f)
        parts.append((f, test, values, False))
        if feature.has_missing:
            parts += [(f, test, values, True)] * both_readings
            parts.append((f, IS_MISSING, np.full(1, np.nan), False))
    sizes = np.array([len(values) for _, _, values, _ in parts], dtype=np.int64)
    return Columns(
        np.repeat(np.array([f for f, _, _, _ in parts], dtype=np.int64), sizes),
        np.repeat(np.array([test for _, test, _, _ in parts], dtype=np.uint8), sizes),
        np.concatenate([np.empty(0), *(values for _, _, values, _ in parts)]),
        np.repeat(np.array([or_missing for _, _, _, or_missing in parts], dtype=bool), sizes),
    )


def binary_columns(features: Sequence[Feature]) -> Columns:
    """Return one column per feature, for features of 0 and 1 only."""
    n = len(features)
    return Columns(
        np.arange(n, dtype=np.int64), np.full(n, AT_MOST, dtype=np.uint8), np.zeros(n), np.zeros(n, dtype=bool)
    )


def by_feature(encoded: NDArray[Any], features: Sequence[Feature]) -> FloatArray:
    """Return the encoded table (n_rows, n_features) as contiguous float64 (n_features, n_rows), without infinities."""
    result = np.ascontiguousarray(encoded.T, dtype=np.float64)
    if any(feature.has_extreme for feature in features):  # infinities count as the largest float64
        largest = np.finfo(np.float64).max
        result = np.clip(result, -largest, largest)
    return result


def pack(encoded: FloatArray, columns: Columns) -> PackedRows:
    """Return packed rows; for AT_MOST a bit is set where the test is false, so that a set bit sends a row right."""
    return pack_features(features=encoded, **_core_arguments(columns))


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
    if len(columns) == 0:
        return np.empty(0, dtype=bool)
    return redundant_hashes(hash_columns(encoded, columns))


def hash_columns(encoded: FloatArray, columns: Columns) -> PackedRows:
    """Return a hash per column and one of its complement, (n_columns + 1, 4); the last row is that of a constant 1.

    Equal columns have equal hashes, but only within one call: these depend on all values of the rows.
    """
    own = core_hash_columns(features=encoded, **_core_arguments(columns))
    return np.hstack([own, own ^ own[-1]])


def merge_hashes(parts: Sequence[PackedRows]) -> PackedRows:
    """Return the hashes of the columns on the rows of all parts, given those of every part."""
    by_column = np.stack([part.reshape(-1, 2) for part in parts], axis=1)
    digests = b"".join(sha256(hashes.tobytes()).digest()[:16] for hashes in by_column)
    return np.frombuffer(digests, dtype=np.uint64).reshape(parts[0].shape)


def redundant_hashes(hashes: PackedRows) -> BoolArray:
    """Return which columns are constant, or equal or opposite to an earlier one, given their hashes."""
    return redundant_columns(hashes=hashes).view(np.bool_)


def hash_rows(rows: PackedRows, classes: NDArray[np.int32], ranked: Sequence[RankedFeature] = ()) -> NDArray[np.uint64]:
    """Return a hash per row that depends on the row's columns and class only."""
    hashes = _splitmix64(classes.astype(np.uint64))
    for words in (*rows.T, *(own.ranks for own in ranked)):
        hashes = _splitmix64(hashes ^ words)
    return hashes


def _splitmix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def is_true(values: NDArray[Any], test: int, value: float, categories: Sequence[int] = ()) -> BoolArray:
    """Return for which encoded values a test is true. Only `is missing` is true for a missing value."""
    if test == AT_MOST:
        return np.asarray(values <= value)
    if test == IN:
        return np.isin(values, categories)
    if test == AT_LEAST:
        return np.asarray(values >= value)
    return np.asarray(values == value if test == EQUALS else np.isnan(values))


def value_text(feature: Feature, value: float) -> str:
    """Return what a test compares its feature with, as people read it: a number, a category, True or False."""
    if feature.kind == BOOLEAN:
        return str(value == 1)
    if feature.kind != CATEGORY:
        return format_number(value)
    category = feature.categories[int(value)]
    if isinstance(category, str):
        is_plain = _PLAIN.fullmatch(category) and category.lower() not in _WORDS and not feature.ordered
        return category if is_plain else json.dumps(category, ensure_ascii=False)
    return format_number(category) if isinstance(category, float) else str(category)


def set_text(feature: Feature, categories: Iterable[int]) -> str:
    """Return a set of categories as people read it."""
    return f"{{{', '.join(value_text(feature, code) for code in categories)}}}"


def _core_arguments(columns: Columns) -> dict[str, Any]:
    """Return the groups of columns that the core packs: a feature's first readings, its second ones, `is missing`."""
    kind = np.where(columns.test == IS_MISSING, 2, columns.or_missing.astype(np.int64))
    group, is_first = 3 * columns.feature + kind, np.ones(len(columns), dtype=bool)
    np.not_equal(group[1:], group[:-1], out=is_first[1:])
    (first,) = is_first.nonzero()
    return {
        "entries": columns.value,
        "offsets": np.append(first, len(columns)),
        "feature": columns.feature[first],
        "test": columns.test[first],
        "or_missing": columns.or_missing[first].astype(np.uint8),
    }


def _zeros_and_ones(X: NDArray[Any]) -> Rows | None:
    """Return the rows if every value is 0 or 1: bytes as they are, other types packed part by part. Else None."""
    if X.dtype.itemsize == 1 and X.flags.c_contiguous:
        flags: NDArray[np.uint8] = X.view(np.uint8)
        return flags if X.dtype == np.bool_ or flags.max() <= 1 else None
    packed = np.empty((len(X), -(-X.shape[1] // 64)), dtype=np.uint64)
    step = max(1, PART // X.shape[1])  # the first other value ends it
    for start in range(0, len(X), step):
        part = X[start : start + step]
        if not np.all((part == 0) | (part == 1)):
            return None
        packed[start : start + step] = pack_flags(np.ascontiguousarray(part, dtype=np.uint8))
    return packed
