"""`TopKForestClassifier`: Top-k trees of bootstrap samples, whose mean decides.

In: a table and class labels, as for one tree. Out: trees that a person can read one by one, and their mean vote.
The one idea: the table is binarized and packed once; a bootstrap sample is a vector of integer weights for the search.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._classifier import TopKTreeClassifier, restore_parameters, restored_on_error
from .._data.arrays import FloatArray
from .._data.features import Feature, encode
from .._data.training import TrainingData, prepare
from .._runtime import checks
from .._runtime.files import PathLike
from .._runtime.interruptible import Cancelled
from .._runtime.parallel import in_parallel, share, threads_per_call
from .._runtime.progress import CountLine
from .._search.objective import ScoreFunction
from .._selection.grid import COMPLETE, TIME_LIMIT, Limits
from .._tree.model_file import FOREST, SavedEnsemble
from .drawing import MAX_REPEATED, Drawing, draw_rows, n_features
from .files import restore_trees, save_ensemble
from .fitted_ensemble import FittedEnsemble, copy_names, sum_of_shares
from .growing import Grown, SharedData, grow, limits_of, share_of_time, shared_data
from .out_of_bag import OutOfBag
from .sklearn_ensemble import to_random_forest

# Of the seeds that the trees' own seeds come from.
_SEEDS = 2**32

# Which rows trees of a file were drawn from is not known: it is taken for granted that they are the same.
FROM_FILE = "file"


class TopKForestClassifier(FittedEnsemble):
    """Forest of Top-k trees: each is the best of its search on a sample of the rows; their mean shares decide.

    Small forests are the point: a few trees of a few levels that can still be read. With `n_estimators=1`,
    `bootstrap=False` and `max_features=None` it is the tree of `TopKTreeClassifier`.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of trees.
    k : int, "all" or sequence, default=8
        Candidate splits per node, as in `TopKTreeClassifier`.
    max_depth : int, default=5
        Levels of splits of every tree.
    bootstrap : bool, default=True
        Whether every tree has a sample of the rows, drawn with replacement and with `sample_weight` as their chances;
        if not, all trees have all rows.
    max_samples : int, float or None, default=None
        Rows of a sample: a number, which is at most that of all rows or 2**24, or a fraction of all. None: as many as
        there are; where `sample_weight` has whole numbers (which sum up to at most 2**24), as many as they sum up to,
        as if rows were there that often.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Features that are drawn at every node, out of those that can split it: only their columns are candidates. A
        number, a fraction of all, or the square root or logarithm of their number. None: all.
    max_features_per_tree : {"sqrt", "log2"}, int, float or None, default=None
        Likewise, features that are drawn for each tree as a whole. Searches of fewer columns take less time.
    oob_score : bool or callable, default=False
        Judge the forest by the rows that a tree's sample does not have: accuracy, or a callable of the labels and the
        predictions.
    random_state : int, RandomState instance or None, default=None
        Of the draws. The same number gives the same forest, whatever `n_jobs` is and in whatever order the rows are.
    warm_start : bool, default=False
        Let `fit` add trees to those that are there, up to `n_estimators`. The same as if all were fitted at once.
    n_jobs : int or None, default=None
        Trees that are searched for at the same time, in threads (or as joblib's active backend has it); None means 1,
        -1 all cores. Threads that are left over help within the searches.
    time_limit : float or None, default=None
        Seconds for the whole of `fit`. Each tree has its share of what is left, and is the best one found in it.
    verbose : int, default=0
        1 shows a line of progress on stderr.
    criterion, min_samples_leaf, leaf_penalty, distinct_splits, class_weight, max_thresholds, categorical_features, \
memory_limit, min_weight_fraction_leaf
        As in `TopKTreeClassifier`, for every tree and the rows of its sample. `min_samples_leaf` counts a row once
        however often it was drawn; "balanced" makes all classes of a sample weigh the same.

    Attributes
    ----------
    estimators_ : list of TopKTreeClassifier
        The trees; also what the forest itself yields by index.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if `X` had string column names.
    features_ : tuple of Feature
        Name, kind, categories and missing values of each feature.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Mean of the trees' own.
    oob_score_ : float
        With `oob_score`. Rows that all samples have, and rows without weight, do not count.
    oob_decision_function_ : ndarray of shape (n_rows, n_classes)
        With `oob_score`: mean shares of the trees whose sample does not have the row; NaN if there is none.
    status_ : str
        "complete", or "time_limit" if that ended the search of a tree.

    Notes
    -----
    All trees share one packed matrix: a search only has, for as long as it takes, its own copy of the bits of the rows
    and columns that it sees. How often a row was drawn is its integer weight, so every tree is exactly that of the
    repeated rows.

    Examples
    --------
    >>> from topktree import TopKForestClassifier, datasets
    >>> X, y = datasets.load_tic_tac_toe(return_X_y=True)
    >>> forest = TopKForestClassifier(n_estimators=5, max_depth=4, random_state=0).fit(X, y)
    >>> len(forest), forest[0].get_depth()
    (5, 4)
    """

    _seed: int | None = None  # that the draws come from
    _sampling: tuple[int, int] | str | None = None  # what rows were drawn from, and how many; None: they were not
    _n_foreign: int = 0  # the first so many trees did not draw their rows by these

    def __init__(
        self,
        n_estimators: int = 10,
        k: int | str | Sequence[int | str] = 8,
        max_depth: int = 5,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        max_features: str | int | float | None = None,
        max_features_per_tree: str | int | float | None = None,
        oob_score: bool | Callable[[Any, Any], float] = False,
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        criterion: str | ScoreFunction = "entropy",
        min_samples_leaf: int = 1,
        leaf_penalty: float | str = 0.0,
        distinct_splits: bool = False,
        class_weight: str | dict[Any, float] | None = None,
        max_thresholds: int | None = 32,
        categorical_features: Any = "from_dtype",
        memory_limit: int | None = None,
        min_weight_fraction_leaf: float = 0.0,
    ) -> None:
        self.n_estimators = n_estimators
        self.k = k
        self.max_depth = max_depth
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.max_features = max_features
        self.max_features_per_tree = max_features_per_tree
        self.oob_score = oob_score
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.leaf_penalty = leaf_penalty
        self.distinct_splits = distinct_splits
        self.class_weight = class_weight
        self.max_thresholds = max_thresholds
        self.categorical_features = categorical_features
        self.memory_limit = memory_limit
        self.min_weight_fraction_leaf = min_weight_fraction_leaf

    @classmethod
    def of_trees(cls, trees: Sequence[TopKTreeClassifier]) -> TopKForestClassifier:
        """A forest of fitted trees, such as near-optimal ones, of the same features and classes.

        Its parameters are those of the first tree; fitted again, it grows trees of its own.

        Examples
        --------
        >>> from topktree import TopKForestClassifier, TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> trees = [TopKTreeClassifier(k=k, max_depth=4).fit(X, y) for k in (1, 4, 8)]
        >>> len(TopKForestClassifier.of_trees(trees))
        3
        """
        trees = list(trees) if hasattr(trees, "__getitem__") or hasattr(trees, "__iter__") else trees
        if not isinstance(trees, list) or not trees or not all(isinstance(t, TopKTreeClassifier) for t in trees):
            raise ValueError(f"trees must be at least one fitted TopKTreeClassifier, got {trees!r}")
        for tree in trees:
            check_is_fitted(tree)
        first = trees[0]
        if not all(_same_data(first.classes_, first.features_, tree.classes_, tree.features_) for tree in trees):
            raise ValueError("trees must have the same features, categories and classes, got trees that differ in them")
        own = cls().get_params()
        shared = {name: value for name, value in first.get_params().items() if name in own}
        forest = cls(**shared | {"n_estimators": len(trees), "bootstrap": False})
        copy_names(first, forest)
        forest._become(trees, first.classes_, _common([tree.features_ for tree in trees]))
        forest._n_foreign = len(trees)
        return forest

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Draw and search. An error or Ctrl-C leaves an earlier fit as it was.

        Examples
        --------
        >>> from topktree import TopKForestClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> TopKForestClassifier(n_estimators=3, random_state=0).fit(X, y).status_
        'complete'
        """
        start = time.monotonic()
        self._check_parameters()
        template = self._template()
        with restored_on_error(self):
            n_kept = len(self._kept_trees())
            data = prepare(self, X, y, sample_weight)
            shared = data.work.call(shared_data, data)
            copy_names(self, template)
            features = self._common_features(data)
            drawing = data.work.call(self._drawing, shared, data.training.sample_weight)
            votes = OutOfBag(len(data.training.y), len(data.training.classes)) if self.oob_score else None
            if votes is not None:
                self._earlier_votes(data, drawing, votes)
            limits, numbers = limits_of(self.time_limit, start), range(n_kept, self.n_estimators)
            grown = _grow_all(template, shared, drawing, numbers, self.n_jobs, limits, votes is not None)
            trees = self._collect(grown, drawing, votes, shared)
            self._become(trees, data.training.classes, features)
            if votes is not None:
                self._store_oob(votes, data)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the highest mean share; ties go to the first class.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = TopKForestClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X, y)
        >>> forest.predict(X[:2])
        array([0, 0])
        """
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(shares, axis=1)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Mean over the trees of the class shares of the training weight in each row's leaf.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = TopKForestClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X, y)
        >>> forest.predict_proba(X[:1]).shape
        (1, 3)
        """
        encoded = self._encode(X)
        return sum_of_shares(self.estimators_, encoded, len(self.classes_)) / len(self.estimators_)

    def to_sklearn(self) -> RandomForestClassifier | Pipeline:
        """A fitted scikit-learn object with the same predictions and probabilities for every input.

        A `RandomForestClassifier` if all features are numbers or booleans without missing values, and of a size that
        scikit-learn's float32 can tell apart; else a `Pipeline` whose last step is one. SHAP and others read it.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = TopKForestClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
        >>> model = forest.to_sklearn()
        >>> bool((model.predict_proba(X) == forest.predict_proba(X)).all())
        True
        """
        check_is_fitted(self)
        return to_random_forest(self.estimators_, self.features_, getattr(self, "feature_names_in_", None))

    def save(self, path: PathLike) -> None:
        """Write the fitted forest to a JSON file, which `topktree.load` reads.

        Functions (a criterion or an `oob_score` of your own), a `random_state` that is no number, and
        `oob_decision_function_` are not saved; nor are parameters of trees that were put into it and differ from those
        of the forest.

        Examples
        --------
        >>> import topktree
        >>> X, y = topktree.datasets.load_monks(1, return_X_y=True)
        >>> forest = topktree.TopKForestClassifier(n_estimators=3, max_depth=3, random_state=0).fit(X, y)
        >>> forest.save("forest.json")
        >>> len(topktree.load("forest.json"))
        3
        """
        check_is_fitted(self)
        self._check_parameters(criterion_is_lost=self.criterion is None)
        score = getattr(self, "oob_score_", math.nan)
        draws = {"seed": self._seed, "foreign": self._n_foreign}
        save_ensemble(path, self, FOREST, {**draws, "oob_score": score if math.isfinite(score) else None})

    def _check_parameters(self, criterion_is_lost: bool = False) -> None:
        self._check_shared_parameters(criterion_is_lost)
        for name in ("bootstrap", "warm_start"):
            checks.check_bool(name, getattr(self, name))
        if not callable(self.oob_score):
            checks.check_bool("oob_score", self.oob_score)
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score needs bootstrap=True: without it there are no rows that a tree has not seen")
        checks.check_samples("max_samples", self.max_samples)
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError(f"max_samples needs bootstrap=True, got {self.max_samples!r}")
        for name in ("max_features", "max_features_per_tree"):
            checks.check_max_features(name, getattr(self, name))

    def _kept_trees(self) -> list[TopKTreeClassifier]:
        """Those of an earlier fit."""
        if not self.warm_start or not hasattr(self, "estimators_"):
            return []
        if self.n_estimators < len(self.estimators_):
            raise ValueError(
                f"n_estimators must be at least {len(self.estimators_)}, the number of trees that are there, if "
                f"warm_start is True, got {self.n_estimators}"
            )
        return self.estimators_

    def _common_features(self, data: TrainingData) -> tuple[Feature, ...]:
        """Those of the data, which must be those of earlier trees."""
        training = data.training
        if not self._kept_trees():
            return training.features
        if not _same_data(self.classes_, self.features_, training.classes, training.features):
            allowed = "data with the features, categories and classes of the trees that are there"
            raise ValueError(f"warm_start needs {allowed}, got others")
        return _common([self.features_, training.features])

    def _drawing(self, data: SharedData, weights: FloatArray | None) -> Drawing:
        rows = draw_rows(data, weights, self.max_samples) if self.bootstrap else None
        self._n_foreign = self._count_foreign(None if rows is None else (rows.mark, rows.n_draws))
        if not self._kept_trees() or self._seed is None:
            self._seed = int(check_random_state(self.random_state).randint(_SEEDS, dtype=np.uint32))
        n_all = len(data.features)
        checks.check_samples("max_samples", self.max_samples, max(len(data.y), MAX_REPEATED))
        for name in ("max_features", "max_features_per_tree"):
            checks.check_max_features(name, getattr(self, name), n_all)
        return Drawing(
            seed=self._seed,
            rows=rows,
            weight=weights,
            n_tree_features=n_features(self.max_features_per_tree, n_all),
            n_node_features=n_features(self.max_features, n_all),
            column_feature=data.columns.feature,
        )

    def _count_foreign(self, sampling: tuple[int, int] | None) -> int:
        """Of the trees that are there: those that were put in, or all if these are not the draws that they had."""
        n_kept = len(self._kept_trees())
        known = self._sampling in (sampling, FROM_FILE)
        self._sampling = sampling
        return min(self._n_foreign, n_kept) if known else n_kept

    def _collect(
        self, grown: Iterator[Grown], drawing: Drawing, votes: OutOfBag | None, data: SharedData
    ) -> list[TopKTreeClassifier]:
        """The trees as they come; what they say of rows that they have not seen is added up."""
        trees = self._kept_trees().copy()
        with CountLine(self.n_estimators, "trees", bool(self.verbose)) as line:
            for one in grown:
                if votes is not None:
                    votes.add(drawing.sample(len(trees)), one.tree, one.leaves)
                one.tree.features_, one.tree.classes_ = data.features, data.classes  # not a copy from other processes
                trees.append(one.tree)
                line(len(trees))
        return trees

    def _earlier_votes(self, data: TrainingData, drawing: Drawing, votes: OutOfBag) -> None:
        """Of the trees that an earlier fit has left, as far as they drew."""
        kept = self._kept_trees()[self._n_foreign :]
        encoded = encode(data.training.table, data.training.features)
        for i, tree in enumerate(kept, start=self._n_foreign):
            votes.add(drawing.sample(i), tree, tree.tree_.apply(encoded))

    def _become(self, trees: list[TopKTreeClassifier], classes: NDArray[Any], features: tuple[Feature, ...]) -> None:
        self.estimators_ = trees
        self.features_ = features
        self.classes_ = classes
        self.status_ = TIME_LIMIT if any(tree.status_ == TIME_LIMIT for tree in trees) else COMPLETE
        for name in ("oob_score_", "oob_decision_function_"):  # of an earlier fit
            self.__dict__.pop(name, None)

    def _store_oob(self, votes: OutOfBag, data: TrainingData) -> None:
        training, means = data.training, votes.means()
        judged = ~np.isnan(means[:, 0])
        if not judged.all():
            text = f"{np.count_nonzero(~judged)} of {len(judged)} rows are in the sample of every tree: they have no"
            warnings.warn(f"{text} oob_decision_function_; more trees leave fewer of them", UserWarning, stacklevel=3)
        metric = self.oob_score if callable(self.oob_score) else _accuracy
        predicted = training.classes[np.argmax(means[judged], axis=1)]
        self.oob_score_ = float(metric(training.classes[training.y[judged]], predicted)) if judged.any() else np.nan
        self.oob_decision_function_ = training.for_all_rows(means)

    def _votes(self) -> FloatArray:
        return np.full(len(self.estimators_), 1 / len(self.estimators_))


def restore_forest(saved: SavedEnsemble) -> TopKForestClassifier:
    """The forest of a file. A ValueError says what this version cannot read."""
    forest = restore_parameters(TopKForestClassifier, saved.parameters)
    restore_trees(forest, saved)
    forest._seed = saved.seed
    forest._n_foreign = saved.n_foreign
    forest._sampling = FROM_FILE
    if saved.oob_score is not None:
        forest.oob_score_ = saved.oob_score
    return forest


def _accuracy(labels: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Of all labels that `fit` takes, which scikit-learn's own function does not allow."""
    return float(np.mean(labels == predicted))


def _same_data(
    classes: NDArray[Any], features: Sequence[Feature], others: NDArray[Any], other_features: Sequence[Feature]
) -> bool:
    """Whether trees of the two can be in one forest: they mean the same by classes, features and categories."""

    def meanings(of: Sequence[Feature]) -> list[tuple[Any, ...]]:
        return [(feature.name, feature.kind, feature.categories) for feature in of]

    return np.array_equal(classes, others) and meanings(features) == meanings(other_features)


def _common(several: Sequence[tuple[Feature, ...]]) -> tuple[Feature, ...]:
    """Features of the same meaning as one: what any of the data had."""
    return tuple(
        replace(same[0], has_missing=any(f.has_missing for f in same), has_extreme=any(f.has_extreme for f in same))
        for same in zip(*several, strict=True)
    )


def _grow_all(
    template: TopKTreeClassifier,
    data: SharedData,
    drawing: Drawing,
    numbers: range,
    n_jobs: int | None,
    limits: Limits,
    with_leaves: bool,
) -> Iterator[Grown]:
    """The trees with these numbers, in their order; with the leaves of all rows if these are needed."""
    threads = threads_per_call(n_jobs, len(numbers))
    at_once = min(max(1, int(joblib.effective_n_jobs(n_jobs))), max(1, len(numbers)))
    n_jobs = n_jobs if n_jobs is None else min(n_jobs, max(1, len(numbers)))  # joblib starts as many as it is told
    tree, shared, drawn = share([template, data, drawing], n_jobs)
    calls = (
        joblib.delayed(grow_one)(tree, shared, drawn, i, limits, threads, min(1.0, at_once / left), with_leaves)
        for i, left in zip(numbers, range(len(numbers), 0, -1), strict=True)
    )
    yield from in_parallel(calls, n_jobs, limits, in_order=True)


def grow_one(
    template: TopKTreeClassifier,
    data: SharedData,
    drawing: Drawing,
    i: int,
    limits: Limits,
    threads: int,
    part: float,
    with_leaves: bool,
) -> Grown:
    """One call, here or on another machine; it has this part of the time that is left."""
    with limits.working():
        if limits.cancelled:
            raise Cancelled
        options = template._search_options(time.perf_counter())
        options = replace(
            options, threads=threads, progress=limits.watch(must_finish=True), time_limit=share_of_time(limits, part)
        )
        grown = grow(template, data, drawing.view(i), options)
        return grown if with_leaves else replace(grown, leaves=grown.leaves[:0])
