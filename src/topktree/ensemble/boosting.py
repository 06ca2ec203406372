"""`TopKBoostingClassifier`: Top-k trees one after the other, each on the rows that those before it get wrong.

In: a table and class labels, as for one tree. Out: trees with votes of different weight. The algorithm is SAMME
(Zhu et al., 2009), which for two classes is AdaBoost. The one idea: the table is binarized and packed once, and a round
is one search of the same rows with other weights.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import AdaBoostClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._classifier import TopKTreeClassifier, restore_parameters, restored_on_error
from .._data.arrays import FloatArray
from .._data.training import Training, TrainingData
from .._data.weights import inverse_totals
from .._runtime import checks
from .._runtime.files import PathLike
from .._runtime.parallel import count_threads
from .._runtime.progress import CountLine
from .._search.engine import SearchOptions
from .._search.objective import ScoreFunction
from .._selection.grid import COMPLETE, TIME_LIMIT, Limits
from .._tree.model_file import BOOSTING, SavedEnsemble
from .files import restore_trees, save_ensemble
from .fitted_ensemble import FittedEnsemble, copy_names
from .growing import View, grow, limits_of, share_of_time, shared_data
from .rounds import Weights, add_vote, error_rate, is_useless, search_weights, shares_of, vote_of
from .sklearn_ensemble import to_adaboost
from .validation import Validation, hold_out

# Why boosting ended, beside the time limit.
ALL_TREES, PERFECT, USELESS, EARLY = "n_estimators", "perfect_tree", "useless_tree", "early_stopping"

# Of a row that has any, so that its logarithm is finite and what a search makes of it is not zero.
LEAST_WEIGHT = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Round:
    """What came of one."""

    tree: TopKTreeClassifier
    vote: float
    error: float  # share of the weight that the tree gets wrong


class TopKBoostingClassifier(FittedEnsemble):
    """AdaBoost (SAMME) of Top-k trees: every tree is the best of its search on rows weighted by earlier errors.

    Parameters
    ----------
    n_estimators : int, default=10
        Most trees there can be. Boosting ends before if a tree is perfect, useless, or by early stopping.
    k : int, "all" or sequence, default=8
        Candidate splits per node, as in `TopKTreeClassifier`.
    max_depth : int, default=3
        Levels of splits of every tree.
    learning_rate : float, default=1.0
        Factor of every tree's vote.
    n_iter_no_change : int or None, default=None
        With a number, a part of the rows is kept for validation, and boosting ends when its accuracy has not risen by
        more than `tol` in so many rounds. The trees up to the best round stay.
    validation_fraction : float, default=0.1
        Of the rows, if there is validation; they are not trained on.
    tol : float, default=0.0
        By how much the accuracy must rise.
    random_state : int, RandomState instance or None, default=None
        Of the rows for validation. Nothing else is random.
    n_jobs : int or None, default=None
        Threads of every search; None means 1, -1 all cores.
    time_limit : float or None, default=None
        Seconds for the whole of `fit`. Each search has its share of what is left; when nothing is left, boosting ends.
    verbose : int, default=0
        1 shows a line of progress on stderr.
    criterion, min_samples_leaf, leaf_penalty, distinct_splits, class_weight, max_thresholds, categorical_features, \
memory_limit, min_weight_fraction_leaf
        As in `TopKTreeClassifier`, for every tree. `class_weight` is part of the weights that boosting begins with.

    Attributes
    ----------
    estimators_ : list of TopKTreeClassifier
        The trees; also what the classifier itself yields by index.
    estimator_weights_ : ndarray of shape (n_trees,)
        Weights of their votes.
    estimator_errors_ : ndarray of shape (n_trees,)
        Share of the weight that each gets wrong, at the weights of its round.
    stopped_ : str
        Why boosting ended: "n_estimators", "perfect_tree", "useless_tree", "early_stopping" or "time_limit".
    validation_scores_ : ndarray
        With validation: accuracy after every round whose tree could stay, also of rounds after the best one.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if `X` had string column names.
    features_ : tuple of Feature
        Name, kind, categories and missing values of each feature.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Mean of the trees' own, by the weights of their votes.
    status_ : str
        "complete", or "time_limit" if that ended a search or boosting.

    Notes
    -----
    A perfect tree gets the vote 1 and ends boosting; a tree that is no better than chance, weighted, is left out and
    ends it, but stays with the vote 1 if it is the first. The weights of a search are rounded to 3 binary digits each,
    those of the first round are as they are: that changes a weight by a ninth at most, unless it is below 2**-21 of the
    largest, and makes the search faster. Where `sample_weight` is whole numbers below 128, what boosting makes of them
    is rounded instead, so that they are the same as repeated rows. Errors and votes are those of weights as they are.

    Examples
    --------
    >>> from topktree import TopKBoostingClassifier, datasets
    >>> X, y = datasets.load_tic_tac_toe(return_X_y=True)
    >>> boosting = TopKBoostingClassifier(n_estimators=5, max_depth=3).fit(X, y)
    >>> len(boosting), boosting.stopped_
    (5, 'n_estimators')
    """

    def __init__(
        self,
        n_estimators: int = 10,
        k: int | str | Sequence[int | str] = 8,
        max_depth: int = 3,
        learning_rate: float = 1.0,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 0.0,
        random_state: Any = None,
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
        self.learning_rate = learning_rate
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Search round after round. An error or Ctrl-C leaves an earlier fit as it was.

        Examples
        --------
        >>> from topktree import TopKBoostingClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> boosting = TopKBoostingClassifier(k=8, max_depth=4).fit(X, y)
        >>> boosting.score(X, y), len(boosting)
        (1.0, 10)
        """
        start = time.monotonic()
        self._check_parameters()
        template = self._template()
        with restored_on_error(self):
            fraction = None if self.n_iter_no_change is None else self.validation_fraction
            data, validation = hold_out(self, X, y, sample_weight, fraction)
            copy_names(self, template)
            self.classes_, self.features_ = data.training.classes, data.training.features
            self._collect(self._rounds(template, data, validation, limits_of(self.time_limit, start)), validation)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """What the trees vote, over the sum of their votes: (n_rows, n_classes), or (n_rows,) of two classes.

        Examples
        --------
        >>> from topktree import TopKBoostingClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> boosting = TopKBoostingClassifier(n_estimators=3).fit(X, y)
        >>> boosting.decision_function(X[:2]).shape
        (2,)
        """
        *_, decision = self.staged_decision_function(X)
        return decision

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the highest vote; ties go to the first class.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKBoostingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> TopKBoostingClassifier(n_estimators=3, max_depth=1).fit(X, y).predict(X[[0, 60, 120]])
        array([0, 1, 2])
        """
        *_, predicted = self.staged_predict(X)
        return predicted

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities that follow from the votes, as SAMME has it.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKBoostingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> boosting = TopKBoostingClassifier(n_estimators=3, max_depth=1).fit(X, y)
        >>> boosting.predict_proba(X[:2]).shape
        (2, 3)
        """
        *_, shares = self.staged_predict_proba(X)
        return shares

    def staged_decision_function(self, X: ArrayLike) -> Iterator[FloatArray]:
        """The decision function of the first tree, of the first two trees, and so on.

        Examples
        --------
        >>> from topktree import TopKBoostingClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> boosting = TopKBoostingClassifier(n_estimators=3).fit(X, y)
        >>> len(list(boosting.staged_decision_function(X)))
        3
        """
        for decision in self._stages(X):
            yield self._as_user_sees(decision)

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Predictions of the first tree, of the first two trees, and so on.

        Examples
        --------
        >>> from topktree import TopKBoostingClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> boosting = TopKBoostingClassifier(n_estimators=5, max_depth=4).fit(X, y)
        >>> [int((predicted != y).sum()) for predicted in boosting.staged_predict(X)]
        [12, 12, 0, 0, 0]
        """
        for decision in self._stages(X):
            yield np.asarray(self.classes_[np.argmax(decision, axis=1)])

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Class probabilities of the first tree, of the first two trees, and so on.

        Examples
        --------
        >>> from topktree import TopKBoostingClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> boosting = TopKBoostingClassifier(n_estimators=3).fit(X, y)
        >>> [shares.shape for shares in boosting.staged_predict_proba(X[:2])]
        [(2, 2), (2, 2), (2, 2)]
        """
        for decision in self._stages(X):
            yield shares_of(decision)

    def staged_score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Accuracy of the first tree, of the first two trees, and so on.

        Examples
        --------
        >>> from topktree import TopKBoostingClassifier, datasets
        >>> X, y = datasets.load_tic_tac_toe(return_X_y=True)
        >>> boosting = TopKBoostingClassifier(n_estimators=3).fit(X, y)
        >>> scores = list(boosting.staged_score(X, y))
        >>> scores[0] < scores[-1]
        True
        """
        for predicted in self.staged_predict(X):
            yield self._accuracy(predicted, y, sample_weight)

    def to_sklearn(self) -> AdaBoostClassifier | Pipeline:
        """A fitted scikit-learn object with the same decisions, probabilities and predictions.

        An `AdaBoostClassifier` if all features are numbers or booleans without missing values, and of a size that
        scikit-learn's float32 can tell apart; else a `Pipeline` whose last step is one. `AdaBoostClassifier` itself
        refuses missing values: those of a feature that had none in training are an error there, and not here.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKBoostingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> boosting = TopKBoostingClassifier(n_estimators=3, max_depth=1).fit(X, y)
        >>> model = boosting.to_sklearn()
        >>> bool((model.predict(X) == boosting.predict(X)).all())
        True
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        votes, errors = self.estimator_weights_, self.estimator_errors_
        return to_adaboost(self.estimators_, self.features_, names, votes, errors)

    def save(self, path: PathLike) -> None:
        """Write the fitted classifier to a JSON file, which `topktree.load` reads.

        A criterion of your own and a `random_state` that is no number are not saved.

        Examples
        --------
        >>> import topktree
        >>> X, y = topktree.datasets.load_monks(1, return_X_y=True)
        >>> boosting = topktree.TopKBoostingClassifier(n_estimators=3, max_depth=3).fit(X, y)
        >>> boosting.save("boosting.json")
        >>> len(topktree.load("boosting.json"))
        3
        """
        check_is_fitted(self)
        self._check_parameters(criterion_is_lost=self.criterion is None)
        pairs = zip(self.estimator_weights_.tolist(), self.estimator_errors_.tolist(), strict=True)
        scores = getattr(self, "validation_scores_", None)
        more = {
            "stopped": self.stopped_,
            "validation_scores": None if scores is None else scores.tolist(),
            "trees": [{"vote": vote, "error": error} for vote, error in pairs],
        }
        save_ensemble(path, self, BOOSTING, more)

    def _stages(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Votes (n_rows, n_classes) after every tree, over their sum so far."""
        encoded = self._encode(X)
        decision, votes = np.zeros((len(encoded), len(self.classes_))), self.estimator_weights_
        for i, tree in enumerate(self.estimators_):
            add_vote(decision, tree.tree_.predict(encoded), float(votes[i]))
            yield decision / votes[: i + 1].sum()

    def _as_user_sees(self, decision: FloatArray) -> FloatArray:
        return np.asarray(decision[:, 1] - decision[:, 0]) if len(self.classes_) == 2 else decision

    def _check_parameters(self, criterion_is_lost: bool = False) -> None:
        self._check_shared_parameters(criterion_is_lost)
        checks.check_positive("learning_rate", self.learning_rate)
        checks.check_int("n_iter_no_change", self.n_iter_no_change, 1, or_none=True)
        if not checks.is_number(self.validation_fraction) or not 0 < self.validation_fraction < 1:
            raise ValueError(f"validation_fraction must be a number in (0, 1), got {self.validation_fraction!r}")
        if not checks.is_number(self.tol) or self.tol < 0:
            raise ValueError(f"tol must be a number >= 0, got {self.tol!r}")

    def _rounds(
        self, template: TopKTreeClassifier, data: TrainingData, validation: Validation | None, limits: Limits
    ) -> Iterator[Round]:
        """The rounds whose trees stay, as far as training goes; `stopped_` says why they end."""
        sample_weight = data.training.sample_weight
        initial, shared = initial_weights(data.training), data.work.call(shared_data, data)
        weights, n_classes = Weights(initial), len(shared.classes)
        self.stopped_ = ALL_TREES
        for i in range(self.n_estimators):
            values = weights.values()
            view = View(sample_weight) if i == 0 else _view(search_weights(values, sample_weight), initial)
            grown = grow(template, shared, view, self._options(template, limits, i))
            wrong = grown.predicted() != shared.y
            error = error_rate(values, wrong)
            is_last = error == 0 or is_useless(error, n_classes)
            if is_last:
                self.stopped_ = PERFECT if error == 0 else USELESS
            if self.stopped_ == USELESS and i > 0:
                return
            vote = 1.0 if is_last else vote_of(error, n_classes, self.learning_rate)
            is_enough = validation is not None and validation.is_enough(grown.tree, vote)
            yield Round(grown.tree, vote, error)
            if is_last:
                return
            weights.raise_where(wrong, vote)
            if i < self.n_estimators - 1 and (is_enough or time.monotonic() >= limits.deadline):
                self.stopped_ = EARLY if is_enough else TIME_LIMIT
                return

    def _options(self, template: TopKTreeClassifier, limits: Limits, i: int) -> SearchOptions:
        """Of the search of round i."""
        options = template._search_options(time.perf_counter())
        time_limit = share_of_time(limits, 1 / (self.n_estimators - i))
        return replace(options, threads=count_threads(self.n_jobs), time_limit=time_limit)

    def _collect(self, rounds: Iterator[Round], validation: Validation | None) -> None:
        """The trees that stay."""
        found: list[Round] = []
        with CountLine(self.n_estimators, "trees", bool(self.verbose)) as line:
            for one in rounds:
                found.append(one)
                line(len(found), f", weighted error {one.error:.4f}")
        is_late = self.stopped_ == TIME_LIMIT or any(one.tree.status_ == TIME_LIMIT for one in found)
        kept = found if validation is None else found[: validation.n_best()]
        self.estimators_ = [one.tree for one in kept]
        self.estimator_weights_ = np.array([one.vote for one in kept])
        self.estimator_errors_ = np.array([one.error for one in kept])
        self.status_ = TIME_LIMIT if is_late else COMPLETE
        self.__dict__.pop("validation_scores_", None)  # of an earlier fit
        if validation is not None:
            self.validation_scores_ = np.array(validation.scores)

    def _votes(self) -> FloatArray:
        return np.asarray(self.estimator_weights_ / self.estimator_weights_.sum())


def restore_boosting(saved: SavedEnsemble) -> TopKBoostingClassifier:
    """The classifier of a file. A ValueError says what this version cannot read."""
    boosting = restore_parameters(TopKBoostingClassifier, saved.parameters)
    restore_trees(boosting, saved)
    boosting.estimator_weights_ = np.array(saved.votes)
    boosting.estimator_errors_ = np.array(saved.errors)
    boosting.stopped_ = saved.stopped
    if saved.validation_scores is not None:
        boosting.validation_scores_ = np.array(saved.validation_scores)
    return boosting


def initial_weights(training: Training) -> FloatArray:
    """What the user says that rows weigh."""
    weights = np.ones(len(training.y)) if training.sample_weight is None else training.sample_weight
    if training.class_weight is None:
        return np.maximum(weights, LEAST_WEIGHT)
    by_class = training.class_weight
    if isinstance(by_class, str):
        totals = np.bincount(training.y, weights, len(training.classes)).astype(np.float64)
        by_class = inverse_totals(totals) * totals.sum() / np.count_nonzero(totals)
    return np.maximum(weights * by_class[training.y], LEAST_WEIGHT)


def _view(weights: FloatArray, initial: FloatArray) -> View:
    """For a search with these weights, which class weights are part of; all rows together weigh what they always do."""
    return View(weights, unit=float(initial.sum() / weights.sum()), has_class_weight=False)
