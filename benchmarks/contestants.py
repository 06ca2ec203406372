"""The contestants: how each solver is set up, timed and read.

In: a Contestant, a Boolean matrix with its classes, and a cap in seconds.
Out: a Fit: the seconds of `fit` alone, the training errors counted from the predictions, and whether the search ended.
The one idea: nothing but `fit` is timed, and the errors are counted the same way for everybody.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Solver = Literal["topktree", "pytrees-rs", "pystreed", "scikit-learn", "scikit-learn, float32"]


@dataclass(frozen=True)
class Contestant:
    """A solver with its depth and, where it has one, its k."""

    solver: Solver
    depth: int
    k: int | Literal["all"] | None = None


@dataclass(frozen=True)
class Fit:
    """One timed fit."""

    seconds: float
    errors: int | None  # rows of the training data whose prediction is wrong; None: stopped before there was a tree
    claimed: int | None  # errors as the solver itself states them
    finished: bool  # False: the solver stopped at its time limit
    threads: int | None  # threads used, where the solver tells


def timed_fit(who: Contestant, X: NDArray[np.bool_], y: NDArray[np.int32], cap: float) -> Fit:
    """Fit once on X (rows, columns) and y (rows), both only read."""
    given = prepared(who, X)
    estimator = unfitted(who, cap)
    start = time.perf_counter()
    estimator.fit(given, y)
    seconds = time.perf_counter() - start
    wrong = np.count_nonzero(estimator.predict(given) != y) if has_tree(who, estimator) else None
    errors = None if wrong is None else int(wrong)
    return Fit(seconds, errors, claimed_errors(who, estimator), is_finished(who, estimator), threads(who, estimator))


def warm_up(who: Contestant, cap: float) -> None:
    """A fit of 64 rows, so that imports made on first use are not timed."""
    X = np.random.default_rng(0).random((64, 20)) < 0.5
    timed_fit(who, X, (X[:, 0] ^ X[:, 1]).astype(np.int32), cap)


def prepared(who: Contestant, X: NDArray[np.bool_]) -> NDArray[Any]:
    """The matrix as the contestant gets it, made outside the timing."""
    if who.solver == "scikit-learn, float32":
        # What scikit-learn would convert to; by columns it fits 10 to 30 % faster than by rows.
        return np.asfortranarray(X, dtype=np.float32)
    return X


def unfitted(who: Contestant, cap: float) -> Any:
    """The estimator, on one thread, told to stop at the cap if it can be without changing its search."""
    if who.solver == "topktree":
        from topktree import TopKTreeClassifier

        # No time_limit: with one the search widens k step by step, which is another search.
        return TopKTreeClassifier(k=who.k, max_depth=who.depth, n_jobs=1)
    if who.solver == "pytrees-rs":
        return pytrees_topk(who, cap)
    if who.solver == "pystreed":
        from pystreed import STreeDClassifier

        return STreeDClassifier("accuracy", max_depth=who.depth, time_limit=cap)
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(criterion="entropy", max_depth=who.depth, random_state=0)


def pytrees_topk(who: Contestant, cap: float) -> Any:
    """DL8.5 restricted to Top-k."""
    from pytrees import DL85Classifier
    from pytrees.rules import TopKRule

    if not isinstance(who.k, int):
        raise ValueError(f"k is {who.k!r}; pytrees-rs takes an integer of at least 1")
    # Its budget b tries the b + 1 best columns of a node. First budget = last budget: one pass, exactly Top-k.
    # Its solver of depth-2 subtrees looks at every pair of columns, so with it the result would not be Top-k.
    return DL85Classifier(
        max_depth=who.depth,
        max_time=cap,
        heuristic="information_gain",
        fast_d2=False,
        topk=TopKRule(initial_value=who.k - 1, limit=who.k - 1),
    )


def has_tree(who: Contestant, fitted: Any) -> bool:
    """A peer stopped early may have none."""
    if who.solver == "pytrees-rs":
        return fitted.tree_ is not None
    return bool(fitted.is_fitted()) if who.solver == "pystreed" else True


def claimed_errors(who: Contestant, fitted: Any) -> int | None:
    """What the solver says of itself."""
    if not has_tree(who, fitted):
        return None
    if who.solver == "topktree":
        return int(fitted.train_errors_)
    return int(fitted.train_error_) if who.solver == "pytrees-rs" else None


def is_finished(who: Contestant, fitted: Any) -> bool:
    """Whether the search came to its end."""
    if who.solver == "topktree":
        return fitted.status_ == "optimal" or (who.k != "all" and fitted.status_ == "complete")
    if who.solver == "pytrees-rs":
        return bool(fitted.status_ == "optimal")
    if who.solver == "pystreed":
        return has_tree(who, fitted) and bool(fitted.fit_result.is_optimal())
    return True


def threads(who: Contestant, fitted: Any) -> int | None:
    """topktree's own count; the peers have no switch and use one."""
    if who.solver != "topktree":
        return None
    search = fitted.search_
    return int(search["n_threads"] if isinstance(search, Mapping) else search.n_threads)
