"""`TopKTreeClassifier`: parameters, documentation and scikit-learn's conventions; other modules do the work.

In: a table of numbers, booleans and categories, and class labels. Out: a small accurate tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import clone

from ._base import FittedTree, fitted_copy, set_fitted
from ._data.training import prepare
from ._runtime import checks
from ._runtime.limits import Limits, restored_on_error
from ._search.engine import NearOptimalOptions
from ._search.fitter import search_options, search_tree
from ._search.near_optimal import DIFFERENT, NearOptimalTrees, find_trees
from ._search.objective import ScoreFunction
from ._search.penalty_path import LeafPenaltyPath, find_path
from ._search.spec import read_spec


class TopKTreeClassifier(FittedTree):
    """A decision tree classifier that tries the k best splits at every node and keeps the most accurate tree.

    The tree has the lowest training cost among all trees of the given depth that split every node on one of its `k`
    best-scoring columns. `k=1` is the greedy tree; `k="all"` is the optimal tree over the columns, which for numeric
    features are the thresholds that `max_thresholds` allows. The result is exact and deterministic: the number of
    threads, the memory limit and the processor never change it.

    Parameters
    ----------
    k : int, "all" or sequence, default=8
        Number of candidate splits per node. A sequence has one entry per level, root first; entries beyond the depth
        are ignored.
    max_depth : int, default=5
        Levels of splits. 0 gives a single leaf.
    criterion : {"entropy", "gini", "sqrt", "gain_ratio", "lookahead"} or callable, default="entropy"
        The score that ranks the candidates. "sqrt" is the sum over the classes of sqrt(p(1-p)). "lookahead" ranks by
        the cost of the greedy tree that follows each split; see Notes. A callable gets the weighted class counts of all
        columns at a node, `left_counts` and `right_counts` of shape (n_columns, n_classes), and returns a score per
        column, higher being better. Scores of columns with an empty side are ignored. With `n_jobs` it is called from
        several threads, one at a time.
    lookahead_columns : int or None, default=None
        Number of columns per node, best by entropy, that `criterion="lookahead"` ranks; None: all columns. Other
        criteria ignore it.
    refine : bool, default=False
        Improve the tree that the search found by a local search; see Notes. Its cost never rises. It stops with the
        time limit.
    min_samples_leaf : int or float, default=1
        Smallest number of rows in a leaf; a float is a fraction of the rows, as in scikit-learn.
    leaf_penalty : float or "tie", default=0.0
        Cost of a leaf as a fraction of the training weight. "tie": among the trees with the fewest errors, one with
        the fewest leaves.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves; see Notes. With trees deeper than 5, an integer `k` is halved every two levels.
    distinct_splits : bool, default=False
        Count columns that divide the rows of a node into the same two parts as one candidate, so that copies,
        complements and thresholds with no rows between them do not fill the k places.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes. "balanced" makes all classes weigh the same, `sample_weight` included.
    max_thresholds : int or None, default=32
        Number of thresholds per numeric feature: half of them at quantiles of the rows, half where the classes change.
        None: one between any two neighbouring values, and sets of categories such as `colour in {blue, red}`: those
        with the smallest shares of a class among their rows, for every class. Both are then searched by ranks, whose
        memory does not depend on how many values there are; a custom criterion needs a column of bits for every
        threshold, and gets no sets.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which features are categories, tested as `colour = red`, or as `size <= "M"` if they are ordered. "from_dtype":
        those of a category, string or object type; None: none; otherwise a list of names, of indices, or of one bool
        per feature.
    time_limit : float or None, default=None
        Seconds for the whole of `fit`. The search widens k step by step and returns the best complete tree when the
        limit is reached. The greedy tree is always finished, so on large data a very short limit is exceeded. With
        `k="all"` the trees improve until one is proved optimal or the limit is reached.
    memory_limit : int or None, default=None
        Bytes for the cache of solved subproblems; None means 1 GiB. Less memory takes more time, for the same tree.
    n_jobs : int or None, default=None
        Number of threads; None means 1, -1 all cores. Threads help if `max_depth` is at least 3, and start once a
        search has run for 2 ms.
    verbose : int, default=0
        1 shows a line of progress on stderr.
    min_weight_fraction_leaf : float, default=0.0
        Smallest fraction of the training weight in a leaf, as in scikit-learn; at most 0.5.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
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
        Number of misclassified training rows. None for some trees after `prune`.
    status_ : str
        "optimal" (the search finished, and k is "all" or at least the number of columns), "complete" (Top-k search
        finished), "refined" (the Top-k search and the local search of `refine=True` both finished) or "time_limit".
    search_ : dict
        The record of the search: seconds, nodes, pruned, cache_hits, cache_bytes, k_reached, n_threads, kernel; `trace`
        has a dict of seconds, k and cost for every k that the search went through, which `plot_search` draws; `n_root`
        is the number of candidates at the root; `root` describes the 20 with the best score and the chosen one, each as
        a dict of rank, feature (its index), test, value, missing and unseen (as a model file describes a test), score
        (None for a custom criterion; for "lookahead", the cost that the greedy tree saves), cost of the best tree that
        begins with it, exact (false: the cost is a lower bound, since the candidate could no longer win) and chosen.
        `root` is empty if it was clear that no split pays, for most trees that `max_leaf_nodes` limits, and for trees
        of a `leaf_penalty_path`, of `near_optimal` and of ensembles. With `refine=True`, the costs of candidates that
        were not chosen are those of the search. `lower_bound` is there with `max_leaf_nodes`; see Notes.
    pruned_alpha_ : float
        Only after `prune`: the penalty per leaf, as a fraction of the training weight, that leaves this tree.

    Notes
    -----
    `criterion="lookahead"` lists the columns of a node by entropy. Each of them is completed by the greedy
    tree below it: the one that splits every node on its best column by entropy, on the last level on the column with
    the fewest errors, or leaves it a leaf if that costs no more. The k columns with the cheapest completions are the
    candidates; ties go to the higher entropy gain, then to the lower column. With two levels left all listed columns
    are candidates, with one level left all columns are. A k of at least `lookahead_columns` leaves the order by entropy
    as it is.

    `refine=True` starts from the tree of the search. Subtrees of two levels become the best ones over all columns;
    above them, one split after the other is replaced by columns that score well or that suit the subtrees below, until
    no replacement lowers the cost. The result is a local optimum: it may be a tree that the search does not choose
    from, and a better one may exist. It depends on nothing but the data and the parameters, unless the time limit stops
    it.

    `max_leaf_nodes` searches with rising leaf penalties until no penalty gives a tree whose size is closer to the
    limit, and cuts larger trees back to their best part with so many leaves. The tree never has more. Sizes between the
    trees that penalties give may have better trees, which are not found. `search_["lower_bound"]` is a lower bound on
    the cost of every tree within the limit that the search chooses from; the tree is the best of these if its `cost_`
    is the same. It is None with a lookahead and after a time limit.

    Missing values of a feature that had some in training go where training sent them. A value that training did not
    have (missing in a feature that had no missing values, or a new category) follows the branch with more training
    weight; of equal branches, the yes branch. A warning counts such values.

    Weights are integers internally, so that costs add up and tie exactly. `sample_weight` and `class_weight` are exact
    if they are integers, whole multiples of the smallest weight, or fractions of a power of two; other real weights are
    rounded to 2**-20 of the largest one, but never to zero. A `leaf_penalty` is rounded to 2**-20 of one
    row's weight. Rows of weight zero are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from topktree import TopKTreeClassifier, datasets
    >>> monks = datasets.load_monks(1)
    >>> for k in (1, 4, "all"):
    ...     clf = TopKTreeClassifier(k=k, max_depth=4).fit(monks.data, monks.target)
    ...     print(k, clf.train_errors_, clf.get_n_leaves(), clf.status_)
    1 72 4 complete
    4 24 9 complete
    all 12 10 optimal
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TopKTreeClassifier(max_depth=2).fit(X, y)
    >>> clf.train_errors_, clf.score(X, y), clf.get_depth()
    (6, 0.96, 2)
    >>> print(clf.export_text(class_names=["setosa", "versicolor", "virginica"]))
    |--- x2 <= 2
    |   |--- class: setosa (100.0% of 50 rows; setosa 50)
    |--- x2 > 2
    |   |--- x3 <= 1.75
    |   |   |--- class: versicolor (90.7% of 54 rows; versicolor 49, virginica 5)
    |   |--- x3 > 1.75
    |   |   |--- class: virginica (97.8% of 46 rows; versicolor 1, virginica 45)
    >>> clf.predict(X[[0, 60, 120]]), clf.apply(X[[0, 60, 120]]), clf.predict_proba(X[[60]]).round(2)
    (array([0, 1, 2]), array([1, 3, 4]), array([[0.  , 0.91, 0.09]]))
    >>> clf.feature_importances_.round(2)
    array([0.  , 0.  , 0.67, 0.33])
    >>> clf.save("model.json")
    """

    def __init__(
        self,
        *,
        k: int | str | Sequence[int | str] = 8,
        max_depth: int = 5,
        criterion: str | ScoreFunction = "entropy",
        lookahead_columns: int | None = None,
        refine: bool = False,
        min_samples_leaf: int | float = 1,
        leaf_penalty: float | str = 0.0,
        max_leaf_nodes: int | None = None,
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
        self.lookahead_columns = lookahead_columns
        self.refine = refine
        self.min_samples_leaf = min_samples_leaf
        self.leaf_penalty = leaf_penalty
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
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callable[[TopKTreeClassifier], Any] | None = None,
        exact_root: bool = False,
    ) -> Self:
        """Find the tree. An error or Ctrl-C leaves an earlier fit as it was.

        `callback` is called with a fitted classifier, with the `status_` "partial", for every tree that is better than
        those before it, while the search widens k from 1 to the k asked for. Its return value is ignored, an exception
        ends the fit, and its time counts towards `time_limit`.

        `exact_root=True` finds the cost of the best tree below every candidate of the root, including those that can no
        longer win, for `search_["root"]` and the report. The tree is the same, unless the time limit is reached first.
        At small k this takes up to 50% longer, and much longer where k is close to the number of columns.

        Examples
        --------
        >>> def show(better):
        ...     print(better.search_["k_reached"], better.train_errors_)
        >>> TopKTreeClassifier(k=8, max_depth=4).fit(monks.data, monks.target, callback=show).status_
        1 72
        2 36
        4 24
        8 12
        'complete'
        """
        limits = Limits.starting(self.time_limit)
        spec = read_spec(self)
        if callback is not None and not callable(callback):
            raise ValueError(f"callback must be a callable or None, got {checks.short(callback)}")
        checks.check_bool("exact_root", exact_root)
        on_tree = None if callback is None else lambda found: callback(fitted_copy(self, found))
        with restored_on_error(self):
            data = prepare(self, X, y, sample_weight)
            options = search_options(self, limits.seconds_left(), exact_root=bool(exact_root))
            set_fitted(self, search_tree(data, spec, options, verbose=bool(self.verbose), on_tree=on_tree))
        return self

    def leaf_penalty_path(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LeafPenaltyPath:
        """Return all trees that some `leaf_penalty` prefers, from the one with the fewest errors to the single leaf.

        Each is the tree that `fit` finds with the penalty listed next to it. The classifier itself does not change, and
        its own `leaf_penalty`, `max_leaf_nodes`, `refine` and `verbose` are ignored. The trees that
        `criterion="lookahead"` chooses from depend on the penalty; its path has the trees of some penalties, and is
        never `complete`. `time_limit` applies to the whole call: when it is reached, the path has the trees known by
        then. The tree with the fewest errors is always found, however long that takes.

        Examples
        --------
        >>> print(TopKTreeClassifier(max_depth=3).leaf_penalty_path(monks.data, monks.target))
        leaf_penalty  n_leaves  depth  errors  train_accuracy
               0.009         7      3      48          0.8889
                0.03         4      3      72          0.8333
                 0.1         2      1     108          0.7500
                 0.4         1      0     216          0.5000
        """
        limits = Limits.starting(self.time_limit)
        classifier = clone(self).set_params(leaf_penalty=0.0, refine=False, max_leaf_nodes=None)
        spec = read_spec(classifier)
        data = prepare(classifier, X, y, sample_weight)
        options = search_options(self, limits.seconds_left())
        return find_path(
            data, spec, options, limits, lambda found, penalty: fitted_copy(classifier, found, leaf_penalty=penalty)
        )

    def near_optimal(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        n: int = 10,
        epsilon: float = 0.05,
        different: str = "predictions",
    ) -> NearOptimalTrees:
        """Return the `n` best trees that differ and cost at most `1 + epsilon` times as much as the best one.

        The list is exact and in order. It is chosen from all trees that the search chooses from: those that split every
        node on one of its k candidates or leave it a leaf. The first is the tree of `fit`. With
        `different="predictions"` no two of them predict the same class for every training row, so that swapped splits
        and copies of columns do not fill the list; of trees with equal predictions the first counts: the cheapest, with
        a leaf before a split, then the candidate with the better score. With `different="splits"` every tree counts.

        The classifier itself does not change; `max_leaf_nodes`, `refine` and `verbose` are ignored. `time_limit`
        applies to the search: when it is reached, the trees known by then are returned, and `complete` is false.
        Turning many thousands of trees into classifiers takes additional time, possibly more than the search.

        Examples
        --------
        >>> print(TopKTreeClassifier(max_depth=3).near_optimal(monks.data, monks.target, n=6, epsilon=0.25))
        rank  cost  errors  n_leaves  depth  features
           1    48      48         7      3  x0, x1, x4
           2    48      48         7      3  x0, x1, x4
           3    48      48         7      3  x0, x1, x4
           4    48      48         7      3  x0, x1, x4
           5    60      60         7      3  x0, x1, x4
           6    60      60         8      3  x0, x1, x4
        """
        limits = Limits.starting(self.time_limit)
        classifier = clone(self).set_params(refine=False, max_leaf_nodes=None)
        spec = read_spec(classifier)
        checks.check_int("n", n, 1)
        if not checks.is_number(epsilon) or epsilon < 0:
            raise ValueError(f"epsilon must be a finite number >= 0, got {checks.short(epsilon)}")
        checks.check_choice("different", different, DIFFERENT)
        asked = NearOptimalOptions(min(int(n), 2**62), float(epsilon), different)
        data = prepare(classifier, X, y, sample_weight)
        options = search_options(self, limits.seconds_left())
        return find_trees(data, spec, options, asked, lambda found: fitted_copy(classifier, found))

    def _searched(self) -> tuple[TopKTreeClassifier, None]:
        return self, None


def tree_like(estimator: Any, **others: Any) -> TopKTreeClassifier:
    """Return an unfitted tree with the parameters that it shares with an estimator, except for those in `others`."""
    own = estimator.get_params(deep=False)
    shared = {name: own[name] for name in TopKTreeClassifier().get_params() if name in own}
    return TopKTreeClassifier(**shared | others)
