"""The estimator that turns tables into Boolean columns, each with the literal it stands for.

In: any table that `read_table` takes. Out: a Boolean array (n_rows, n_columns) and the columns' literals. The one idea:
it is the front end of the tree as a separate step, for other learners and for the columns of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .._runtime import checks
from .._runtime.limits import restored_on_error
from .arrays import BoolArray, FloatArray
from .columns import (
    AT_LEAST,
    AT_MOST,
    EQUALS,
    IS_MISSING,
    Columns,
    by_feature,
    find_redundant,
    is_true,
    join_columns,
    make_columns,
    value_text,
)
from .features import Feature, encode, learn_features, warn_about_categories
from .guess import guess_thresholds
from .labels import number_labels, read_labels, read_weights
from .table import BOOLEAN, CATEGORY, read_table, unique_names
from .thresholds import Target, quantile_thresholds
from .weights import threshold_weights

STRATEGIES = ("quantile", "exact", "guess", "paper")


class Binarizer(TransformerMixin, BaseEstimator):
    """Turn numbers, booleans and categories into Boolean columns, each with the literal it stands for.

    A number becomes columns `age <= 40`, an ordered category columns `size <= "M"`, any other category one column
    `colour = red` per category, a boolean one column `smoker = True`. A feature with missing values in the training
    data gets a column `income is missing`. A missing value makes every other test false, and so does a category that
    the training data did not have.

    Parameters
    ----------
    max_thresholds : int or None, default=32
        Thresholds per numeric feature for "quantile" and "guess"; None: no limit, so that "quantile" is "exact".
    strategy : {"quantile", "exact", "guess", "paper"}, default="quantile"
        "quantile": half of the thresholds at evenly spaced quantiles of the rows, half where the classes change, which
        are the splits of a tree on that feature alone; all of them at quantiles if there is no `y`.
        "exact": one between any two neighbouring values.
        "guess": the thresholds that a small boosted ensemble uses, those with the highest gain first.
        "paper": the rule of Blanc et al. (2023): `value >= threshold` at `max_columns // n_features` quantiles of the
        distinct values, or at every distinct value if `max_columns` is None; `value = 1` for features with at most two.
    max_columns : int or None, default=None
        For "paper", see above; for "guess", the total number of thresholds. None for the other strategies.
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
    >>> binarizer = Binarizer(max_thresholds=2).fit(X)
    >>> binarizer.get_feature_names_out(["age", "colour"]).tolist()
    ['age <= 26', 'age <= 43', 'age is missing', 'colour = blue']
    """

    def __init__(
        self,
        *,
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
        """Find the columns. An error leaves an earlier fit as it was."""
        self._check_parameters()
        if self.strategy == "guess" and y is None:
            raise ValueError('This Binarizer with strategy="guess" requires y to be passed, but the target y is None')
        labels = None if y is None or self._ignores(y) else read_labels(y)
        with restored_on_error(self):
            self._fit(X, labels, sample_weight)
        return self

    def _fit(self, X: Any, labels: NDArray[Any] | None, sample_weight: ArrayLike | None) -> None:
        table = read_table(self, X, reset=True)
        classes = None if labels is None else number_labels(labels, table.n_rows)
        target = None if classes is None else Target(classes[1], len(classes[0]))
        weights = read_weights(sample_weight, table.n_rows)
        if weights is not None:
            has_weight = weights > 0
            table, weights = table.take(has_weight), weights[has_weight]
            target = None if target is None else Target(target.classes[has_weight], target.n_classes)
        features = learn_features(table, self.categorical_features, getattr(self, "feature_names_in_", None))
        warn_about_categories(features, table.n_rows)
        encoded = by_feature(encode(table, features), features)
        columns = self._find_columns(encoded, features, weights, target)
        if self.drop_redundant and self.strategy != "paper":
            columns = columns.take(~find_redundant(encoded, columns))
        self.features_, self.columns_ = features, columns

    def transform(self, X: Any) -> BoolArray:
        """Return a Boolean array (n_rows, n_columns): where each column's literal is true.

        Examples
        --------
        >>> binarizer.transform([[40, "red"], [None, "green"]])
        array([[False,  True, False, False],
               [False, False,  True, False]])
        """
        check_is_fitted(self)
        encoded = encode(read_table(self, X, reset=False), self.features_)
        result = np.empty((len(encoded), len(self.columns_)), dtype=np.bool_)
        for j in range(len(self.columns_)):
            result[:, j] = is_true(encoded[:, self.columns_.feature[j]], self.columns_.test[j], self.columns_.value[j])
        return result

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the literal of each column."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        ends = np.searchsorted(self.columns_.feature, np.arange(len(names) + 1))
        literals: list[str] = []
        for f, name in enumerate(names):
            own = self.columns_.take(slice(ends[f], ends[f + 1]))
            literals += [_literal(self.features_[f], name, *test) for test in zip(own.test, own.value, strict=True)]
        return np.array(unique_names(literals), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.strategy == "guess"
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _check_parameters(self) -> None:
        checks.check_int("max_thresholds", self.max_thresholds, 1, or_none=True)
        checks.check_choice("strategy", self.strategy, STRATEGIES)
        checks.check_int("max_columns", self.max_columns, 1, or_none=True)
        if self.max_columns is not None and self.strategy not in ("guess", "paper"):
            raise ValueError(
                f'max_columns must be None with strategy="{self.strategy}", got {checks.short(self.max_columns)}'
            )
        checks.check_bool("drop_redundant", self.drop_redundant)

    def _ignores(self, y: Any) -> bool:
        """Return whether `y` is the target of a regression: it has no classes, which only "guess" needs."""
        target = np.asarray(y)
        if self.strategy == "guess" or target.dtype.kind != "f" or not np.isfinite(target).all():
            return False
        return bool(type_of_target(target).startswith("continuous"))

    def _find_columns(
        self, encoded: FloatArray, features: Sequence[Feature], weights: FloatArray | None, target: Target | None
    ) -> Columns:
        if self.strategy == "paper":
            return _paper_columns(encoded, features, self.max_columns)
        if self.strategy == "guess":
            assert target is not None
            found = guess_thresholds(encoded, features, weights, target, self.max_thresholds, self.max_columns)
            return make_columns(features, lambda f: found[f])
        n = None if self.strategy == "exact" else self.max_thresholds
        whole = threshold_weights(None, None, weights)
        target = None if target is None else Target.of_rows(target.classes, target.n_classes)
        return make_columns(features, lambda f: quantile_thresholds(encoded[f], n, whole, target))


def _paper_columns(encoded: FloatArray, features: Sequence[Feature], max_columns: int | None) -> Columns:
    """Return the columns of the paper's authors: categories in the order of their text, `value >= threshold`."""
    n_buckets = None if max_columns is None else max_columns // len(features) + 1

    def tests(f: int) -> tuple[int, FloatArray]:
        categories = features[f].categories
        if features[f].kind == CATEGORY:
            codes = sorted(range(len(categories)), key=lambda code: str(categories[code]))
            return EQUALS, np.array(codes, dtype=np.float64)
        has_two_values = n_buckets is not None and len(paper_thresholds(encoded[f], None)) <= 2
        if features[f].kind == BOOLEAN or has_two_values:
            return EQUALS, np.ones(1)
        return AT_LEAST, paper_thresholds(encoded[f], n_buckets)

    return join_columns(features, tests)


def paper_thresholds(values: FloatArray, n_buckets: int | None) -> FloatArray:
    """Return quantiles of the distinct values, or all of them if None, for tests `value >= threshold`."""
    distinct = np.unique(values[~np.isnan(values)])
    if n_buckets is None or len(distinct) == 0:
        return distinct
    n_buckets = min(n_buckets, len(distinct))
    return np.unique(np.quantile(distinct, np.arange(1, n_buckets) / n_buckets))


def _literal(feature: Feature, name: str, test: int, value: float) -> str:
    """Return the text of a column's test."""
    if test == IS_MISSING:
        return f"{name} is missing"
    symbol = {AT_MOST: "<=", EQUALS: "=", AT_LEAST: ">="}[test]
    return f"{name} {symbol} {value_text(feature, value)}"
