"""`TopKTreeClassifierCV`: the tree whose k, depth, leaf penalty and other parameters cross-validation chooses.

In: a table and class labels, as for `TopKTreeClassifier`, and a grid. Out: the chosen tree, behind the same interface,
and the results of all candidates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from itertools import product
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.utils.validation import check_is_fitted

from .._base import FittedTree, copy_names, fitted_copy, found_tree_of, set_fitted
from .._classifier import TopKTreeClassifier, tree_like
from .._data.arrays import FloatArray
from .._data.labels import read_labels, read_weights
from .._data.table import CATEGORY
from .._data.training import TrainingData, prepare
from .._runtime import checks
from .._runtime.limits import COMPLETE, FAILED, TIME_LIMIT, Limits, restored_on_error
from .._runtime.parallel import in_parallel
from .._search.fitter import search_options, search_tree
from .._search.objective import CRITERIA, LOOKAHEAD
from .._search.spec import read_spec
from .folds import Fold, make_fold, read_splits
from .grid import Outcome, evaluate, tabulate, usable_folds
from .rule import ONE_SE, RULES, Candidate, best, choose, scores_of, threshold
from .scoring import Scoring

# Parameters that may be sequences of values to choose from, and the check of a value.
CHECKS: dict[str, Callable[[Any], None]] = {
    "criterion": lambda value: checks.check_choice("criterion", value, (*CRITERIA, LOOKAHEAD)),
    "refine": lambda value: checks.check_bool("refine", value),
    "min_samples_leaf": checks.check_min_samples_leaf,
    "max_leaf_nodes": lambda value: checks.check_int("max_leaf_nodes", value, 2, or_none=True),
}


class TopKTreeClassifierCV(FittedTree):
    """A decision tree classifier that chooses k, depth, leaf penalty and other parameters by cross-validation.

    Every combination is fitted to the training rows of every fold, and the chosen one to all rows. By default the
    choice is not the combination with the highest score but the simplest tree whose score is within one standard error
    of it, because small differences between the scores of a few folds are chance.

    Parameters
    ----------
    ks : sequence, default=(1, 2, 4, 8, 16)
        Values of k: ints, "all", or sequences of these with one entry per level.
    max_depths : sequence of int, default=(2, 3, 4, 5, 6)
    leaf_penalties : sequence of float or "tie", default=(0.0,)
    cv : int, splitter or iterable, default=5
        Number of stratified folds, with the rows in random order; or one of scikit-learn's splitters, or pairs of
        arrays of training and test rows.
    rule : {"1se", "best"}, default="1se"
        "best": the highest mean score. "1se": among the combinations whose mean score is within one standard error of
        the best, the one with the fewest leaves (their mean over the folds), then the smaller depth, then the smaller
        k. It never gives a tree with more leaves than "best" does.
    scoring : str, callable or None, default=None
        A scikit-learn scorer, or the name of one; None means accuracy. It is given the rows' weights if it accepts
        them.
    random_state : int, RandomState instance or None, default=0
        Order of the rows for an int `cv`. The same number gives the same folds and so the same choice.
    time_limit : float or None, default=None
        Seconds for everything. When the limit is reached, the choice is made from the combinations that were finished
        in every fold, small k first, and a warning says so. The simplest combination is always finished.
    n_jobs : int or None, default=None
        Number of fits at the same time, in threads (or as joblib's active backend says); None means 1, -1 all cores.
        Threads that are left over help within the fits.
    verbose : int, default=0
        1 shows a line of progress on stderr.
    criterion, refine, min_samples_leaf, max_leaf_nodes
        As in `TopKTreeClassifier`, for every fit; or a sequence of values to choose from, without callables.
    lookahead_columns, distinct_splits, class_weight, max_thresholds, categorical_features, memory_limit, \
min_weight_fraction_leaf
        As in `TopKTreeClassifier`, for every fit.

    Attributes
    ----------
    best_params_ : dict
        k, max_depth and leaf_penalty of the choice, and the other parameters that were given as sequences.
    best_estimator_ : TopKTreeClassifier
        The choice, fitted to all rows. This class has the same methods; `plot_tree` draws its tree.
    best_index_ : int
        Index of the choice in `cv_results_`.
    best_score_ : float
        Mean score of the choice.
    threshold_ : float or None
        Lowest mean score that the rule "1se" allows.
    cv_results_ : dict
        As in scikit-learn's `GridSearchCV`, and in addition se_test_score (standard error), mean_n_leaves,
        std_n_leaves, mean_depth, seconds (of all folds) and status ("complete", "time_limit" or "failed"). Folds are
        binarized once, before the fits: the times do not include that.
    n_splits_ : int
        Number of folds.
    status_ : str
        The status of `best_estimator_`, or "time_limit" if some of the grid was not finished.
    search_ : dict
        The record of the search for `best_estimator_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from topktree import TopKTreeClassifierCV, datasets
    >>> monks = datasets.load_monks(1)
    >>> cv = TopKTreeClassifierCV(ks=(1, 4), max_depths=(2, 4)).fit(monks.data, monks.target)
    >>> cv.best_params_
    {'k': 4, 'max_depth': 4, 'leaf_penalty': 0.0}
    >>> ax = cv.plot_scores()  # the scores of the grid; plot() draws the tree
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TopKTreeClassifierCV(ks=(1, 8), max_depths=(1, 2)).fit(X, y)
    >>> clf.best_params_
    {'k': 1, 'max_depth': 2, 'leaf_penalty': 0.0}
    """

    def __init__(
        self,
        *,
        ks: Sequence[Any] = (1, 2, 4, 8, 16),
        max_depths: Sequence[int] = (2, 3, 4, 5, 6),
        leaf_penalties: Sequence[float | str] = (0.0,),
        cv: Any = 5,
        rule: str = ONE_SE,
        scoring: Any = None,
        random_state: Any = 0,
        criterion: Any = "entropy",
        lookahead_columns: int | None = None,
        refine: bool | Sequence[bool] = False,
        min_samples_leaf: int | float | Sequence[int | float] = 1,
        max_leaf_nodes: int | Sequence[int | None] | None = None,
        distinct_splits: bool = False,
        class_weight: str | dict[Any, float] | None = None,
        max_thresholds: int | None = 32,
        categorical_features: Any = "from_dtype",
        time_limit: float | None = None,
        memory_limit: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        min_weight_fraction_leaf: float = 0.0,
    ) -> None:
        self.ks = ks
        self.max_depths = max_depths
        self.leaf_penalties = leaf_penalties
        self.cv = cv
        self.rule = rule
        self.scoring = scoring
        self.random_state = random_state
        self.criterion = criterion
        self.lookahead_columns = lookahead_columns
        self.refine = refine
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.distinct_splits = distinct_splits
        self.class_weight = class_weight
        self.max_thresholds = max_thresholds
        self.categorical_features = categorical_features
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.min_weight_fraction_leaf = min_weight_fraction_leaf

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Self:
        """Try the grid, choose, and fit the choice to all rows. `groups` is for a `cv` that keeps groups together.

        Examples
        --------
        >>> from sklearn.model_selection import RepeatedStratifiedKFold
        >>> splitter = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
        >>> TopKTreeClassifierCV(ks=(1, 8), max_depths=(1, 2), cv=splitter).fit(X, y).n_splits_
        10
        """
        limits = Limits.starting(self.time_limit)
        candidates = self._candidates()
        tree = tree_like(self, **candidates[0].params, time_limit=None, verbose=0)
        spec = read_spec(tree)
        scoring = Scoring(self.scoring)
        with restored_on_error(self):
            labels = read_labels(y)
            data = prepare(tree, X, labels, sample_weight)
            weights = read_weights(sample_weight, len(labels))
            splits = read_splits(self.cv, X, labels, groups, self.random_state)
            # All rows decide which features are categories.
            in_folds = copy(tree)
            in_folds.categorical_features = [feature.kind == CATEGORY for feature in data.features]
            calls = (
                joblib.delayed(make_fold)(in_folds, X, labels, weights, data.classes, rows, scoring, limits)
                for rows in splits
            )
            folds: list[Fold] = list(in_parallel(calls, self.n_jobs, limits, in_order=True))
            outcomes = evaluate(folds, candidates, spec, limits, self.n_jobs, bool(self.verbose))
            self.n_splits_ = len(folds)
            self.scorer_ = scoring
            self.cv_results_ = tabulate(candidates, len(folds), outcomes)
            self._warn(folds, outcomes)
            self._choose(candidates, tree, data, limits)
        return self

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the score defined by `scoring`, which is accuracy by default."""
        check_is_fitted(self)
        if self.scorer_.is_accuracy:
            return super().score(X, y, sample_weight)
        return self.scorer_(self, X, y, None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))

    def plot_scores(self, ax: Any = None) -> Any:
        """Draw the scores against the depth, a line per k, with their standard errors, and return the Axes.

        If other parameters vary, the scores with their chosen values are drawn. A ring marks the choice.
        """
        from .._tree.charts import plot_choice

        check_is_fitted(self)
        results, chosen = self.cv_results_, self.best_params_
        depths = sorted(set(results["param_max_depth"]))
        lines: dict[str, tuple[FloatArray, FloatArray]] = {}
        for i, params in enumerate(results["params"]):
            if all(params[name] == chosen[name] for name in params.keys() - {"k", "max_depth"}):
                empty = (np.full(len(depths), np.nan), np.full(len(depths), np.nan))
                mean, error = lines.setdefault(f"k = {checks.k_text(params['k'])}", empty)
                at = depths.index(params["max_depth"])
                mean[at], error[at] = results["mean_test_score"][i], results["se_test_score"][i]
        ylabel = f"{self.scorer_.name} ({self.n_splits_} folds)"
        mark = (f"k = {checks.k_text(chosen['k'])}", chosen["max_depth"])
        return plot_choice(depths, lines, mark, self.threshold_, ylabel, ax)

    def _searched(self) -> tuple[TopKTreeClassifier, TopKTreeClassifierCV]:
        return self.best_estimator_, self

    def _candidates(self) -> list[Candidate]:
        """Return the grid, validated."""
        checks.check_choice("rule", self.rule, RULES)
        checks.check_time_limit(self.time_limit)
        checks.check_n_jobs(self.n_jobs)
        checks.check_verbose(self.verbose)
        depths = _values("max_depths", self.max_depths, lambda d: checks.check_int("max_depth", d, 0, checks.MAX_DEPTH))
        penalties = _values("leaf_penalties", self.leaf_penalties, checks.check_leaf_penalty)
        ks = _values("ks", self.ks, lambda k: checks.check_k(k, max(depths)))
        others = {name: _values(name, getattr(self, name), CHECKS[name]) for name in CHECKS if self._varies(name)}
        return [
            Candidate(k, depth, penalty, tuple(zip(others, values, strict=True)))
            for k, depth, penalty, *values in product(ks, depths, penalties, *others.values())
        ]

    def _varies(self, name: str) -> bool:
        """Tell whether a parameter is a sequence of values to choose from."""
        value = getattr(self, name)
        return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)

    def _warn(self, folds: Sequence[Fold], outcomes: Sequence[Outcome]) -> None:
        """Warn about fits that failed or were not finished. Raise if there is nothing to choose from."""
        failed = [outcome for outcome in outcomes if outcome.status == FAILED]
        why = [f"fold {f}: {fold.error}" for f, fold in enumerate(folds) if fold.error]
        why += [f"fold {outcome.fold}, {outcome.candidate.params}: {outcome.error}" for outcome in failed]
        status = self.cv_results_["status"].tolist()
        limit = f"time_limit={self.time_limit} s was reached before the end"
        usable = usable_folds(outcomes)
        if np.isnan(self.cv_results_["mean_test_score"]).all():
            reasons = why[:1] + ([limit] if any(outcome.status == TIME_LIMIT for outcome in outcomes) else [])
            text = f"none of the {len(status)} candidates has a score in every fold"
            raise ValueError(f"{text}. {'; '.join(reasons)}")
        if len(usable) < len(folds):
            n_lost = len(folds) - len(usable)
            text = f"{n_lost} of {len(folds)} folds left out, for which no candidate has a score. {why[0]}"
            warnings.warn(text, FitFailedWarning, stacklevel=3)
        n_failed = sum(outcome.fold in usable for outcome in failed)
        if n_failed:
            text = f"{n_failed} of {len(outcomes)} fits failed; their candidates are not chosen. {why[-1]}"
            warnings.warn(text, FitFailedWarning, stacklevel=3)
        if TIME_LIMIT in status:
            done = f"{status.count(COMPLETE)} of {len(status)} candidates that were finished"
            warnings.warn(f"{limit}: the choice is among the {done}", ConvergenceWarning, stacklevel=3)

    def _choose(
        self, candidates: Sequence[Candidate], tree: TopKTreeClassifier, data: TrainingData, limits: Limits
    ) -> None:
        """Choose a candidate, and take over its tree fitted to all rows."""
        scores = scores_of(self.cv_results_)
        chosen, top = choose(candidates, scores, self.rule), best(candidates, scores)
        fitted = _refit(tree, candidates[chosen], data, limits)
        if chosen != top and not limits.leaves_no_refit():
            # The tree of all rows may have more leaves than those of the folds.
            rival = _refit(tree, candidates[top], data, limits)
            if rival.get_n_leaves() < fitted.get_n_leaves():
                chosen, fitted = top, rival
        self.best_index_ = chosen
        self.best_params_ = candidates[chosen].params
        self.best_score_ = float(scores.mean[chosen])
        self.threshold_ = threshold(candidates, scores, self.rule) if self.rule == ONE_SE else None
        self.best_estimator_ = fitted
        self.__dict__.pop("feature_names_in_", None)  # an earlier fit may have set it
        copy_names(fitted, self)
        set_fitted(self, found_tree_of(fitted))
        if TIME_LIMIT in self.cv_results_["status"]:
            self.status_ = TIME_LIMIT
        if fitted.status_ == TIME_LIMIT:
            text = f"time_limit={self.time_limit} s was reached during the last fit, to all rows: see search_"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)


def _values(name: str, values: Any, check: Callable[[Any], None]) -> list[Any]:
    """Return a grid's values of one parameter, each once."""
    is_list = values.ndim == 1 if isinstance(values, np.ndarray) else isinstance(values, Sequence)
    if not is_list or isinstance(values, str) or len(values) == 0:
        raise ValueError(f"{name} must be a sequence of at least one value, got {checks.short(values)}")
    plain = [_plain(value) for value in values]
    try:
        for value in plain:
            check(value)
    except ValueError as error:
        raise ValueError(f"{name} has a value that is not allowed: {error}") from None
    return list(dict.fromkeys(plain))


def _plain(value: Any) -> Any:
    """Return a value of Python's own types, which can be compared and printed; a k may have an entry per level."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _refit(tree: TopKTreeClassifier, candidate: Candidate, data: TrainingData, limits: Limits) -> TopKTreeClassifier:
    """Return the candidate fitted to all rows, in the time that is left."""
    time_limit = limits.seconds_left()
    # Compared with all the folds, the exact costs at the root take little time, and the report can show them.
    exact_root = time_limit is None and checks.is_narrow(candidate.k)
    options = search_options(tree, time_limit, exact_root=exact_root)
    spec = replace(read_spec(tree), **candidate.params)
    return fitted_copy(tree, search_tree(data, spec, options), **candidate.params)
