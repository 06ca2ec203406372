"""Every candidate of a grid fitted to every fold's training rows and scored on the others.

In: folds that are binarized already, candidates, a scorer. Out: an `Outcome` per candidate and fold.
The one idea: candidates go in waves of growing k, so that the tree of a smaller k bounds the search of the next, and a
time limit cuts off the expensive end of the grid. Fits run in threads, since the engine releases the GIL, or wherever
joblib's active backend puts them.
"""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import le
from statistics import fmean
from typing import Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.metrics import get_scorer

from ._interruptible import Cancelled
from ._problem import FloatArray, IntArray
from .choice import Candidate, Scores, summarise
from .classifier import TopKTreeClassifier
from .table import encode, read_table, take_rows
from .training import TrainingData, prepare

COMPLETE, TIME_LIMIT, FAILED = "complete", "time_limit", "failed"

# What the fit to all rows may take, in fits to a fold: time for it is kept back.
REFIT = 1.5

# Seconds to wait for threads that are told to end; they look 50 times a second.
PATIENCE = 5.0


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows ready for a search, and the rows to score on. Without data if it cannot be used; why, then."""

    tree: TopKTreeClassifier
    data: TrainingData | None
    X_test: Any  # encoded if they are scored by accuracy, else as the user gave them
    y_test: NDArray[Any]
    weights: FloatArray | None
    error: str = ""


@dataclass(frozen=True)
class Outcome:
    """Of one candidate in one fold."""

    candidate: int
    fold: int
    status: str
    score: float = math.nan
    n_leaves: float = math.nan
    depth: float = math.nan
    fit_seconds: float = math.nan
    score_seconds: float = math.nan
    cost: int | None = None  # in the units of the fold's objective
    error: str = ""


class OutOfTime(Exception):
    """Ends a search whose result would come too late."""


@dataclass
class Limits:
    """Shared by all fits that run in threads of this process; others have the state it had when they began."""

    deadline: float = math.inf  # of time.monotonic
    longest: float = 0.0  # fit so far, in seconds
    cancelled: bool = False
    at_work: list[None] = field(
        default_factory=list
    )  # an entry for every fit: lists change in one step, numbers do not

    def is_over(self, seconds: float = 0.0) -> bool:
        """Whether a fit that has taken so long must end, so that there is time to fit the choice to all rows."""
        return time.monotonic() + REFIT * max(seconds, self.longest) > self.deadline

    def wait(self) -> None:
        """Until the fits have seen that they are cancelled: Python must not end while a thread is in the engine."""
        give_up = time.monotonic() + PATIENCE
        while self.at_work and time.monotonic() < give_up:
            time.sleep(0.005)

    def watch(self, must_finish: bool) -> Callable[[float, int, int, int], None]:
        """A callback for the engine."""

        def look(seconds: float, k: int, nodes: int, cost: int) -> None:
            if self.cancelled:
                raise Cancelled
            if not must_finish and self.is_over(seconds):
                raise OutOfTime

        return look


class Scoring:
    """A scikit-learn scorer, or accuracy; rows have their weights in it if it takes any."""

    def __init__(self, scoring: Any) -> None:
        self.name = scoring if isinstance(scoring, str) else "accuracy" if scoring is None else "score"
        self._scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        function = getattr(self._scorer, "_score_func", self._scorer)
        self._is_weighted = function is not None and _takes_weights(function)

    @property
    def is_accuracy(self) -> bool:
        """Whether nothing else was asked for."""
        return self._scorer is None

    def __call__(self, tree: Any, X: Any, y: ArrayLike, weights: FloatArray | None) -> float:
        """Higher is better."""
        keywords = {"sample_weight": weights} if weights is not None and self._is_weighted else {}
        score = self._scorer(tree, X, y, **keywords)
        try:
            return float(score)
        except (TypeError, ValueError):
            raise ValueError(f"scoring must return a number, got {score!r}") from None

    def of_fold(self, tree: TopKTreeClassifier, fold: Fold) -> float:
        """Score on the fold's other rows."""
        if not self.is_accuracy:
            return self(tree, fold.X_test, fold.y_test, fold.weights)
        leaf_class = tree.classes_[np.argmax(tree.tree_.value, axis=1)]
        return float(np.average(leaf_class[tree.tree_.apply(fold.X_test)] == fold.y_test, weights=fold.weights))


def _takes_weights(function: Callable[..., Any]) -> bool:
    try:
        return "sample_weight" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def make_fold(
    tree: TopKTreeClassifier,
    X: Any,
    y: NDArray[Any],
    weights: FloatArray | None,
    classes: NDArray[Any],
    rows: tuple[IntArray, IntArray],
    scoring: Scoring,
) -> Fold:
    """Binarize the training rows; all classes stay known, whether the fold has rows of them or not."""
    train, test = rows
    tree = copy(tree)
    train_weights, test_weights = (None if weights is None else weights[part] for part in rows)
    X_test = take_rows(X, test)
    try:
        if len(test) == 0 or (test_weights is not None and not test_weights.any()):
            raise ValueError("it has no rows with weight to score on")
        data = prepare(tree, take_rows(X, train), y[train], train_weights, classes)
        if scoring.is_accuracy:
            X_test = encode(read_table(tree, X_test, reset=False), data.training.features)
    except ValueError as error:
        return Fold(tree, None, X_test, y[test], test_weights, error=str(error))
    return Fold(tree, data, X_test, y[test], test_weights)


def evaluate(
    folds: Sequence[Fold],
    candidates: Sequence[Candidate],
    scoring: Scoring,
    limits: Limits,
    n_jobs: int | None,
    show: Callable[[Outcome], None],
) -> list[Outcome]:
    """All outcomes, in the order in which they came. The first candidate of the first wave is never cut off."""
    usable = [i for i, fold in enumerate(folds) if fold.data is not None]
    order = waves(candidates)
    first = order[0][0]
    known = KnownCosts()
    found: list[Outcome] = []
    for wave in order:
        tasks = [(c, f) for c in wave for f in usable]
        threads = _threads_per_fit(n_jobs, len(tasks))
        calls = (
            joblib.delayed(fit_and_score)(
                (c, f),
                candidates[c],
                folds[f],
                scoring,
                limits,
                threads,
                known.lowest(candidates[c], f),
                c == first,
            )
            for c, f in tasks
        )
        for outcome in _results(calls, n_jobs, limits):
            found.append(outcome)
            known.add(candidates[outcome.candidate], outcome)
            limits.longest = max(limits.longest, 0.0 if outcome.cost is None else outcome.fit_seconds)
            show(outcome)
    return found


def waves(candidates: Sequence[Candidate]) -> list[list[int]]:
    """The candidates by growing k, those of equal k together, shallow ones first."""

    def breadth(c: int) -> float:
        return fmean(candidates[c].widths or (1,))

    order = sorted(range(len(candidates)), key=lambda c: (breadth(c), candidates[c].max_depth, c))
    return [list(wave) for _, wave in groupby(order, key=breadth)]


class KnownCosts:
    """What trees of each fold cost. The trees of a smaller k are among those of a larger one, at the same depth."""

    def __init__(self) -> None:
        self._costs: dict[Any, list[tuple[tuple[int, ...], int]]] = {}

    def add(self, candidate: Candidate, outcome: Outcome) -> None:
        """Remember the tree of an outcome, if it has one."""
        if outcome.cost is not None:
            key = (outcome.fold, candidate.max_depth, candidate.leaf_penalty)
            self._costs.setdefault(key, []).append((candidate.widths, outcome.cost))

    def lowest(self, candidate: Candidate, fold: int) -> int | None:
        """Of the trees that the candidate's search can find."""
        known = self._costs.get((fold, candidate.max_depth, candidate.leaf_penalty), [])
        narrower = (cost for widths, cost in known if all(map(le, widths, candidate.widths)))
        return min(narrower, default=None)


def fit_and_score(
    place: tuple[int, int],
    candidate: Candidate,
    fold: Fold,
    scoring: Scoring,
    limits: Limits,
    threads: int,
    known_cost: int | None,
    must_finish: bool,
) -> Outcome:
    """One fit. What goes wrong in it is its outcome."""
    if not must_finish and limits.is_over():
        return Outcome(*place, TIME_LIMIT)
    assert fold.data is not None
    start = time.perf_counter()
    limits.at_work.append(None)
    try:
        tree = copy(fold.tree).set_params(**candidate.params)
        options = replace(
            tree._search_options(start), threads=threads, known_cost=known_cost, progress=limits.watch(must_finish)
        )
        cost = tree._grow(fold.data, tree._objective(fold.data), options)
        fitted = time.perf_counter()
        score = scoring.of_fold(tree, fold)
        if math.isnan(score):
            raise ValueError("the score is NaN")
    except OutOfTime:
        return Outcome(*place, TIME_LIMIT)
    except Cancelled:
        raise
    except Exception as error:
        return Outcome(*place, FAILED, error=f"{type(error).__name__}: {error}")
    finally:
        limits.at_work.pop()
    seconds = (fitted - start, time.perf_counter() - fitted)
    return Outcome(*place, COMPLETE, score, tree.get_n_leaves(), tree.get_depth(), *seconds, cost=cost)


def _results(calls: Iterator[Any], n_jobs: int | None, limits: Limits) -> Iterator[Outcome]:
    """As they come. Whatever ends this early ends the fits that are still at work."""
    try:
        yield from joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")(calls)
    except BaseException:
        limits.cancelled = True
        limits.wait()
        raise


def _threads_per_fit(n_jobs: int | None, n_fits: int) -> int:
    """Threads that are left for each fit when as many as possible run at once, on this machine."""
    backend, _ = get_active_backend(prefer="threads")
    if not getattr(backend, "supports_sharedmem", False):  # other processes, or other machines
        return 1
    return max(1, int(joblib.effective_n_jobs(n_jobs)) // max(n_fits, 1))


@dataclass(frozen=True)
class Results:
    """What cross-validation says: an entry per candidate and fold, and summaries per candidate."""

    scores: Scores
    status: list[str]  # per candidate: that of its worst fold
    table: dict[str, Any]  # as scikit-learn's searches have it


def tabulate(candidates: Sequence[Candidate], n_folds: int, outcomes: Sequence[Outcome]) -> Results:
    """Outcomes as arrays."""
    shape = (len(candidates), n_folds)
    values = {name: np.full(shape, np.nan) for name in ("score", "n_leaves", "depth", "fit_seconds", "score_seconds")}
    status = [COMPLETE] * len(candidates)
    for outcome in outcomes:
        for name, array in values.items():
            array[outcome.candidate, outcome.fold] = getattr(outcome, name)
        if outcome.status != COMPLETE:
            status[outcome.candidate] = outcome.status
    scores = summarise(values["score"], values["n_leaves"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing: there are candidates that never finished
        table = _timings(values) | _parameters_of(candidates) | _score_columns(values["score"], scores)
        table |= {
            "mean_n_leaves": scores.n_leaves,
            "std_n_leaves": np.nanstd(values["n_leaves"], axis=1),
            "mean_depth": np.nanmean(values["depth"], axis=1),
            "seconds": np.nansum(values["fit_seconds"] + values["score_seconds"], axis=1),
            "status": np.array(status),
        }
    return Results(scores, status, table)


def _timings(values: dict[str, FloatArray]) -> dict[str, Any]:
    return {
        f"{kind}_{name}_time": function(values[f"{name}_seconds"], axis=1)
        for name in ("fit", "score")
        for kind, function in (("mean", np.nanmean), ("std", np.nanstd))
    }


def _parameters_of(candidates: Sequence[Candidate]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name in ("k", "max_depth", "leaf_penalty"):
        values = np.empty(len(candidates), dtype=object)
        for i, candidate in enumerate(candidates):
            values[i] = candidate.params[name]  # a k may be a tuple
        table[f"param_{name}"] = np.ma.MaskedArray(values)
    table["params"] = [candidate.params for candidate in candidates]
    return table


def _score_columns(values: FloatArray, scores: Scores) -> dict[str, Any]:
    columns: dict[str, Any] = {f"split{f}_test_score": values[:, f] for f in range(values.shape[1])}
    columns["mean_test_score"] = scores.mean
    columns["std_test_score"] = np.nanstd(values, axis=1)
    columns["se_test_score"] = scores.standard_error
    lowest = np.where(np.isnan(scores.mean), -np.inf, scores.mean)
    columns["rank_test_score"] = rankdata(-lowest, method="min").astype(np.int32)
    return columns
