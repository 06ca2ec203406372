"""`TopKForestClassifier`: Top-k trees of bootstrap samples, averaged.

In: a table and class labels, as for one tree. Out: trees that a person can read one by one, and their mean vote.
The one idea: the table is binarized and packed once; a bootstrap sample is a vector of integer weights for the search.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .._data.arrays import FloatArray, IntArray
from .._data.training import TrainingData
from .._runtime import checks
from .._runtime.limits import Cancelled, Limits
from .._runtime.parallel import calls_at_once, in_parallel, threads_per_call
from .._runtime.progress import CountLine
from .._search.engine import SearchOptions
from .._search.fitter import search_options
from .._search.objective import ScoreFunction
from .._search.spec import TreeSpec, check_parameters, read_spec
from .._tree.model_file import FOREST
from .base import FittedEnsemble, set_trees
from .member import Member, search_member
from .sampling import MAX_REPEATED, Sampler, check_at_most, check_part, count_features, row_sampler

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import Pipeline


class TopKForestClassifier(FittedEnsemble):
    """A forest of Top-k trees, each fitted to a sample of the rows; the class with the highest mean share wins.

    Small forests are the point: a few trees of a few levels that can still be read. With `n_estimators=1`,
    `bootstrap=False` and `max_features=None` it is the tree of `TopKTreeClassifier`.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of trees.
    k : int, "all" or sequence, default=8
        Number of candidate splits per node, as in `TopKTreeClassifier`.
    max_depth : int, default=5
        Levels of splits of every tree.
    bootstrap : bool, default=True
        Whether every tree has its own sample of the rows, drawn with replacement and with probabilities proportional
        to `sample_weight`. If not, all trees have all rows.
    max_samples : int, float or None, default=None
        Number of rows in a sample, at most 2**24 or the number of all rows, whichever is larger; or a fraction of all
        rows. None: as many as there are rows, or, if the weights are integers with a sum of at most 2**24, as many as
        that sum, as if rows were repeated.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Number of features that are drawn at every node, out of those that can split it: only their columns are
        candidates. A number, a fraction of all, or the square root or logarithm of their number. None: all.
    oob_score : bool or callable, default=False
        Whether to score the forest on rows that are not in a tree's sample: by accuracy, or by a callable of the labels
        and the predictions.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. The same number gives the same forest, whatever `n_jobs` and the order of the rows are.
    n_jobs : int or None, default=None
        Number of trees that are searched for at the same time, in threads (or as joblib's active backend says); None
        means 1, -1 all cores. Spare threads help within the searches.
    time_limit : float or None, default=None
        Seconds for all of `fit`. Each tree gets a share of the time that is left, and is the best one found in it.
    verbose : int, default=0
        1 shows a line of progress on stderr.
    criterion, min_samples_leaf, leaf_penalty, distinct_splits, class_weight, max_thresholds, categorical_features, \
memory_limit, min_weight_fraction_leaf
        As in `TopKTreeClassifier`, for every tree and the rows of its sample. `min_samples_leaf` counts a row once
        however often it was drawn; "balanced" makes all classes of a sample weigh the same.

    Attributes
    ----------
    estimators_ : list of TopKTreeClassifier
        The trees; indexing the forest also returns them.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if `X` had string column names.
    features_ : tuple of Feature
        Name, kind, categories and missing values of each feature.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Mean of the trees' own importances.
    oob_score_ : float
        Only with `oob_score`. Rows that are in all samples, and rows without weight, do not count.
    oob_decision_function_ : ndarray of shape (n_rows, n_classes)
        Only with `oob_score`: mean shares of the trees whose sample does not contain the row; NaN if there is none.
    status_ : str
        "complete", or "time_limit" if that ended the search of a tree.

    Notes
    -----
    All trees share one packed matrix: a search holds only its own copy of the bits of the rows and columns that it
    sees, for as long as it takes. How often a row was drawn is its integer weight, so every tree is exactly that of the
    repeated rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from topktree import TopKForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TopKForestClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
    >>> len(clf), clf[0].get_depth(), clf.status_
    (3, 2, 'complete')
    >>> print(clf.export_text().partition("|")[0].strip())
    tree 1 of 3, 33.3% of the votes
    >>> clf.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    >>> (clf.to_sklearn().predict_proba(X) == clf.predict_proba(X)).all()
    np.True_
    """

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        k: int | str | Sequence[int | str] = 8,
        max_depth: int = 5,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        max_features: str | int | float | None = None,
        oob_score: bool | Callable[[Any, Any], float] = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        criterion: str | ScoreFunction = "entropy",
        min_samples_leaf: int | float = 1,
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
        self.oob_score = oob_score
        self.random_state = random_state
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

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the highest mean share; ties go to the first class."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(shares, axis=1)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the mean over the trees of the class shares of the training weight in each row's leaf."""
        encoded = self._encode(X)
        total = np.zeros((len(encoded), len(self.classes_)))
        for tree in self.estimators_:
            total += tree.tree_.shares()[tree.tree_.apply(encoded)]
        return total / len(self.estimators_)

    def to_sklearn(self) -> RandomForestClassifier | Pipeline:
        """Return a fitted scikit-learn object with the same predictions and probabilities.

        It is a `RandomForestClassifier` if all features are booleans or numbers that float32 can tell apart, without
        missing values; otherwise it is a `Pipeline` whose last step is one. SHAP and other tools can read it. Only a
        number within float32 rounding of a threshold may go the other way.
        """
        from .to_sklearn import to_random_forest

        return to_random_forest(self)

    def _check(self, criterion_is_lost: bool = False) -> None:
        check_forest(self, criterion_is_lost)

    def _find_trees(self, data: TrainingData, limits: Limits) -> None:
        sampler = data.work.call(self._sampler, data)
        votes = _OutOfBagVotes(len(data.y), len(data.classes)) if self.oob_score else None
        found = []
        with CountLine(self.n_estimators, "trees", bool(self.verbose)) as line:
            for i, member in enumerate(self._members(data, sampler, limits)):
                # Other processes return copies of the features and classes.
                found.append(replace(member.found, features=data.features, classes=data.classes))
                if votes is not None:
                    votes.add(sampler.counts(i), member)
                line()
        set_trees(self, found)
        for name in ("oob_score_", "oob_decision_function_"):  # an earlier fit may have set them
            self.__dict__.pop(name, None)
        if votes is not None:
            self._set_oob(votes.means(), data)

    def _sampler(self, data: TrainingData) -> Sampler:
        n_features = len(data.features)
        check_at_most("max_samples", self.max_samples, max(len(data.y), MAX_REPEATED))
        check_at_most("max_features", self.max_features, n_features, "the number of features, ")
        return Sampler(
            seed=int(check_random_state(self.random_state).randint(2**32, dtype=np.uint32)),
            rows=row_sampler(data, self.max_samples) if self.bootstrap else None,
            n_features=count_features(self.max_features, n_features),
        )

    def _members(self, data: TrainingData, sampler: Sampler, limits: Limits) -> Iterator[Member]:
        """Yield the trees in order."""
        n_trees, spec = self.n_estimators, read_spec(self)
        options = search_options(self, threads=threads_per_call(self.n_jobs, n_trees))
        at_once = min(max(1, calls_at_once(self.n_jobs)), n_trees)
        n_jobs = None if self.n_jobs is None else min(self.n_jobs, n_trees)  # joblib starts as many as it is told
        calls = (
            joblib.delayed(_search_one)(data, spec, sampler, i, options, min(1.0, at_once / (n_trees - i)), limits)
            for i in range(n_trees)
        )
        yield from in_parallel(calls, n_jobs, limits, in_order=True)

    def _set_oob(self, means: FloatArray, data: TrainingData) -> None:
        has_votes = ~np.isnan(means[:, 0])
        if not has_votes.all():
            text = f"{np.count_nonzero(~has_votes)} of {len(has_votes)} rows are in the sample of every tree"
            more = "they have no oob_decision_function_; more trees leave fewer of them"
            warnings.warn(f"{text}: {more}", UserWarning, stacklevel=4)
        labels, predicted = data.classes[data.y[has_votes]], data.classes[np.argmax(means[has_votes], axis=1)]
        if not has_votes.any():
            self.oob_score_ = math.nan
        elif callable(self.oob_score):
            self.oob_score_ = float(self.oob_score(labels, predicted))
        else:
            self.oob_score_ = float(np.mean(labels == predicted))
        self.oob_decision_function_ = data.for_all_rows(means)

    def _votes(self) -> FloatArray:
        return np.full(len(self.estimators_), 1 / len(self.estimators_))

    def _for_file(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        score = getattr(self, "oob_score_", math.nan)
        own = {"kind": FOREST, "oob_score": score if math.isfinite(score) else None}
        return own, [{}] * len(self.estimators_)


def check_forest(forest: TopKForestClassifier, criterion_is_lost: bool = False) -> None:
    """Validate all parameters. A file does not keep a custom criterion."""
    check_parameters(forest, criterion_is_lost)
    checks.check_int("n_estimators", forest.n_estimators, 1)
    checks.check_random_state(forest.random_state)
    checks.check_bool("bootstrap", forest.bootstrap)
    if not callable(forest.oob_score):
        checks.check_bool("oob_score", forest.oob_score)
    if forest.oob_score and not forest.bootstrap:
        raise ValueError("oob_score needs bootstrap=True: without it there are no rows that a tree has not seen")
    check_part("max_samples", forest.max_samples)
    if forest.max_samples is not None and not forest.bootstrap:
        raise ValueError(f"max_samples needs bootstrap=True, got {checks.short(forest.max_samples)}")
    check_part("max_features", forest.max_features, "sqrt", "log2")


class _OutOfBagVotes:
    """Sums over trees of their votes on the training rows that are not in their samples."""

    def __init__(self, n_rows: int, n_classes: int) -> None:
        self._shares = np.zeros((n_rows, n_classes))
        self._n_trees = np.zeros((n_rows, 1))

    def add(self, counts: IntArray, member: Member) -> None:
        """Add a tree, given how often its sample has each row."""
        rows = counts == 0
        self._shares[rows] += member.found.tree.shares()[member.leaves[rows]]
        self._n_trees[rows] += 1

    def means(self) -> FloatArray:
        """Return the mean shares, (n_rows, n_classes): NaN where no tree has a vote."""
        with np.errstate(invalid="ignore"):  # 0 / 0
            return np.asarray(self._shares / self._n_trees)


def _search_one(
    data: TrainingData, spec: TreeSpec, sampler: Sampler, i: int, options: SearchOptions, part: float, limits: Limits
) -> Member:
    """Search for tree i, here or on another machine, in this part of the time that is left."""
    with limits.working():
        if limits.cancelled:
            raise Cancelled
        objective = sampler.objective(data, spec, i)
        progress = limits.watch(must_finish=True)
        options = replace(options, time_limit=limits.seconds_left(part), progress=progress)
        return search_member(data, spec, objective, options)
