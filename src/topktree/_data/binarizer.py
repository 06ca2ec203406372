"""Features to Boolean columns, each with the literal it stands for: `age <= 40.5`, `colour = red`, `income is missing`.

In: encoded features (see `table`), float64 (n_features, n_rows). Out: `Columns`, and rows packed 64 columns to a word
for the engine. Every test but `is missing` is false of a missing value. The one idea: columns of one feature stand
together and ascend, so that a row's bits follow from one binary search per feature and no byte matrix is ever held.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from .._runtime import checks
from .._search import engine
from .._search.engine import PackedRows, Rows
from .._search.objective import FloatArray, IntArray, threshold_weights
from .guess import guess_thresholds
from .labels import number_labels, read_labels, read_weights
from .table import BOOLEAN, CATEGORY, Feature, Table, encode, learn_features, read_table, unique_names, warn_of_names
from .thresholds import Target, format_number, half, paper_thresholds, quantile_thresholds, threshold_texts

# What a column asks of its feature.
AT_MOST = 0
EQUALS = 1
IS_MISSING = 2
AT_LEAST = 3

STRATEGIES = ("quantile", "exact", "guess", "paper")

# Values that are looked at at once where a copy is made of them.
_PART = 2**22


@dataclass(frozen=True, eq=False)
class Columns:
    """What the Boolean columns mean. Those of a feature stand together: values, ascending, then `is missing`."""

    feature: IntArray
    test: NDArray[np.uint8]  # AT_MOST, EQUALS, IS_MISSING or AT_LEAST
    value: FloatArray  # the threshold or the code; NaN for IS_MISSING

    def __len__(self) -> int:
        return len(self.feature)

    def take(self, kept: NDArray[np.bool_] | NDArray[np.int32] | slice) -> Columns:
        """The columns of a slice or of indices, or where `kept` is true."""
        return Columns(self.feature[kept], self.test[kept], self.value[kept])


class Binarizer(TransformerMixin, BaseEstimator):
    """Numbers, booleans and categories to Boolean columns, each with the literal it stands for.

    A number becomes columns `age <= 40.5`, a category one column `colour = red` per category, a boolean one column
    `smoker = True`. A feature with missing values in the training data gets a column `income is missing`. Missing
    values make every other test false, and so do categories that the training data did not have.

    Parameters
    ----------
    max_thresholds : int or None, default=32
        Thresholds per numeric feature for "quantile" and "guess"; None: no limit, which for "quantile" is "exact".
    strategy : {"quantile", "exact", "guess", "paper"}, default="quantile"
        "quantile": half of the thresholds at evenly spaced quantiles of the rows, half where the classes change, which
        are the splits of a tree on that feature alone; all of them at quantiles if there is no `y`.
        "exact": every midpoint between distinct values.
        "guess": the thresholds that a small boosted ensemble uses, those with the highest gain first.
        "paper": the rule of Blanc et al. (2023): `value >= threshold` at `max_columns // n_features` quantiles of the
        distinct values, or at every distinct value if `max_columns` is None; `value = 1` for features with at most two.
    max_columns : int or None, default=None
        For "paper" see there; for "guess" the number of thresholds in all. None for the other strategies.
    drop_redundant : bool, default=True
        Leave out columns that are constant, or a copy or the complement of an earlier column, on the training data.
        "paper" keeps every column in any case.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which features are categories: those with a category, string or object type; none; or a list of names, of
        indices or of one bool per feature.

    Attributes
    ----------
    columns_ : Columns
        Feature, test and value of every column.
    features_ : tuple of Feature
        Name, kind, categories and missing values of every feature.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if `X` had string column names.

    Examples
    --------
    >>> from topktree import Binarizer
    >>> X = [[18, "red"], [35, "blue"], [52, "red"], [None, "blue"]]
    >>> binarizer = Binarizer().fit(X)
    >>> binarizer.get_feature_names_out(["age", "colour"]).tolist()
    ['age <= 26.5', 'age <= 43.5', 'age is missing', 'colour = blue']
    >>> binarizer.transform([[40, "red"], [None, "green"]])
    array([[False,  True, False, False],
           [False, False,  True, False]])
    """

    def __init__(
        self,
        max_thresholds: int | None = 32,
        strategy: str = "quantile",
        max_columns: int | None = None,
        drop_redundant: bool = True,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.max_thresholds = max_thresholds
        self.strategy = strategy
        self.max_columns = max_columns
        self.drop_redundant = drop_redundant
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the columns.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import Binarizer
        >>> X, y = load_iris(return_X_y=True)
        >>> len(Binarizer(max_thresholds=4).fit(X, y).columns_), len(Binarizer(strategy="exact").fit(X, y).columns_)
        (15, 118)
        """
        self._check_parameters()
        if self.strategy == "guess" and y is None:
            raise ValueError('This Binarizer with strategy="guess" requires y to be passed, but the target y is None')
        labels = None if y is None or self._can_do_without(y) else read_labels(y)
        table = read_table(self, X, reset=True)
        classes = None if labels is None else number_labels(labels, table.n_rows)
        weights = read_weights(sample_weight, table.n_rows)
        if weights is not None:
            table, weights, classes = _with_weight(table, weights, classes)
        target = None if classes is None else Target(classes[1].astype(np.int32), len(classes[0]))
        features = learn_features(table, self.categorical_features, getattr(self, "feature_names_in_", None))
        warn_of_names(features, table.n_rows)
        encoded = by_feature(encode(table, features), features)
        columns = self._find_columns(encoded, features, weights, target)
        if self.drop_redundant and self.strategy != "paper":
            columns = columns.take(~find_redundant(encoded, columns))
        self.features_, self.columns_ = features, columns
        return self

    def transform(self, X: Any) -> NDArray[np.bool_]:
        """Boolean array (n_rows, n_columns): where each column's literal is true.

        Examples
        --------
        >>> from topktree import Binarizer
        >>> X = [[18, "red"], [35, "blue"], [52, "red"], [None, "blue"]]
        >>> Binarizer(max_thresholds=1).fit(X).transform(X)
        array([[ True, False, False],
               [ True, False,  True],
               [False, False, False],
               [False,  True,  True]])
        """
        check_is_fitted(self)
        encoded = encode(read_table(self, X, reset=False), self.features_)
        result = np.empty((len(encoded), len(self.columns_)), dtype=np.bool_)
        for j in range(len(self.columns_)):
            result[:, j] = is_true(encoded[:, self.columns_.feature[j]], self.columns_.test[j], self.columns_.value[j])
        return result

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """The literal of each column.

        Examples
        --------
        >>> from topktree import Binarizer
        >>> X = [[18, "red"], [35, "blue"], [52, "red"], [None, "blue"]]
        >>> Binarizer(max_thresholds=1).fit(X).get_feature_names_out(["age", "colour"]).tolist()
        ['age <= 43.5', 'age is missing', 'colour = blue']
        """
        check_is_fitted(self)
        names = _checked_names(input_features, self.features_, getattr(self, "feature_names_in_", None))
        columns = self.columns_
        literals: list[str] = []
        ends = np.searchsorted(columns.feature, np.arange(len(names) + 1))
        for f, name in enumerate(names):
            own = columns.take(slice(ends[f], ends[f + 1]))
            texts = threshold_texts(own.value)
            literals += [
                literal(self.features_[f], name, *column) for column in zip(own.test, own.value, texts, strict=True)
            ]
        return np.array(unique_names(literals), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.strategy == "guess"
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _can_do_without(self, y: Any) -> bool:
        """Targets of a regression have no classes, which only "guess" needs."""
        target = np.asarray(y)
        if self.strategy == "guess" or target.dtype.kind != "f" or not np.isfinite(target).all():
            return False
        return bool(type_of_target(target).startswith("continuous"))

    def _check_parameters(self) -> None:
        checks.check_int("max_thresholds", self.max_thresholds, 1, or_none=True)
        checks.check_choice("strategy", self.strategy, STRATEGIES)
        checks.check_int("max_columns", self.max_columns, 1, or_none=True)
        if self.max_columns is not None and self.strategy not in ("guess", "paper"):
            raise ValueError(f'max_columns must be None with strategy="{self.strategy}", got {self.max_columns}')
        checks.check_bool("drop_redundant", self.drop_redundant)

    def _find_columns(
        self, encoded: FloatArray, features: Sequence[Feature], weights: FloatArray | None, target: Target | None
    ) -> Columns:
        if self.strategy == "paper":
            return paper_columns(encoded, features, self.max_columns)
        if self.strategy == "guess":
            assert target is not None
            found = guess_thresholds(encoded, features, weights, target, self.max_thresholds, self.max_columns)
            return make_columns(features, lambda f: found[f])
        n = None if self.strategy == "exact" else self.max_thresholds
        whole = threshold_weights(None, None, weights)
        return make_columns(features, lambda f: quantile_thresholds(encoded[f], n, whole, target))


def by_feature(encoded: NDArray[Any], features: Sequence[Feature]) -> FloatArray:
    """The encoded table (n_rows, n_features) as contiguous float64 (n_features, n_rows), without infinities."""
    result = np.ascontiguousarray(encoded.T, dtype=np.float64)
    if any(feature.has_extreme for feature in features):  # thresholds stay finite, and no test tells the two apart
        largest = np.finfo(np.float64).max
        result = np.clip(result, -largest, largest)
    return result


def make_columns(features: Sequence[Feature], thresholds: Callable[[int], FloatArray]) -> Columns:
    """Every column of every feature, given the thresholds of the numeric ones."""
    parts: list[tuple[int, int, FloatArray]] = []
    for f, feature in enumerate(features):
        if feature.kind == CATEGORY:
            parts.append((f, EQUALS, np.arange(len(feature.categories), dtype=np.float64)))
        elif feature.kind == BOOLEAN:
            parts.append((f, EQUALS, np.ones(1)))
        else:
            parts.append((f, AT_MOST, thresholds(f)))
        if feature.has_missing:
            parts.append((f, IS_MISSING, np.full(1, np.nan)))
    return _join(parts)


def paper_columns(encoded: FloatArray, features: Sequence[Feature], max_columns: int | None) -> Columns:
    """The columns of the paper's authors: categories in the order of their text, numbers `value >= threshold`."""
    n_buckets = None if max_columns is None else max_columns // len(features) + 1
    parts: list[tuple[int, int, FloatArray]] = []
    for f, feature in enumerate(features):
        if feature.kind == CATEGORY:
            codes = sorted(range(len(feature.categories)), key=lambda code: str(feature.categories[code]))
            parts.append((f, EQUALS, np.array(codes, dtype=np.float64)))
        elif feature.kind == BOOLEAN or (n_buckets is not None and _has_at_most_two_values(encoded[f])):
            parts.append((f, EQUALS, np.ones(1)))
        else:
            parts.append((f, AT_LEAST, paper_thresholds(encoded[f], n_buckets)))
        if feature.has_missing:
            parts.append((f, IS_MISSING, np.full(1, np.nan)))
    return _join(parts)


def pack(encoded: FloatArray, columns: Columns) -> PackedRows:
    """Packed rows (n_rows, ceil(n_columns / 64)): where columns send a row right, so where not `value <= threshold`."""
    return engine.pack_features(features=encoded, **_by_feature(columns, len(encoded)))


def pack_binary(encoded: NDArray[Any], features: Sequence[Feature]) -> tuple[Rows, Columns] | None:
    """A table (n_rows, n_features) of nothing but 0 and 1 as it is, one column per feature; None for any other."""
    if any(feature.kind == CATEGORY or feature.has_missing for feature in features):
        return None
    rows = _zeros_and_ones(encoded)
    if rows is None:
        return None
    return rows, binary_columns(features)


def binary_columns(features: Sequence[Feature]) -> Columns:
    """One column per feature, of features that have nothing but 0 and 1."""
    test = np.array([EQUALS if feature.kind == BOOLEAN else AT_MOST for feature in features], dtype=np.uint8)
    return Columns(np.arange(len(features), dtype=np.int64), test, np.where(test == EQUALS, 1.0, half()))


def find_redundant(encoded: FloatArray, columns: Columns) -> NDArray[np.bool_]:
    """Columns that are constant, or equal or opposite to an earlier one, on these rows."""
    return redundant_hashes(hash_columns(encoded, columns))


def hash_columns(encoded: FloatArray, columns: Columns, first_row: int = 0) -> PackedRows:
    """What columns are known by, (n_columns + 1, 2): equal on all rows if the columns are; the last of all ones.

    With the number of the first row, those of parts of the rows XORed are those of all rows.
    """
    return engine.hash_columns(features=encoded, first_row=first_row, **_by_feature(columns, len(encoded)))


def redundant_hashes(hashes: PackedRows) -> NDArray[np.bool_]:
    """Which columns are constant, or equal or opposite to an earlier one."""
    own, opposite = hashes[:-1], hashes[:-1] ^ hashes[-1]
    # A column and its complement are known by the smaller hash of the two, a constant by zero.
    smaller = (own[:, 0] < opposite[:, 0]) | ((own[:, 0] == opposite[:, 0]) & (own[:, 1] <= opposite[:, 1]))
    known_by = np.where(smaller[:, None], own, opposite)
    _, first = np.unique(np.concatenate([np.zeros((1, 2), dtype=np.uint64), known_by]), axis=0, return_index=True)
    redundant = np.ones(len(hashes), dtype=bool)
    redundant[first] = False
    return redundant[1:]


def is_true(values: NDArray[Any], test: int, value: float) -> NDArray[np.bool_]:
    """Of which encoded values a literal is true."""
    if test == AT_MOST:
        return np.asarray(values <= value)
    if test == AT_LEAST:
        return np.asarray(values >= value)
    return np.asarray(values == value if test == EQUALS else np.isnan(values))


def literal(feature: Feature, name: str, test: int, value: float, text: str) -> str:
    """A column's meaning in words; `text` is what its value reads if that is a threshold."""
    if test == IS_MISSING:
        return f"{name} is missing"
    if test == EQUALS:
        return f"{name} = {value_text(feature, value)}"
    return f"{name} {'<=' if test == AT_MOST else '>='} {text}"


def value_text(feature: Feature, value: float) -> str:
    """What a feature is compared with for equality; strings in quotes where a number reads the same."""
    if feature.kind == BOOLEAN:
        return "True"
    if feature.kind != CATEGORY:
        return format_number(value)
    category = feature.categories[int(value)]
    numbers = itertools.takewhile(lambda other: not isinstance(other, str), feature.categories)  # they come first
    ambiguous = isinstance(category, str) and any(str(number) == category for number in numbers)
    return repr(category) if ambiguous else str(category)


def _by_feature(columns: Columns, n_features: int) -> dict[str, Any]:
    """The columns as the core takes them."""
    is_missing_test = columns.test == IS_MISSING
    equality = np.zeros(n_features, dtype=np.uint8)
    equality[columns.feature[columns.test == EQUALS]] = 1
    tests_missing = np.zeros(n_features, dtype=np.uint8)
    tests_missing[columns.feature[is_missing_test]] = 1
    sizes = np.bincount(columns.feature[~is_missing_test], minlength=n_features)
    return {
        "entries": columns.value[~is_missing_test],
        "offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "equality": equality,
        "tests_missing": tests_missing,
    }


def _join(parts: Sequence[tuple[int, int, FloatArray]]) -> Columns:
    sizes = [len(values) for _, _, values in parts]
    return Columns(
        np.repeat(np.array([f for f, _, _ in parts], dtype=np.int64), sizes),
        np.repeat(np.array([test for _, test, _ in parts], dtype=np.uint8), sizes),
        np.concatenate([values for _, _, values in parts]) if parts else np.empty(0),
    )


def _with_weight(
    table: Table, weights: FloatArray, classes: tuple[NDArray[Any], NDArray[np.int32]] | None
) -> tuple[Table, FloatArray, tuple[NDArray[Any], NDArray[np.int32]] | None]:
    """The rows whose weight is not zero."""
    kept = weights > 0
    if not kept.any():
        raise ValueError("sample_weight must have a row of positive weight, got only zeros")
    return table.take(kept), weights[kept], None if classes is None else (classes[0], classes[1][kept])


def _has_at_most_two_values(values: FloatArray) -> bool:
    return len(np.unique(values[~np.isnan(values)])) <= 2


def _zeros_and_ones(X: NDArray[Any]) -> Rows | None:
    """Rows if every value is 0 or 1 (or a bool), else None: the bytes as they are, other types packed part by part."""
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
        packed[start : start + step] = engine.pack_booleans(np.ascontiguousarray(part, dtype=np.uint8))
    return packed


def _checked_names(
    input_features: ArrayLike | None, features: Sequence[Feature], names_in: NDArray[np.object_] | None
) -> list[str]:
    if input_features is None:
        return [feature.name for feature in features]
    given = np.asarray(input_features, dtype=object)
    if len(given) != len(features):
        raise ValueError(
            f"input_features should have length equal to number of features ({len(features)}), got {len(given)}"
        )
    if names_in is not None and not np.array_equal(given, names_in):
        raise ValueError("input_features is not equal to feature_names_in_")
    return [str(name) for name in given]
