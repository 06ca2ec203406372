"""The peers: topktree and the solvers it is compared with, behind one interface.

In: a solver's name, a Problem, rows and classes. Out: an estimator that is not fitted; of a fitted one, a Fit.
The one idea: all get the same problem (errors / rows + penalty x leaves; scikit-learn and pytrees-rs know no penalty),
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

from topktree import TopKTreeClassifier

OURS, GREEDY, TOP_K = "topktree", "scikit-learn", "pytrees-rs"
STREED, GOSDT, CONTREE = "pystreed", "gosdt", "pycontree"
OPTIMAL = (GOSDT, STREED)  # peers that find optimal trees on Boolean columns

Array = NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """The tree that a solver is asked for."""

    depth: int
    penalty: float = 0.0  # cost of a leaf as a fraction of the rows
    limit: float = 60.0  # seconds, at which solvers stop themselves, where they can
    k: int | str = "all"  # of topktree and pytrees-rs
    threads: int = 1  # of topktree
    max_thresholds: int | None = None  # of topktree; None: every midpoint
    anytime: bool = False  # topktree stops itself at the limit as well


@dataclass(frozen=True)
class Fit:
    """The result of a solver. Without a tree, errors and leaves are None."""

    seconds: float
    finished: bool  # False: it stopped itself at the limit
    errors: int | None
    leaves: int | None


@dataclass(frozen=True)
class Peer:
    """How a solver is made and read; `is_finished`, `predict` and `count_leaves` are for a solver that has a tree."""

    module: str
    make: Callable[[Problem], Any]
    has_tree: Callable[[Any], bool] = lambda solver: True
    is_finished: Callable[[Any], bool] = lambda solver: True
    predict: Callable[[Any, Array], Any] = lambda solver, X: solver.predict(X)
    count_leaves: Callable[[Any], int] = lambda solver: solver.get_n_leaves()
    claimed_errors: Callable[[Any], int | None] = lambda solver: None  # as the solver itself states them, if it does


def is_installed(name: str) -> bool:
    """Return True for a solver that can be imported."""
    return importlib.util.find_spec(PEERS[name].module) is not None


def fit(name: str, X: Array, y: Array, problem: Problem) -> Fit:
    """Fit one solver to all rows. Peers stop themselves at the limit or later."""
    solver = PEERS[name].make(problem)
    start = time.perf_counter()
    solver.fit(X, y)
    return read(name, solver, X, y, time.perf_counter() - start)


def read(name: str, solver: Any, X: Array, y: Array, seconds: float) -> Fit:
    """Return what a fitted solver found, with errors counted from its predictions for the training rows."""
    peer = PEERS[name]
    if not peer.has_tree(solver):
        return Fit(seconds, False, None, None)
    errors = int(np.count_nonzero(np.asarray(peer.predict(solver, X)) != y))
    claimed = peer.claimed_errors(solver)
    if claimed not in (None, errors):
        raise ValueError(f"{name} states {claimed} training errors, its predictions have {errors}")
    return Fit(seconds, peer.is_finished(solver), errors, int(peer.count_leaves(solver)))


def _topktree(problem: Problem) -> Any:
    # With a time limit the search widens k step by step, which is another search.
    return TopKTreeClassifier(
        k=problem.k,
        max_depth=problem.depth,
        leaf_penalty=problem.penalty,
        n_jobs=problem.threads,
        max_thresholds=problem.max_thresholds,
        time_limit=problem.limit if problem.anytime else None,
    )


def _greedy(problem: Problem) -> Any:
    return DecisionTreeClassifier(criterion="entropy", max_depth=problem.depth, random_state=0)


def _pytrees(problem: Problem) -> Any:
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


def _gosdt(problem: Problem) -> Any:
    # Its depth counts as ours does: a root alone has depth 0. One thread, its default: more may deadlock.
    return importlib.import_module("gosdt").GOSDTClassifier(
        regularization=problem.penalty,
        allow_small_reg=True,
        depth_budget=problem.depth,
        time_limit=math.ceil(problem.limit),
    )


def _pystreed(problem: Problem) -> Any:
    solver = importlib.import_module("pystreed").STreeDClassifier
    if problem.penalty == 0:
        return solver("accuracy", max_depth=problem.depth, time_limit=problem.limit)
    # Its penalty is one of splits, of which a tree has one less than leaves: the same tree is best.
    return solver(
        "cost-complex-accuracy", max_depth=problem.depth, time_limit=problem.limit, cost_complexity=problem.penalty
    )


def _pycontree(problem: Problem) -> Any:
    return importlib.import_module("pycontree").ConTree(max_depth=problem.depth, time_limit=problem.limit)


PEERS = {
    OURS: Peer(
        "topktree",
        _topktree,
        is_finished=lambda solver: solver.status_ in ("optimal", "complete"),
        claimed_errors=lambda solver: int(solver.train_errors_),
    ),
    GREEDY: Peer("sklearn", _greedy),
    TOP_K: Peer(
        "pytrees",
        _pytrees,
        has_tree=lambda solver: solver.tree_ is not None,
        is_finished=lambda solver: bool(solver.status_ == "optimal"),
        count_leaves=lambda solver: solver.tree_.n_leaves,
        claimed_errors=lambda solver: int(solver.train_error_),
    ),
    GOSDT: Peer(
        "gosdt",
        _gosdt,
        has_tree=lambda solver: bool(solver.trees_),
        is_finished=lambda solver: bool(solver.result_.status.name == "CONVERGED"),
        # Its own predict calls scikit-learn with an argument that is no longer there.
        predict=lambda solver, X: solver.trees_[0].predict(X),
        count_leaves=lambda solver: str(solver.result_.model).count('"prediction"'),
    ),
    STREED: Peer(
        "pystreed",
        _pystreed,
        has_tree=lambda solver: bool(solver.is_fitted()),
        is_finished=lambda solver: bool(solver.fit_result.is_optimal()),
    ),
    CONTREE: Peer(
        "pycontree",
        _pycontree,
        # It has no public answer to this question.
        is_finished=lambda solver: bool(solver._config.is_within_time_limit()),
        count_leaves=lambda solver: solver.get_num_leaf_nodes(),
    ),
}
