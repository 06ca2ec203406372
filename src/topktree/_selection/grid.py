"""The grid: every candidate fitted to the training rows of every fold and scored on the others.

In: folds that are binarized already, candidates, a scorer. Out: an `Outcome` per candidate and fold.
The one idea: candidates go in waves of growing k, so that the tree of a smaller k bounds the search of the next, and a
time limit cuts off the expensive end of the grid. Fits run in threads, since the engine releases the GIL, or wherever
joblib's active backend puts them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import le
from statistics import fmean
from typing import Any

import joblib

from .._runtime.limits import COMPLETE, FAILED, TIME_LIMIT, Cancelled, Limits, OutOfTime
from .._runtime.parallel import in_parallel, threads_per_call
from .._search.fitter import search_options, search_tree
from .._search.spec import TreeSpec
from .folds import Fold
from .rule import Candidate
from .scoring import Scoring


@dataclass(frozen=True)
class Outcome:
    """The outcome of one candidate in one fold."""

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


def evaluate(
    folds: Sequence[Fold],
    candidates: Sequence[Candidate],
    spec: TreeSpec,
    scoring: Scoring,
    limits: Limits,
    n_jobs: int | None,
    show: Callable[[Outcome], None],
) -> list[Outcome]:
    """Return all outcomes, in the order in which they came. The first candidate of the first wave is never cut off."""
    usable = [i for i, fold in enumerate(folds) if fold.data is not None]
    order = waves(candidates)
    first = order[0][0]
    known = KnownCosts()
    found: list[Outcome] = []
    for wave in order:
        tasks = [(c, f) for c in wave for f in usable]
        threads = threads_per_call(n_jobs, len(tasks))
        calls = (
            joblib.delayed(fit_and_score)(
                (c, f),
                candidates[c],
                folds[f],
                spec,
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
    """Return the candidates by growing k, those of equal k together, shallow ones first."""

    def breadth(c: int) -> float:
        return fmean(candidates[c].widths or (1,))

    order = sorted(range(len(candidates)), key=lambda c: (breadth(c), candidates[c].max_depth, c))
    return [list(wave) for _, wave in groupby(order, key=breadth)]


class KnownCosts:
    """The costs of trees of each fold. The trees of a smaller k are among those of a larger one, at the same depth."""

    def __init__(self) -> None:
        self._costs: dict[Any, list[tuple[tuple[int, ...], int]]] = {}

    def add(self, candidate: Candidate, outcome: Outcome) -> None:
        """Remember the tree of an outcome, if it has one."""
        if outcome.cost is not None:
            key = (outcome.fold, candidate.max_depth, candidate.leaf_penalty)
            self._costs.setdefault(key, []).append((candidate.widths, outcome.cost))

    def lowest(self, candidate: Candidate, fold: int) -> int | None:
        """Return the lowest known cost of a tree that the candidate's search can find, if there is one."""
        known = self._costs.get((fold, candidate.max_depth, candidate.leaf_penalty), [])
        narrower = (cost for widths, cost in known if all(map(le, widths, candidate.widths)))
        return min(narrower, default=None)


def fit_and_score(
    place: tuple[int, int],
    candidate: Candidate,
    fold: Fold,
    spec: TreeSpec,
    scoring: Scoring,
    limits: Limits,
    threads: int,
    known_cost: int | None,
    must_finish: bool,
) -> Outcome:
    """Fit and score one candidate in one fold. An error is part of the outcome."""
    if not must_finish and limits.leaves_no_refit():
        return Outcome(*place, TIME_LIMIT)
    assert fold.data is not None
    start = time.perf_counter()
    try:
        progress = limits.watch(must_finish)
        options = search_options(fold.tree.memory_limit, threads, known_cost=known_cost, progress=progress)
        with limits.working():
            found = search_tree(fold.data, replace(spec, **candidate.params), options)
        fitted = time.perf_counter()
        score = fold.score(found, scoring, candidate.params)
        if not math.isfinite(score):
            raise ValueError(f"the score is {score}")
    except OutOfTime:
        return Outcome(*place, TIME_LIMIT)
    except Cancelled:
        raise
    except Exception as error:
        return Outcome(*place, FAILED, error=f"{type(error).__name__}: {error}")
    seconds = (fitted - start, time.perf_counter() - fitted)
    return Outcome(
        *place, COMPLETE, score, found.tree.n_leaves, found.tree.max_depth, *seconds, cost=found.integer_cost
    )
