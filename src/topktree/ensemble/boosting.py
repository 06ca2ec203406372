"""`TopKBoostingClassifier`: Top-k trees one after the other, each focused on the errors of the earlier ones.

In: a table and class labels, as for one tree. Out: trees with votes of different weight. The algorithm is SAMME
(Zhu et al., 2009), which for two classes is AdaBoost. The one idea: the table is binarized and packed once, and a round
is one search of the same rows with other weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._data.arrays import FloatArray
from .._data.training import TrainingData
from .._data.weights import inverse_totals
from .._runtime import checks
from .._runtime.limits import TIME_LIMIT, Limits
from .._runtime.progress import CountLine
from .._search.fitter import FoundTree, search_options
from .._search.objective import Objective, ScoreFunction
from .._search.spec import TreeSpec, check_parameters, read_spec
from .._tree.model_file import BOOSTING
from .base import FittedEnsemble, set_trees
from .member import search_member
from .samme import RowWeights, add_vote, error_rate, is_useless, search_weights, shares_of, vote_of

if TYPE_CHECKING:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.pipeline import Pipeline


class TopKBoostingClassifier(FittedEnsemble):
    """AdaBoost (SAMME) of Top-k trees, each fitted to rows that are weighted by the errors of the earlier trees.

    Parameters
    ----------
    n_estimators : int, default=10
        Largest number of trees. Boosting ends earlier after a perfect tree or before a useless one.
    k : int, "all" or sequence, default=8
        Number of candidate splits per node, as in `TopKTreeClassifier`.
    max_depth : int, default=3
        Levels of splits of every tree.
    learning_rate : float, default=1.0
        Factor applied to every tree's vote.
    n_jobs : int or None, default=None
        Number of threads of every search; None means 1, -1 all cores.
    time_limit : float or None, default=None
        Seconds for all of `fit`. Each search gets a share of the time that is left; boosting ends when none is left.
    verbose : int, default=0
        1 shows a line of progress on stderr.
    criterion, min_samples_leaf, leaf_penalty, distinct_splits, class_weight, max_thresholds, categorical_features, \
memory_limit, min_weight_fraction_leaf
        As in `TopKTreeClassifier`, for every tree. `class_weight` is part of the weights that boosting begins with.

    Attributes
    ----------
    estimators_ : list of TopKTreeClassifier
        The trees; indexing the classifier also returns them.
    estimator_weights_ : ndarray of shape (n_trees,)
        Weights of their votes.
    estimator_errors_ : ndarray of shape (n_trees,)
        Share of the weight that each misclassifies, at the weights of its round.
    stopped_ : str
        Why boosting ended: "n_estimators", "perfect_tree", "useless_tree" or "time_limit".
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if `X` had string column names.
    features_ : tuple of Feature
        Name, kind, categories and missing values of each feature.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Mean of the trees' own importances, weighted by their votes.
    status_ : str
        "complete", or "time_limit" if that ended a search or boosting.

    Notes
    -----
    A perfect tree gets the vote 1 and ends boosting. A tree whose weighted error is no better than chance is left out
    and ends it, but stays with the vote 1 if it is the first. The first round searches with the weights as they are;
    later rounds round each weight to 3 binary digits, which makes the search faster and changes a weight by at most one
    ninth, unless it is below 2**-21 of the largest. If `sample_weight` consists of integers below 128, the factors of
    boosting are rounded instead, so that a weight remains equivalent to repeated rows. Errors and votes use the weights
    as they are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from topktree import TopKBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TopKBoostingClassifier(n_estimators=3, max_depth=1).fit(X, y)
    >>> len(clf), clf.get_n_leaves(), clf.stopped_
    (3, 6, 'n_estimators')
    >>> clf.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    >>> [round(score, 2) for score in clf.staged_score(X, y)]
    [0.67, 0.67, 0.96]
    >>> (clf.to_sklearn().predict_proba(X) == clf.predict_proba(X)).all()
    np.True_
    """

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        k: int | str | Sequence[int | str] = 8,
        max_depth: int = 3,
        learning_rate: float = 1.0,
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
        self.learning_rate = learning_rate
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

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the votes divided by their total weight: (n_rows, n_classes), or (n_rows,) for two classes."""
        *_, decision = self.staged_decision_function(X)
        return decision

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the highest vote; ties go to the first class."""
        *_, predicted = self.staged_predict(X)
        return predicted

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities that SAMME derives from the votes."""
        *_, shares = self.staged_predict_proba(X)
        return shares

    def staged_decision_function(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the decision function of the first tree, of the first two trees, and so on."""
        for decision in self._stages(X):
            yield np.asarray(decision[:, 1] - decision[:, 0]) if len(self.classes_) == 2 else decision

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Yield the predictions of the first tree, of the first two trees, and so on."""
        for decision in self._stages(X):
            yield np.asarray(self.classes_[np.argmax(decision, axis=1)])

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the class probabilities of the first tree, of the first two trees, and so on."""
        for decision in self._stages(X):
            yield shares_of(decision)

    def staged_score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Yield the accuracy of the first tree, of the first two trees, and so on."""
        for predicted in self.staged_predict(X):
            yield self._accuracy(predicted, y, sample_weight)

    def to_sklearn(self) -> AdaBoostClassifier | Pipeline:
        """Return a fitted scikit-learn object with the same decisions, probabilities and predictions.

        It is an `AdaBoostClassifier` if all features are booleans or numbers that float32 can tell apart, without
        missing values; otherwise it is a `Pipeline` whose last step is one. `AdaBoostClassifier` itself rejects missing
        values: those of a feature that had none in training are an error there, but not here. Only a number within
        float32 rounding of a threshold may go the other way.
        """
        from .to_sklearn import to_adaboost

        return to_adaboost(self)

    def _check(self, criterion_is_lost: bool = False) -> None:
        check_boosting(self, criterion_is_lost)

    def _stages(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the votes (n_rows, n_classes) after every tree, divided by the sum of their weights so far."""
        encoded = self._encode(X)
        decision, votes = np.zeros((len(encoded), len(self.classes_))), self.estimator_weights_
        for i, tree in enumerate(self.estimators_):
            add_vote(decision, tree.tree_.predict(encoded), float(votes[i]))
            yield decision / votes[: i + 1].sum()

    def _find_trees(self, data: TrainingData, limits: Limits) -> None:
        rounds = []
        with CountLine(self.n_estimators, "trees", bool(self.verbose)) as line:
            for found, vote, error in self._rounds(data, limits):
                rounds.append((found, vote, error))
                line(f", weighted error {error:.4f}")
        trees, votes, errors = zip(*rounds, strict=True)
        set_trees(self, trees)
        self.estimator_weights_, self.estimator_errors_ = np.array(votes), np.array(errors)
        if self.stopped_ == TIME_LIMIT:
            self.status_ = TIME_LIMIT

    def _rounds(self, data: TrainingData, limits: Limits) -> Iterator[tuple[FoundTree, float, float]]:
        """Yield the trees that stay, each with its vote and its weighted error; `stopped_` says why they end."""
        spec, initial, n_classes = read_spec(self), initial_weights(data), len(data.classes)
        objective, weights = spec.objective(data), RowWeights(initial)
        self.stopped_ = "n_estimators"
        for i in range(self.n_estimators):
            if i > 0 and limits.is_past:
                self.stopped_ = TIME_LIMIT
                return
            values = weights.values()
            if i > 0:
                objective = _weighted_objective(data, spec, search_weights(values, data.sample_weight), initial)
            time_limit = limits.seconds_left(1 / (self.n_estimators - i))
            options = search_options(self, time_limit)
            member = search_member(data, spec, objective, options)
            wrong = member.predicted() != data.y
            error = error_rate(values, wrong)
            if error == 0 or is_useless(error, n_classes):
                self.stopped_ = "perfect_tree" if error == 0 else "useless_tree"
                if error == 0 or i == 0:
                    yield member.found, 1.0, error
                return
            vote = vote_of(error, n_classes, self.learning_rate)
            yield member.found, vote, error
            weights.raise_where(wrong, vote)

    def _votes(self) -> FloatArray:
        return np.asarray(self.estimator_weights_ / self.estimator_weights_.sum())

    def _for_file(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        pairs = zip(self.estimator_weights_.tolist(), self.estimator_errors_.tolist(), strict=True)
        return {"kind": BOOSTING, "stopped": self.stopped_}, [{"vote": vote, "error": error} for vote, error in pairs]


def check_boosting(boosting: TopKBoostingClassifier, criterion_is_lost: bool = False) -> None:
    """Validate all parameters. A file does not keep a custom criterion."""
    check_parameters(boosting, criterion_is_lost)
    checks.check_int("n_estimators", boosting.n_estimators, 1)
    checks.check_positive("learning_rate", boosting.learning_rate)


def initial_weights(data: TrainingData) -> FloatArray:
    """Return the weights of the rows that boosting begins with: the user's, class weights included."""
    weights = np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight
    by_class = data.class_weight
    if isinstance(by_class, str):
        totals = np.bincount(data.y, weights, len(data.classes)).astype(np.float64)
        by_class = inverse_totals(totals) * totals.sum() / np.count_nonzero(totals)
    if by_class is not None:
        weights = weights * by_class[data.y]
    # The logarithm of the smallest normal number is finite, and it is not zero in a search.
    return np.maximum(weights, np.finfo(np.float64).tiny)


def _weighted_objective(data: TrainingData, spec: TreeSpec, weights: FloatArray, initial: FloatArray) -> Objective:
    """Return the integer problem of a later round. Class weights are part of its weights; the total stays the same."""
    objective = spec.objective(replace(data, sample_weight=weights, class_weight=None))
    return replace(objective, weight_unit=objective.weight_unit * float(initial.sum() / weights.sum()))
