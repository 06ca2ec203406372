"""Every candidate of a grid fitted to every fold's training rows and scored on the others.

In: folds that are binarized already, candidates, a scorer. Out: an `Outcome` per candidate and fold.
The one idea: candidates go in waves of growing k, so that the tree of a smaller k bounds the search of the next, and a
time limit cuts off the expensive end of the grid. Fits run in threads, since the engine releases the GIL, or wherever
joblib's active backend puts them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import groupby
from operator import le
from statistics import fmean
from typing import Any

import joblib

from .._runtime import dask_tasks
from .._runtime.interruptible import Cancelled, Stop
from .._runtime.parallel import in_parallel, share, threads_per_call
from .folds import Fold
from .rule import Candidate
from .scoring import Scoring

COMPLETE, TIME_LIMIT, FAILED = "complete", "time_limit", "failed"

# What the fit to all rows may take, in fits to a fold: time for it is kept back.
REFIT = 1.5


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
class Limits(Stop):
    """Shared by all fits that run in threads of this process; others have the state it had when they were sent."""

    deadline: float = math.inf  # of time.monotonic
    longest: float = 0.0  # fit so far, in seconds

    def __getstate__(self) -> dict[str, float]:
        # The monotonic clock of another machine counts from another moment, and threads do not travel.
        return {"left": self.deadline - time.monotonic(), "sent": time.time(), "longest": self.longest}

    def __setstate__(self, state: dict[str, float]) -> None:
        waited = max(time.time() - state["sent"], 0.0)  # in a queue, perhaps
        deadline = time.monotonic() + state["left"] - waited
        self.__dict__.update(vars(Limits(deadline=deadline, longest=state["longest"])))

    def is_over(self, seconds: float = 0.0) -> bool:
        """Whether a fit that has taken so long must end, so that there is time to fit the choice to all rows."""
        return time.monotonic() + REFIT * max(seconds, self.longest) > self.deadline

    def watch(self, must_finish: bool) -> Callable[[float, int, int, int], None]:
        """A callback for the engine."""
        look_at_task = dask_tasks.watch()

        def look(seconds: float, k: int, nodes: int, cost: int) -> None:
            if self.cancelled:
                raise Cancelled
            if look_at_task:
                look_at_task()
            if not must_finish and self.is_over(seconds):
                raise OutOfTime

        return look


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
    shared = share(folds, n_jobs)
    for wave in order:
        tasks = [(c, f) for c in wave for f in usable]
        threads = threads_per_call(n_jobs, len(tasks))
        calls = (
            joblib.delayed(fit_and_score)(
                (c, f),
                candidates[c],
                shared[f],
                scoring,
                limits,
                threads,
                known.lowest(candidates[c], f),
                c == first,
            )
            for c, f in tasks
        )
        for outcome in in_parallel(calls, n_jobs, limits):
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
    try:
        tree = copy(fold.tree).set_params(**candidate.params)
        options = replace(
            tree._search_options(start), threads=threads, known_cost=known_cost, progress=limits.watch(must_finish)
        )
        with limits.working():
            cost = tree._grow(fold.data, tree._objective(fold.data), options)
        fitted = time.perf_counter()
        score = fold.score(tree, scoring)
        if not math.isfinite(score):
            raise ValueError(f"the score is {score}")
    except OutOfTime:
        return Outcome(*place, TIME_LIMIT)
    except Cancelled:
        raise
    except Exception as error:
        return Outcome(*place, FAILED, error=f"{type(error).__name__}: {error}")
    seconds = (fitted - start, time.perf_counter() - fitted)
    return Outcome(*place, COMPLETE, score, tree.get_n_leaves(), tree.get_depth(), *seconds, cost=cost)
