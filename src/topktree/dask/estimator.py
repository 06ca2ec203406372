"""`DaskTopKTreeClassifier`: the tree of `TopKTreeClassifier`, for rows that are on many machines.

In: Dask collections of rows, labels and weights. Out: the same tree, lazy predictions, and a local classifier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import copy_names, fitted_copy, found_tree_of, set_fitted
from .._classifier import TopKTreeClassifier, tree_like
from .._runtime import checks
from .._runtime.limits import Limits, restored_on_error
from .._search.objective import ScoreFunction
from .._search.spec import TreeSpec, read_spec
from .cluster import Cluster, find_client
from .fitting import DaskFit
from .partitions import feature_names, make_parts, table_parts

# The search on the client descends by recursive calls.
MAX_DEPTH = 100


class DaskTopKTreeClassifier(ClassifierMixin, BaseEstimator):
    """`TopKTreeClassifier` for Dask DataFrames and Arrays, on a Dask cluster.

    With the same Boolean columns the tree is the same as that of the local class, for any partitions and workers. The
    columns are the same if every numeric feature has at most 4096 distinct values, or fewer where features times
    classes are more than 1024; otherwise a threshold at a quantile may be off by the fraction of the rows in
    `search_["threshold_error"]`. With `max_thresholds=None` there are no sets of categories.

    Partitions stay where they are: workers turn them into bits and count, and the search on the client asks for the
    counts of many nodes at a time. Few distinct rows are brought to the client instead and searched there.

    Parameters
    ----------
    k, criterion, min_samples_leaf, min_weight_fraction_leaf, leaf_penalty, distinct_splits, class_weight, \
max_thresholds, categorical_features, verbose
        As in `TopKTreeClassifier`.
    max_depth : int, default=5
        As in `TopKTreeClassifier`, at most 100.
    time_limit : float or None, default=None
        Seconds for the fit. The steps before the search and the tree of k = 1 are completed in any case.
    memory_limit : int or None, default=None
        Approximate bytes of counts that the client holds during a search: beyond it, questions are asked one at a time.
        None: 1 GiB.
    n_jobs : int or None, default=None
        Number of threads of a search on the client.
    client : distributed.Client or None, default=None
        None: the current client.
    batch_bytes : int, default=2**24
        Bytes of counts that are asked for at a time.
    gather_bytes : int, default=2**26
        Distinct rows that take at most this many bytes, as bits, are searched on the client. 0: never.
    worker_timeout : float, default=60
        Seconds without any worker after which a fit ends with an error.

    Attributes
    ----------
    classes_, features_, tree_, cost_, train_errors_, status_, n_features_in_, feature_names_in_ :
        The same as in `TopKTreeClassifier`.
    search_ : dict
        The same as in `TopKTreeClassifier`, and `where` the search ran ("client" or "workers"), `n_partitions`,
        `threshold_error`, and the seconds of the `stages`; on the client the number of `distinct_rows`; on the workers
        the `rounds`, each a dict of the `questions` asked, the `bytes` of the answer and the `seconds` until it came.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from topktree import datasets
    >>> from topktree.dask import DaskTopKTreeClassifier
    >>> X, y = datasets.load_monks(1, return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     clf = DaskTopKTreeClassifier(max_depth=3).fit(X, y)
    >>> clf.train_errors_, clf.to_local().get_n_leaves()
    (48, 7)
    >>> clf.predict(X).compute()[:3], round(clf.score(X, y), 3)
    (array([1, 1, 1]), 0.889)
    """

    def __init__(
        self,
        *,
        k: int | str | Sequence[int | str] = 8,
        max_depth: int = 5,
        criterion: str | ScoreFunction = "entropy",
        min_samples_leaf: int | float = 1,
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
        client: Any = None,
        batch_bytes: int = 2**24,
        gather_bytes: int = 2**26,
        worker_timeout: float = 60.0,
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
        self.client = client
        self.batch_bytes = batch_bytes
        self.gather_bytes = gather_bytes
        self.worker_timeout = worker_timeout

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Search for the tree. An error or Ctrl-C leaves an earlier fit as it was, and nothing on the workers.

        `X` is a Dask DataFrame or Array; `y` and `sample_weight` are Series or Arrays with the same rows in every
        partition. Labels and weights are read up to twice before the features, and the features twice. If
        the collections are expensive to compute and fit into the memory of the workers, persist them first.
        """
        limits = Limits.starting(self.time_limit)
        spec = self._read_spec()
        client = find_client(self.client)
        parts = make_parts(X, y, sample_weight)
        with closing(Cluster(client, float(self.worker_timeout))) as cluster:
            found = DaskFit(self, spec, parts, cluster, limits).run()
        with restored_on_error(self):
            set_fitted(self, found)
            self.n_features_in_ = parts.n_features
            self.__dict__.pop("feature_names_in_", None)  # an earlier fit may have set it
            if parts.names is not None:
                self.feature_names_in_ = np.array(parts.names, dtype=object)
        return self

    def predict(self, X: Any) -> da.Array:
        """Return the class of each row, as a lazy Array with the partitions of X."""
        local = self.to_local()
        return self._map(X, local.predict, local.classes_[:0])

    def predict_proba(self, X: Any) -> da.Array:
        """Return the share of each class in each row's leaf, as a lazy Array with the partitions of X."""
        local = self.to_local()
        return self._map(X, local.predict_proba, np.empty((0, len(local.classes_))))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, which is computed at once."""
        local = self.to_local()
        parts = make_parts(X, y, sample_weight)
        task, shared = dask.delayed(_score_part, pure=False), dask.delayed(local, traverse=False)
        sums = dask.compute(*(task(shared, *triple) for triple in parts.triples), scheduler=self.client)
        right, total = np.sum(sums, axis=0)
        if total == 0:
            raise ValueError("X must have rows with weight to be scored, got none in any partition")
        return float(right / total)

    def to_local(self) -> TopKTreeClassifier:
        """Return the fitted tree as a `TopKTreeClassifier`, which can be saved, exported, plotted and reported."""
        check_is_fitted(self)
        local = fitted_copy(tree_like(self), deepcopy(found_tree_of(self)))
        copy_names(self, local)
        return local

    def _read_spec(self) -> TreeSpec:
        """Return the specification of the tree; all parameters are validated."""
        checks.check_int("max_depth", self.max_depth, 0, MAX_DEPTH)
        spec = read_spec(self)
        checks.check_int("batch_bytes", self.batch_bytes, 1)
        checks.check_int("gather_bytes", self.gather_bytes, 0)
        if not checks.is_number(self.worker_timeout) or self.worker_timeout < 0:
            raise ValueError(
                f"worker_timeout must be a number of seconds >= 0, got {checks.short(self.worker_timeout)}"
            )
        return spec

    def _map(self, X: Any, predict: Callable[[Any], NDArray[Any]], empty: NDArray[Any]) -> da.Array:
        """Return the predictions for every partition as one array; `empty` is the prediction for no rows."""
        names, n_features = feature_names(X)
        if n_features != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} features, as in fit, got {n_features}")
        if names is not None and hasattr(self, "feature_names_in_"):  # raises now, rather than on the workers
            validate_data(self, pd.DataFrame(columns=list(names)), reset=False, skip_check_array=True)
        parts = table_parts(X)
        sizes = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * len(parts)
        task, shared = dask.delayed(_predict_part, pure=False), dask.delayed(predict, traverse=False)
        arrays = [
            da.from_delayed(task(part, shared, empty), (size, *empty.shape[1:]), dtype=empty.dtype)
            for part, size in zip(parts, sizes, strict=True)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def __sklearn_clone__(self) -> Self:
        """Return a copy without the fit and with the same client."""
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=client)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the client, which belongs to this process."""
        return {**super().__getstate__(), "client": None}

    def __sklearn_tags__(self) -> Any:
        return tree_like(self).__sklearn_tags__()


def _predict_part(part: Any, predict: Callable[[Any], NDArray[Any]], empty: NDArray[Any]) -> NDArray[Any]:
    return predict(part) if len(part) > 0 else empty


def _score_part(local: TopKTreeClassifier, X: Any, y: Any, sample_weight: Any) -> tuple[float, float]:
    """Return the weight of the rows that are classified correctly, and of all rows."""
    if len(X) == 0 and len(y) == 0:
        return 0.0, 0.0
    if sample_weight is None:
        return float(round(local.score(X, y) * len(X))), float(len(X))
    weight = float(np.sum(np.asarray(sample_weight)))
    return (local.score(X, y, sample_weight) * weight if weight else 0.0), weight
