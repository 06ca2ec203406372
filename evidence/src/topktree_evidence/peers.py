"""Topktree and others behind one function: scikit-learn's tree, pytrees-rs, gosdt and pystreed.

In: a solver's name, Boolean rows, classes, depth, penalty per leaf, and k for those that have one. Out: a Fit.
The one idea: the same problem for all (errors / rows + penalty x leaves; scikit-learn and pytrees-rs know no penalty),
only `fit` is timed, and errors are counted from the predictions in the same way for all.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from topktree._classifier import TopKTreeClassifier

OURS = "topktree"
PEERS = ("gosdt", "pystreed")  # that find optimal trees
GREEDY = "scikit-learn"
TOP_K = "pytrees"  # the package pytrees-rs


@dataclass(frozen=True)
class Fit:
    """What a solver did. Without a tree, errors and leaves are None."""

    seconds: float
    finished: bool  # False: it stopped itself at the limit
    errors: int | None
    leaves: int | None


@dataclass(frozen=True)
class _Problem:
    """What a solver is asked for."""

    depth: int
    penalty: float  # cost of a leaf as a fraction of the rows
    limit: float  # seconds
    k: int | str  # of topktree and pytrees


@dataclass(frozen=True)
class _Adapter:
    """How a solver is made and read; `predict` and `count_leaves` are for a solver that has a tree."""

    make: Callable[[_Problem], Any]
    has_tree: Callable[[Any], bool]
    is_finished: Callable[[Any], bool]
    predict: Callable[[Any, NDArray[np.bool_]], Any]
    count_leaves: Callable[[Any], int]


def installed() -> list[str]:
    """The peers that can be imported."""
    return [name for name in PEERS if is_installed(name)]


def is_installed(name: str) -> bool:
    """Whether a module can be imported."""
    return importlib.util.find_spec(name) is not None


def fit(
    name: str,
    X: NDArray[np.bool_],
    y: NDArray[np.int64],
    depth: int,
    penalty: float,
    limit: float,
    k: int | str = "all",
) -> Fit:
    """Fit one solver to all rows; k is for Top-k. Peers stop themselves at the limit or later, topktree does not."""
    adapter = _ADAPTERS[name]
    solver = adapter.make(_Problem(depth, penalty, limit, k))
    start = time.perf_counter()
    solver.fit(X, y)
    seconds = time.perf_counter() - start
    if not adapter.has_tree(solver):
        return Fit(seconds, False, None, None)
    errors = int(np.count_nonzero(np.asarray(adapter.predict(solver, X)) != y))
    return Fit(seconds, adapter.is_finished(solver), errors, int(adapter.count_leaves(solver)))


def _topktree(problem: _Problem) -> Any:
    # No time_limit: with one the search widens k step by step, which is another search.
    return TopKTreeClassifier(
        k=problem.k, max_depth=problem.depth, leaf_penalty=problem.penalty, n_jobs=1, max_thresholds=None
    )


def _gosdt(problem: _Problem) -> Any:
    # Its depth counts as ours does: a root alone has depth 0. One thread, as is its default: more may deadlock.
    return importlib.import_module("gosdt").GOSDTClassifier(
        regularization=problem.penalty,
        allow_small_reg=True,
        depth_budget=problem.depth,
        time_limit=math.ceil(problem.limit),
    )


def _pystreed(problem: _Problem) -> Any:
    solver = importlib.import_module("pystreed").STreeDClassifier
    if problem.penalty == 0:
        return solver("accuracy", max_depth=problem.depth, time_limit=problem.limit)
    # Its penalty is one of splits, of which a tree has one less than leaves: the same tree is best.
    return solver(
        "cost-complex-accuracy",
        max_depth=problem.depth,
        time_limit=problem.limit,
        cost_complexity=problem.penalty,
    )


def _greedy(problem: _Problem) -> Any:
    return DecisionTreeClassifier(criterion="entropy", max_depth=problem.depth, random_state=0)


def _pytrees(problem: _Problem) -> Any:
    # Its budget b tries the b + 1 best columns of a node. First budget = last budget: one pass, exactly Top-k.
    # Its solver of depth-2 subtrees looks at every pair of columns, so with it the result would not be Top-k.
    budget = int(problem.k) - 1
    return importlib.import_module("pytrees").DL85Classifier(
        max_depth=problem.depth,
        max_time=problem.limit,
        heuristic="information_gain",
        fast_d2=False,
        topk=importlib.import_module("pytrees.rules").TopKRule(initial_value=budget, limit=budget),
    )


_ADAPTERS = {
    OURS: _Adapter(
        make=_topktree,
        has_tree=lambda solver: True,
        is_finished=lambda solver: solver.status_ in ("optimal", "complete"),
        predict=lambda solver, X: solver.predict(X),
        count_leaves=lambda solver: solver.get_n_leaves(),
    ),
    GREEDY: _Adapter(
        make=_greedy,
        has_tree=lambda solver: True,
        is_finished=lambda solver: True,
        predict=lambda solver, X: solver.predict(X),
        count_leaves=lambda solver: solver.get_n_leaves(),
    ),
    TOP_K: _Adapter(
        make=_pytrees,
        has_tree=lambda solver: solver.tree_ is not None,
        is_finished=lambda solver: solver.status_ == "optimal",
        predict=lambda solver, X: solver.predict(X),
        count_leaves=lambda solver: solver.tree_.n_leaves,
    ),
    "gosdt": _Adapter(
        make=_gosdt,
        has_tree=lambda solver: bool(solver.trees_),
        is_finished=lambda solver: solver.result_.status.name == "CONVERGED",
        # Its own predict calls scikit-learn with an argument that is no longer there.
        predict=lambda solver, X: solver.trees_[0].predict(X),
        count_leaves=lambda solver: solver.result_.model.count('"prediction"'),
    ),
    "pystreed": _Adapter(
        make=_pystreed,
        has_tree=lambda solver: solver.is_fitted(),
        is_finished=lambda solver: solver.fit_result.is_optimal(),
        predict=lambda solver, X: solver.predict(X),
        count_leaves=lambda solver: solver.get_n_leaves(),
    ),
}
