"""`TopKTreeClassifier`: validate -> binarize -> search -> tree.

In: a table of numbers, booleans and categories, and class labels. Out: a small accurate tree behind scikit-learn's
interface.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from ._base import FittedTree
from ._data.columns import EQUALS, IS_MISSING, Columns
from ._data.features import Feature
from ._data.labels import known_classes, read_labels, read_weights
from ._data.table import BOOLEAN
from ._data.thresholds import binary_threshold
from ._data.training import (
    KEPT_BYTES,
    EncodedRows,
    SearchedData,
    TrainingData,
    encode_left_out,
    prepare,
    small_enough_to_keep,
    without_table,
)
from ._runtime import checks, dask_tasks
from ._runtime.files import PathLike
from ._runtime.parallel import count_threads
from ._runtime.progress import ProgressLine
from ._search import engine
from ._search.near_optimal import DIFFERENT, NearOptimalTrees, find_trees
from ._search.objective import Objective, ScoreFunction, make_objective
from ._search.penalty_path import LeafPenaltyPath, find_path
from ._search.root_choices import list_choices
from ._tree import pruning
from ._tree.charts import plot_trace
from ._tree.model_file import SavedEnsemble, SavedModel, SavedTree, write_model
from ._tree.plot import plot_tree
from ._tree.tree import TREE_UNDEFINED, Tree, node_impurity

# The status of a tree that a search has found on its way.
PARTIAL = "partial"


class Restorable(Protocol):
    """An estimator whose parameters a file can have."""

    def get_params(self) -> dict[str, Any]:
        """By name."""

    def _check_parameters(self, criterion_is_lost: bool = False) -> None: ...


Restored = TypeVar("Restored", bound=Restorable)


class TopKTreeClassifier(FittedTree):
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
    distinct_splits : bool, default=False
        Count columns that divide the rows of a node into the same two parts as one candidate: copies, complements and
        thresholds with no rows between them do not fill the k places.
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
        up; the greedy tree is always finished, so on large data a limit that is too short for it is exceeded. With
        `k="all"`: better and better trees until one is proved optimal or time is up.
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
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Only if `X` had string column names.
    features_ : tuple of Feature
        Name, kind, categories and missing values of each feature.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Share of each feature in the decrease of impurity (the criterion's own; entropy for "gain_ratio" and callables).
    tree_ : Tree
        The tree as flat arrays, named as scikit-learn names them.
    cost_ : int or float
        Training cost: weight of the misclassified rows plus the leaf penalties. An int without weights and penalty.
    train_errors_ : int or None
        Training rows that are misclassified. None for some trees that `prune` gives.
    status_ : str
        "optimal" (k = "all", finished), "complete" (Top-k search finished) or "time_limit".
    search_ : dict
        seconds, nodes, pruned, cache_hits, cache_bytes, k_reached, n_threads, kernel; and trace: for every k that the
        search went through a dict of seconds, k and the cost of its tree, which `plot_search` draws; n_root, the number
        of candidates at the root; and root: for the 20 of the best score, and the chosen one, a dict of rank, feature
        (its index), test, value, score (None for a criterion of your own), cost of the best tree that begins with it,
        exact (false: the cost is a lower bound, since the candidate could no longer win) and chosen. There are none if
        it was plain that no split pays, on a `leaf_penalty_path`, in an ensemble, and of what
        `near_optimal` gives.
    pruned_alpha_ : float
        Only of what `prune` gives: the penalty per leaf, a fraction of the training weight, that leaves this tree.

    Notes
    -----
    Weights are integers inside, so that costs add up and tie exactly. `sample_weight` and `class_weight` are exact if
    they are integers, whole multiples of the smallest weight, or fractions of a power of two; other real weights are
    rounded to 2**-20 of the largest one, and up to that if they are smaller. A `leaf_penalty` is rounded to 2**-20 of
    one row's weight. Rows of weight zero are left out.

    Examples
    --------
    >>> from topktree import TopKTreeClassifier, datasets
    >>> X, y = datasets.load_monks(1, return_X_y=True)
    >>> for k in (1, 4, "all"):
    ...     clf = TopKTreeClassifier(k=k, max_depth=4).fit(X, y)
    ...     print(k, clf.train_errors_, clf.get_n_leaves(), clf.status_)
    1 72 4 complete
    4 24 9 complete
    all 12 10 optimal
    """

    train_errors_: int | None
    search_: dict[str, Any]
    # What `fit` searched and the parameters it did so with, unless it was too much; copies and files do without.
    _searched_data: tuple[SearchedData, dict[str, Any]] | None = None

    def __init__(
        self,
        k: int | str | Sequence[int | str] = 8,
        max_depth: int = 5,
        criterion: str | ScoreFunction = "entropy",
        min_samples_leaf: int = 1,
        leaf_penalty: float | str = 0.0,
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
        self.k = k
        self.max_depth = max_depth
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.leaf_penalty = leaf_penalty
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
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callable[[TopKTreeClassifier], Any] | None = None,
        exact_root: bool = False,
    ) -> Self:
        """Find the tree. An error or Ctrl-C leaves an earlier fit as it was.

        `callback` is called with a fitted classifier, of `status_` "partial", for every tree that is better than those
        before it, while the search widens k from 1 to the k asked for. What it returns is ignored, what it raises ends
        the fit, and its time counts towards `time_limit`.

        `exact_root=True` finds the cost of the best tree below every candidate of the root, also of those that can no
        longer win, for `search_["root"]` and the report. The tree is the same, unless a time limit comes first; the
        work is more by nothing to a half at small k, and by a lot where k is not far from the number of columns.

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> clf = TopKTreeClassifier(k=8, max_depth=4)
        >>> clf.fit(X, y, callback=lambda tree: print(tree.search_["k_reached"], tree.train_errors_)).status_
        1 72
        2 36
        4 24
        8 12
        'complete'
        """
        start = time.perf_counter()
        self._check_parameters()
        if callback is not None and not callable(callback):
            raise ValueError(f"callback must be a callable or None, got {callback!r}")
        checks.check_bool("exact_root", exact_root)
        with restored_on_error(self):
            data = prepare(self, X, y, sample_weight)
            objective = self._objective(data)
            kept = data.work.call(small_enough_to_keep, data, objective)  # before the search: its time counts, too
            if kept is not None:
                data = replace(data, rows=kept.rows)
            options = replace(self._search_options(start), exact_root=bool(exact_root))
            self._grow(data, objective, options, callback)
            self._searched_data = None if kept is None else (kept, checks.of_tree(self.get_params()))
        return self

    def leaf_penalty_path(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LeafPenaltyPath:
        """All trees that some `leaf_penalty` prefers, from the one with the fewest errors to the single leaf.

        Each is what `fit` gives with the penalty listed beside it. The classifier itself stays as it is, and its own
        `leaf_penalty` and `verbose` are ignored. `time_limit` is for the whole call: when time is up, the path has the
        trees known by then. The tree with the fewest errors is always found, however long that takes.

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> print(TopKTreeClassifier(max_depth=3).leaf_penalty_path(X, y))
        leaf_penalty  n_leaves  depth  errors  train_accuracy
               0.009         7      3      48          0.8889
                0.03         4      3      72          0.8333
                 0.1         2      1     108          0.7500
                 0.4         1      0     216          0.5000
        """
        start = time.perf_counter()
        classifier = clone(self).set_params(leaf_penalty=0.0)
        classifier._check_parameters()
        return find_path(classifier, prepare(classifier, X, y, sample_weight), start)

    def near_optimal(
        self,
        n: int = 10,
        epsilon: float = 0.05,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        different: str = "predictions",
    ) -> NearOptimalTrees:
        """The `n` best trees that differ and cost at most `1 + epsilon` times what the best one does.

        Exact and in order: all trees that the search chooses from are gone through, those that split every node on one
        of its k candidates or leave it a leaf. The first is the tree of `fit`. `different="predictions"` (the default):
        no two of them predict the same class for every training row, so that swapped splits and copies of columns do
        not fill the list; of trees that do, the first counts: the cheapest, with a leaf before a split, then the
        candidate of the better score. `different="splits"`: every tree counts.

        A classifier that was fitted knows its rows, as bits of the columns, if these are no more than 16 MiB. One
        that was loaded, copied, pruned or chosen by cross-validation does not; then pass `X` and `y`, which also
        works without a fit. The classifier itself stays as it is, and `verbose` is ignored. `time_limit` is for the
        search: when time is up, the trees known by then are returned, and `complete` is false. To make classifiers of
        them comes on top, and takes longer than the search if there are many thousands.

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=3).fit(X, y)
        >>> print(clf.near_optimal(n=6, epsilon=0.25))
        rank  cost  errors  n_leaves  depth  features
           1    48      48         7      3  x0, x1, x4
           2    48      48         7      3  x0, x1, x4
           3    48      48         7      3  x0, x1, x4
           4    48      48         7      3  x0, x1, x4
           5    60      60         7      3  x0, x1, x4
           6    60      60         8      3  x0, x1, x4
        """
        start = time.perf_counter()
        checks.check_int("n", n, 1)
        checks.check_epsilon(epsilon)
        checks.check_choice("different", different, DIFFERENT)
        wishes = engine.NearOptimalWishes(min(int(n), 2**62), float(epsilon), different)
        if X is None and y is None and sample_weight is None:
            return find_trees(copy(self), self._kept_data(), wishes, start)
        if X is None or y is None:
            name, value = ("X", X) if X is None else ("y", y)
            raise ValueError(f"{name} must be given if X, y or sample_weight is, got {value!r}")
        classifier = clone(self)
        classifier._check_parameters()
        data = prepare(classifier, X, y, sample_weight)
        searched = data.work.call(without_table, data, classifier._objective(data))
        return find_trees(classifier, searched, wishes, start)

    def _kept_data(self) -> SearchedData:
        """What `fit` searched, if that is known and the parameters are the same."""
        check_is_fitted(self)
        self._check_parameters()
        if self._searched_data is None:
            raise ValueError(
                f"X and y must be given, got None: rows of a fit are kept only up to {KEPT_BYTES >> 20} MiB, packed, "
                "and not by classifiers that were loaded, copied, pruned or chosen by cross-validation"
            )
        data, parameters = self._searched_data
        for name, value in checks.of_tree(self.get_params()).items():
            if value != parameters[name]:
                known = f"{name} must be as in fit, {parameters[name]!r}, unless X and y are given"
                raise ValueError(f"{known}, got {value!r}")
        return data

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_searched_data"}

    def plot(
        self, ax: Any = None, *, feature_names: ArrayLike | None = None, class_names: ArrayLike | None = None
    ) -> Any:
        """Draw the tree with matplotlib, on `ax` or a new figure; returns the Axes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> ax = clf.plot(class_names=["setosa", "versicolor", "virginica"])
        >>> ax.figure.savefig("tree.png")
        """
        return plot_tree(self._model(feature_names, class_names), ax)

    def plot_search(self, ax: Any = None) -> Any:
        """Draw how the cost fell as the search widened k, over the seconds it took; returns the Axes.

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> clf = TopKTreeClassifier(k="all", max_depth=4, time_limit=60).fit(X, y)
        >>> ax = clf.plot_search()
        >>> ax.figure.savefig("search.png")
        """
        check_is_fitted(self)
        return plot_trace(self.search_.get("trace", []), self.status_, ax)

    def pruning_path(self) -> Bunch:
        """What minimal cost-complexity pruning makes of the tree, from the largest subtree to the root alone.

        Arrays with an entry per subtree, as of scikit-learn's `cost_complexity_pruning_path`: `ccp_alphas`, the penalty
        per leaf from which on it is the best one, a fraction of the training weight as `leaf_penalty` is; `errors`, the
        fraction of the training weight that it misclassifies, where scikit-learn has impurities; and `n_leaves`. The
        first is the smallest subtree with the errors of the tree itself.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from topktree import TopKTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
        >>> path = clf.pruning_path()
        >>> path.n_leaves.tolist(), path.errors.round(3).tolist()
        ([3, 2, 1], [0.04, 0.333, 0.667])
        """
        check_is_fitted(self)
        return Bunch(**pruning.describe_sequence(self.tree_))

    def prune(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, rule: str = "best"
    ) -> TopKTreeClassifier:
        """A new classifier whose tree is the subtree on the `pruning_path` that does best on these rows.

        The rows should be others than those of `fit`. `rule`: "best" takes the subtree with the least weight of errors,
        the smallest one if several have it; "1se" the smallest one whose error rate is within one standard error of
        that. Rows of a class that training did not have are errors of every subtree.

        The result has a `cost_` and `train_errors_` of its own, a `pruned_alpha_`, and the `status_` and `search_` of
        the search for the tree that was pruned. Where splits were removed `train_errors_` counts the rows that had
        weight in `fit`, or is None if the tree does not tell: it holds the weights of the classes at its nodes, and
        the numbers of rows only follow from these if every row weighs 1.

        Examples
        --------
        >>> from sklearn.model_selection import train_test_split
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_tic_tac_toe(return_X_y=True)
        >>> X_fit, X_prune, y_fit, y_prune = train_test_split(X, y, random_state=0)
        >>> clf = TopKTreeClassifier(max_depth=6).fit(X_fit, y_fit)
        >>> clf.get_n_leaves(), clf.prune(X_prune, y_prune).get_n_leaves()
        (42, 28)
        """
        check_is_fitted(self)
        checks.check_choice("rule", rule, pruning.RULES)
        tree, alpha = pruning.choose_subtree(self.tree_, self._validation_rows(X, y, sample_weight), rule)
        return self._with_subtree(tree, alpha)

    def _validation_rows(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> pruning.ValidationRows:
        leaves = self.apply(X)
        labels = read_labels(copy(self), y)  # a copy: scikit-learn's check of y makes it forget the feature names
        weights = read_weights(sample_weight, len(leaves))
        if weights is None:
            weights = np.ones(len(leaves))
        if not weights.any():  # not every version of scikit-learn refuses them
            raise ValueError(f"sample_weight must be > 0 in some row, got {len(weights)} rows of weight 0")
        return pruning.ValidationRows(leaves, known_classes(labels, self.classes_, len(leaves)), weights)

    def _with_subtree(self, tree: Tree, alpha: float) -> TopKTreeClassifier:
        """A copy with a subtree in place of the tree."""
        result = copy(self)
        result.tree_ = tree
        result.pruned_alpha_ = alpha
        result.search_ = deepcopy(self.search_)
        if tree.node_count < self.tree_.node_count:
            result.cost_ = pruning.pruned_cost(self.tree_, tree, self.cost_)
            result.train_errors_ = pruning.pruned_train_errors(self.tree_, tree, self.train_errors_)
        return result

    def save(self, path: PathLike) -> None:
        """Write the fitted classifier to a JSON file, which `topktree.load` reads.

        A criterion of your own is not saved: set it again before you fit again.

        Examples
        --------
        >>> from topktree import TopKTreeClassifier, datasets
        >>> X, y = datasets.load_monks(1, return_X_y=True)
        >>> clf = TopKTreeClassifier(k=4, max_depth=3).fit(X, y)
        >>> clf.save("model.json")
        """
        check_is_fitted(self)
        self._check_parameters(criterion_is_lost=self.criterion is None)
        content = {
            "topktree": version("topktree"),
            "parameters": checks.to_json(self.get_params()),
            **self.export_dict(),
            "has_feature_names": hasattr(self, "feature_names_in_"),
            **self._found(),
        }
        write_model(path, content, self.classes_)

    def _found(self) -> dict[str, Any]:
        """What the search said of the tree, for a file."""
        found = {
            "cost": self.cost_,
            "train_errors": self.train_errors_,
            "status": self.status_,
            "search": self.search_,
        }
        return found | {"pruned_alpha": self.pruned_alpha_} if hasattr(self, "pruned_alpha_") else found

    def _restore_tree(self, saved: SavedTree) -> None:
        self.tree_ = saved.tree
        self.cost_ = saved.cost
        self.train_errors_ = saved.train_errors
        self.status_ = saved.status
        self.search_ = saved.search
        if saved.pruned_alpha is not None:
            self.pruned_alpha_ = saved.pruned_alpha

    def _searched(self) -> tuple[TopKTreeClassifier, None]:
        return self, None

    def _check_parameters(self, criterion_is_lost: bool = False) -> None:
        checks.check_max_depth(self.max_depth)
        checks.check_k(self.k, self.max_depth)
        if not criterion_is_lost:
            checks.check_criterion(self.criterion)
        checks.check_int("min_samples_leaf", self.min_samples_leaf, 1)
        checks.check_min_weight_fraction_leaf(self.min_weight_fraction_leaf)
        checks.check_leaf_penalty(self.leaf_penalty)
        checks.check_bool("distinct_splits", self.distinct_splits)
        checks.check_class_weight(self.class_weight)
        checks.check_int("max_thresholds", self.max_thresholds, 1, or_none=True)
        checks.check_time_limit(self.time_limit)
        checks.check_int("memory_limit", self.memory_limit, 0, or_none=True)
        checks.check_n_jobs(self.n_jobs)
        checks.check_verbose(self.verbose)

    def _objective(self, data: TrainingData) -> Objective:
        training = data.training
        return data.work.call(
            make_objective,
            training.y,
            len(training.classes),
            class_weight=training.class_weight,
            sample_weight=training.sample_weight,
            **self._wishes(training.table.n_rows, len(data.columns)),
        )

    def _wishes(self, n_rows: int, n_columns: int) -> dict[str, Any]:
        """What the parameters say of the tree, for an objective."""
        # A path has at most one split per column and one row fewer at every split.
        depth = min(self.max_depth, n_columns, n_rows - 1)
        return {
            "k": checks.candidates_per_level(self.k, depth, n_columns),
            "criterion": self.criterion,
            "min_samples_leaf": min(int(self.min_samples_leaf), n_rows),
            "min_weight_fraction_leaf": float(self.min_weight_fraction_leaf),
            "leaf_penalty": self.leaf_penalty,
            "distinct_splits": bool(self.distinct_splits),
        }

    def _search_options(self, start: float) -> engine.SearchOptions:
        """What the parameters say of how to search; `start` is when the fit began."""
        cache_bytes = engine.DEFAULT_CACHE_BYTES if self.memory_limit is None else int(self.memory_limit)
        return engine.SearchOptions(
            threads=count_threads(self.n_jobs),
            cache_bytes=min(cache_bytes, 2**62),
            time_limit=None if self.time_limit is None else max(self.time_limit - (time.perf_counter() - start), 1e-9),
            progress=dask_tasks.watch(),
        )

    def _grow(
        self,
        data: TrainingData,
        objective: Objective,
        options: engine.SearchOptions,
        callback: Callable[[TopKTreeClassifier], Any] | None = None,
    ) -> int:
        """Search, and become the tree that is found. Returns its cost in the objective's own units."""
        line = ProgressLine(objective.user_cost) if self.verbose else None

        def show(solution: engine.Solution) -> None:
            partial = copy(self)
            partial._store(data, objective, solution)
            partial.status_ = PARTIAL
            if callback is not None:
                callback(partial)

        options = replace(options, progress=line or options.progress, on_tree=show if callback else None)
        try:
            solution = engine.solve(data.rows, len(data.columns), data.training.y, objective, options)
        finally:
            if line:
                line.close()
        self._store(data, objective, solution)
        return solution.cost

    def _store(self, data: TrainingData, objective: Objective, solution: engine.Solution) -> None:
        training = data.training
        self._become(solution, objective, data.columns, training.features, training.classes)
        left_out = data.work.call(encode_left_out, training)
        self.train_errors_ = solution.n_wrong + data.work.call(self._errors_without_weight, left_out)

    def _become(
        self,
        solution: engine.Solution,
        objective: Objective,
        columns: Columns,
        features: tuple[Feature, ...],
        classes: NDArray[Any],
    ) -> None:
        """Become the tree that was found; its errors on the training rows are still to be set."""
        criterion = self.criterion if isinstance(self.criterion, str) else "entropy"
        searched_all = all(entry == "all" for entry in checks.k_per_level(self.k, max(self.max_depth, 1)))
        self.classes_ = classes
        self.features_ = features
        self.tree_ = make_tree(solution, columns, features, objective.weight_unit, criterion)
        self.cost_ = objective.user_cost(solution.cost)
        self.status_ = ("optimal" if searched_all else "complete") if solution.complete else "time_limit"
        trace = [
            {"seconds": seconds, "k": k, "cost": objective.user_cost(cost)}
            for seconds, k, cost in solution.statistics["trace"]
        ]
        self.search_ = {
            **solution.statistics,
            "trace": trace,
            "root": list_choices(solution, columns, features, objective),
            "n_root": len(solution.statistics["root"]["column"]),
        }
        if hasattr(self, "pruned_alpha_"):  # of an earlier tree
            del self.pruned_alpha_

    def _errors_without_weight(self, left_out: EncodedRows | None) -> int:
        """Rows of weight zero, left out of the fit, that the tree gets wrong."""
        if left_out is None:
            return 0
        encoded, wanted = left_out
        return int(np.count_nonzero(self.tree_.predict(encoded) != wanted))


def restore(saved: SavedModel) -> TopKTreeClassifier:
    """The classifier of a file. A ValueError says what this version cannot read."""
    classifier = restore_parameters(TopKTreeClassifier, saved.parameters)
    restore_data(classifier, saved)
    classifier._restore_tree(saved.tree)
    return classifier


def restore_parameters(kind: type[Restored], from_file: dict[str, Any]) -> Restored:
    """An estimator with the parameters of a file, checked."""
    parameters = checks.from_json(from_file)
    unknown = sorted(parameters.keys() - kind().get_params().keys())
    if unknown:
        raise ValueError(f"it has the parameter {unknown[0]!r}, which this version does not know")
    estimator = kind(**parameters)
    estimator._check_parameters(criterion_is_lost=from_file.get("criterion", "") is None)
    return estimator


def restore_data(estimator: Any, saved: SavedModel | SavedEnsemble) -> None:
    """What a file says of the training data."""
    estimator.n_features_in_ = len(saved.features)
    if saved.feature_names is not None:
        estimator.feature_names_in_ = np.array(saved.feature_names, dtype=object)
    estimator.classes_ = saved.classes
    estimator.features_ = saved.features


@contextmanager
def restored_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Whatever goes wrong inside, the estimator's attributes are those from before."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def make_tree(
    solution: engine.Solution, columns: Columns, features: Sequence[Feature], weight_unit: float, criterion: str
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
    threshold[equals] = np.where(is_boolean, binary_threshold(), float(TREE_UNDEFINED))
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
