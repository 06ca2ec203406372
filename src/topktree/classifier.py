"""`TopKTreeClassifier`: validate -> binarize -> search -> tree.

In: a table of numbers, booleans and categories, and class labels. Out: a small accurate tree behind scikit-learn's
interface.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Self

import joblib
import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from . import _engine, _parameters, export
from ._interruptible import Interruptible
from ._problem import FloatArray, IntArray, Objective, ScoreFunction, make_objective, threshold_weights
from ._progress import ProgressLine
from .binarizer import EQUALS, IS_MISSING, Columns, by_feature, find_redundant, make_columns, pack, pack_binary
from .labels import number_labels, read_labels, read_weights
from .model_file import PathLike, read_model, write_model
from .plot import plot_tree
from .sklearn_tree import to_sklearn
from .table import BOOLEAN, Feature, Table, encode, learn_features, read_table
from .thresholds import Target, half, quantile_thresholds
from .tree import TREE_UNDEFINED, Tree, node_impurity

# More threads than this only cost memory.
MAX_THREADS = max(8, 4 * joblib.cpu_count())


class TopKTreeClassifier(ClassifierMixin, BaseEstimator):
    """Decision tree classifier that tries the k best splits at every node and keeps the most accurate tree.

    The tree has the lowest training cost among all trees of the given depth that split every node on one of its `k`
    best-scoring columns. `k=1` is the greedy tree, `k="all"` the optimal one over the columns, which for numeric
    features are the thresholds that `max_thresholds` allows. The result is exact and deterministic:
    threads, memory and processor never change it.

    Parameters
    ----------
    k : int, "all" or sequence, default=8
        Candidate splits per node. A sequence has one entry per level, root first; more entries than levels are ignored.
    max_depth : int, default=5
        Levels of splits. 0 gives a single leaf.
    criterion : {"entropy", "gini", "sqrt", "gain_ratio"} or callable, default="entropy"
        What ranks the candidates. "sqrt" is the sum over the classes of sqrt(p(1-p)). A callable gets the weighted
        class counts of all columns at a node, `left_counts` and `right_counts` of shape (n_columns, n_classes), and
        returns a score per column, higher being better. Scores of columns with an empty side are ignored. With
        `n_jobs` it is called from several threads, one at a time.
    min_samples_leaf : int, default=1
        Rows that every leaf must have.
    leaf_penalty : float or "tie", default=0.0
        Cost of a leaf as a fraction of the training weight. "tie": among the trees with the fewest errors, one with
        the fewest leaves.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes. "balanced" makes all classes weigh the same, `sample_weight` included.
    max_thresholds : int or None, default=32
        Thresholds per numeric feature: half of them at quantiles of the rows, half where the classes change. None:
        every midpoint between distinct values.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which features are categories, tested as `colour = red`. "from_dtype": those of a category, string or object
        type; None: none; otherwise a list of names, of indices, or of one bool per feature.
    time_limit : float or None, default=None
        Seconds for the whole of `fit`. The search widens k step by step and returns the best complete tree when time is
        up; the greedy tree is always finished, so on large data a limit that is too short for it is exceeded.
    memory_limit : int or None, default=None
        Bytes for the cache of solved subproblems; None means 1 GiB. Less memory takes more time, for the same tree.
    n_jobs : int or None, default=None
        Threads; None means 1, -1 all cores. They help from a `max_depth` of 3 on, and start once a search has run for
        2 ms.
    verbose : int, default=0
        1 shows a line of progress on stderr.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the training weight that every leaf must have, as in scikit-learn; at most 0.5.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if `X` had string column names.
    features_ : tuple of Feature
        Name, kind, categories and missing values of each feature.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the decrease of impurity (the criterion's own; entropy for "gain_ratio" and callables).
    tree_ : Tree
        The tree as flat arrays, named as scikit-learn names them.
    cost_ : int or float
        Training cost: weight of the misclassified rows plus the leaf penalties. An int without weights and penalty.
    train_errors_ : int
        Training rows that are misclassified.
    status_ : str
        "optimal" (k = "all", finished), "complete" (Top-k search finished) or "time_limit".
    search_ : dict
        seconds, nodes, pruned, cache_hits, cache_bytes, k_reached, n_threads, kernel.

    Notes
    -----
    Weights are integers inside, so that costs add up and tie exactly. `sample_weight` and `class_weight` are exact if
    they are integers, whole multiples of the smallest weight, or fractions of a power of two; other real weights are
    rounded to 2**-20 of the largest one, and up to that if they are smaller. A `leaf_penalty` is rounded to 2**-20 of
    one row's weight. Rows of weight zero are left out.
    """

    def __init__(
        self,
        k: int | str | Sequence[int | str] = 8,
        max_depth: int = 5,
        criterion: str | ScoreFunction = "entropy",
        min_samples_leaf: int = 1,
        leaf_penalty: float | str = 0.0,
        class_weight: str | dict[Any, float] | None = None,
        max_thresholds: int | None = 32,
        categorical_features: Any = "from_dtype",
        time_limit: float | None = None,
        memory_limit: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        min_weight_fraction_leaf: float = 0.0,
    ) -> None:
        self.k = k
        self.max_depth = max_depth
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.leaf_penalty = leaf_penalty
        self.class_weight = class_weight
        self.max_thresholds = max_thresholds
        self.categorical_features = categorical_features
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.min_weight_fraction_leaf = min_weight_fraction_leaf

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the tree. An error or Ctrl-C leaves an earlier fit as it was."""
        start = time.perf_counter()
        self._check_parameters()
        with _restored_on_error(self):
            work = Interruptible(self._n_values(X))
            labels = work.call(read_labels, self, y)
            table = self._read(X, work)
            training = work.call(self._validate, table, labels, sample_weight)
            rows, columns = work.call(self._binarize, training, work.check)
            objective = work.call(self._objective, training, len(columns))
            solution = self._search(rows, columns, training, objective, start)
            self._store(training, columns, objective, solution)
            self.train_errors_ = solution.n_wrong + work.call(self._errors_without_weight, training)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The heaviest class of each row's leaf; ties go to the first class."""
        check_is_fitted(self)
        leaf_class = self.classes_[np.argmax(self.tree_.value, axis=1)]
        return np.asarray(leaf_class[self.apply(X)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class shares of the training weight in each row's leaf."""
        check_is_fitted(self)
        shares = self.tree_.value / self.tree_.value.sum(axis=1, keepdims=True)
        return np.asarray(shares[self.apply(X)])

    def apply(self, X: ArrayLike) -> IntArray:
        """Index of the leaf that each row ends up in."""
        check_is_fitted(self)
        return self.tree_.apply(encode(read_table(self, X, reset=False), self.features_))

    def decision_path(self, X: ArrayLike) -> scipy.sparse.csr_matrix:
        """CSR matrix (n, node_count): 1 where a row passes through a node."""
        check_is_fitted(self)
        return scipy.sparse.csr_matrix(self.tree_.ancestors().astype(np.int64))[self.apply(X)]

    def get_depth(self) -> int:
        """Splits on the longest path."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def to_sklearn(self) -> DecisionTreeClassifier | Pipeline:
        """A fitted scikit-learn object with the same predictions and probabilities for every input.

        A `DecisionTreeClassifier` if all features are numbers or booleans without missing values, and of a size that
        scikit-learn's float32 can tell apart; else a `Pipeline` whose last step is one.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return to_sklearn(self.tree_, self.features_, self.classes_, str(self.criterion), names)

    def export_text(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """The tree as indented text, with confidence and counts in the leaves."""
        return export.export_text(self._model(feature_names, class_names))

    def export_rules(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """One line per leaf: conditions, class, confidence and counts."""
        return export.export_rules(self._model(feature_names, class_names))

    def export_dot(self, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None) -> str:
        """The tree in the language of Graphviz."""
        return export.export_dot(self._model(feature_names, class_names))

    def export_sql(self, table: str | Sequence[str] | None = None, feature_names: ArrayLike | None = None) -> str:
        """`SELECT CASE ... END AS prediction FROM table`; without a table, the CASE expression alone.

        NULL is a missing value. A table in a schema is given as a sequence of names.
        """
        return export.export_sql(self._model(feature_names, None), table)

    def export_dict(self) -> dict[str, Any]:
        """Features, classes and nodes as plain Python objects."""
        return export.export_dict(self._model(None, None))

    def plot(
        self, ax: Any = None, *, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None
    ) -> Any:
        """Draw the tree with matplotlib, on `ax` or a new figure; returns the Axes."""
        return plot_tree(self._model(feature_names, class_names), ax)

    def save(self, path: PathLike) -> None:
        """Write the fitted classifier to a JSON file, which `topktree.load` reads.

        A criterion of your own is not saved: set it again before you fit again.
        """
        check_is_fitted(self)
        self._check_parameters(criterion_is_lost=self.criterion is None)
        content = {
            "topktree": version("topktree"),
            "parameters": _parameters.to_json(self.get_params()),
            **self.export_dict(),
            "has_feature_names": hasattr(self, "feature_names_in_"),
            "cost": self.cost_,
            "train_errors": self.train_errors_,
            "status": self.status_,
            "search": self.search_,
        }
        write_model(path, content, self.classes_)

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the total decrease of weighted impurity."""
        check_is_fitted(self)
        return self.tree_.feature_importances(self.n_features_in_)

    def _model(self, feature_names: ArrayLike | None, class_names: ArrayLike | None) -> export.Model:
        check_is_fitted(self)
        return export.make_model(self.tree_, self.features_, self.classes_, feature_names, class_names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_parameters(self, criterion_is_lost: bool = False) -> None:
        _parameters.check_max_depth(self.max_depth)
        _parameters.check_k(self.k, self.max_depth)
        if not criterion_is_lost:
            _parameters.check_criterion(self.criterion)
        _parameters.check_int("min_samples_leaf", self.min_samples_leaf, 1)
        _parameters.check_min_weight_fraction_leaf(self.min_weight_fraction_leaf)
        _parameters.check_leaf_penalty(self.leaf_penalty)
        _parameters.check_class_weight(self.class_weight)
        _parameters.check_int("max_thresholds", self.max_thresholds, 1, or_none=True)
        _parameters.check_time_limit(self.time_limit)
        _parameters.check_int("memory_limit", self.memory_limit, 0, or_none=True)
        _parameters.check_n_jobs(self.n_jobs)
        _parameters.check_int("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)

    def _n_values(self, X: ArrayLike) -> int:
        """About how many values there are to be handled, thresholds included."""
        shape: tuple[Any, ...] = getattr(X, "shape", ())
        if len(shape) != 2 or not all(isinstance(size, int) for size in shape):
            return 0
        n_thresholds = min(shape[0], 1000) if self.max_thresholds is None else self.max_thresholds
        return int(math.prod(shape) * max(1, n_thresholds / 32))

    def _read(self, X: ArrayLike, work: Interruptible) -> Table:
        """The table. What it sets on the estimator it sets on a copy first: after Ctrl-C it may still be at work."""
        copied = copy(self)
        table = work.call(lambda: read_table(copied, X, reset=True))
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(copied, name):
                setattr(self, name, getattr(copied, name))
        return table

    def _validate(self, table: Table, labels: NDArray[Any], sample_weight: ArrayLike | None) -> _Training:
        """The rows that have weight, classes as indices."""
        classes, indices = number_labels(labels, table.n_rows)
        row_weights = read_weights(sample_weight, table.n_rows)
        class_weights = _class_weights(self.class_weight, classes, labels)
        has_weight = None if row_weights is None else row_weights > 0
        if isinstance(class_weights, np.ndarray):
            has_weight = (class_weights[indices] > 0) & (True if has_weight is None else has_weight)
            class_weights = np.where(class_weights > 0, class_weights, 1.0)  # of classes without rows
        present = np.arange(len(classes)) if has_weight is None else np.unique(indices[has_weight])
        if len(present) < 2:
            found = ", ".join(repr(label) for label in classes[present].tolist()) or "none"
            raise ValueError(
                "y must have rows of at least two classes with weight (sample_weight times class_weight), "
                f"got {len(present)} class: {found}"
            )
        left_out = None
        if has_weight is not None and not has_weight.all():
            left_out = table.take(~has_weight), indices[~has_weight]
            table, indices = table.take(has_weight), indices[has_weight]
            row_weights = None if row_weights is None else row_weights[has_weight]
        features = learn_features(table, self.categorical_features, getattr(self, "feature_names_in_", None))
        return _Training(table, features, indices, classes, row_weights, class_weights, left_out)

    def _binarize(self, training: _Training, check: Callable[[], None]) -> tuple[_engine.Rows, Columns]:
        """Packed Boolean columns; a table of nothing but 0 and 1 stays as it is. `check` may raise, to end it early."""
        encoded = encode(training.table, training.features)
        if (binary := pack_binary(encoded, training.features)) is not None:
            return binary
        encoded = by_feature(encoded, training.features)
        target = Target(training.y, len(training.classes))
        weights = threshold_weights(training.y, training.class_weight, training.sample_weight)

        def thresholds(f: int) -> FloatArray:
            check()
            return quantile_thresholds(encoded[f], self.max_thresholds, weights, target)

        columns = make_columns(training.features, thresholds)
        columns = columns.take(~find_redundant(encoded, columns))
        return pack(encoded, columns), columns

    def _objective(self, training: _Training, n_columns: int) -> Objective:
        # A path has at most one split per column and one row fewer at every split.
        depth = min(self.max_depth, n_columns, training.table.n_rows - 1)
        return make_objective(
            training.y,
            len(training.classes),
            k=_parameters.candidates_per_level(self.k, depth, n_columns),
            criterion=self.criterion,
            min_samples_leaf=min(int(self.min_samples_leaf), training.table.n_rows),
            min_weight_fraction_leaf=float(self.min_weight_fraction_leaf),
            leaf_penalty=self.leaf_penalty,
            class_weight=training.class_weight,
            sample_weight=training.sample_weight,
        )

    def _search(
        self, rows: _engine.Rows, columns: Columns, training: _Training, objective: Objective, start: float
    ) -> _engine.Solution:
        progress = ProgressLine(objective.user_cost) if self.verbose else None
        cache_bytes = _engine.DEFAULT_CACHE_BYTES if self.memory_limit is None else int(self.memory_limit)
        options = _engine.SearchOptions(
            threads=min(joblib.effective_n_jobs(self.n_jobs), MAX_THREADS),
            cache_bytes=min(cache_bytes, 2**62),
            time_limit=None if self.time_limit is None else max(self.time_limit - (time.perf_counter() - start), 1e-9),
            progress=progress,
        )
        try:
            return _engine.solve(rows, len(columns), training.y, objective, options)
        finally:
            if progress:
                progress.close()

    def _store(self, training: _Training, columns: Columns, objective: Objective, solution: _engine.Solution) -> None:
        criterion = self.criterion if isinstance(self.criterion, str) else "entropy"
        searched_all = all(entry == "all" for entry in _parameters.k_per_level(self.k, max(self.max_depth, 1)))
        self.classes_ = training.classes
        self.features_ = training.features
        self.tree_ = make_tree(solution, columns, training.features, objective.weight_unit, criterion)
        self.cost_ = objective.user_cost(solution.cost)
        self.status_ = ("optimal" if searched_all else "complete") if solution.complete else "time_limit"
        self.search_ = dict(solution.statistics)

    def _errors_without_weight(self, training: _Training) -> int:
        """Rows of weight zero, left out of the fit, that the tree gets wrong."""
        if training.left_out is None:
            return 0
        rows, wanted = training.left_out
        try:
            encoded = encode(rows, self.features_)
        except (TypeError, ValueError):  # they may hold anything
            return 0
        predicted = np.argmax(self.tree_.value, axis=1)[self.tree_.apply(encoded)]
        return int(np.count_nonzero(predicted != wanted))


def load(path: PathLike) -> TopKTreeClassifier:
    """The classifier that `TopKTreeClassifier.save` wrote. Nothing in the file is run as code."""
    saved = read_model(path)
    try:
        parameters = _parameters.from_json(saved.parameters)
        unknown = sorted(parameters.keys() - TopKTreeClassifier().get_params().keys())
        if unknown:
            raise ValueError(f"it has the parameter {unknown[0]!r}, which this version does not know")
        classifier = TopKTreeClassifier(**parameters)
        classifier._check_parameters(criterion_is_lost=saved.parameters.get("criterion", "") is None)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a model that this version can read: {error}") from None
    classifier.n_features_in_ = len(saved.features)
    if saved.feature_names is not None:
        classifier.feature_names_in_ = np.array(saved.feature_names, dtype=object)
    classifier.classes_ = saved.classes
    classifier.features_ = saved.features
    classifier.tree_ = saved.tree
    classifier.cost_ = saved.cost
    classifier.train_errors_ = saved.train_errors
    classifier.status_ = saved.status
    classifier.search_ = saved.search
    return classifier


@dataclass(frozen=True)
class _Training:
    """Validated training data: only rows with weight, the others beside them."""

    table: Table
    features: tuple[Feature, ...]
    y: NDArray[np.int32]
    classes: NDArray[Any]
    sample_weight: FloatArray | None
    class_weight: FloatArray | str | None
    left_out: tuple[Table, NDArray[np.int32]] | None  # rows without weight, and their classes


def _class_weights(
    class_weight: str | dict[Any, float] | None, classes: NDArray[Any], labels: NDArray[Any]
) -> FloatArray | str | None:
    """A dict as one weight per class; None and "balanced" as they are."""
    if isinstance(class_weight, dict):
        return np.asarray(compute_class_weight(class_weight, classes=classes, y=labels), dtype=np.float64)
    return class_weight


@contextmanager
def _restored_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Whatever goes wrong inside, the estimator's attributes are those from before."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def make_tree(
    solution: _engine.Solution, columns: Columns, features: Sequence[Feature], weight_unit: float, criterion: str
) -> Tree:
    """The tree over columns as a tree over features."""
    inner = np.flatnonzero(solution.column >= 0)
    column = solution.column[inner]
    feature = np.full(len(solution.column), TREE_UNDEFINED, dtype=np.int64)
    threshold = np.full(len(feature), float(TREE_UNDEFINED))
    category = np.full(len(feature), TREE_UNDEFINED, dtype=np.int64)
    missing_go_to_left = np.zeros(len(feature), dtype=bool)
    feature[inner] = columns.feature[column]
    threshold[inner] = np.where(columns.test[column] == IS_MISSING, np.inf, columns.value[column])
    equals = inner[columns.test[column] == EQUALS]
    missing_go_to_left[equals] = True
    is_boolean = np.array([features[f].kind == BOOLEAN for f in feature[equals]], dtype=bool)
    category[equals] = np.where(is_boolean, TREE_UNDEFINED, threshold[equals].astype(np.int64))
    threshold[equals] = np.where(is_boolean, half(), float(TREE_UNDEFINED))
    value = np.asarray(solution.class_weight * weight_unit, dtype=np.float64)
    return Tree(
        children_left=solution.false_child.astype(np.int64),
        children_right=solution.true_child.astype(np.int64),
        feature=feature,
        threshold=threshold,
        category=category,
        missing_go_to_left=missing_go_to_left,
        value=value,
        impurity=node_impurity(value, criterion),
        n_node_samples=solution.n_rows,
        weighted_n_node_samples=value.sum(axis=1),
    )
