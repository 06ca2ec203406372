"""`TopKBoostingClassifier`: Top-k trees one after the other, each on the rows that those before it get wrong.

In: a table and class labels, as for one tree. Out: trees with votes of different weight. The algorithm is SAMME
(Zhu et al., 2009), which for two classes is AdaBoost. The one idea: the table is binarized and packed once, and a round
is one search of the same rows with other weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._base import copy_names, fitted_copy, restored_on_error
from .._data.arrays import FloatArray
from .._data.training import TrainingData
from .._data.weights import inverse_totals
from .._runtime import checks
from .._runtime.files import PathLike
from .._runtime.limits import COMPLETE, TIME_LIMIT, Limits
from .._runtime.parallel import count_threads
from .._runtime.progress import CountLine
from .._search.fitter import FoundTree, search_options
from .._search.objective import ScoreFunction
from .._search.spec import read_spec
from .._tree.model_file import BOOSTING
from .base import FittedEnsemble, check_ensemble, member_template
from .early_stopping import Validation, hold_out
from .member import View, search_member
from .samme import RowWeights, add_vote, error_rate, is_useless, search_weights, shares_of, vote_of

if TYPE_CHECKING:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.pipeline import Pipeline

# Why boosting ended, beside the time limit.
ALL_TREES, PERFECT, USELESS, EARLY = "n_estimators", "perfect_tree", "useless_tree", "early_stopping"

# The lowest weight of a row: its logarithm is finite, and it is not zero in a search.
LEAST_WEIGHT = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Round:
    """The result of one round."""

    found: FoundTree
    vote: float
    error: float  # share of the weight that the tree misclassifies


class TopKBoostingClassifier(FittedEnsemble):
    """AdaBoost (SAMME) of Top-k trees: every tree is the best of its search on rows weighted by earlier errors.

    Parameters
    ----------
    n_estimators : int, default=10
        Largest number of trees. Boosting ends before if a tree is perfect or useless, or by early stopping.
    k : int, "all" or sequence, default=8
        Number of candidate splits per node, as in `TopKTreeClassifier`.
    max_depth : int, default=3
        Levels of splits of every tree.
    learning_rate : float, default=1.0
        Factor of every tree's vote.
    n_iter_no_change : int or None, default=None
        With a number, some rows are kept for validation, and boosting ends when the accuracy on them has not risen by
        more than `tol` in that many rounds. The trees up to the best round stay.
    validation_fraction : float, default=0.1
        Fraction of the rows that is kept for validation, if there is any; these rows are not trained on.
    tol : float, default=0.0
        By how much the accuracy must rise.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of validation rows. Nothing else is random.
    n_jobs : int or None, default=None
        Number of threads of every search; None means 1, -1 all cores.
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
        The trees, which the classifier also yields by index.
    estimator_weights_ : ndarray of shape (n_trees,)
        Weights of their votes.
    estimator_errors_ : ndarray of shape (n_trees,)
        Share of the weight that each misclassifies, at the weights of its round.
    stopped_ : str
        Why boosting ended: "n_estimators", "perfect_tree", "useless_tree", "early_stopping" or "time_limit".
    validation_scores_ : ndarray
        Only with validation: the accuracy after every round whose tree could stay, also of rounds after the best one.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if `X` had string column names.
    features_ : tuple of Feature
        Name, kind, categories and missing values of each feature.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Mean of the trees' own importances, by the weights of their votes.
    status_ : str
        "complete", or "time_limit" if that ended a search or boosting.

    Notes
    -----
    A perfect tree gets the vote 1 and ends boosting. A tree whose weighted error is no better than chance is left out
    and ends it, but stays with the vote 1 if it is the first. The first round searches with the weights as they are;
    later rounds round each weight to 3 binary digits, which makes the search faster and changes a weight by a ninth at
    most, unless it is below 2**-21 of the largest. Where `sample_weight` is whole numbers below 128, their factors are
    rounded instead, so that such weights are the same as repeated rows. Errors and votes use the weights as they are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from topktree import TopKBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TopKBoostingClassifier(n_estimators=3, max_depth=1).fit(X, y)
    >>> len(clf), clf.stopped_
    (3, 'n_estimators')
    """

    def __init__(
        self,
        *,
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
        >>> len(TopKBoostingClassifier(k=8, max_depth=2).fit(X, y))
        10
        """
        limits = Limits.starting(self.time_limit)
        check_boosting(self)
        with restored_on_error(self):
            fraction = None if self.n_iter_no_change is None else self.validation_fraction
            data, validation = hold_out(self, X, y, sample_weight, fraction)
            self.classes_, self.features_ = data.classes, data.features
            self._collect(self._rounds(data, validation, limits), validation)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the sum of the trees' votes over their weights: (n_rows, n_classes), or (n_rows,) for two classes.

        Examples
        --------
        >>> clf.decision_function(X[:2]).shape
        (2, 3)
        """
        *_, decision = self.staged_decision_function(X)
        return decision

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the highest vote; ties go to the first class.

        Examples
        --------
        >>> clf.predict(X[[0, 60, 120]])
        array([0, 1, 2])
        """
        *_, predicted = self.staged_predict(X)
        return predicted

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities that SAMME derives from the votes.

        Examples
        --------
        >>> clf.predict_proba(X[:2]).shape
        (2, 3)
        """
        *_, shares = self.staged_predict_proba(X)
        return shares

    def staged_decision_function(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the decision function of the first tree, of the first two trees, and so on.

        Examples
        --------
        >>> len(list(clf.staged_decision_function(X)))
        3
        """
        for decision in self._stages(X):
            yield self._as_user_sees(decision)

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Yield the predictions of the first tree, of the first two trees, and so on.

        Examples
        --------
        >>> [int((predicted != y).sum()) for predicted in clf.staged_predict(X)]
        [50, 50, 6]
        """
        for decision in self._stages(X):
            yield np.asarray(self.classes_[np.argmax(decision, axis=1)])

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the class probabilities of the first tree, of the first two trees, and so on.

        Examples
        --------
        >>> [shares.shape for shares in clf.staged_predict_proba(X[:2])]
        [(2, 3), (2, 3), (2, 3)]
        """
        for decision in self._stages(X):
            yield shares_of(decision)

    def staged_score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Yield the accuracy of the first tree, of the first two trees, and so on.

        Examples
        --------
        >>> scores = list(clf.staged_score(X, y))
        >>> scores[0] < scores[-1]
        True
        """
        for predicted in self.staged_predict(X):
            yield self._accuracy(predicted, y, sample_weight)

    def to_sklearn(self) -> AdaBoostClassifier | Pipeline:
        """Return a fitted scikit-learn object with the same decisions, probabilities and predictions.

        It is an `AdaBoostClassifier` if all features are numbers or booleans without missing values, of a size that
        scikit-learn's float32 can tell apart; otherwise a `Pipeline` whose last step is one. `AdaBoostClassifier`
        itself refuses missing values: those of a feature that had none in training are an error there, and not here.

        Examples
        --------
        >>> model = clf.to_sklearn()
        >>> bool((model.predict(X) == clf.predict(X)).all())
        True
        """
        from .to_sklearn import to_adaboost

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        votes, errors = self.estimator_weights_, self.estimator_errors_
        return to_adaboost(self.estimators_, self.features_, names, votes, errors)

    def save(self, path: PathLike) -> None:
        """Write the fitted classifier to a JSON file, which `topktree.load` reads.

        A criterion of your own and a `random_state` that is not a number are not saved.

        Examples
        --------
        >>> import topktree
        >>> clf.save("boosting.json")
        >>> len(topktree.load("boosting.json"))
        3
        """
        check_is_fitted(self)
        check_boosting(self, criterion_is_lost=self.criterion is None)
        pairs = zip(self.estimator_weights_.tolist(), self.estimator_errors_.tolist(), strict=True)
        scores = getattr(self, "validation_scores_", None)
        own = {"stopped": self.stopped_, "validation_scores": None if scores is None else scores.tolist()}
        self._save(path, BOOSTING, own, [{"vote": vote, "error": error} for vote, error in pairs])

    def _stages(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the votes (n_rows, n_classes) after every tree, over the sum of their weights so far."""
        encoded = self._encode(X)
        decision, votes = np.zeros((len(encoded), len(self.classes_))), self.estimator_weights_
        for i, tree in enumerate(self.estimators_):
            add_vote(decision, tree.tree_.predict(encoded), float(votes[i]))
            yield decision / votes[: i + 1].sum()

    def _as_user_sees(self, decision: FloatArray) -> FloatArray:
        return np.asarray(decision[:, 1] - decision[:, 0]) if len(self.classes_) == 2 else decision

    def _rounds(self, data: TrainingData, validation: Validation | None, limits: Limits) -> Iterator[Round]:
        """Yield the rounds whose trees stay, as far as training decides; `stopped_` says why they end."""
        spec, shared = read_spec(self), data.work.call(data.packed)
        initial = initial_weights(data)
        weights, n_classes = RowWeights(initial), len(data.classes)
        self.stopped_ = ALL_TREES
        for i in range(self.n_estimators):
            values = weights.values()
            view = View(data.sample_weight)
            if i > 0:
                view = _view(search_weights(values, data.sample_weight), initial)
            time_limit = limits.seconds_left(1 / (self.n_estimators - i))
            options = search_options(self.memory_limit, count_threads(self.n_jobs), time_limit)
            member = search_member(shared, spec, view, options)
            wrong = member.predicted() != data.y
            error = error_rate(values, wrong)
            is_last = error == 0 or is_useless(error, n_classes)
            if is_last:
                self.stopped_ = PERFECT if error == 0 else USELESS
            if self.stopped_ == USELESS and i > 0:
                return
            vote = 1.0 if is_last else vote_of(error, n_classes, self.learning_rate)
            is_enough = validation is not None and validation.is_enough(member.found.tree, vote)
            yield Round(member.found, vote, error)
            if is_last:
                return
            weights.raise_where(wrong, vote)
            if i < self.n_estimators - 1 and (is_enough or limits.is_past):
                self.stopped_ = EARLY if is_enough else TIME_LIMIT
                return

    def _collect(self, rounds: Iterator[Round], validation: Validation | None) -> None:
        """Keep the trees that stay."""
        ended: list[Round] = []
        with CountLine(self.n_estimators, "trees", bool(self.verbose)) as line:
            for one in rounds:
                ended.append(one)
                line(f", weighted error {one.error:.4f}")
        is_late = self.stopped_ == TIME_LIMIT or any(one.found.status == TIME_LIMIT for one in ended)
        kept = ended if validation is None else ended[: validation.n_best()]
        template = member_template(self)
        copy_names(self, template)
        self.estimators_ = [fitted_copy(template, one.found) for one in kept]
        self.estimator_weights_ = np.array([one.vote for one in kept])
        self.estimator_errors_ = np.array([one.error for one in kept])
        self.status_ = TIME_LIMIT if is_late else COMPLETE
        self.__dict__.pop("validation_scores_", None)  # an earlier fit may have set it
        if validation is not None:
            self.validation_scores_ = np.array(validation.scores)

    def _votes(self) -> FloatArray:
        return np.asarray(self.estimator_weights_ / self.estimator_weights_.sum())


def check_boosting(boosting: TopKBoostingClassifier, criterion_is_lost: bool = False) -> None:
    """Validate all parameters. A file does not keep a criterion of the user's own."""
    check_ensemble(boosting, criterion_is_lost)
    checks.check_positive("learning_rate", boosting.learning_rate)
    checks.check_int("n_iter_no_change", boosting.n_iter_no_change, 1, or_none=True)
    if not checks.is_number(boosting.validation_fraction) or not 0 < boosting.validation_fraction < 1:
        raise ValueError(f"validation_fraction must be a number in (0, 1), got {boosting.validation_fraction!r}")
    if not checks.is_number(boosting.tol) or boosting.tol < 0:
        raise ValueError(f"tol must be a number >= 0, got {boosting.tol!r}")


def initial_weights(data: TrainingData) -> FloatArray:
    """Return the weights of the rows that boosting begins with: the user's, class weights included."""
    weights = np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight
    if data.class_weight is None:
        return np.maximum(weights, LEAST_WEIGHT)
    by_class = data.class_weight
    if isinstance(by_class, str):
        totals = np.bincount(data.y, weights, len(data.classes)).astype(np.float64)
        by_class = inverse_totals(totals) * totals.sum() / np.count_nonzero(totals)
    return np.maximum(weights * by_class[data.y], LEAST_WEIGHT)


def _view(weights: FloatArray, initial: FloatArray) -> View:
    """Return a view with these weights, which class weights are part of; the total weight stays what it was."""
    return View(weights, unit=float(initial.sum() / weights.sum()), has_class_weight=False)
