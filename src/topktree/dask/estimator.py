"""`DaskTopKTreeClassifier`: the tree of `TopKTreeClassifier`, from rows that are on many machines.

In: Dask collections of rows, labels and weights. Out: the same tree, lazy predictions, and a plain classifier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import copy_names, fitted_copy, found_tree_of, restored_on_error, set_fitted
from .._classifier import TopKTreeClassifier
from .._runtime import checks
from .._runtime.limits import Limits
from .._search.objective import ScoreFunction
from .._search.spec import TreeSpec, read_spec
from .cluster import find_client, on_cluster
from .fitting import FitSizes, search_parts
from .partitions import check_rows, feature_names, frame_parts, make_parts, one_block_wide

# The search on the client descends by calls.
MAX_DEPTH = 100

_OWN = ("client", "batch_bytes", "gather_bytes", "worker_timeout")


class DaskTopKTreeClassifier(ClassifierMixin, BaseEstimator):
    """`TopKTreeClassifier` for Dask DataFrames and Arrays, on a Dask cluster.

    With the same Boolean columns the tree is that of the local class, whatever the partitions and the workers. The
    columns are the same if every numeric feature has at most 4096 distinct values; otherwise a threshold at a quantile
    may be off by a fraction of the rows, which `search_["threshold_error"]` states.

    Partitions stay where they are: workers turn them into bits and count, and the search on the client asks for the
    counts of many nodes at a time. If there are few distinct rows, these are brought to the client instead and searched
    there.

    Parameters
    ----------
    k, criterion, min_samples_leaf, min_weight_fraction_leaf, leaf_penalty, distinct_splits, class_weight, verbose :
        As of `TopKTreeClassifier`.
    max_thresholds, categorical_features :
        Likewise.
    max_depth : int, default=5
        Likewise, at most 100.
    time_limit : float or None, default=None
        Seconds for the fit. What comes before the search, and the tree of k = 1, are finished in any case; so is a last
        count, if rows have weights of their own.
    memory_limit : int or None, default=None
        Bytes of counts that the client holds during a search, about: beyond it, questions are asked one at a time.
        None: 1 GiB.
    n_jobs : int or None, default=None
        Threads of a search on the client.
    client : distributed.Client or None, default=None
        None: the current one.
    batch_bytes : int, default=2**24
        Bytes of counts that are asked for at a time.
    gather_bytes : int, default=2**26
        Distinct rows, as bits, of at most so many bytes are searched on the client. 0: never.
    worker_timeout : float, default=60
        Seconds without any worker after which a fit gives up.

    Attributes
    ----------
    classes_, features_, tree_, cost_, train_errors_, status_, n_features_in_, feature_names_in_ :
        As of `TopKTreeClassifier`.
    search_ : dict
        As of `TopKTreeClassifier`, and `where` the search was ("client" or "workers"), `n_partitions`,
        `threshold_error`, and the seconds of the `stages`; on the client the `distinct_rows`; on workers the `rounds`,
        a dict each: the `questions` asked, the `bytes` of the answer, the `seconds` until it came.

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
    """

    def __init__(
        self,
        *,
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
        """Find the tree. An error or Ctrl-C leaves an earlier fit as it was, and nothing on the workers.

        `X` is a Dask DataFrame or Array; `y` and `sample_weight` are Series or Arrays with the same rows in every
        partition. Labels and weights are read once or twice before the features, the features twice: what is expensive
        to compute and fits into the memory of the workers should be persisted first.

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
        ...     clf.status_
        'complete'
        """
        limits = Limits.starting(self.time_limit if checks.is_number(self.time_limit) else None)
        local = self._unfitted()
        spec = self._read_spec(local)
        client = find_client(self.client)
        parts = make_parts(X, y, sample_weight)
        sizes = FitSizes(int(self.batch_bytes), int(self.gather_bytes))
        with on_cluster(client, float(self.worker_timeout)) as cluster:
            found = search_parts(local, spec, parts, cluster, sizes, limits)
        with restored_on_error(self):
            set_fitted(self, found)
            self.n_features_in_ = parts.n_features
            self.__dict__.pop("feature_names_in_", None)  # an earlier fit may have set it
            if parts.names is not None:
                self.feature_names_in_ = np.array(parts.names, dtype=object)
        return self

    def predict(self, X: Any) -> da.Array:
        """The class of each row, as a lazy Array with the partitions of X.

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
        ...     clf.predict(X).compute()[:3]
        array([...])
        """
        local = self.to_local()
        return self._map(X, local.predict, (), local.classes_.dtype)

    def predict_proba(self, X: Any) -> da.Array:
        """Class shares of the training weight in each row's leaf, as a lazy Array with the partitions of X.

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
        ...     clf.predict_proba(X).shape
        (432, 2)
        """
        local = self.to_local()
        return self._map(X, local.predict_proba, (len(local.classes_),), np.dtype(np.float64))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, computed at once.

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
        ...     round(clf.score(X, y), 3)
        0.889
        """
        local = self.to_local()
        parts = make_parts(X, y, sample_weight)
        weights = [None] * len(parts.X) if parts.sample_weight is None else parts.sample_weight
        task = dask.delayed(_score_part, pure=False)
        shared = dask.delayed(local, traverse=False)
        tasks = [task(shared, *part) for part in zip(parts.X, parts.y, weights, strict=True)]
        sums = dask.compute(*tasks, scheduler=self.client)
        right, total = np.sum(sums, axis=0)
        if total == 0:
            raise ValueError("X must have rows with weight to be scored, got none in any partition")
        return float(right / total)

    def to_local(self) -> TopKTreeClassifier:
        """The fitted tree as a plain `TopKTreeClassifier`, which can be saved, exported, drawn and reported.

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
        >>> clf.to_local().save("model.json")
        """
        check_is_fitted(self)
        local = fitted_copy(self._unfitted(), deepcopy(found_tree_of(self)))
        copy_names(self, local)
        return local

    def _unfitted(self) -> TopKTreeClassifier:
        parameters = self.get_params(deep=False)
        return TopKTreeClassifier(**{name: value for name, value in parameters.items() if name not in _OWN})

    def _read_spec(self, local: TopKTreeClassifier) -> TreeSpec:
        """Validate all parameters."""
        if not checks.is_int(self.max_depth) or not 0 <= self.max_depth <= MAX_DEPTH:
            raise ValueError(f"max_depth must be an int in [0, {MAX_DEPTH}] on a cluster, got {self.max_depth!r}")
        spec = read_spec(local)
        checks.check_int("batch_bytes", self.batch_bytes, 1)
        checks.check_int("gather_bytes", self.gather_bytes, 0)
        if not checks.is_number(self.worker_timeout) or self.worker_timeout < 0:
            raise ValueError(f"worker_timeout must be a number of seconds >= 0, got {self.worker_timeout!r}")
        return spec

    def _map(
        self, X: Any, predict: Callable[[Any], NDArray[Any]], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> da.Array:
        """What `predict` says of every partition, as an array (n_rows, *shape)."""
        check_rows("X", X)
        names, n_features = feature_names(X)
        if n_features != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} features, as in fit, got {n_features}")
        if names is not None and hasattr(self, "feature_names_in_"):  # a mistake there need not wait for the workers
            validate_data(self, X._meta.set_axis(names, axis=1), reset=False, skip_check_array=True)
        if isinstance(X, da.Array):
            X = one_block_wide(X)
            meta = np.empty((0, *shape), dtype=dtype)
            new = {"drop_axis": 1} if not shape else {"chunks": (X.chunks[0], shape)}
            return X.map_blocks(_predict_part, predict, shape, dtype, dtype=dtype, meta=meta, **new)
        task = dask.delayed(_predict_part, pure=False)
        shared = dask.delayed(predict, traverse=False)
        arrays = [
            da.from_delayed(task(part, shared, shape, dtype), (np.nan, *shape), dtype=dtype) for part in frame_parts(X)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def __sklearn_clone__(self) -> Self:
        """A copy without the fit; the client is the same one."""
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=client)

    def __getstate__(self) -> dict[str, Any]:
        """Without the client, which belongs to this process."""
        return {**super().__getstate__(), "client": None}

    def __sklearn_tags__(self) -> Any:
        return self._unfitted().__sklearn_tags__()


def _predict_part(
    part: Any, predict: Callable[[Any], NDArray[Any]], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    if len(part) == 0:
        return np.empty((0, *shape), dtype=dtype)
    return predict(part)


def _score_part(local: TopKTreeClassifier, X: Any, y: Any, sample_weight: Any) -> tuple[float, float]:
    """Weight of the rows that are right, and of all rows."""
    if len(X) == 0 and len(y) == 0:
        return 0.0, 0.0
    if sample_weight is None:
        return float(round(local.score(X, y) * len(X))), float(len(X))
    weight = float(np.sum(np.asarray(sample_weight)))
    return (local.score(X, y, sample_weight) * weight if weight else 0.0), weight
