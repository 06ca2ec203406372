"""The grid: every candidate fitted to the training rows of every fold and scored on the others.

In: folds that are binarized already, and candidates. Out: an `Outcome` per candidate and fold, and their table with the
names that scikit-learn's searches use.
The one idea: candidates go in waves of growing effort, so that the tree of a smaller k bounds the search of the next,
and a time limit cuts off the expensive end of the grid. Fits run in threads, since the engine releases the GIL, or
wherever joblib's active backend puts them.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import le
from statistics import fmean
from typing import Any

import joblib
import numpy as np
from scipy.stats import rankdata

from .._runtime.limits import COMPLETE, FAILED, TIME_LIMIT, Cancelled, Limits, OutOfTime
from .._runtime.parallel import in_parallel, threads_per_call
from .._runtime.progress import CountLine
from .._search.fitter import search_options, search_tree
from .._search.objective import LOOKAHEAD, most_nodes
from .._search.spec import TreeSpec
from .folds import Fold
from .rule import Candidate, summarise

# What does not depend on the search takes as long as so many nodes.
FIXED_NODES = 2000


@dataclass(frozen=True)
class Outcome:
    """The outcome of one candidate in one fold."""

    candidate: Candidate
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
    limits: Limits,
    n_jobs: int | None,
    verbose: bool,
) -> list[Outcome]:
    """Return all outcomes, in the order in which they came. The first candidate of the first wave is never cut off."""
    usable = [f for f, fold in enumerate(folds) if fold.data is not None]
    order = waves(candidates, spec)
    first = order[0][0]
    known = KnownCosts()
    found: list[Outcome] = []
    work = dict.fromkeys(candidates, 0.0)
    if verbose:
        work = {one: sum(_work(replace(spec, **one.params), folds[f]) for f in usable) for one in candidates}
    with CountLine(len(usable) * len(candidates), "fits", verbose, sum(work.values())) as line:
        for wave in order:
            threads = threads_per_call(n_jobs, len(wave) * len(usable))
            calls = (
                joblib.delayed(fit_and_score)(
                    candidate,
                    f,
                    folds[f],
                    replace(spec, **candidate.params),
                    limits,
                    threads,
                    known.lowest(candidate, f),
                    candidate is first,
                )
                for candidate in wave
                for f in usable
            )
            for outcome in in_parallel(calls, n_jobs, limits):
                found.append(outcome)
                known.add(outcome)
                limits.longest = max(limits.longest, 0.0 if outcome.cost is None else outcome.fit_seconds)
                last = ", ".join(f"{name} = {value}" for name, value in outcome.candidate.params.items())
                line(f"; last: {last}, score {outcome.score:.4f}", work[outcome.candidate] / max(len(usable), 1))
    return found


def _work(spec: TreeSpec, fold: Fold) -> float:
    """Return the effort of a fit, in nodes."""
    assert fold.data is not None
    options = spec.objective_options(len(fold.data.y), fold.data.columns)
    nodes = most_nodes(options["k"], options["lookahead"])
    # A local search and a leaf budget take as long as some searches.
    return FIXED_NODES + nodes * (1 + 30 * spec.refine) * (1 if spec.max_leaf_nodes is None else 5)


def waves(candidates: Sequence[Candidate], spec: TreeSpec) -> list[list[Candidate]]:
    """Return the candidates by growing effort, those of equal effort together, shallow ones first.

    Searches by a score come first, then those with a lookahead, then those with a local search; each by growing k.
    """

    def effort(candidate: Candidate) -> tuple[bool, bool, float]:
        own = replace(spec, **candidate.params)
        return own.refine, own.criterion == LOOKAHEAD, fmean(candidate.widths or (1,))

    order = sorted(candidates, key=lambda candidate: (effort(candidate), candidate.max_depth))
    return [list(wave) for _, wave in groupby(order, key=effort)]


class KnownCosts:
    """The costs of trees of each fold. The trees of a smaller k are among those of a larger one, at the same depth."""

    def __init__(self) -> None:
        self._costs: dict[Any, list[tuple[tuple[int, ...], int]]] = {}

    def add(self, outcome: Outcome) -> None:
        """Remember the tree of an outcome, if it has one."""
        if outcome.cost is not None:
            self._costs.setdefault(_space(outcome.candidate, outcome.fold), []).append(
                (outcome.candidate.widths, outcome.cost)
            )

    def lowest(self, candidate: Candidate, fold: int) -> int | None:
        """Return the lowest known cost of a tree that the candidate's search can find, if there is one."""
        known = self._costs.get(_space(candidate, fold), [])
        narrower = (cost for widths, cost in known if all(map(le, widths, candidate.widths)))
        return min(narrower, default=None)


def _space(candidate: Candidate, fold: int) -> tuple[Any, ...]:
    """Return what must be equal for the trees of a smaller k to be among those of a larger one."""
    return (fold, candidate.max_depth, candidate.leaf_penalty, *candidate.others)


def fit_and_score(
    candidate: Candidate,
    f: int,
    fold: Fold,
    spec: TreeSpec,
    limits: Limits,
    threads: int,
    known_cost: int | None,
    must_finish: bool,
) -> Outcome:
    """Fit and score one candidate in fold `f`. An error is part of the outcome."""
    if not must_finish and limits.leaves_no_refit():
        return Outcome(candidate, f, TIME_LIMIT)
    assert fold.data is not None
    start = time.perf_counter()
    try:
        progress = limits.watch(must_finish)
        if spec.refine or spec.max_leaf_nodes is not None:  # their result may differ from the tree of the search
            known_cost = None
        options = search_options(fold.tree, threads=threads, known_cost=known_cost, progress=progress)
        with limits.working():
            found = search_tree(fold.data, spec, options)
        fitted = time.perf_counter()
        score = fold.score(found, candidate.params)
        if not math.isfinite(score):
            raise ValueError(f"the score is {score}")
    except OutOfTime:
        return Outcome(candidate, f, TIME_LIMIT)
    except Cancelled:
        raise
    except Exception as error:
        return Outcome(candidate, f, FAILED, error=f"{type(error).__name__}: {error}")
    seconds = (fitted - start, time.perf_counter() - fitted)
    size = (found.tree.n_leaves, found.tree.max_depth)
    return Outcome(candidate, f, COMPLETE, score, *size, *seconds, cost=found.integer_cost)


def usable_folds(outcomes: Sequence[Outcome]) -> set[int]:
    """Return the folds in which any candidate has a score."""
    return {outcome.fold for outcome in outcomes if outcome.status == COMPLETE}


def tabulate(candidates: Sequence[Candidate], n_folds: int, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the outcomes as `cv_results_`, with an entry per candidate in every column."""
    row = {candidate: i for i, candidate in enumerate(candidates)}
    usable = usable_folds(outcomes)
    status = [COMPLETE] * len(candidates)  # or that of a fold that the candidate did not finish
    fields = ("score", "n_leaves", "depth", "fit_seconds", "score_seconds")
    values = {name: np.full((len(candidates), n_folds), np.nan) for name in fields}
    for outcome in outcomes:
        for name in fields:
            values[name][row[outcome.candidate], outcome.fold] = getattr(outcome, name)
        if outcome.status != COMPLETE and outcome.fold in usable:
            status[row[outcome.candidate]] = outcome.status
    table: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing: there are candidates that never finished
        scores = summarise(values["score"], values["n_leaves"])
        for name in ("fit", "score"):
            table[f"mean_{name}_time"] = np.nanmean(values[f"{name}_seconds"], axis=1)
            table[f"std_{name}_time"] = np.nanstd(values[f"{name}_seconds"], axis=1)
        for name in candidates[0].params:  # objects, because a k may be a tuple
            entries = np.fromiter((candidate.params[name] for candidate in candidates), dtype=object)
            table[f"param_{name}"] = np.ma.MaskedArray(entries)
        table["params"] = [candidate.params for candidate in candidates]
        table |= {f"split{f}_test_score": values["score"][:, f] for f in range(n_folds)}
        table["mean_test_score"] = scores.mean
        table["std_test_score"] = np.nanstd(values["score"], axis=1)
        table["se_test_score"] = scores.standard_error
        ranked = np.where(np.isnan(scores.mean), -np.inf, scores.mean)
        table["rank_test_score"] = rankdata(-ranked, method="min").astype(np.int32)
        table["mean_n_leaves"] = scores.n_leaves
        table["std_n_leaves"] = np.nanstd(values["n_leaves"], axis=1)
        table["mean_depth"] = np.nanmean(values["depth"], axis=1)
        table["seconds"] = np.nansum(values["fit_seconds"] + values["score_seconds"], axis=1)
        table["status"] = np.array(status)
    return table
