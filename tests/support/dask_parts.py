"""Fits to rows in parts without a cluster, which takes milliseconds, and what must be the same of two fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask
import numpy as np

from topktree import TopKTreeClassifier
from topktree._base import set_fitted
from topktree._runtime.limits import Limits
from topktree._search.spec import read_spec
from topktree.dask import DaskTopKTreeClassifier
from topktree.dask.fitting import DaskFit
from topktree.dask.partitions import Parts


class HereAndNow:
    """A `Cluster` whose futures are the results."""

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        return list(dask.compute(*tasks, scheduler="synchronous"))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def reduce(self, parts: Sequence[Any], merge: Callable[..., Any], *arguments: Any) -> Any:
        """Two at a time, so that there are several levels."""
        level = list(parts)
        while True:
            level = [merge(level[i : i + 2], *arguments) for i in range(0, len(level), 2)]
            if len(level) == 1:
                return level[0]

    def result(self, future: Any, deadline: float | None = None) -> Any:
        return future

    def count(self, shards: Sequence[Any], n_bytes: int, function: Callable[..., Any], question: Any) -> list[Any]:
        return [function([shard], question) for shard in shards]

    def release(self, futures: Sequence[Any]) -> None:
        pass

    def worker_memory(self) -> float:
        """Return the bytes of memory of the smallest worker: no limit."""
        return float("inf")


def fit_parts(
    parameters: dict[str, Any], X: Any, y: Any, sample_weight: Any, part: np.ndarray, gather_bytes: int
) -> DaskTopKTreeClassifier:
    """Return the tree of rows of which row i is in part number part[i]; parts may be empty."""
    which = [np.flatnonzero(part == i) for i in range(int(part.max(initial=0)) + 2)]

    def divided(values: Any) -> list[Any]:
        return [values.iloc[rows] if hasattr(values, "iloc") else values[rows] for rows in which]

    names = None
    if hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns):
        names = tuple(X.columns)
    weights = [None] * len(which) if sample_weight is None else divided(sample_weight)
    parts = Parts(list(zip(divided(X), divided(y), weights, strict=True)), names, X.shape[1])
    clf = DaskTopKTreeClassifier(**parameters, gather_bytes=gather_bytes)
    cluster: Any = HereAndNow()
    set_fitted(clf, DaskFit(clf, read_spec(clf), parts, cluster, Limits()).run())
    return clf


def assert_same_fit(found: Any, expected: TopKTreeClassifier) -> None:
    """Assert that two fits have the same tree and agree in all that they say of it."""
    for name in vars(expected.tree_):
        np.testing.assert_array_equal(getattr(found.tree_, name), getattr(expected.tree_, name), err_msg=name)
    assert found.classes_.dtype == expected.classes_.dtype
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    assert found.features_ == expected.features_
    assert found.cost_ == expected.cost_
    assert type(found.cost_) is type(expected.cost_)
    assert found.train_errors_ == expected.train_errors_
    assert found.status_ == expected.status_
